//! Writing conditions and projects: one commit with the event of the change, and memory that catches up before the answer.

use std::sync::Arc;

use bytes::Bytes;
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::restriction::ProjectId;

use super::Conditions;
use super::cache::{PartitionCache, StoredCondition, StoredProject, condition_key, project_key};
use super::usage::{Counted, USED, Used};
use crate::data::etag::{self, Etag, Preconditions, Written};
use crate::data::feed::Subscriber;
use crate::data::outbox::{Action, Event};
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// The types of the events of a tenant's conditions and projects (`webhooks.md`, "Events").
pub(super) const CONDITION_EVENTS: &str = "entity-conditions.events.v1";
const PROJECT_EVENTS: &str = "projects.events.v1";

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
pub(super) struct Target {
    /// The key of its record.
    key: String,
    /// Its id.
    id: String,
    event_type: &'static str,
    counted_as: Counted,
}

impl Target {
    fn condition(id: &ConditionId) -> Self {
        Self {
            key: condition_key(id.as_str()),
            id: id.as_str().to_owned(),
            event_type: CONDITION_EVENTS,
            counted_as: Counted::Conditions,
        }
    }

    fn project(id: ProjectId) -> Self {
        Self {
            key: project_key(id),
            id: id.to_string(),
            event_type: PROJECT_EVENTS,
            counted_as: Counted::Projects,
        }
    }
}

impl Conditions {
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
            let (read, counted) = read(cache.records(), &target.key).await?;
            let etag = read.as_ref().map(|read| etag::of_text(&read.record));
            preconditions.check(etag.as_ref())?;
            let written = Written::new(read.is_some());
            let action = match written {
                Written::Created => Action::Created,
                Written::Replaced => Action::Replaced,
            };
            let mut change = Change::default();
            if matches!(owner, Owner::Tenant(_)) {
                let replaced = read.as_ref().map(|read| read.record.len());
                let sizes = [replaced, Some(document.len())];
                self.count(&mut change, &cache, target.counted_as, counted, sizes)
                    .await?;
            }
            change.expect(&target.key, read.as_ref());
            change.put_bytes(&target.key, document.clone());
            change.notify(&target.key);
            let records = cache.records();
            self.publish(&mut change, records, owner, target, action, Some(document))
                .await?;
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
            let (Some(read), counted) = read(cache.records(), &target.key).await? else {
                return Err(Error::NotFound(missing.to_owned()));
            };
            let etag = etag::of_text(&read.record);
            preconditions.check(Some(&etag))?;
            let mut change = Change::default();
            if matches!(owner, Owner::Tenant(_)) {
                let sizes = [Some(read.record.len()), None];
                self.count(&mut change, &cache, target.counted_as, counted, sizes)
                    .await?;
            }
            change.expect(&target.key, Some(&read));
            change.delete(&target.key);
            change.notify(&target.key);
            let records = cache.records();
            self.publish(&mut change, records, owner, target, Action::Deleted, None)
                .await?;
            Ok((change, etag))
        };
        let before = cache.records().change(plan).await?;
        cache.catch_up().await?;
        Ok(before)
    }

    /// Publishes a change of a tenant's document in its own commit.
    async fn publish(
        &self,
        change: &mut Change,
        records: &Records,
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
        self.app.outbox.publish(&event, records, change).await
    }

    /// The cache of what an owner writes.
    async fn cache(&self, owner: Owner<'_>) -> Result<Arc<PartitionCache>> {
        Ok(match owner {
            Owner::Platform => Arc::clone(&self.global),
            Owner::Tenant(id) => Arc::clone(self.tenant(id).await?.0.own()),
        })
    }
}

/// A record as it is stored, its JSON, whose digest is its entity tag; and how much its owner has, where that is counted.
async fn read(
    records: &Records,
    key: &str,
) -> Result<(Option<Versioned<Bytes>>, Option<Versioned<Used>>)> {
    let entries = records.entries(&[key.to_owned(), USED.to_owned()]).await?;
    let mut entries = entries.into_iter();
    let read = entries.next().flatten().map(|entry| Versioned {
        revision: entry.revision,
        record: entry.value,
    });
    let counted = entries.next().flatten();
    let counted = counted
        .map(|entry| decode_entry(USED, &entry))
        .transpose()?;
    Ok((read, counted))
}
