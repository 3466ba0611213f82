//! The conditions and projects of one partition, in memory, as the store has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use tillgate_engine::condition::{EntityCondition, Scope};
use tillgate_engine::json::{Document, Faults};
use tillgate_engine::restriction::{Project, ProjectId};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::engine::Source;
use crate::error::{Error, Result};
use crate::etag::{self, Etag};
use crate::follow::{Changed, Follow, Follower};
use crate::store::{Partition, Store};

const CONDITION: &str = "condition/";
const PROJECT: &str = "project/";

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
}

impl StoredCondition {
    pub(super) fn new(condition: EntityCondition) -> Result<Self> {
        let json: Bytes = to_json(&condition)?;
        let etag = etag::of_text(&json);
        Ok(Self {
            condition,
            json,
            etag,
        })
    }

    fn read(json: Bytes, scope: Scope) -> Result<Self> {
        let document = Document::parse(&json)?;
        let mut faults = Faults::default();
        let read = EntityCondition::from_catalog(document.root(), scope, &mut faults);
        faults.none_or_error()?;
        let condition = read.ok_or_else(|| Error::Bug("a stored condition is none".to_owned()))?;
        let etag = etag::of_text(&json);
        Ok(Self {
            condition,
            json,
            etag,
        })
    }
}

/// A project, and how it is answered.
#[derive(Debug)]
pub struct StoredProject {
    /// Its id.
    pub id: ProjectId,
    /// What the module prepares: its JSON, as stored and as answered.
    pub source: Source,
    /// Its entity tag.
    pub etag: Etag,
}

impl StoredProject {
    /// The project of a PUT's body, as it will be stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming what is wrong with the body.
    pub fn from_put(id: ProjectId, body: &[u8]) -> Result<Self> {
        let document = Document::parse(body)?;
        let project = Project::from_put(id, &document)?;
        to_json(&project).map(|json| Self::read(id, json))
    }

    fn read(id: ProjectId, json: Bytes) -> Self {
        let etag = etag::of_text(&json);
        Self {
            id,
            source: Source::project(json),
            etag,
        }
    }

    /// The JSON of `{ "restrictions": [...] }`.
    ///
    /// # Errors
    /// [`Error::Bug`] when what is stored is no project.
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
        self.source.text()
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<Bytes> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|cause| Error::Bug(cause.to_string()))
}

/// What a partition holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// By id.
    pub(super) conditions: BTreeMap<String, Arc<StoredCondition>>,
    /// By id.
    pub(super) projects: BTreeMap<ProjectId, Arc<StoredProject>>,
}

impl Content {
    /// Takes in what the store has under a key now.
    fn set(&mut self, key: &str, value: Option<Bytes>, scope: Scope) {
        if let Some(id) = key.strip_prefix(CONDITION) {
            match value {
                Some(json) => match StoredCondition::read(json, scope) {
                    Ok(stored) => {
                        self.conditions.insert(id.to_owned(), Arc::new(stored));
                    }
                    // It is not in force, and does not keep the others from being followed.
                    Err(cause) => {
                        tracing::error!(id, %cause, "a stored condition cannot be read");
                        self.conditions.remove(id);
                    }
                },
                None => drop(self.conditions.remove(id)),
            }
        } else if let Some(id) = key.strip_prefix(PROJECT).and_then(ProjectId::new) {
            match value {
                Some(json) => {
                    self.projects
                        .insert(id, Arc::new(StoredProject::read(id, json)));
                }
                None => drop(self.projects.remove(&id)),
            }
        }
    }
}

/// The conditions and projects of one partition.
#[derive(Debug)]
pub(super) struct Shelf {
    store: Arc<dyn Store>,
    follower: Follower,
    scope: Scope,
    content: ArcSwap<Content>,
    changed: watch::Sender<()>,
}

impl Shelf {
    /// An empty shelf, to be filled by catching up.
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        partition: Partition,
        scope: Scope,
    ) -> Self {
        Self {
            follower: Follower::new(Arc::clone(&store), partition, clock),
            store,
            scope,
            content: ArcSwap::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// What is on it.
    pub(super) fn content(&self) -> Arc<Content> {
        self.content.load_full()
    }

    /// Changes when what is on it does.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    async fn read_all(&self) -> Result<Content> {
        let mut content = Content::default();
        for prefix in [CONDITION, PROJECT] {
            let mut after: Option<String> = None;
            loop {
                let partition = self.follower.partition();
                let page = self
                    .store
                    .scan(partition, prefix, after.as_deref(), PAGE)
                    .await?;
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

    async fn read_keys(&self, mut keys: Vec<String>) -> Result<Content> {
        keys.sort_unstable();
        keys.dedup();
        let entries = self.store.get(self.follower.partition(), &keys).await?;
        let mut content = Content::clone(&self.content());
        for (key, entry) in keys.iter().zip(entries) {
            content.set(key, entry.map(|entry| entry.value), self.scope);
        }
        Ok(content)
    }
}

impl Follow for Shelf {
    fn follower(&self) -> &Follower {
        &self.follower
    }

    fn is_listened_to(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    async fn take_in(&self, changed: Changed) -> Result<()> {
        let content = match changed {
            Changed::Everything => self.read_all().await?,
            Changed::Keys(keys) => self.read_keys(keys).await?,
        };
        self.content.store(Arc::new(content));
        self.changed.send_replace(());
        Ok(())
    }
}
