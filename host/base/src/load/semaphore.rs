//! A fair semaphore: it limits the permits in all, of each key, and of each member of a key. Waiting keys take turns,
//! and so do the members of a key, such as the clients of a tenant.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::budget::Limit;

/// A semaphore whose keys take turns, as do the members of each key.
#[derive(Debug)]
pub struct FairSemaphore<K: Clone + Eq + Hash, M: Clone + Eq + Hash = ()> {
    limit: Limit,
    /// Returns the most permits that a member may have.
    of_member: fn(&M) -> usize,
    queue: Mutex<Queue<K, M>>,
}

#[derive(Debug)]
struct Queue<K: Clone + Eq + Hash, M: Clone + Eq + Hash> {
    permits: usize,
    by_key: HashMap<K, OfKey<K, M>>,
    /// The waiting keys, the next first.
    order: VecDeque<K>,
}

/// The permits of a key and its members, and those that wait for one.
#[derive(Debug)]
struct OfKey<K: Clone + Eq + Hash, M: Clone + Eq + Hash> {
    permits: usize,
    members: HashMap<M, usize>,
    /// The waiting members, the next first.
    waiting: VecDeque<(M, VecDeque<Waiting<K, M>>)>,
}

type Waiting<K, M> = oneshot::Sender<Permit<K, M>>;

/// A permit, given back when it is dropped.
#[derive(Debug)]
pub struct Permit<K: Clone + Eq + Hash, M: Clone + Eq + Hash = ()> {
    semaphore: Arc<FairSemaphore<K, M>>,
    key: K,
    member: M,
}

impl<K: Clone + Eq + Hash, M: Clone + Eq + Hash> FairSemaphore<K, M> {
    /// Creates a semaphore whose members may have as many permits as their key.
    pub fn new(limit: Limit) -> Arc<Self> {
        Self::with_members(limit, |_| usize::MAX)
    }

    /// Creates a semaphore with a limit for each member of a key.
    pub fn with_members(limit: Limit, of_member: fn(&M) -> usize) -> Arc<Self> {
        let queue = Queue {
            permits: 0,
            by_key: HashMap::new(),
            order: VecDeque::new(),
        };
        Arc::new(Self {
            limit,
            of_member,
            queue: Mutex::new(queue),
        })
    }

    /// Waits for a permit for a member of a key; returns `None` when its turn can no longer come.
    pub async fn acquire(self: &Arc<Self>, key: K, member: M) -> Option<Permit<K, M>> {
        let (permit, waiting) = oneshot::channel();
        self.lock().wait(key, member, permit);
        self.give();
        waiting.await.ok()
    }

    /// Returns whether a key has a permit or waits for one.
    pub fn is_in_use(&self, key: &K) -> bool {
        self.lock().by_key.contains_key(key)
    }

