//! Writes conditions and projects: one commit with the event of the change, and a cache that catches up before the answer.

use std::sync::Arc;

use bytes::Bytes;
use tillgate_api::Body;
use tillgate_api::problem::{CONDITION_NOT_FOUND, ID_IS_GLOBAL, PROJECT_NOT_FOUND};
use tillgate_base::app::App;
use tillgate_base::data::etag::{self, Etag, Preconditions, Written};
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::note::Note;
use tillgate_base::data::outbox::{Action, Event};
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, TenantId};
use tillgate_engine::condition::{ConditionId, Scope};
use tillgate_engine::restriction::ProjectId;
use tillgate_engine::tests;

use super::cache::{Content, PartitionCache};
use super::failing_tests::{Beside, OnFailingTests, test};
use super::history::{Entry, RECORDED, Recorded, Recorder};
use super::owner::Owner;
use super::stored::{StoredCondition, StoredProject};
use super::usage::{USED, Used};
use super::write_target::Target;
use super::{Conditions, INLINE};

/// The author of a write, and what must hold before.
#[derive(Clone, Debug)]
pub struct Editor {
    /// The author, as the history has it.
    pub by: By,
    /// The reason, in the author's words.
    pub note: Option<Note>,
    /// The preconditions that must hold.
    pub preconditions: Preconditions,
    /// The handling of failing tests of what is written.
    pub on_failing_tests: OnFailingTests,
}

/// A write of one document.
#[derive(Clone, Copy, Debug)]
struct Write<'a> {
    owner: Owner<'a>,
    target: &'a Target,
    editor: &'a Editor,
    /// Set if the document keeps the tests of the one that it replaces.
    keeps_tests: bool,
    /// The number of the document's tests that fail.
    failing_tests: usize,
}

/// A write that took effect.
#[derive(Debug)]
pub struct Put {
    /// The effect: created, replaced or unchanged.
    pub written: Written,
    /// The entity tag of the document before.
    pub before: Option<Etag>,
    /// The number of its tests that fail, which was accepted.
    pub failing_tests: usize,
}

