//! The tenants in memory: those that somebody has asked for, and of those that have no data only so many.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use foldhash::quality::RandomState;
use futures_util::{Stream, stream};

use super::cache::PartitionCache;
use super::catalog::TenantCatalog;
use crate::identity::TenantId;

/// How many tenants without data are kept when there are twice as many. Anyone whom a trusted issuer trusts may name
/// tenants: what they cost must stay bounded.
const MAX_EMPTY: usize = 1_000;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    by_id: HashMap<TenantId, Arc<Tenant>, RandomState>,
    /// How many of them had data, or were in use, when that was last looked at.
    lasting: usize,
}

impl Tenants {
    pub(super) fn get(&self, id: &TenantId) -> Option<&Arc<Tenant>> {
        self.by_id.get(id)
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<Tenant>> {
        self.by_id.values()
    }

    /// The tenant with this id; `new` if it is not there.
    pub(super) fn get_or_insert(
        &mut self,
        id: &TenantId,
        new: impl FnOnce() -> Arc<Tenant>,
    ) -> Arc<Tenant> {
        if self.by_id.len() >= self.lasting + 2 * MAX_EMPTY {
            self.drop_empty();
        }
        Arc::clone(self.by_id.entry(id.clone()).or_insert_with(new))
    }

    fn drop_empty(&mut self) {
        let mut kept = 0;
        self.by_id.retain(|_, tenant| {
            let is_empty = tenant.own.content().is_empty() && Arc::strong_count(tenant) == 1;
            kept += usize::from(is_empty);
            !is_empty || kept <= MAX_EMPTY
        });
        self.lasting = self.by_id.len() - kept.min(MAX_EMPTY);
    }
}

/// What is kept in memory for a tenant.
#[derive(Debug)]
pub struct Tenant {
    id: TenantId,
    own: Arc<PartitionCache>,
    global: Arc<PartitionCache>,
    catalog: ArcSwap<TenantCatalog>,
    /// Whether it is kept in the snapshot.
    is_kept: AtomicBool,
}

impl Tenant {
    pub(super) fn new(
        id: &TenantId,
        own: Arc<PartitionCache>,
        global: &Arc<PartitionCache>,
    ) -> Arc<Self> {
        let catalog = TenantCatalog::new(id, global.content(), own.content());
        Arc::new(Self {
            id: id.clone(),
            own,
            global: Arc::clone(global),
            catalog: ArcSwap::from_pointee(catalog),
            is_kept: AtomicBool::new(false),
        })
    }

    /// The conditions and projects that it has.
    pub(super) const fn own(&self) -> &Arc<PartitionCache> {
        &self.own
    }

    /// Whether it has data that the snapshot does not keep yet; answered once.
    pub(super) fn is_to_be_kept(&self) -> bool {
        !self.is_kept.load(Ordering::Relaxed)
            && !self.own.content().is_empty()
            && !self.is_kept.swap(true, Ordering::Relaxed)
    }

    /// The tenant's id.
    #[must_use]
    pub const fn id(&self) -> &TenantId {
        &self.id
    }

    /// What the tenant sees now.
    #[must_use]
    pub fn catalog(&self) -> Arc<TenantCatalog> {
        let catalog = self.catalog.load();
        if catalog.is_of(&self.global.current(), &self.own.current()) {
            return Arc::clone(&catalog);
        }
        let (global, own) = (self.global.content(), self.own.content());
        let catalog = Arc::new(TenantCatalog::new(&self.id, global, own));
        self.catalog.store(Arc::clone(&catalog));
        catalog
    }

    /// What the tenant sees now and whenever it changes. The caches stay fresh for as long as the stream is held.
    pub fn catalogs(self: &Arc<Self>) -> impl Stream<Item = Arc<TenantCatalog>> + Send + 'static {
        let watches = (self.global.watch(), self.own.watch());
        let state = (Arc::clone(self), watches, None::<Arc<TenantCatalog>>);
        stream::unfold(state, |(tenant, (mut global, mut own), seen)| async move {
            loop {
                let catalog = tenant.catalog();
                if seen
                    .as_ref()
                    .is_none_or(|seen| seen.digest() != catalog.digest())
                {
                    let next = (tenant, (global, own), Some(Arc::clone(&catalog)));
                    return Some((catalog, next));
                }
                let changed = tokio::select! {
                    changed = global.changed() => changed,
                    changed = own.changed() => changed,
                };
                changed.ok()?;
            }
        })
    }
}
