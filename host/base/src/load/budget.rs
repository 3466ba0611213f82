//! Budgets limit how much of something scarce is taken, in all and by each key, such as the bytes of bodies by each
//! tenant.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::timeout;

/// The most that may be taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// In all.
    pub all: usize,
    /// By one key.
    pub each: usize,
}

impl Limit {
    /// Allows `all`, and half of it for each key.
    pub const fn half_each(all: usize) -> Self {
        Self { all, each: all / 2 }
    }
}

/// A limited amount, taken in reservations.
#[derive(Debug)]
pub struct Budget<K: Eq + Hash> {
    limit: Limit,
    taken: Mutex<Taken<K>>,
    /// Notified when something is given back, for those that wait.
    returned: Notify,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by_key: HashMap<K, usize>,
}

/// An amount that was taken for a key, given back when this is dropped.
#[derive(Debug)]
pub struct Reservation<K: Eq + Hash> {
    budget: Arc<Budget<K>>,
    /// `None` if only the limit for all applies.
    key: Option<K>,
    amount: usize,
}

impl<K: Clone + Eq + Hash> Budget<K> {
    pub fn new(limit: Limit) -> Arc<Self> {
        let taken = Taken {
            all: 0,
            by_key: HashMap::new(),
        };
        Arc::new(Self {
            limit,
            taken: Mutex::new(taken),
            returned: Notify::new(),
        })
    }

    /// Returns an empty reservation, which can grow.
    pub fn empty(self: &Arc<Self>, key: Option<K>) -> Reservation<K> {
        Reservation {
            budget: Arc::clone(self),
            key,
            amount: 0,
        }
    }

    /// Reserves an amount, or returns `None` if that is too much now.
    pub fn reserve(self: &Arc<Self>, key: Option<K>, amount: usize) -> Option<Reservation<K>> {
        let mut reservation = self.empty(key);
        reservation.grow(amount).then_some(reservation)
    }

    /// Returns the limit.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns the amount that is taken in all.
    pub fn reserved(&self) -> usize {
        self.lock().all
    }

    /// Returns the amount that a key has taken.
    pub fn reserved_by(&self, key: &K) -> usize {
        self.lock().by_key.get(key).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock()
    }
}

impl<K: Clone + Eq + Hash> Reservation<K> {
    /// Takes more and returns true, or returns false if there is too little left.
    pub fn grow(&mut self, more: usize) -> bool {
        let limit = self.budget.limit;
        let mut taken = self.budget.lock();
        if more > limit.all.saturating_sub(taken.all) {
            return false;
        }
        if let Some(key) = &self.key {
            let of_key = taken.by_key.get(key).copied().unwrap_or_default();
            if more > limit.each.saturating_sub(of_key) {
                return false;
            }
            taken.by_key.insert(key.clone(), of_key + more);
        }
        taken.all += more;
        self.amount += more;
        true
    }

    /// Takes more as soon as enough is left, within `patience`; returns whether it did.
    pub async fn grow_within(&mut self, more: usize, patience: Duration) -> bool {
        let budget = Arc::clone(&self.budget);
        let growing = async {
            loop {
                let mut returned = pin!(budget.returned.notified());
                // From now on, no notification is missed.
                returned.as_mut().enable();
                if self.grow(more) {
                    return;
                }
                returned.await;
            }
        };
        timeout(patience, growing).await.is_ok()
    }
}

impl<K: Eq + Hash> Reservation<K> {
    /// Returns the amount.
    pub const fn amount(&self) -> usize {
        self.amount
    }

    /// Gives back what exceeds this amount.
    pub fn shrink_to(&mut self, amount: usize) {
        let less = self.amount.saturating_sub(amount);
        let budget = &self.budget;
        let mut taken = budget.taken.lock();
        taken.all = taken.all.saturating_sub(less);
        if let Some(key) = &self.key
            && let Some(of_key) = taken.by_key.get_mut(key)
        {
            *of_key = of_key.saturating_sub(less);
            if *of_key == 0 {
                taken.by_key.remove(key);
            }
        }
        drop(taken);
        self.amount -= less;
        budget.returned.notify_waiters();
    }
}

impl<K: Eq + Hash> Drop for Reservation<K> {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Makes bytes hold a reservation for as long as any of them is in use.
pub fn counted<K: Eq + Hash + Send + Sync + 'static>(
    bytes: Bytes,
    reservation: Reservation<K>,
) -> Bytes {
    struct Held<K: Eq + Hash>(Bytes, Reservation<K>);
    impl<K: Eq + Hash> AsRef<[u8]> for Held<K> {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Held(bytes, reservation))
}
