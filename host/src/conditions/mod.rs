//! Conditions and projects: writing them, reading them, and having the module decide with them.
//!
//! What a tenant sees is kept in memory as a [`TenantCatalog`], made once for each change by the first request that asks.
//! A write goes to the store, and memory catches up before it is answered. Decisions are the module's: this finds the
//! documents that it needs.

mod cache;
mod catalog;
mod held;
pub mod http;
mod outcomes;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::{Stream, stream};
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::restriction::ProjectId;

use self::cache::{PartitionCache, condition_key, project_key};
pub use self::cache::{StoredCondition, StoredProject};
pub use self::catalog::TenantCatalog;
use self::outcomes::{Asked, Outcomes};
use crate::app::App;
use crate::engine::{Call, EnginePool};
use crate::error::{Error, Result};
use crate::etag::{self, Etag, Preconditions, Written};
use crate::feed::{Staleness, Subscriber, keep_fresh};
use crate::identity::TenantId;
use crate::outbox::{Action, Event};
use crate::records::{Change, Records, Versioned};
use crate::snapshot::Contents;
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
    tenants: Arc<RwLock<Tenants>>,
    outcomes: Outcomes,
}

/// The tenants that somebody has asked for.
type Tenants = HashMap<TenantId, Arc<Tenant>>;

/// What is kept in memory for a tenant.
#[derive(Debug)]
pub struct Tenant {
    id: TenantId,
    own: Arc<PartitionCache>,
    global: Arc<PartitionCache>,
    catalog: ArcSwap<TenantCatalog>,
}

impl Tenant {
    /// The tenant's id.
    #[must_use]
    pub const fn id(&self) -> &TenantId {
        &self.id
    }

    /// What the tenant sees now.
    #[must_use]
    pub fn catalog(&self) -> Arc<TenantCatalog> {
        let catalog = self.catalog.load_full();
        let (global, own) = (self.global.content(), self.own.content());
        if catalog.is_of(&global, &own) {
            return catalog;
        }
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
                    .is_none_or(|seen| seen.digest != catalog.digest)
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
            let own = known.own.ensure_within(now, max_stale).await?;
            return Ok((known, own.max(global)));
        }
        let records = self.app.records(id.partition());
        let own = PartitionCache::new(records, Arc::clone(&self.app.clock), Scope::Tenant);
        let own = Arc::new(own);
        own.catch_up().await?;
        let mut tenants = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
        let tenant = tenants.entry(id.clone()).or_insert_with(|| {
            keep_fresh(&own);
            self.app.keep_in_snapshot(id.partition(), KEPT);
            let global = Arc::clone(&self.global);
            let catalog = TenantCatalog::new(id, global.content(), own.content());
            Arc::new(Tenant {
                id: id.clone(),
                own,
                global,
                catalog: ArcSwap::from_pointee(catalog),
            })
        });
        Ok((Arc::clone(tenant), global))
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
            Owner::Tenant(id) => Arc::clone(&self.tenant(id).await?.0.own),
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

/// Decides about one item by one condition of a tenant.
///
/// # Errors
/// [`Error::Invalid`] naming every fault of the request, [`Error::NotFound`] when no such condition is in force.
pub fn evaluate_condition(
    engine: &EnginePool,
    catalog: &TenantCatalog,
    id: &str,
    request: &[u8],
) -> Result<Bytes> {
    Ok(engine.evaluate(Call::Condition(&catalog.conditions, id), request)?)
}

/// Decides about one item by the project that the request names.
///
/// # Errors
/// [`Error::Invalid`] naming every fault of the request.
pub fn evaluate_project(
    engine: &EnginePool,
    catalog: &TenantCatalog,
    request: &[u8],
) -> Result<Bytes> {
    let project = named_project(catalog, request);
    // To the conditions, which have no project, every project is unreachable.
    let document = project
        .as_ref()
        .map_or(&catalog.conditions, |project| &project.document);
    Ok(engine.evaluate(Call::Project(document), request)?)
}

/// Decides about a basket.
///
/// # Errors
/// [`Error::Invalid`] naming every fault of the request.
pub fn evaluate_basket(
    engine: &EnginePool,
    catalog: &TenantCatalog,
    request: &[u8],
) -> Result<Bytes> {
    let project = named_project(catalog, request);
    let project = project.as_ref().map(|project| &project.document);
    Ok(engine.evaluate(Call::Basket(&catalog.conditions, project), request)?)
}

/// The project that a request names, when the tenant has it. The module reports the other faults of a request.
fn named_project(catalog: &TenantCatalog, request: &[u8]) -> Option<Arc<StoredProject>> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "projectId")]
        project_id: Cow<'a, str>,
    }
    let named: Named<'_> = serde_json::from_slice(request).ok()?;
    catalog.project(ProjectId::new(&named.project_id)?).cloned()
}
