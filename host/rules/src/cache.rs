//! The cache of one partition: its conditions and projects, and the choice of its decisions for the log, as the store
//! has them.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use rpds::RedBlackTreeMapSync;
use tillgate_base::data::feed::{Changed, Subscriber, Subscription};
use tillgate_base::data::records::Records;
use tillgate_base::error::Result;
use tillgate_engine::condition::Scope;
use tillgate_engine::restriction::ProjectId;
use tillgate_store::clock::Clock;
use tokio::sync::watch;

use super::rule_json::RuleJson;
use super::stored::{StoredCondition, StoredProject};
use crate::decision_log::{CHOICE, Choice, Chosen};

pub(super) const CONDITION: &str = "condition/";
pub(super) const PROJECT: &str = "project/";

/// The prefixes of the keys of all records in a cache.
pub(super) const KEPT: &[&str] = &[CONDITION, PROJECT, CHOICE];

pub(super) fn condition_key(id: &str) -> String {
    format!("{CONDITION}{id}")
}

pub(super) fn project_key(id: ProjectId) -> String {
    format!("{PROJECT}{id}")
}

/// The conditions and projects of a partition, and the choice of its decisions for the log. A copy with one change
/// shares the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// By id.
    pub(super) conditions: RedBlackTreeMapSync<Arc<str>, Arc<StoredCondition>>,
    /// By id.
    pub(super) projects: RedBlackTreeMapSync<ProjectId, Arc<StoredProject>>,
    /// The bytes of their JSON.
    pub(super) condition_bytes: usize,
    pub(super) project_bytes: usize,
    /// The bytes of the conditions without their tests, which the module may have to prepare.
    pub(super) rule_bytes: usize,
    /// The choice of decisions for the log.
    pub(super) chosen: Chosen,
}

impl Content {
    /// Returns the bytes of all conditions and projects.
    pub(super) const fn bytes(&self) -> usize {
        self.condition_bytes + self.project_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.projects.is_empty() && self.choice() == Choice::None
    }

    pub(super) const fn choice(&self) -> Choice {
        self.chosen.decision_log
    }

    /// Applies the current value of a key in the store.
    fn set(&mut self, key: &str, value: Option<Bytes>, scope: Scope) {
        if let Some(id) = key.strip_prefix(CONDITION) {
            let read = value.map(|json| StoredCondition::read(json, scope));
            let read = read.transpose().unwrap_or_else(|cause| {
                // It is not in force, but does not keep the others from being read.
                tracing::error!(id, %cause, "a stored condition cannot be read");
                None
            });
            let before = self.conditions.get(id).map(|stored| &stored.text);
            self.condition_bytes -= before.map_or(0, RuleJson::size);
            self.rule_bytes -= before.map_or(0, |text| text.rule().len());
            let after = read.as_ref().map(|stored| &stored.text);
            self.condition_bytes += after.map_or(0, RuleJson::size);
            self.rule_bytes += after.map_or(0, |text| text.rule().len());
            match read {
                Some(stored) => self.conditions.insert_mut(id.into(), Arc::new(stored)),
                None => drop(self.conditions.remove_mut(id)),
            }
        } else if let Some(id) = key.strip_prefix(PROJECT).and_then(ProjectId::new) {
            let before = self.projects.get(&id);
            self.project_bytes -= before.map_or(0, |stored| stored.text.size());
            self.project_bytes += value.as_ref().map_or(0, Bytes::len);
            match value {
                Some(json) => {
                    let stored = StoredProject::read(id, json);
                    self.projects.insert_mut(id, Arc::new(stored));
                }
                None => drop(self.projects.remove_mut(&id)),
            }
        } else if key == CHOICE {
            self.chosen = chosen(value.as_deref());
        }
    }
}

/// Reads the choice in a record.
fn chosen(record: Option<&[u8]>) -> Chosen {
    let read = record.map(serde_json::from_slice::<Chosen>).transpose();
    let read = read.unwrap_or_else(|cause| {
        tracing::error!(%cause, "a tenant's choice of what goes into the decision log cannot be read");
        None
    });
    read.unwrap_or_default()
}

#[derive(Debug)]
pub(super) struct PartitionCache {
    records: Records,
    subscription: Subscription,
    scope: Scope,
    content: ArcSwap<Content>,
    changed: watch::Sender<()>,
}

impl PartitionCache {
    /// Creates an empty cache, which is filled by catching up.
    pub(super) fn new(records: Records, clock: Arc<dyn Clock>, scope: Scope) -> Self {
        let (store, partition) = (Arc::clone(records.store()), records.partition().clone());
        Self {
            subscription: Subscription::new(store, partition, clock),
            records,
            scope,
            content: ArcSwap::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Returns the records that are cached.
    pub(super) const fn records(&self) -> &Records {
        &self.records
    }

    /// Returns what the partition holds.
    pub(super) fn content(&self) -> Arc<Content> {
        self.content.load_full()
    }

    /// Returns what the partition holds, to look at but not to keep.
    pub(super) fn current(&self) -> Guard<Arc<Content>> {
        self.content.load()
    }

    /// Returns a receiver that changes when the content does.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Reads everything that the partition holds.
    async fn read_all(&self) -> Result<Content> {
        let mut content = Content::default();
        for prefix in KEPT {
            let mut pages = self.records.pages(prefix);
            while let Some(entries) = pages.next().await? {
                for (key, entry) in entries {
                    content.set(&key, Some(entry.value), self.scope);
                }
            }
        }
        Ok(content)
    }

    /// Returns the content with the records of some keys read again.
    async fn read_keys(&self, mut keys: Vec<String>) -> Result<Content> {
        keys.sort_unstable();
        keys.dedup();
        let entries = self.records.entries(&keys).await?;
        let mut content = Content::clone(&self.content());
        for (key, entry) in keys.iter().zip(entries) {
            content.set(key, entry.map(|entry| entry.value), self.scope);
        }
        Ok(content)
    }
}

impl Subscriber for PartitionCache {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    fn has_listeners(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    async fn apply(&self, changed: Changed) -> Result<()> {
        let content = match changed {
            Changed::Everything => self.read_all().await?,
            Changed::Keys(keys) => self.read_keys(keys).await?,
        };
        self.content.store(Arc::new(content));
        self.changed.send_replace(());
        Ok(())
    }
}
