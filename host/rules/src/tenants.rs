//! The cache of a tenant: its conditions and projects, and the catalog that is made of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use futures_util::{Stream, stream};
use tillgate_base::data::per_tenant::TenantCache;
use tillgate_base::identity::TenantId;

use super::cache::PartitionCache;
use super::catalog::TenantCatalog;

/// The cached conditions and projects of a tenant, and the catalog that is made of them.
#[derive(Debug)]
pub struct Tenant {
    id: TenantId,
    own: Arc<PartitionCache>,
    global: Arc<PartitionCache>,
    catalog: ArcSwap<TenantCatalog>,
    /// Set if it is kept in the snapshot.
    is_kept: AtomicBool,
}

impl TenantCache for Tenant {
    fn is_empty(&self) -> bool {
        self.own.content().is_empty()
    }

    /// A write uses it, and the write's answer promises that the change is visible here.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.own) > 1
    }
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

    /// Returns the conditions and projects that it has.
    pub(super) const fn own(&self) -> &Arc<PartitionCache> {
        &self.own
    }

    /// Returns whether it has data that the snapshot does not keep yet; true only once.
    pub(super) fn is_to_be_kept(&self) -> bool {
        !self.is_kept.load(Ordering::Relaxed)
            && !self.own.content().is_empty()
            && !self.is_kept.swap(true, Ordering::Relaxed)
    }

    /// Returns the tenant's id.
    #[must_use]
    pub const fn id(&self) -> &TenantId {
        &self.id
    }

    /// Returns what the tenant sees now.
    #[must_use]
    pub fn catalog(&self) -> Arc<TenantCatalog> {
        let catalog = self.catalog.load();
        if catalog.is_of(&self.global.current(), &self.own.current()) {
            return Arc::clone(&catalog);
        }
        let (global, own) = (self.global.content(), self.own.content());
        let catalog = TenantCatalog::new(&self.id, global, own);
        let catalog = Arc::new(catalog);
        self.catalog.store(Arc::clone(&catalog));
        catalog
    }

    /// Streams what the tenant sees, now and whenever it changes. The caches stay fresh for as long as the stream is held.
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
