//! A bounded map with a cache for each tenant that has been used.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::RandomState;

use crate::identity::TenantId;

/// The number of tenants without data that stay when there are twice as many. The users of a trusted issuer may name
/// any tenant, and asking the store again costs little.
const MAX_EMPTY: usize = 1_000;

/// The cache of a tenant.
pub trait TenantCache {
    /// Returns whether the tenant has no data, so that asking the store again costs little.
    fn is_empty(&self) -> bool;

    /// Returns whether a part of the cache is in use.
    fn is_in_use(&self) -> bool {
        false
    }
}

/// A bounded map of the caches of tenants.
#[derive(Debug)]
pub struct PerTenant<T> {
    by_id: HashMap<TenantId, Cached<T>, RandomState>,
    /// The approximate maximum of tenants with data.
    max: usize,
    /// The number of tenants that had data, or were in use, when empty ones were last dropped.
    in_use: usize,
    /// Counts calls of `get_or_insert`, to order tenants by their last use.
    added: u64,
}

#[derive(Debug)]
struct Cached<T> {
    tenant: Arc<T>,
    /// The value of `added` when the cache was last asked for.
    last_used: AtomicU64,
}

impl<T: TenantCache> PerTenant<T> {
    /// Creates a map for about `max` tenants with data.
    pub fn new(max: usize) -> Self {
        Self {
            by_id: HashMap::default(),
            max,
            in_use: 0,
            added: 0,
        }
    }

    pub fn get(&self, id: &TenantId) -> Option<&Arc<T>> {
        let cached = self.by_id.get(id)?;
        // Written only when it changes: requests on all processors read it.
        if cached.last_used.load(Ordering::Relaxed) != self.added {
            cached.last_used.store(self.added, Ordering::Relaxed);
        }
        Some(&cached.tenant)
    }

    pub fn all(&self) -> impl ExactSizeIterator<Item = &Arc<T>> {
        self.by_id.values().map(|cached| &cached.tenant)
    }

    /// Returns the cache of a tenant, or `new` if there is none yet. Also returns the tenants that made room for it, to
    /// be dropped once the map is unlocked.
    pub fn get_or_insert(
        &mut self,
        id: &TenantId,
        new: impl FnOnce() -> Arc<T>,
    ) -> (Arc<T>, Vec<(TenantId, Arc<T>)>) {
        let mut dropped = Vec::new();
        if self.by_id.len() >= self.in_use + 2 * MAX_EMPTY {
            self.drop_empty();
            if self.in_use >= self.max {
                dropped = self.drop_oldest();
            }
        }
        self.added += 1;
        let cached = self.by_id.entry(id.clone()).or_insert_with(|| Cached {
            tenant: new(),
            last_used: AtomicU64::new(self.added),
        });
        (Arc::clone(&cached.tenant), dropped)
    }

    fn drop_empty(&mut self) {
        let mut empty = 0;
        self.by_id.retain(|_, cached| {
            let is_empty = cached.tenant.is_empty() && cached.is_idle();
            empty += usize::from(is_empty);
            !is_empty || empty <= MAX_EMPTY
        });
        self.in_use = self.by_id.len() - empty.min(MAX_EMPTY);
    }

    /// Drops the least recently used idle caches, until three quarters of `max` are left.
    fn drop_oldest(&mut self) -> Vec<(TenantId, Arc<T>)> {
        let idle = self.by_id.iter().filter(|(_, cached)| cached.is_idle());
        let mut idle: Vec<(u64, TenantId)> = idle
            .map(|(id, cached)| (cached.last_used.load(Ordering::Relaxed), id.clone()))
            .collect();
        idle.sort_unstable_by_key(|(last_used, _)| *last_used);
        let surplus = self.by_id.len().saturating_sub(self.max / 4 * 3);
        let oldest = idle.into_iter().take(surplus).map(|(_, id)| id);
        let mut dropped = Vec::with_capacity(surplus);
        for id in oldest {
            if let Some(cached) = self.by_id.remove(&id) {
                dropped.push((id, cached.tenant));
            }
        }
        self.in_use = self.by_id.len();
        dropped
    }
}

impl<T: TenantCache> Cached<T> {
    /// Returns whether only the map holds the cache.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.tenant) == 1 && !self.tenant.is_in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counted(usize);

    impl TenantCache for Counted {
        fn is_empty(&self) -> bool {
            self.0 == 0
        }
    }

    fn id(number: usize) -> TenantId {
        TenantId::new(&format!("tenant-{number}")).unwrap_or_else(|| unreachable!())
    }

    #[test]
    fn tenants_without_data_are_bounded_and_others_stay() {
        let mut caches = PerTenant::new(10_000);
        let (in_use, _) = caches.get_or_insert(&id(0), || Arc::new(Counted(0)));
        for number in 1..10_000 {
            let new = || Arc::new(Counted(usize::from(number % 4 == 0)));
            let (_, dropped) = caches.get_or_insert(&id(number), new);
            assert!(dropped.is_empty());
        }
        let with_data = caches.all().filter(|tenant| !tenant.is_empty()).count();
        assert_eq!(with_data, 2_499);
        assert!(caches.all().len() - with_data <= 2 * MAX_EMPTY + 1);
        let still = caches.get(&id(0));
        assert!(still.is_some_and(|still| Arc::ptr_eq(&in_use, still)));
    }

    #[test]
    fn of_tenants_with_data_those_stay_that_are_asked_for_or_in_use() {
        const MAX: usize = 100;
        let mut caches = PerTenant::new(MAX);
        let (in_use, _) = caches.get_or_insert(&id(0), || Arc::new(Counted(1)));
        let mut dropped = Vec::new();
        for number in 1..20_000 {
            let (_, gone) = caches.get_or_insert(&id(number), || Arc::new(Counted(1)));
            dropped.extend(gone.into_iter().map(|(id, _)| id));
            assert!(caches.get(&id(1)).is_some(), "{number}");
            assert!(caches.all().len() <= MAX + 2 * MAX_EMPTY + 1);
        }
        assert_eq!(dropped.len(), 20_000 - caches.all().len());
        assert!(!dropped.contains(&id(0)) && dropped.contains(&id(2)));
        let still = caches.get(&id(0));
        assert!(still.is_some_and(|still| Arc::ptr_eq(&in_use, still)));
    }
}
