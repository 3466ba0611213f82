//! Conditions and projects: writes them, reads them, and has the module decide with them.
//!
//! The view of a tenant is cached as a [`TenantCatalog`], which the first request after each change makes. A write goes
//! to the store, and the cache catches up before the write is answered. The module decides; this crate finds the
//! documents that it needs.

mod cache;
mod catalog;
mod counters;
pub mod decision_log;
mod document;
mod failing_tests;
mod findings;
mod history;
pub mod http;
mod log_choice;
mod logger;
mod memory_metrics;
mod module_call;
mod owner;
mod rule_json;
mod stored;
mod tenants;
mod trial;
mod usage;
mod write;
mod write_target;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;
use tillgate_base::app::App;
use tillgate_base::data::feed::{Staleness, Subscriber, keep_fresh};
use tillgate_base::data::per_tenant::PerTenant;
use tillgate_base::data::snapshot::Contents;
use tillgate_base::engine::{EngineError, Lease};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_engine::condition::Scope;
use tillgate_engine::restriction::ProjectId;
use tillgate_store::Partition;

use self::cache::PartitionCache;
pub use self::catalog::{Part, TenantCatalog};
use self::counters::DecisionCounters;
pub use self::failing_tests::{Concerned, OnFailingTests};
pub use self::history::{DeletedPage, HistoryPage, PageQuery, RuleKind, Sequence};
use self::logger::Logger;
use self::module_call::ModuleCall;
pub use self::module_call::{About, Question};
pub use self::owner::Owner;
pub use self::rule_json::RuleJson;
pub use self::stored::{StoredCondition, StoredProject};
pub use self::tenants::Tenant;
pub use self::usage::Configured;
pub use self::write::{Editor, Put};
use crate::decision_log::DecisionLog;

/// Requests and documents with more bytes than this are handled off the threads that serve.
const INLINE: usize = 16 << 10;

/// The partition of the platform's conditions.
const GLOBAL: &str = "global";

/// The records of a tenant, or of the platform, that a snapshot keeps.
const KEPT: Contents = Contents::new(cache::KEPT);

/// Conditions and projects of the platform and of every tenant.
#[derive(Debug)]
pub struct Conditions {
    app: Arc<App>,
    global: Arc<PartitionCache>,
    tenants: Arc<RwLock<PerTenant<Tenant>>>,
    counters: DecisionCounters,
    /// The decision log that this host writes, if it writes one.
    decision_log: Option<Arc<DecisionLog>>,
}

