//! Conditions and projects: writing them, reading them, and having the module decide with them.
//!
//! What a tenant sees is kept in memory as a [`TenantCatalog`], made once for each change by the first request that asks.
//! A write goes to the store, and memory catches up before it is answered. Decisions are the module's: this finds the
//! documents that it needs.

mod cache;
mod catalog;
mod counters;
mod decide;
mod document;
pub mod http;
mod memory;
mod tenants;
mod usage;

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::restriction::ProjectId;

use self::cache::{PartitionCache, condition_key, project_key};
pub use self::cache::{StoredCondition, StoredProject};
pub use self::catalog::{Part, TenantCatalog};
use self::counters::Outcomes;
pub use self::decide::{MayPrepare, Question, decide};
pub use self::tenants::Tenant;
pub use self::usage::Configured;
use crate::app::App;
use crate::data::etag::{self, Etag, Preconditions, Written};
use crate::data::feed::{Staleness, Subscriber, keep_fresh};
use crate::data::outbox::{Action, Event};
use crate::data::per_tenant::PerTenant;
use crate::data::records::{Change, Records, Versioned};
use crate::data::snapshot::Contents;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::store::Partition;

/// The types of the events of a tenant's conditions and projects (`webhooks.md`, "Events").
const CONDITION_EVENTS: &str = "entity-conditions.events.v1";
const PROJECT_EVENTS: &str = "projects.events.v1";

/// The partition of the platform's conditions.
const GLOBAL: &str = "global";

/// What a snapshot keeps of a tenant, and of the platform.
const KEPT: Contents = Contents::new(cache::KEPT);

/// Whose conditions are written.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The platform's.
    Platform,
    /// A tenant's.
    Tenant(&'a TenantId),
}

/// A write that took effect.
#[derive(Debug)]
pub struct Put {
    /// Whether it was there before.
    pub written: Written,
    /// The entity tag of what was there before.
    pub before: Option<Etag>,
}

/// A condition or project that is written.
#[derive(Clone, Debug)]
struct Target {
    /// The key of its record.
    key: String,
    /// Its id.
    id: String,
    event_type: &'static str,
}

impl Target {
    fn condition(id: &ConditionId) -> Self {
        Self {
            key: condition_key(id.as_str()),
            id: id.as_str().to_owned(),
            event_type: CONDITION_EVENTS,
        }
    }

    fn project(id: ProjectId) -> Self {
        Self {
            key: project_key(id),
            id: id.to_string(),
            event_type: PROJECT_EVENTS,
        }
    }
}

/// Conditions and projects of the platform and of every tenant.
#[derive(Debug)]
pub struct Conditions {
    app: Arc<App>,
    global: Arc<PartitionCache>,
    tenants: Arc<RwLock<PerTenant<Tenant>>>,
    outcomes: Outcomes,
}

