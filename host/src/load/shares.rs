//! Shares of something that is scarce: how much of it is taken, in all and by each holder.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How much may be taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    /// In all.
    pub(crate) all: usize,
    /// By one holder.
    pub(crate) each: usize,
}

impl Most {
    /// So much, of which one holder has at most half.
    pub(crate) const fn halved(all: usize) -> Self {
        Self { all, each: all / 2 }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Shares<K: Eq + Hash> {
    most: Most,
    taken: Mutex<Taken<K>>,
    /// Notified when something is given back that somebody may wait for.
    returned: Notify,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by_holder: HashMap<K, usize>,
}

/// What a holder has, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share<K: Eq + Hash> {
    shares: Arc<Shares<K>>,
    /// `None` for one who may have any part of the whole.
    holder: Option<K>,
    amount: usize,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(crate) fn new(most: Most) -> Arc<Self> {
        let taken = Taken {
            all: 0,
            by_holder: HashMap::new(),
        };
        Arc::new(Self {
            most,
            taken: Mutex::new(taken),
            returned: Notify::new(),
        })
    }

    /// A share of nothing, which can grow.
    pub(crate) fn nothing(self: &Arc<Self>, holder: Option<K>) -> Share<K> {
        Share {
            shares: Arc::clone(self),
            holder,
            amount: 0,
        }
    }

    /// A share, unless that is too much now.
    pub(crate) fn take(self: &Arc<Self>, holder: Option<K>, amount: usize) -> Option<Share<K>> {
        let mut share = self.nothing(holder);
        share.grow(amount).then_some(share)
    }

    /// How much may be taken.
    pub(crate) const fn most(&self) -> Most {
        self.most
    }

    /// How much a holder has.
    pub(crate) fn of(&self, holder: &K) -> usize {
        self.lock()
            .by_holder
            .get(holder)
            .copied()
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Share<K> {
    /// Takes more; whether there was so much.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let most = self.shares.most;
        let mut taken = self.shares.lock();
        if more > most.all.saturating_sub(taken.all) {
            return false;
        }
        if let Some(holder) = &self.holder {
            let of_holder = taken.by_holder.get(holder).copied().unwrap_or_default();
            if more > most.each.saturating_sub(of_holder) {
                return false;
            }
            taken.by_holder.insert(holder.clone(), of_holder + more);
        }
        taken.all += more;
        self.amount += more;
        true
    }

    /// Takes more when there is so much, at the latest within `patience`; whether there was.
    pub(crate) async fn grow_within(&mut self, more: usize, patience: Duration) -> bool {
        let shares = Arc::clone(&self.shares);
        let growing = async {
            loop {
                let mut returned = pin!(shares.returned.notified());
                // From now on nothing is missed.
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

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let shares = &self.shares;
        let mut taken = shares.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(self.amount);
        if let Some(holder) = &self.holder
            && let Some(of_holder) = taken.by_holder.get_mut(holder)
        {
            *of_holder = of_holder.saturating_sub(self.amount);
            if *of_holder == 0 {
                taken.by_holder.remove(holder);
            }
        }
        drop(taken);
        shares.returned.notify_waiters();
    }
}

/// Bytes that hold a share for as long as anyone has any of them.
pub(crate) fn sharing<K: Eq + Hash + Send + Sync + 'static>(
    bytes: Bytes,
    share: Share<K>,
) -> Bytes {
    struct Held<K: Eq + Hash>(Bytes, Share<K>);
    impl<K: Eq + Hash> AsRef<[u8]> for Held<K> {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Held(bytes, share))
}
