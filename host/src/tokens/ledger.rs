//! What the token service keeps, as typed records: reading them, and changing them all at once or not at all.
//!
//! The keys of the partition stand in `mod.rs`. A change is planned from what was read, with a check for every record it
//! rests on, and planned again when someone else was faster. Knows the store and no rule.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::follow::tell;
use crate::store::{
    Check, Claimed, Commit, CommitError, CommitId, Entry, Job, Op, Page, Partition, Revision,
    Store, commit_surely,
};

/// How often a change is planned again when others change the same records.
const TRIES: usize = 32;

/// How many entries are read at once.
pub(super) const PAGE: usize = 500;

/// How long a due job is one worker's.
const LEASE: std::time::Duration = std::time::Duration::from_secs(30);

/// The partition of the token service.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    store: Arc<dyn Store>,
    partition: Partition,
    /// Held by a change that was overtaken, so that those of this host do not overtake each other for ever.
    again: Arc<tokio::sync::Mutex<()>>,
}

/// A record with the revision that a change may rest on.
#[derive(Debug)]
pub(super) struct Kept<T> {
    pub(super) revision: Revision,
    pub(super) record: T,
}

/// What is to be changed, and what it rests on.
#[derive(Debug, Default)]
pub(super) struct Change {
    checks: Vec<Check>,
    ops: Vec<Op>,
}

impl Change {
    /// Holds only when the record is as it was read.
    pub(super) fn rests_on<T>(&mut self, key: &str, read: Option<&Kept<T>>) {
        let key = key.to_owned();
        self.checks.push(match read {
            Some(kept) => Check::At(key, kept.revision),
            None => Check::Absent(key),
        });
    }

    /// Writes a record.
    pub(super) fn put(&mut self, key: &str, record: &impl Serialize) -> Result<()> {
        let json = serde_json::to_vec(record).map_err(|cause| Error::Bug(cause.to_string()))?;
        self.ops.push(Op::Put {
            key: key.to_owned(),
            value: json.into(),
        });
        Ok(())
    }

    /// Removes a record.
    pub(super) fn delete(&mut self, key: &str) {
        self.ops.push(Op::Delete {
            key: key.to_owned(),
        });
    }

    /// Tells every host that a record that is read from memory is another now.
    pub(super) fn tell(&mut self, key: &str) {
        self.ops.push(tell(key));
    }

    /// Has something done later.
    pub(super) fn enqueue(&mut self, queue: &str, job: &str, due: Timestamp) {
        let (queue, job) = (queue.to_owned(), job.to_owned());
        self.ops.push(Op::Enqueue {
            queue,
            job,
            due,
            body: Bytes::new(),
        });
    }

    /// Ends a job with the change.
    pub(super) fn settle(&mut self, queue: &str, job: &Job) {
        self.settle_with(queue, job, None);
    }

    /// Ends this turn of a job with the change: it is due again.
    pub(super) fn settle_until(&mut self, queue: &str, job: &Job, next: Timestamp) {
        self.settle_with(queue, job, Some(next));
    }

    fn settle_with(&mut self, queue: &str, job: &Job, next: Option<Timestamp>) {
        let (queue, lease) = (queue.to_owned(), job.lease);
        self.ops.push(Op::Settle {
            queue,
            job: job.id.clone(),
            lease,
            next,
        });
    }
}

impl Ledger {
    pub(super) fn new(store: Arc<dyn Store>, partition: Partition) -> Self {
        Self {
            store,
            partition,
            again: Arc::default(),
        }
    }

    pub(super) const fn partition(&self) -> &Partition {
        &self.partition
    }

    pub(super) const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The record of a key.
    pub(super) async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<Kept<T>>> {
        let mut entries = self.entries(&[key.to_owned()]).await?;
        entries
            .pop()
            .flatten()
            .map(|entry| read(key, &entry))
            .transpose()
    }

    /// The entries of some keys, of one state.
    pub(super) async fn entries(&self, keys: &[String]) -> Result<Vec<Option<Entry>>> {
        Ok(self.store.get(&self.partition, keys).await?)
    }

    /// Some entries after a key, by key.
    pub(super) async fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Result<Page> {
        Ok(self.store.scan(&self.partition, prefix, after, max).await?)
    }

    /// Every record under a prefix, with what follows the prefix in its key.
    pub(super) async fn all<T: DeserializeOwned>(&self, prefix: &str) -> Result<Vec<(String, T)>> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = self.scan(prefix, after.as_deref(), PAGE).await?;
            for (key, entry) in &page.entries {
                let name = key.strip_prefix(prefix).unwrap_or(key).to_owned();
                all.push((name, read(key, entry)?.record));
            }
            after = page.entries.last().map(|(key, _)| key.clone());
            if !page.more || after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Jobs that are due.
    pub(super) async fn claim(&self, queue: &str, max: usize) -> Result<Claimed> {
        Ok(self.store.claim(&self.partition, queue, LEASE, max).await?)
    }

    /// Plans a change and makes it; plans again when what it rests on has changed meanwhile.
    pub(super) async fn change<T, P>(&self, plan: impl Fn() -> P) -> Result<T>
    where
        P: Future<Output = Result<(Change, T)>>,
    {
        let mut alone = None;
        for _ in 0..TRIES {
            let (change, planned) = plan().await?;
            if change.ops.is_empty() || self.commit(change).await? {
                return Ok(planned);
            }
            if alone.is_none() {
                alone = Some(self.again.lock().await);
            }
        }
        Err(Error::Busy)
    }

    /// Makes a change; answers whether what it rests on was still so.
    async fn commit(&self, change: Change) -> Result<bool> {
        let Change { checks, ops } = change;
        let commit = Commit {
            partition: self.partition.clone(),
            id: CommitId::random(),
            checks,
            ops,
        };
        match commit_surely(self.store.as_ref(), commit).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict(_)) => Ok(false),
            Err(cause) => Err(cause.into()),
        }
    }
}

/// The record of an entry.
pub(super) fn read<T: DeserializeOwned>(key: &str, entry: &Entry) -> Result<Kept<T>> {
    let record = serde_json::from_slice(&entry.value);
    let record = record.map_err(|cause| Error::Bug(format!("{key} is damaged: {cause}")))?;
    Ok(Kept {
        revision: entry.revision,
        record,
    })
}