impl Conditions {
    /// Creates or replaces a condition from a PUT's body.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body, [`Error::Conflict`] when a tenant's id is a global one,
    /// [`Error::FailingTests`] unless that is accepted, [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_condition(
        &self,
        owner: Owner<'_>,
        id: ConditionId,
        body: Body,
        editor: &Editor,
    ) -> Result<(Put, Arc<StoredCondition>)> {
        let scope = match owner {
            Owner::Platform => Scope::Global,
            Owner::Tenant(_) => Scope::Tenant,
        };
        let target = Target::condition(&id);
        self.refuse_global_id(owner, &target.key).await?;
        let before = self.content(owner).await?;
        let on_failing = editor.on_failing_tests;
        let read = self.read_condition(before, id, scope, body, on_failing);
        let (stored, keeps_tests, failing_tests) = read.await?;
        let write = Write {
            owner,
            target: &target,
            editor,
            keeps_tests,
            failing_tests,
        };
        let put = self.put(write, &stored.text.json()).await?;
        Ok((put, Arc::new(stored)))
    }

    /// Reads a PUT's body: the condition, whether it keeps the tests of the one before, and how many of its tests fail.
    pub(super) async fn read_condition(
        &self,
        before: Arc<Content>,
        id: ConditionId,
        scope: Scope,
        body: Body,
        on_failing: OnFailingTests,
    ) -> Result<(StoredCondition, bool, usize)> {
        let read = move |app: &App, body: &Body| {
            let before = before.conditions.get(id.as_str());
            let before = before.and_then(|stored| stored.text.tests());
            let (stored, keeps_tests) = StoredCondition::from_put(id, scope, body, before)?;
            let failing = test(app, Beside::Condition(None), &stored.text, on_failing)?;
            Ok((stored, keeps_tests, failing))
        };
        self.read_put(body, read).await
    }

    /// Deletes a condition. Returns the entity tag that it had.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`] when a tenant's id is a global one, [`Error::Outdated`] when a
    /// precondition does not hold.
    pub async fn delete_condition(
        &self,
        owner: Owner<'_>,
        id: &ConditionId,
        editor: &Editor,
    ) -> Result<Etag> {
        let target = Target::condition(id);
        self.refuse_global_id(owner, &target.key).await?;
        let write = Write {
            owner,
            target: &target,
            editor,
            keeps_tests: false,
            failing_tests: 0,
        };
        let missing = || Error::missing(CONDITION_NOT_FOUND, id);
        self.delete(write, missing).await
    }

    /// Creates or replaces a project from a PUT's body.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body, [`Error::FailingTests`] unless that is accepted,
    /// [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_project(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        body: Body,
        editor: &Editor,
    ) -> Result<(Put, Arc<StoredProject>)> {
        let before = self.content(Owner::Tenant(tenant)).await?;
        let on_failing = editor.on_failing_tests;
        let read = move |app: &App, body: &Body| {
            let before = before.projects.get(&id);
            let before = before.and_then(|stored| stored.text.tests());
            let (stored, keeps_tests) = StoredProject::from_put(id, body, before)?;
            let failing = test(app, Beside::Project, &stored.text, on_failing)?;
            Ok((stored, keeps_tests, failing))
        };
        let (stored, keeps_tests, failing_tests) = self.read_put(body, read).await?;
        let write = Write {
            owner: Owner::Tenant(tenant),
            target: &Target::project(id),
            editor,
            keeps_tests,
            failing_tests,
        };
        let put = self.put(write, &stored.text.json()).await?;
        Ok((put, Arc::new(stored)))
    }

    /// Reads a PUT's body and runs the tests in it; a long one off the threads that serve.
    async fn read_put<T: Send + 'static>(
        &self,
        body: Body,
        read: impl FnOnce(&App, &Body) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if body.len() <= INLINE {
            return read(&self.app, &body);
        }
        self.app.run_blocking(move |app| read(app, &body)).await?
    }

    /// Deletes a project. Returns the entity tag that it had.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`] when a precondition does not hold.
    pub async fn delete_project(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        editor: &Editor,
    ) -> Result<Etag> {
        let write = Write {
            owner: Owner::Tenant(tenant),
            target: &Target::project(id),
            editor,
            keeps_tests: false,
            failing_tests: 0,
        };
        let missing = || Error::missing(PROJECT_NOT_FOUND, id);
        self.delete(write, missing).await
    }

    /// Refuses a tenant's id that a global condition uses (`given.md` 2.1).
    async fn refuse_global_id(&self, owner: Owner<'_>, key: &str) -> Result<()> {
        let is_taken = match owner {
            Owner::Platform => false,
            Owner::Tenant(_) => self.global.records().get_bytes(key).await?.is_some(),
        };
        if is_taken {
            let detail = "a global condition has this id";
            return Err(Error::Conflict(ID_IS_GLOBAL, detail.to_owned()));
        }
        Ok(())
    }

    async fn put(&self, write: Write<'_>, document: &Bytes) -> Result<Put> {
        let Write {
            owner,
            target,
            editor,
            keeps_tests,
            failing_tests,
        } = write;
        let cache = self.cache(owner).await?;
        let records = cache.records();
        let recorder = Recorder::new(&self.app, records);
        let plan = async || {
            let Read {
                stored,
                used,
                recorded,
            } = Read::of(records, &target.key).await?;
            let etag = stored.as_ref().map(|stored| etag::of_text(&stored.record));
            editor.preconditions.check(etag.as_ref())?;
            let there = stored.as_ref().map(|stored| &stored.record);
            if keeps_tests && there.and_then(tests_in) != tests_in(document) {
                // The tests have changed since: those that ran are not those that would be kept.
                return Ok((Change::default(), None));
            }
            let put = Put {
                written: if there == Some(document) {
                    Written::Unchanged
                } else {
                    Written::new(stored.is_some())
                },
                before: etag,
                failing_tests,
            };
            let action = match put.written {
                Written::Created => Action::Created,
                Written::Replaced => Action::Replaced,
                Written::Unchanged => return Ok((Change::default(), Some(put))),
            };
            let mut change = Change::default();
            if matches!(owner, Owner::Tenant(_)) {
                let replaced = stored.as_ref().map(|stored| stored.record.len());
                let sizes = [replaced, Some(document.len())];
                self.count(&mut change, &cache, target.counted_as, used, sizes)
                    .await?;
            }
            change.expect(&target.key, stored.as_ref());
            change.put_bytes(&target.key, document.clone());
            change.notify(&target.key);
            self.publish(&mut change, records, owner, target, action, Some(document))
                .await?;
            let entry = write.entry(action, stored.as_ref());
            recorder
                .record(&mut change, recorded.as_ref(), &entry)
                .await?;
            Ok((change, Some(put)))
        };
        let put = records.change(plan).await?.ok_or(Error::Busy)?;
        cache.catch_up().await?;
        Ok(put)
    }

    async fn delete(&self, write: Write<'_>, missing: impl Fn() -> Error) -> Result<Etag> {
        let Write {
            owner,
            target,
            editor,
            ..
        } = write;
        let cache = self.cache(owner).await?;
        let records = cache.records();
        let recorder = Recorder::new(&self.app, records);
        let plan = async || {
            let Read {
                stored,
                used,
                recorded,
            } = Read::of(records, &target.key).await?;
            let stored = stored.ok_or_else(&missing)?;
            let etag = etag::of_text(&stored.record);
            editor.preconditions.check(Some(&etag))?;
            let action = Action::Deleted;
            let mut change = Change::default();
            if matches!(owner, Owner::Tenant(_)) {
                let sizes = [Some(stored.record.len()), None];
                self.count(&mut change, &cache, target.counted_as, used, sizes)
                    .await?;
            }
            change.expect(&target.key, Some(&stored));
            change.delete(&target.key);
            change.notify(&target.key);
            self.publish(&mut change, records, owner, target, action, None)
                .await?;
            let entry = write.entry(action, Some(&stored));
            recorder
                .record(&mut change, recorded.as_ref(), &entry)
                .await?;
            Ok((change, etag))
        };
        let before = records.change(plan).await?;
        cache.catch_up().await?;
        Ok(before)
    }

    /// Adds the event of a change of a tenant's document to the change's own commit.
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

    /// Returns what an owner has now.
    pub(super) async fn content(&self, owner: Owner<'_>) -> Result<Arc<Content>> {
        let cache = self.cache(owner).await?;
        cache.catch_up().await?;
        Ok(cache.content())
    }

    /// Returns the cache of what an owner writes.
    async fn cache(&self, owner: Owner<'_>) -> Result<Arc<PartitionCache>> {
        Ok(match owner {
            Owner::Platform => Arc::clone(&self.global),
            Owner::Tenant(id) => Arc::clone(self.tenant(id).await?.0.own()),
        })
    }
}

