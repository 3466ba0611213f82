//! A cache for each tenant that has been used. The number of tenants without data is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;

use crate::identity::TenantId;

/// How many tenants without data remain when there are twice as many. The users of a trusted issuer may name any tenant,
/// so the memory for tenants without data must be bounded.
const MAX_EMPTY: usize = 1_000;

/// The cache of a tenant.
pub(crate) trait TenantCache {
    /// Whether the tenant has no data, so that it costs little to ask the store again.
    fn is_empty(&self) -> bool;
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct PerTenant<T> {
    by_id: HashMap<TenantId, Arc<T>, RandomState>,
    /// How many of them had data, or were in use, when empty ones were last dropped.
    in_use: usize,
}

impl<T> Default for PerTenant<T> {
    fn default() -> Self {
        Self {
            by_id: HashMap::default(),
            in_use: 0,
        }
    }
}

impl<T: TenantCache> PerTenant<T> {
    pub(crate) fn get(&self, id: &TenantId) -> Option<&Arc<T>> {
        self.by_id.get(id)
    }

    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<T>> {
        self.by_id.values()
    }

    /// The cache of a tenant; `new` if there is none yet.
    pub(crate) fn get_or_insert(&mut self, id: &TenantId, new: impl FnOnce() -> Arc<T>) -> Arc<T> {
        if self.by_id.len() >= self.in_use + 2 * MAX_EMPTY {
            self.drop_empty();
        }
        Arc::clone(self.by_id.entry(id.clone()).or_insert_with(new))
    }

    fn drop_empty(&mut self) {
        let mut empty = 0;
        self.by_id.retain(|_, tenant| {
            let is_empty = tenant.is_empty() && Arc::strong_count(tenant) == 1;
            empty += usize::from(is_empty);
            !is_empty || empty <= MAX_EMPTY
        });
        self.in_use = self.by_id.len() - empty.min(MAX_EMPTY);
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

    #[test]
    fn tenants_without_data_are_bounded_and_others_stay() {
        let mut caches = PerTenant::default();
        let id = |number: usize| {
            TenantId::new(&format!("tenant-{number}")).unwrap_or_else(|| unreachable!())
        };
        let in_use = caches.get_or_insert(&id(0), || Arc::new(Counted(0)));
        for number in 1..10_000 {
            caches.get_or_insert(&id(number), || {
                Arc::new(Counted(usize::from(number % 4 == 0)))
            });
        }
        let with_data = caches.all().filter(|tenant| !tenant.is_empty()).count();
        assert_eq!(with_data, 2_499);
        assert!(caches.all().len() - with_data <= 2 * MAX_EMPTY + 1);
        let still = caches.get(&id(0));
        assert!(still.is_some_and(|still| Arc::ptr_eq(&in_use, still)));
    }
}
