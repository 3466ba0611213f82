//! A fair semaphore with keys: so many permits in all, so many of them for each key, and keys that wait take turns.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::budget::Limit;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct FairSemaphore<K: Clone + Eq + Hash> {
    limit: Limit,
    queue: Mutex<Queue<K>>,
}

#[derive(Debug)]
struct Queue<K: Clone + Eq + Hash> {
    permits: usize,
    by_key: HashMap<K, OfKey<K>>,
    /// The keys that wait, the next first.
    order: VecDeque<K>,
}

/// The permits that a key has, and those who wait for one.
#[derive(Debug)]
struct OfKey<K: Clone + Eq + Hash> {
    permits: usize,
    waiting: VecDeque<oneshot::Sender<Permit<K>>>,
}

/// A permit, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<K: Clone + Eq + Hash> {
    semaphore: Arc<FairSemaphore<K>>,
    key: K,
}

impl<K: Clone + Eq + Hash> FairSemaphore<K> {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        let queue = Queue {
            permits: 0,
            by_key: HashMap::new(),
            order: VecDeque::new(),
        };
        Arc::new(Self {
            limit,
            queue: Mutex::new(queue),
        })
    }

    /// A permit for a key, when it is its turn; `None` when that can no longer come.
    pub(crate) async fn acquire(self: &Arc<Self>, key: K) -> Option<Permit<K>> {
        let waiting = {
            let mut queue = self.lock();
            let Queue {
                permits,
                by_key,
                order,
            } = &mut *queue;
            let of_key = by_key.entry(key.clone()).or_insert_with(OfKey::new);
            let is_free = *permits < self.limit.all && of_key.permits < self.limit.each;
            if is_free && of_key.waiting.is_empty() {
                *permits += 1;
                of_key.permits += 1;
                let semaphore = Arc::clone(self);
                return Some(Permit { semaphore, key });
            }
            if of_key.waiting.is_empty() {
                order.push_back(key);
            }
            let (permit, waiting) = oneshot::channel();
            of_key.waiting.push_back(permit);
            waiting
        };
        waiting.await.ok()
    }

    /// Whether a key has a permit or waits for one.
    pub(crate) fn is_in_use(&self, key: &K) -> bool {
        self.lock().by_key.contains_key(key)
    }

    /// Gives free permits to those whose turn it is.
    fn give(self: &Arc<Self>) {
        let mut given = Vec::new();
        let mut queue = self.lock();
        while queue.permits < self.limit.all
            && let Some((key, waiting)) = queue.next(self.limit.each)
        {
            let semaphore = Arc::clone(self);
            given.push((waiting, Permit { semaphore, key }));
        }
        drop(queue);
        for (waiting, permit) in given {
            // Where nothing waits any more, it is free again.
            drop(waiting.send(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<K>> {
        self.queue.lock()
    }
}

impl<K: Clone + Eq + Hash> OfKey<K> {
    const fn new() -> Self {
        Self {
            permits: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// The next whose turn it is, counted as having a permit.
    fn next(&mut self, each: usize) -> Option<(K, oneshot::Sender<Permit<K>>)> {
        for _ in 0..self.order.len() {
            let key = self.order.pop_front()?;
            let of_key = self.by_key.get_mut(&key)?;
            if of_key.permits >= each {
                self.order.push_back(key);
                continue;
            }
            let waiting = loop {
                match of_key.waiting.pop_front() {
                    // Those that are gone are passed over.
                    Some(waiting) if waiting.is_closed() => {}
                    found => break found,
                }
            };
            if !of_key.waiting.is_empty() {
                self.order.push_back(key.clone());
            }
            if let Some(waiting) = waiting {
                of_key.permits += 1;
                self.permits += 1;
                return Some((key, waiting));
            }
            self.forget(&key);
        }
        None
    }

    /// Removes a key that neither has a permit nor waits.
    fn forget(&mut self, key: &K) {
        let of_key = self.by_key.get(key);
        if of_key.is_some_and(|of_key| of_key.permits == 0 && of_key.waiting.is_empty()) {
            self.by_key.remove(key);
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut queue = self.semaphore.lock();
        queue.permits = queue.permits.saturating_sub(1);
        if let Some(of_key) = queue.by_key.get_mut(&self.key) {
            of_key.permits = of_key.permits.saturating_sub(1);
        }
        queue.forget(&self.key);
        drop(queue);
        self.semaphore.give();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What waits for a permit of a key: whether it has one by now.
    struct Waiting<F>(std::pin::Pin<Box<F>>, Option<Permit<char>>);

    impl<F: Future<Output = Option<Permit<char>>>> Waiting<F> {
        fn has_one(&mut self) -> bool {
            if self.1.is_none()
                && let Poll::Ready(permit) = self
                    .0
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
            {
                self.1 = permit;
            }
            self.1.is_some()
        }
    }

    #[test]
    fn keys_take_turns_and_none_has_all_permits() {
        let semaphore = FairSemaphore::new(Limit { all: 3, each: 2 });
        let names = ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "c1"];
        let mut all: Vec<_> = names
            .iter()
            .map(|name| {
                let semaphore = Arc::clone(&semaphore);
                let key = name.chars().next().unwrap_or_default();
                let mut waiting =
                    Waiting(Box::pin(async move { semaphore.acquire(key).await }), None);
                waiting.has_one();
                (*name, waiting)
            })
            .collect();
        let mut ended: Vec<&str> = Vec::new();
        let mut rounds = Vec::new();
        while ended.len() < names.len() {
            let mut running: Vec<&str> = Vec::new();
            for (name, waiting) in &mut all {
                if !ended.contains(name) && waiting.has_one() {
                    running.push(*name);
                }
            }
            rounds.push(running.join(" "));
            let Some(first) = running.first().copied() else {
                break;
            };
            ended.push(first);
            all.iter_mut()
                .filter(|(name, _)| *name == first)
                .for_each(|(_, waiting)| waiting.1 = None);
        }
        assert_eq!(
            rounds,
            [
                "a1 a2 b1", "a2 a3 b1", "a3 b1 b2", "b1 b2 c1", "a4 b2 c1", "b2 b3 c1", "b3 c1",
                "c1"
            ]
        );
        let queue = semaphore.lock();
        assert!(
            queue.by_key.is_empty() && queue.order.is_empty(),
            "{queue:?}"
        );
    }

    #[test]
    fn what_no_longer_waits_is_passed_over() {
        let semaphore = FairSemaphore::new(Limit { all: 1, each: 1 });
        let mut context = Context::from_waker(Waker::noop());
        let first = {
            let mut first = pin!(semaphore.acquire('a'));
            first.as_mut().poll(&mut context)
        };
        assert!(matches!(&first, Poll::Ready(Some(_))));
        let mut gone = Box::pin(semaphore.acquire('b'));
        assert!(gone.as_mut().poll(&mut context).is_pending());
        let mut second = pin!(semaphore.acquire('c'));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop((gone, first));
        assert!(matches!(second.poll(&mut context), Poll::Ready(Some(_))));
    }
}