/// Returns the tests in a stored document.
fn tests_in(document: &Bytes) -> Option<&[u8]> {
    tests::split(document).map(|(_, tests)| tests)
}

/// The records that a write reads, all of one state of the partition.
struct Read {
    /// The JSON of the stored document, whose digest is its entity tag.
    stored: Option<Versioned<Bytes>>,
    /// The amount that its owner has, if that is counted.
    used: Option<Versioned<Used>>,
    /// The size of its owner's history.
    recorded: Option<Versioned<Recorded>>,
}

impl Read {
    async fn of(records: &Records, key: &str) -> Result<Self> {
        let keys = [key, USED, RECORDED].map(str::to_owned);
        let mut entries = records.entries(&keys).await?.into_iter();
        let mut next = || entries.next().flatten();
        let (stored, used, recorded) = (next(), next(), next());
        let stored = stored.map(|entry| Versioned {
            revision: entry.revision,
            record: entry.value,
        });
        let used = used.map(|entry| decode_entry(USED, &entry));
        let recorded = recorded.map(|entry| decode_entry(RECORDED, &entry));
        Ok(Self {
            stored,
            used: used.transpose()?,
            recorded: recorded.transpose()?,
        })
    }
}

impl<'a> Write<'a> {
    /// Returns its entry for the history.
    fn entry(self, action: Action, replaced: Option<&'a Versioned<Bytes>>) -> Entry<'a> {
        Entry {
            document: &self.target.key,
            action,
            replaced,
            by: &self.editor.by,
            note: self.editor.note.as_ref(),
            failing_tests: (self.failing_tests > 0).then_some(self.failing_tests),
        }
    }
}
