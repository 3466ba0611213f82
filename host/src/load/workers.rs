//! Workers: what keeps a processor busy for a request runs off the threads that serve, on all processors but one, and those
//! on whose behalf it runs take turns.
//!
//! Its threads have a lower priority than those that serve. Nobody has more than half of the places, or the only one, so
//! that one who asks for much keeps nobody else waiting for more than what runs already.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::identity::Requester;

tokio::task_local! {
    /// On whose behalf the task works.
    static REQUESTER: Requester;
}

/// Does work on somebody's behalf.
pub fn on_behalf_of<T>(
    requester: Requester,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    REQUESTER.scope(requester, work)
}

/// On whose behalf the task works.
#[must_use]
pub fn requester() -> Requester {
    REQUESTER
        .try_with(Requester::clone)
        .unwrap_or(Requester::Platform)
}

/// Whether the task works on somebody's behalf.
#[must_use]
pub fn has_requester() -> bool {
    REQUESTER.try_with(|_| ()).is_ok()
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Workers {
    pool: Handle,
    places: usize,
    /// How many of them one requester may have.
    each: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    running: usize,
    lanes: HashMap<Requester, Lane>,
    /// The requesters that have work waiting, the next first.
    order: VecDeque<Requester>,
}

#[derive(Debug, Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// A place to run at, until this is dropped.
#[derive(Debug)]
struct Place {
    workers: Arc<Workers>,
    requester: Requester,
}

impl Workers {
    /// Workers on the threads of a runtime, on a machine with so many processors.
    #[must_use]
    pub fn new(pool: Handle, processors: NonZeroUsize) -> Arc<Self> {
        let places = (processors.get() - 1).max(1);
        Arc::new(Self {
            pool,
            places,
            each: places.div_ceil(2),
            queue: Mutex::default(),
        })
    }

    /// The threads of lower priority.
    #[must_use]
    pub fn pool(&self) -> Handle {
        self.pool.clone()
    }

    /// Runs work when it is its requester's turn.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let place = self.enter(requester()).await?;
        let done = self.pool.spawn_blocking(move || {
            // Held to the end of the work, also when nobody waits for it any more.
            let _place = place;
            work()
        });
        done.await.map_err(|cause| bug(&cause))
    }

    /// Does work that takes long, though little of it at once, on the threads of lower priority, without a turn. It ends
    /// when nobody waits for it any more.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn run_low_priority<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work, &self.pool);
        match tasks.join_next().await {
            Some(done) => done.map_err(|cause| bug(&cause)),
            None => Err(bug(&"work was lost")),
        }
    }

    async fn enter(self: &Arc<Self>, requester: Requester) -> Result<Place> {
        let waiting = {
            let mut queue = self.lock();
            let Queue {
                running,
                lanes,
                order,
            } = &mut *queue;
            let lane = lanes.entry(requester.clone()).or_default();
            if *running < self.places && lane.running < self.each && lane.waiting.is_empty() {
                *running += 1;
                lane.running += 1;
                let workers = Arc::clone(self);
                return Ok(Place { workers, requester });
            }
            if lane.waiting.is_empty() {
                order.push_back(requester);
            }
            let (place, waiting) = oneshot::channel();
            lane.waiting.push_back(place);
            waiting
        };
        waiting.await.map_err(|cause| bug(&cause))
    }

    /// Gives free places to those whose turn it is.
    fn fill(self: &Arc<Self>) {
        let mut given = Vec::new();
        let mut queue = self.lock();
        while queue.running < self.places
            && let Some((requester, place)) = queue.next(self.each)
        {
            let workers = Arc::clone(self);
            given.push((place, Place { workers, requester }));
        }
        drop(queue);
        for (place, given) in given {
            // When nobody waits any more, it is free again.
            drop(place.send(given));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// The next whose turn it is, counted as running.
    fn next(&mut self, each: usize) -> Option<(Requester, oneshot::Sender<Place>)> {
        for _ in 0..self.order.len() {
            let requester = self.order.pop_front()?;
            let lane = self.lanes.get_mut(&requester)?;
            if lane.running >= each {
                self.order.push_back(requester);
                continue;
            }
            let place = loop {
                match lane.waiting.pop_front() {
                    // Those who are gone are passed over.
                    Some(place) if place.is_closed() => {}
                    found => break found,
                }
            };
            if !lane.waiting.is_empty() {
                self.order.push_back(requester.clone());
            }
            if let Some(place) = place {
                lane.running += 1;
                self.running += 1;
                return Some((requester, place));
            }
            self.forget(&requester);
        }
        None
    }

    /// Removes the lane of one who neither runs nor waits.
    fn forget(&mut self, requester: &Requester) {
        let lane = self.lanes.get(requester);
        if lane.is_some_and(|lane| lane.running == 0 && lane.waiting.is_empty()) {
            self.lanes.remove(requester);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.workers.lock();
        queue.running = queue.running.saturating_sub(1);
        if let Some(lane) = queue.lanes.get_mut(&self.requester) {
            lane.running = lane.running.saturating_sub(1);
        }
        queue.forget(&self.requester);
        drop(queue);
        self.workers.fill();
    }
}

fn bug(cause: &dyn std::fmt::Display) -> Error {
    Error::Bug(cause.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::identity::TenantId;

    fn tenant(id: &str) -> Requester {
        Requester::Tenant(TenantId::new(id).unwrap_or_else(|| unreachable!()))
    }

    /// Work that says its name when it begins and ends when it is told to.
    struct Work {
        workers: Arc<Workers>,
        begun: mpsc::Sender<&'static str>,
        end: Arc<Mutex<mpsc::Receiver<()>>>,
    }

    impl Work {
        /// Asks for a turn, and waits until that is known.
        fn ask(&self, name: &'static str) {
            let known = |queue: &Queue| {
                let waiting = queue.lanes.values().map(|lane| lane.waiting.len());
                queue.running + waiting.sum::<usize>()
            };
            let before = known(&self.workers.lock());
            let (workers, begun) = (Arc::clone(&self.workers), self.begun.clone());
            let end = Arc::clone(&self.end);
            let work = move || {
                let _ = begun.send(name);
                let end = end.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = end.recv();
            };
            let (requester, _) = name.split_at(1);
            let requester = tenant(requester);
            tokio::spawn(on_behalf_of(
                requester,
                async move { workers.run(work).await },
            ));
            while known(&self.workers.lock()) == before {
                std::thread::yield_now();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn tenants_take_turns_and_nobody_has_all_places() {
        let processors = NonZeroUsize::new(4).unwrap_or(NonZeroUsize::MIN);
        let workers = Workers::new(Handle::current(), processors);
        let (begun, begins) = mpsc::channel();
        let (ends, end) = mpsc::channel();
        let work = Work {
            workers: Arc::clone(&workers),
            begun,
            end: Arc::new(Mutex::new(end)),
        };
        ["a1", "a2", "a3", "a4"]
            .into_iter()
            .for_each(|name| work.ask(name));
        // Two of the three places: half, rounded up.
        let mut first = [begins.recv(), begins.recv()].map(Result::unwrap_or_default);
        first.sort_unstable();
        assert_eq!(first, ["a1", "a2"]);
        work.ask("b1");
        assert_eq!(begins.recv(), Ok("b1"), "the third place is for others");
        ["b2", "b3", "c1"]
            .into_iter()
            .for_each(|name| work.ask(name));
        let mut order = Vec::new();
        for _ in 0..5 {
            let _ = ends.send(());
            order.push(begins.recv().unwrap_or_default());
        }
        let at = |name: &str| order.iter().position(|other| *other == name);
        assert!(at("c1") < at("a4") && at("b2") < at("a4"), "{order:?}");
        assert!(at("a3") < at("a4") && at("b2") < at("b3"), "{order:?}");
        drop(ends);
        while workers.lock().running > 0 {
            std::thread::yield_now();
        }
        let queue = workers.lock();
        assert!(
            queue.lanes.is_empty() && queue.order.is_empty(),
            "{queue:?}"
        );
    }
}
