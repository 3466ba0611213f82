//! Turns: what keeps a processor busy for a request runs off the threads that serve, so much of it at once as there are
//! processors, and those on whose behalf it runs take turns.
//!
//! Its threads have a lower priority than those that serve. Nobody has more than half of the places, so that one who asks
//! for much keeps nobody else waiting for more than what runs already.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::identity::Holder;

tokio::task_local! {
    /// On whose behalf the task works.
    static HOLDER: Holder;
}

/// Does work on somebody's behalf.
pub async fn on_behalf_of<T>(holder: Holder, work: impl Future<Output = T>) -> T {
    HOLDER.scope(holder, work).await
}

/// On whose behalf the task works.
fn holder() -> Holder {
    HOLDER.try_with(Holder::clone).unwrap_or(Holder::Platform)
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Turns {
    pool: Handle,
    places: usize,
    /// How many of them one holder may have.
    each: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    running: usize,
    lanes: HashMap<Holder, Lane>,
    /// The holders that somebody waits for, the next first.
    order: VecDeque<Holder>,
}

#[derive(Debug, Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// A place to run at, until this is dropped.
#[derive(Debug)]
struct Place {
    turns: Arc<Turns>,
    holder: Holder,
}

impl Turns {
    /// So many places, on the threads of a runtime.
    #[must_use]
    pub fn new(pool: Handle, places: NonZeroUsize) -> Arc<Self> {
        Arc::new(Self {
            pool,
            places: places.get(),
            each: places.get().div_ceil(2),
            queue: Mutex::default(),
        })
    }

    /// Runs work when it is its holder's turn.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let place = self.enter(holder()).await?;
        let done = self.pool.spawn_blocking(move || {
            // Held to the end of the work, also when nobody waits for it any more.
            let _place = place;
            work()
        });
        done.await.map_err(|cause| bug(&cause))
    }

    async fn enter(self: &Arc<Self>, holder: Holder) -> Result<Place> {
        let waiting = {
            let mut queue = self.lock();
            let Queue {
                running,
                lanes,
                order,
            } = &mut *queue;
            let lane = lanes.entry(holder.clone()).or_default();
            if *running < self.places && lane.running < self.each && lane.waiting.is_empty() {
                *running += 1;
                lane.running += 1;
                let turns = Arc::clone(self);
                return Ok(Place { turns, holder });
            }
            if lane.waiting.is_empty() {
                order.push_back(holder);
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
            && let Some((holder, place)) = queue.next(self.each)
        {
            let turns = Arc::clone(self);
            given.push((place, Place { turns, holder }));
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
    fn next(&mut self, each: usize) -> Option<(Holder, oneshot::Sender<Place>)> {
        for _ in 0..self.order.len() {
            let holder = self.order.pop_front()?;
            let lane = self.lanes.get_mut(&holder)?;
            if lane.running >= each {
                self.order.push_back(holder);
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
                self.order.push_back(holder.clone());
            }
            if let Some(place) = place {
                lane.running += 1;
                self.running += 1;
                return Some((holder, place));
            }
            self.forget(&holder);
        }
        None
    }

    /// Removes the lane of one who neither runs nor waits.
    fn forget(&mut self, holder: &Holder) {
        let lane = self.lanes.get(holder);
        if lane.is_some_and(|lane| lane.running == 0 && lane.waiting.is_empty()) {
            self.lanes.remove(holder);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.turns.lock();
        queue.running = queue.running.saturating_sub(1);
        if let Some(lane) = queue.lanes.get_mut(&self.holder) {
            lane.running = lane.running.saturating_sub(1);
        }
        queue.forget(&self.holder);
        drop(queue);
        self.turns.fill();
    }
}

fn bug(cause: &dyn std::fmt::Display) -> Error {
    Error::Bug(cause.to_string())
}
