//! The cache of one partition: its conditions and projects, in memory as the store has them.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use rpds::RedBlackTreeMapSync;
use tillgate_engine::condition::{EntityCondition, Scope};
use tillgate_engine::json::{self, Faults};
use tillgate_engine::restriction::{Project, ProjectId};
use tokio::sync::watch;

use super::document::{array, document};
use crate::clock::Clock;
use crate::data::etag::{self, Etag};
use crate::data::feed::{Changed, Subscriber, Subscription};
use crate::data::records::Records;
use crate::engine::Document;
use crate::error::{Error, Result};

const CONDITION: &str = "condition/";
const PROJECT: &str = "project/";

/// What the keys of all records of a cache begin with.
pub(super) const KEPT: &[&str] = &[CONDITION, PROJECT];

/// How many entries are read at once.
const PAGE: usize = 200;

/// The key of a condition.
pub(super) fn condition_key(id: &str) -> String {
    format!("{CONDITION}{id}")
}

/// The key of a project.
pub(super) fn project_key(id: ProjectId) -> String {
    format!("{PROJECT}{id}")
}

/// A condition, and how it is answered.
#[derive(Debug)]
pub struct StoredCondition {
    /// The condition.
    pub condition: EntityCondition,
    /// Its JSON, as stored and as answered.
    pub json: Bytes,
    /// Its entity tag.
    pub etag: Etag,
    /// What the module prepares when it is the only condition with its id.
    document: OnceLock<Document>,
}

impl StoredCondition {
    pub(super) fn new(condition: EntityCondition) -> Result<Self> {
        let json: Bytes = to_json(&condition)?;
        Ok(Self::with_json(condition, json))
    }

    fn with_json(condition: EntityCondition, json: Bytes) -> Self {
        Self {
            condition,
            etag: etag::of_text(&json),
            json,
            document: OnceLock::new(),
        }
    }

    /// What the module prepares when it is the only condition with its id.
    pub(super) fn document(&self) -> &Document {
        self.document.get_or_init(|| {
            let (own, none) = (array([&self.json].into_iter()), array([].into_iter()));
            match self.condition.scope {
                Scope::Global => document(own, none),
                Scope::Tenant => document(none, own),
            }
        })
    }

    fn read(json: Bytes, scope: Scope) -> Result<Self> {
        let document = json::Document::parse(&json)?;
        let mut faults = Faults::default();
        let read = EntityCondition::from_catalog(document.root(), scope, &mut faults);
        faults.none_or_error()?;
        let condition =
            read.ok_or_else(|| Error::Bug("a stored condition is malformed".to_owned()))?;
        Ok(Self::with_json(condition, json))
    }
}

/// A project, and how it is answered.
#[derive(Debug)]
pub struct StoredProject {
    /// Its id.
    pub id: ProjectId,
    /// What the module prepares: its JSON, as stored and as answered.
    pub document: Document,
    /// Its entity tag.
    pub etag: Etag,
}

impl StoredProject {
    /// The project of a PUT's body, as it will be stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body.
    pub fn from_put(id: ProjectId, body: &[u8]) -> Result<Self> {
        let document = json::Document::parse_members(body, Project::MEMBERS)?;
        let project = Project::from_put(id, &document)?;
        to_json(&project).map(|json| Self::read(id, json))
    }

    fn read(id: ProjectId, json: Bytes) -> Self {
        let etag = etag::of_text(&json);
        Self {
            id,
            document: Document::project(json),
            etag,
        }
    }

    /// The JSON of `{ "restrictions": [...] }`.
    ///
    /// # Errors
    /// [`Error::Bug`] when the stored project is malformed.
    pub fn restrictions(&self) -> Result<Bytes> {
        #[derive(serde::Deserialize, serde::Serialize)]
        struct Restrictions<'a> {
            #[serde(borrow)]
            restrictions: &'a serde_json::value::RawValue,
        }
        let read: Restrictions<'_> =
            serde_json::from_slice(self.json()).map_err(|cause| Error::Bug(cause.to_string()))?;
        to_json(&read)
    }

    /// Its JSON.
    #[must_use]
    pub const fn json(&self) -> &Bytes {
        self.document.text()
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<Bytes> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|cause| Error::Bug(cause.to_string()))
}

/// The conditions and projects of a partition. A copy with one changed shares the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// By id.
    pub(super) conditions: RedBlackTreeMapSync<Arc<str>, Arc<StoredCondition>>,
    /// By id.
    pub(super) projects: RedBlackTreeMapSync<ProjectId, Arc<StoredProject>>,
    /// The bytes of their JSON.
    pub(super) condition_bytes: usize,
    pub(super) project_bytes: usize,
}

impl Content {
    /// The bytes of everything.
    pub(super) const fn bytes(&self) -> usize {
        self.condition_bytes + self.project_bytes
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.projects.is_empty()
    }

    /// Applies what the store has under a key now.
    fn set(&mut self, key: &str, value: Option<Bytes>, scope: Scope) {
        if let Some(id) = key.strip_prefix(CONDITION) {
            let read = value.map(|json| StoredCondition::read(json, scope));
            let read = read.transpose().unwrap_or_else(|cause| {
                // It is not in force, and does not keep the others from being read.
                tracing::error!(id, %cause, "a stored condition cannot be read");
                None
            });
            let before = self.conditions.get(id);
            self.condition_bytes -= before.map_or(0, |stored| stored.json.len());
            self.condition_bytes += read.as_ref().map_or(0, |stored| stored.json.len());
            match read {
                Some(stored) => self.conditions.insert_mut(id.into(), Arc::new(stored)),
                None => drop(self.conditions.remove_mut(id)),
            }
        } else if let Some(id) = key.strip_prefix(PROJECT).and_then(ProjectId::new) {
            let before = self.projects.get(&id);
            self.project_bytes -= before.map_or(0, |stored| stored.json().len());
            self.project_bytes += value.as_ref().map_or(0, Bytes::len);
            match value {
                Some(json) => {
                    let stored = StoredProject::read(id, json);
                    self.projects.insert_mut(id, Arc::new(stored));
                }
                None => drop(self.projects.remove_mut(&id)),
            }
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct PartitionCache {
    records: Records,
    subscription: Subscription,
    scope: Scope,
    content: ArcSwap<Content>,
    changed: watch::Sender<()>,
}

impl PartitionCache {
    /// An empty cache, to be filled by catching up.
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

    /// The records that are cached.
    pub(super) const fn records(&self) -> &Records {
        &self.records
    }

    /// What the partition holds.
    pub(super) fn content(&self) -> Arc<Content> {
        self.content.load_full()
    }

    /// The same, to be looked at and not kept.
    pub(super) fn current(&self) -> Guard<Arc<Content>> {
        self.content.load()
    }

    /// Changes when the content does.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Reads everything that the partition holds.
    async fn read_all(&self) -> Result<Content> {
        let mut content = Content::default();
        for prefix in KEPT {
            let mut after: Option<String> = None;
            loop {
                let page = self.records.scan(prefix, after.as_deref(), PAGE).await?;
                after = page.entries.last().map(|(key, _)| key.clone());
                for (key, entry) in page.entries {
                    content.set(&key, Some(entry.value), self.scope);
                }
                if !page.more {
                    break;
                }
            }
        }
        Ok(content)
    }

    /// The content with the records of some keys read again.
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