impl Conditions {
    /// Reads the platform's conditions and keeps them fresh.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        let records = app.records(Partition::named(GLOBAL));
        let global = PartitionCache::new(records, Arc::clone(&app.clock), Scope::Global);
        let global = Arc::new(global);
        global.catch_up().await?;
        keep_fresh(&global);
        app.keep_in_snapshot(Partition::named(GLOBAL), KEPT);
        // Those of an earlier process go on being kept, whether or not anybody has asked again.
        for partition in app.in_snapshot() {
            if TenantId::of_partition(&partition).is_some() {
                app.keep_in_snapshot(partition, KEPT);
            }
        }
        let conditions = Self {
            app: Arc::clone(app),
            global,
            tenants: Arc::default(),
            outcomes: Outcomes::new(&app.metrics),
        };
        conditions.measure();
        Ok(conditions)
    }

    /// What is kept in memory for a tenant, and how old that is; read from the store the first time.
    ///
    /// # Errors
    /// When the store is away and the tenant is not in memory, or what is in memory is older than `max_stale`.
    pub async fn tenant(&self, id: &TenantId) -> Result<(Arc<Tenant>, Staleness)> {
        let (now, max_stale) = (self.app.clock.now(), self.app.config.max_stale);
        let global = self.global.ensure_within(now, max_stale).await?;
        let known = self
            .tenants
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned();
        if let Some(known) = known {
            self.keep(&known);
            let own = known.own().ensure_within(now, max_stale).await?;
            return Ok((known, own.max(global)));
        }
        Ok((Box::pin(self.load(id)).await?, global))
    }

    /// A tenant that is not in memory yet.
    async fn load(&self, id: &TenantId) -> Result<Arc<Tenant>> {
        let records = self.app.records(id.partition());
        let own = PartitionCache::new(records, Arc::clone(&self.app.clock), Scope::Tenant);
        let own = Arc::new(own);
        own.catch_up().await?;
        let mut tenants = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
        let tenant = tenants.get_or_insert(id, || {
            keep_fresh(&own);
            Tenant::new(id, own, &self.global)
        });
        drop(tenants);
        self.keep(&tenant);
        Ok(tenant)
    }

    /// A tenant that has data is kept in the snapshot, if there is one.
    fn keep(&self, tenant: &Tenant) {
        if tenant.is_to_be_kept() {
            self.app.keep_in_snapshot(tenant.id().partition(), KEPT);
        }
    }

    /// Creates or replaces a condition from a PUT's body.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body, [`Error::Conflict`] when a tenant's id is a global one,
    /// [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_condition(
        &self,
        owner: Owner<'_>,
        id: ConditionId,
        body: &[u8],
        preconditions: &Preconditions,
    ) -> Result<(Put, Arc<StoredCondition>)> {
        let scope = match owner {
            Owner::Platform => Scope::Global,
            Owner::Tenant(_) => Scope::Tenant,
        };
        let target = Target::condition(&id);
        self.refuse_global_id(owner, &target.key).await?;
        let condition = EntityCondition::from_put(id, scope, body)?;
        let stored = StoredCondition::new(condition)?;
        let put = self.put(owner, &target, &stored.json, preconditions);
        Ok((put.await?, Arc::new(stored)))
    }

    /// Deletes a condition; answers the entity tag that it had.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`] when a tenant's id is a global one, [`Error::Outdated`] when a
    /// precondition does not hold.
    pub async fn delete_condition(
        &self,
        owner: Owner<'_>,
        id: &ConditionId,
        preconditions: &Preconditions,
    ) -> Result<Etag> {
        let target = Target::condition(id);
        self.refuse_global_id(owner, &target.key).await?;
        self.delete(owner, &target, "no condition has this id", preconditions)
            .await
    }

    /// Creates or replaces a project.
    ///
    /// # Errors
    /// [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_project(
        &self,
        tenant: &TenantId,
        project: &StoredProject,
        preconditions: &Preconditions,
    ) -> Result<Put> {
        let (owner, target) = (Owner::Tenant(tenant), Target::project(project.id));
        self.put(owner, &target, project.json(), preconditions)
            .await
    }

    /// Deletes a project; answers the entity tag that it had.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`] when a precondition does not hold.
    pub async fn delete_project(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        preconditions: &Preconditions,
    ) -> Result<Etag> {
        let (owner, target) = (Owner::Tenant(tenant), Target::project(id));
        self.delete(owner, &target, "no project has this id", preconditions)
            .await
    }

    /// Decides, and counts that; `None` when that would keep others waiting and may not.
    fn decide(
        &self,
        catalog: &TenantCatalog,
        question: &Question,
        request: &[u8],
        may_prepare: MayPrepare,
    ) -> Option<Result<Bytes>> {
        let decide = || decide(&self.app.engine, catalog, question, request, may_prepare);
        self.outcomes.measure(question, catalog.tenant(), decide)
    }

    /// A tenant can never use an id that a global condition uses (`given.md` 2.1).
    async fn refuse_global_id(&self, owner: Owner<'_>, key: &str) -> Result<()> {
        let is_taken = match owner {
            Owner::Platform => false,
            Owner::Tenant(_) => self.global.records().get_bytes(key).await?.is_some(),
        };
        if is_taken {
            let detail = "a global condition has this id";
            return Err(Error::Conflict(detail.to_owned()));
        }
        Ok(())
    }

    async fn put(
        &self,
        owner: Owner<'_>,
        target: &Target,
        document: &Bytes,
        preconditions: &Preconditions,
    ) -> Result<Put> {
        let cache = self.cache(owner).await?;
        let plan = async || {
            let read = read(cache.records(), &target.key).await?;
            let etag = read.as_ref().map(|read| etag::of_text(&read.record));
            preconditions.check(etag.as_ref())?;
            let written = Written::new(read.is_some());
            let replaced = read.as_ref().map(|read| read.record.len());
            self.refuse_beyond_quotas(owner, &cache.content(), target, (replaced, document.len()))?;
            let action = match written {
                Written::Created => Action::Created,
                Written::Replaced => Action::Replaced,
            };
            let mut change = Change::default();
            change.expect(&target.key, read.as_ref());
            change.put_bytes(&target.key, document.clone());
            change.notify(&target.key);
            self.publish(&mut change, owner, target, action, Some(document))?;
            let before = etag;
            Ok((change, Put { written, before }))
        };
        let put = cache.records().change(plan).await?;
        cache.catch_up().await?;
        Ok(put)
    }

    async fn delete(
        &self,
        owner: Owner<'_>,
        target: &Target,
        missing: &str,
        preconditions: &Preconditions,
    ) -> Result<Etag> {
        let cache = self.cache(owner).await?;
        let plan = async || {
            let Some(read) = read(cache.records(), &target.key).await? else {
                return Err(Error::NotFound(missing.to_owned()));
            };
            let etag = etag::of_text(&read.record);
            preconditions.check(Some(&etag))?;
            let mut change = Change::default();
            change.expect(&target.key, Some(&read));
            change.delete(&target.key);
            change.notify(&target.key);
            self.publish(&mut change, owner, target, Action::Deleted, None)?;
            Ok((change, etag))
        };
        let before = cache.records().change(plan).await?;
        cache.catch_up().await?;
        Ok(before)
    }

    /// Publishes a change of a tenant's document in its own commit.
    fn publish(
        &self,
        change: &mut Change,
        owner: Owner<'_>,
        target: &Target,
        action: Action,
        document: Option<&Bytes>,
    ) -> Result<()> {
        let Owner::Tenant(tenant) = owner else {
            return Ok(());
        };
        let event = Event {
            event_type: target.event_type,
            tenant,
            action,
            id: &target.id,
            document,
        };
        self.app.outbox.publish(&event, change)
    }

    /// The cache of what an owner writes.
    async fn cache(&self, owner: Owner<'_>) -> Result<Arc<PartitionCache>> {
        Ok(match owner {
            Owner::Platform => Arc::clone(&self.global),
            Owner::Tenant(id) => Arc::clone(self.tenant(id).await?.0.own()),
        })
    }
}

/// A record as it is stored: its JSON, whose digest is its entity tag.
async fn read(records: &Records, key: &str) -> Result<Option<Versioned<Bytes>>> {
    let entry = records.get_bytes(key).await?;
    Ok(entry.map(|entry| Versioned {
        revision: entry.revision,
        record: entry.value,
    }))
}