impl Conditions {
    /// Reads the platform's conditions and keeps them fresh.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn start(app: &Arc<App>, decision_log: Option<Arc<DecisionLog>>) -> Result<Self> {
        let records = app.records(Partition::named(GLOBAL));
        let global = PartitionCache::new(records, Arc::clone(&app.clock), Scope::Global);
        let global = Arc::new(global);
        global.catch_up().await?;
        keep_fresh(&global);
        app.keep_in_snapshot(Partition::named(GLOBAL), KEPT);
        // Tenants that an earlier process kept stay in the snapshot, even if no request has come since.
        for partition in app.in_snapshot() {
            if TenantId::of_partition(&partition).is_some() {
                app.keep_in_snapshot(partition, KEPT);
            }
        }
        let conditions = Self {
            app: Arc::clone(app),
            global,
            tenants: Arc::new(RwLock::new(PerTenant::new(
                app.config.limits.cached_tenants,
            ))),
            counters: DecisionCounters::new(&app.metrics),
            decision_log,
        };
        conditions.measure();
        conditions.measure_log();
        history::register(app);
        Ok(conditions)
    }

    /// Returns the cache of a tenant, and how stale it is; reads it from the store the first time.
    ///
    /// # Errors
    /// When the store is unavailable and the tenant is not cached, or the cached data is older than `max_stale`.
    pub async fn tenant(&self, id: &TenantId) -> Result<(Arc<Tenant>, Staleness)> {
        let (now, max_stale) = (self.app.clock.now(), self.app.config.max_stale);
        let global = self.global.ensure_within(now, max_stale).await?;
        let known = self.tenants.read().get(id).cloned();
        if let Some(known) = known {
            self.keep(&known);
            let own = known.own().ensure_within(now, max_stale).await?;
            return Ok((known, own.max(global)));
        }
        Ok((Box::pin(self.load(id)).await?, global))
    }

    /// Loads a tenant that is not cached yet.
    async fn load(&self, id: &TenantId) -> Result<Arc<Tenant>> {
        let records = self.app.records(id.partition());
        let own = PartitionCache::new(records, Arc::clone(&self.app.clock), Scope::Tenant);
        let own = Arc::new(own);
        own.catch_up().await?;
        let mut tenants = self.tenants.write();
        let (tenant, dropped) = tenants.get_or_insert(id, || {
            keep_fresh(&own);
            Tenant::new(id, own, &self.global)
        });
        // Done under the lock, before a dropped tenant can return and be kept again.
        for (dropped, _) in &dropped {
            self.app.drop_from_snapshot(&dropped.partition());
        }
        drop(tenants);
        // Freeing them may take long, so it happens once no request waits for the lock.
        drop(dropped);
        self.keep(&tenant);
        Ok(tenant)
    }

    /// Keeps a tenant that has data in the snapshot, if there is one.
    fn keep(&self, tenant: &Tenant) {
        if tenant.is_to_be_kept() {
            self.app.keep_in_snapshot(tenant.id().partition(), KEPT);
        }
    }

    /// Returns the bytes of a project; 0 if the tenant does not have it.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn bytes_of_project(&self, tenant: &TenantId, id: ProjectId) -> Result<usize> {
        let (tenant, _) = self.tenant(tenant).await?;
        let catalog = tenant.catalog();
        Ok(catalog.project(id).map_or(0, |project| project.text.size()))
    }

    /// Decides at once, unless others would wait for it. `logger` is there if the decision may go into the log.
    ///
    /// # Errors
    /// [`Error::Invalid`](tillgate_base::error::Error::Invalid) naming every fault of the request,
    /// [`Error::NotFound`](tillgate_base::error::Error::NotFound) when no such condition is in force.
    async fn decide(
        self: Arc<Self>,
        catalog: Arc<TenantCatalog>,
        question: Question,
        logger: Option<Logger>,
        request: Bytes,
    ) -> Result<Bytes> {
        let app = Arc::clone(&self.app);
        if request.len() > INLINE {
            let decide = move |app: &App| {
                let call = ModuleCall::new(&catalog, question, &request);
                let instance = app.engine.lease();
                self.carry_out(&call, &catalog, logger, instance, &request)
            };
            return Box::pin(app.decide_blocking(decide)).await?;
        }
        let call = ModuleCall::new(&catalog, question, &request);
        let instance = app.engine.lease();
        if instance
            .as_ref()
            .is_ok_and(|instance| call.is_short(instance))
        {
            return self.carry_out(&call, &catalog, logger, instance, &request);
        }
        drop(instance);
        let call = call.into_owned();
        let decide = move |app: &App| {
            let instance = app.engine.lease();
            self.carry_out(&call, &catalog, logger, instance, &request)
        };
        Box::pin(app.decide_blocking(decide)).await?
    }

    /// Makes a decision, counts it, and puts it into the log.
    fn carry_out(
        &self,
        call: &ModuleCall<'_>,
        catalog: &TenantCatalog,
        logger: Option<Logger>,
        instance: Result<Lease<'_>, EngineError>,
        request: &[u8],
    ) -> Result<Bytes> {
        let decide = || call.decide(instance?, request);
        let tenant = catalog.tenant();
        let decided = self.counters.measure(call.subject(), tenant, decide)?;
        if let Some(logger) = logger {
            logger.log(catalog, &decided.rows, self.app.clock.now());
        }
        Ok(decided.answer)
    }
}
