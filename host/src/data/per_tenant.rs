//! What is kept in memory for each tenant that somebody has asked for: of those that have nothing, only for so many.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;

use crate::identity::TenantId;

/// How many tenants without data are kept when there are twice as many. Anyone whom a trusted issuer trusts may name
/// tenants: what they cost must stay bounded.
const MAX_EMPTY: usize = 1_000;

/// What is kept for a tenant.
pub(crate) trait TenantCache {
    /// Whether the tenant has no data, so that it costs little to ask the store again.
    fn is_empty(&self) -> bool;
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct PerTenant<T> {
    by_id: HashMap<TenantId, Arc<T>, RandomState>,
    /// How many of them had data, or were in use, when that was last looked at.
    lasting: usize,
}

impl<T> Default for PerTenant<T> {
    fn default() -> Self {
        Self {
            by_id: HashMap::default(),
            lasting: 0,
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

    /// What is kept for a tenant; `new` if nothing is yet.
    pub(crate) fn get_or_insert(&mut self, id: &TenantId, new: impl FnOnce() -> Arc<T>) -> Arc<T> {
        if self.by_id.len() >= self.lasting + 2 * MAX_EMPTY {
            self.drop_empty();
        }
        Arc::clone(self.by_id.entry(id.clone()).or_insert_with(new))
    }

    fn drop_empty(&mut self) {
        let mut kept = 0;
        self.by_id.retain(|_, tenant| {
            let is_empty = tenant.is_empty() && Arc::strong_count(tenant) == 1;
            kept += usize::from(is_empty);
            !is_empty || kept <= MAX_EMPTY
        });
        self.lasting = self.by_id.len() - kept.min(MAX_EMPTY);
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
    fn of_tenants_without_data_only_so_many_are_kept_and_of_others_all() {
        let mut kept = PerTenant::default();
        let id = |number: usize| {
            TenantId::new(&format!("tenant-{number}")).unwrap_or_else(|| unreachable!())
        };
        let in_use = kept.get_or_insert(&id(0), || Arc::new(Counted(0)));
        for number in 1..10_000 {
            kept.get_or_insert(&id(number), || {
                Arc::new(Counted(usize::from(number % 4 == 0)))
            });
        }
        let with_data = kept.all().filter(|tenant| !tenant.is_empty()).count();
        assert_eq!(with_data, 2_499);
        assert!(kept.all().len() - with_data <= 2 * MAX_EMPTY + 1);
        let still = kept.get(&id(0));
        assert!(still.is_some_and(|still| Arc::ptr_eq(&in_use, still)));
    }
}