    /// Gives free permits to those whose turn it is.
    fn give(self: &Arc<Self>) {
        let mut given = Vec::new();
        let mut queue = self.lock();
        while queue.permits < self.limit.all
            && let Some((key, member, waiting)) = queue.next(self.limit.each, self.of_member)
        {
            let semaphore = Arc::clone(self);
            let permit = Permit {
                semaphore,
                key,
                member,
            };
            given.push((waiting, permit));
        }
        drop(queue);
        for (waiting, permit) in given {
            // If its receiver is gone, the permit is free again.
            drop(waiting.send(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<K, M>> {
        self.queue.lock()
    }
}

impl<K: Clone + Eq + Hash, M: Clone + Eq + Hash> OfKey<K, M> {
    fn new() -> Self {
        Self {
            permits: 0,
            members: HashMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes the next in line of the member whose turn it is.
    fn next(&mut self, of_member: fn(&M) -> usize) -> Option<(M, Waiting<K, M>)> {
        for _ in 0..self.waiting.len() {
            let (member, mut waiting) = self.waiting.pop_front()?;
            let has = self.members.get(&member).copied().unwrap_or_default();
            let mut next = None;
            while has < of_member(&member) && next.is_none() && !waiting.is_empty() {
                // Those that no longer wait are skipped.
                next = waiting.pop_front().filter(|one| !one.is_closed());
            }
            if !waiting.is_empty() {
                self.waiting.push_back((member.clone(), waiting));
            }
            if let Some(next) = next {
                return Some((member, next));
            }
        }
        None
    }
}

impl<K: Clone + Eq + Hash, M: Clone + Eq + Hash> Queue<K, M> {
    /// Adds a member of a key to those that wait.
    fn wait(&mut self, key: K, member: M, permit: Waiting<K, M>) {
        let of_key = self.by_key.entry(key.clone()).or_insert_with(OfKey::new);
        if of_key.waiting.is_empty() {
            self.order.push_back(key);
        }
        let mut of_members = of_key.waiting.iter_mut();
        match of_members.find(|(waiting, _)| *waiting == member) {
            Some((_, waiting)) => waiting.push_back(permit),
            None => of_key.waiting.push_back((member, VecDeque::from([permit]))),
        }
    }

    /// Takes the next one whose turn it is, and counts it as having a permit.
    fn next(&mut self, each: usize, of_member: fn(&M) -> usize) -> Option<(K, M, Waiting<K, M>)> {
        for _ in 0..self.order.len() {
            let key = self.order.pop_front()?;
            let of_key = self.by_key.get_mut(&key)?;
            let next = if of_key.permits < each {
                of_key.next(of_member)
            } else {
                None
            };
            if !of_key.waiting.is_empty() {
                self.order.push_back(key.clone());
            }
            if let Some((member, waiting)) = next {
                of_key.permits += 1;
                *of_key.members.entry(member.clone()).or_default() += 1;
                self.permits += 1;
                return Some((key, member, waiting));
            }
            self.forget(&key);
        }
        None
    }

    /// Takes back a permit of a member.
    fn take_back(&mut self, key: &K, member: &M) {
        self.permits = self.permits.saturating_sub(1);
        if let Some(of_key) = self.by_key.get_mut(key) {
            of_key.permits = of_key.permits.saturating_sub(1);
            if let Some(has) = of_key.members.get_mut(member) {
                *has = has.saturating_sub(1);
                if *has == 0 {
                    of_key.members.remove(member);
                }
            }
        }
        self.forget(key);
    }

    /// Removes a key that neither has a permit nor waits.
    fn forget(&mut self, key: &K) {
        let of_key = self.by_key.get(key);
        if of_key.is_some_and(|of_key| of_key.permits == 0 && of_key.waiting.is_empty()) {
            self.by_key.remove(key);
        }
    }
}

impl<K: Clone + Eq + Hash, M: Clone + Eq + Hash> Drop for Permit<K, M> {
    fn drop(&mut self) {
        self.semaphore.lock().take_back(&self.key, &self.member);
        self.semaphore.give();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// An attempt to get a permit of a key, and the permit once it has one.
    struct Attempt<F>(std::pin::Pin<Box<F>>, Option<Permit<char, char>>);

    impl<F: Future<Output = Option<Permit<char, char>>>> Attempt<F> {
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

    /// Returns who has a permit in each round. All ask in this order, and after each round the first gives its permit
    /// back.
    fn rounds(semaphore: &Arc<FairSemaphore<char, char>>, names: &[&'static str]) -> Vec<String> {
        let attempt = |name: &&'static str| {
            let (semaphore, mut letters) = (Arc::clone(semaphore), name.chars());
            let [key, member] = [letters.next(), letters.next()].map(Option::unwrap_or_default);
            let waiting = Box::pin(async move { semaphore.acquire(key, member).await });
            let mut attempt = Attempt(waiting, None);
            attempt.has_one();
            (*name, attempt)
        };
        let mut waiting: Vec<_> = names.iter().map(attempt).collect();
        let mut rounds = Vec::new();
        while !waiting.is_empty() {
            let has_one = |(_, attempt): &mut (_, Attempt<_>)| attempt.has_one();
            let running: Vec<_> = waiting.iter_mut().map(has_one).collect();
            let named = waiting.iter().zip(&running).filter(|(_, runs)| **runs);
            let named: Vec<_> = named.map(|((name, _), _)| *name).collect();
            rounds.push(named.join(" "));
            let Some(first) = running.iter().position(|runs| *runs) else {
                break;
            };
            waiting.remove(first);
        }
        rounds
    }

    #[test]
    fn keys_take_turns_and_none_has_all_permits() {
        let semaphore = FairSemaphore::new(Limit { all: 3, each: 2 });
        let names = ["ax", "ax1", "ax2", "ax3", "bx", "bx1", "bx2", "cx"];
        assert_eq!(
            rounds(&semaphore, &names),
            [
                "ax ax1 bx",
                "ax1 ax2 bx",
                "ax2 bx bx1",
                "bx bx1 cx",
                "ax3 bx1 cx",
                "bx1 bx2 cx",
                "bx2 cx",
                "cx"
            ]
        );
        let queue = semaphore.lock();
        assert!(
            queue.by_key.is_empty() && queue.order.is_empty(),
            "{queue:?}"
        );
    }

    #[test]
    fn members_of_a_key_take_turns_and_none_has_all_of_its_permits() {
        let semaphore = FairSemaphore::with_members(Limit { all: 9, each: 3 }, |_| 2);
        let names = ["ax", "ax1", "ax2", "ax3", "ay", "ay1", "az"];
        assert_eq!(
            rounds(&semaphore, &names),
            [
                "ax ax1 ay",
                "ax1 ax2 ay",
                "ax2 ay ay1",
                "ay ay1 az",
                "ax3 ay1 az",
                "ay1 az",
                "az"
            ]
        );
        assert!(semaphore.lock().by_key.is_empty());
    }

    #[test]
    fn what_no_longer_waits_is_passed_over() {
        let semaphore = FairSemaphore::new(Limit { all: 1, each: 1 });
        let mut context = Context::from_waker(Waker::noop());
        let first = {
            let mut first = pin!(semaphore.acquire('a', ()));
            first.as_mut().poll(&mut context)
        };
        assert!(matches!(&first, Poll::Ready(Some(_))));
        let mut gone = Box::pin(semaphore.acquire('b', ()));
        assert!(gone.as_mut().poll(&mut context).is_pending());
        let mut second = pin!(semaphore.acquire('c', ()));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop((gone, first));
        assert!(matches!(second.poll(&mut context), Poll::Ready(Some(_))));
    }
}
