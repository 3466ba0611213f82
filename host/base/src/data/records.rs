//! Typed records over the store: how features read and change their data.
//!
//! A [`Records`] is bound to one partition of the store. A change is planned from what was read: the plan names the
//! versions that it expects, the operations that follow from them, and the jobs, messages and change notices that move
//! in the same commit. When another writer was faster, the change is planned again from what is there now. Other features
//! add to a change through the outbox (`outbox.rs`).

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tillgate_store::clock::Timestamp;
use tillgate_store::{
    Check, Commit, CommitError, CommitId, Committed, Entry, Job, Op, Page, Partition, Revision,
    Store, commit_surely,
};

use super::feed::change_notice;
use crate::error::{Error, Result};
use crate::load::budget::Limit;
use crate::load::semaphore::{FairSemaphore, Permit};

/// How often a change is planned, when other writers change the same records.
const MAX_ATTEMPTS: usize = 32;

/// How many entries are read at once.
pub const PAGE: usize = 500;

/// How many changes of a partition are planned again at once.
const ONE: Limit = Limit {
    all: usize::MAX,
    each: 1,
};

/// The records of one partition.
#[derive(Clone, Debug)]
pub struct Records {
    store: Arc<dyn Store>,
    partition: Partition,
    /// Changes that are planned again need a permit, one of each partition has it at a time: so the writers of this host do
    /// not overtake each other forever.
    retrying: Arc<FairSemaphore<Partition>>,
}

/// A record, and the version that a change may expect.
#[derive(Clone, Debug)]
pub struct Versioned<T> {
    /// The commit that wrote it.
    pub revision: Revision,
    /// What it says.
    pub record: T,
}

/// What a commit is to change, and the versions that it expects.
#[derive(Clone, Debug, Default)]
pub struct Change {
    checks: Vec<Check>,
    ops: Vec<Op>,
}

/// The encoded records under a prefix, read page by page.
#[derive(Debug)]
pub struct Pages<'r> {
    records: &'r Records,
    prefix: &'r str,
    after: Option<String>,
    is_over: bool,
}

impl Pages<'_> {
    /// The next page, with at least one record; `None` when all are read.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, Entry)>>> {
        if self.is_over {
            return Ok(None);
        }
        let (prefix, after) = (self.prefix, self.after.as_deref());
        let page = self.records.scan(prefix, after, PAGE).await?;
        self.after = page.entries.last().map(|(key, _)| key.clone());
        self.is_over = !page.more;
        Ok((!page.entries.is_empty()).then_some(page.entries))
    }
}

impl Change {
    /// The change takes effect only while the record is as it was read; with `None`, only while there is none.
    pub fn expect<T>(&mut self, key: &str, read: Option<&Versioned<T>>) {
        let key = key.to_owned();
        self.checks.push(match read {
            Some(read) => Check::At(key, read.revision),
            None => Check::Absent(key),
        });
    }

    /// Writes a record as JSON.
    ///
    /// # Errors
    /// [`Error::Bug`] for a record that has no JSON form.
    pub fn put(&mut self, key: &str, record: &impl Serialize) -> Result<()> {
        let json = serde_json::to_vec(record).map_err(|cause| Error::Bug(cause.to_string()))?;
        self.put_bytes(key, json.into());
        Ok(())
    }

    /// Writes a record that is encoded already.
    pub fn put_bytes(&mut self, key: &str, value: Bytes) {
        let key = key.to_owned();
        self.ops.push(Op::Put { key, value });
    }

    /// Removes a record.
    pub fn delete(&mut self, key: &str) {
        let key = key.to_owned();
        self.ops.push(Op::Delete { key });
    }

    /// Appends a change notice: every host that caches the record refreshes it (`feed.rs`).
    pub fn notify(&mut self, key: &str) {
        self.ops.push(change_notice(key));
    }

    /// Appends a message to a log.
    pub fn append(&mut self, log: &str, attributes: Vec<(String, String)>, body: Bytes) {
        let log = log.to_owned();
        self.ops.push(Op::Append {
            log,
            attributes,
            body,
        });
    }

    /// Puts a job on a queue. A job of the same id takes the place of the one before.
    pub fn enqueue(&mut self, queue: &str, job: &str, due: Timestamp, body: Bytes) {
        let (queue, job) = (queue.to_owned(), job.to_owned());
        self.ops.push(Op::Enqueue {
            queue,
            job,
            due,
            body,
        });
    }

    /// Ends a claimed job with this change. The change fails when the lease was lost.
    pub fn settle(&mut self, queue: &str, job: &Job) {
        self.settle_with(queue, job, None);
    }

    /// Ends this attempt at a claimed job with this change; the job is due again at `next`.
    pub fn settle_until(&mut self, queue: &str, job: &Job, next: Timestamp) {
        self.settle_with(queue, job, Some(next));
    }

    fn settle_with(&mut self, queue: &str, job: &Job, next: Option<Timestamp>) {
        self.ops.push(Op::Settle {
            queue: queue.to_owned(),
            job: job.id.clone(),
            lease: job.lease,
            next,
        });
    }

    /// Adds all that another change is to change.
    pub fn add(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.ops.extend(other.ops);
    }

    /// How many bytes of values and bodies it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let content = |op: &Op| match op {
            Op::Put { value, .. } => value.len(),
            Op::Append { body, .. } | Op::Enqueue { body, .. } => body.len(),
            Op::Delete { .. } | Op::Settle { .. } => 0,
        };
        self.ops.iter().map(content).sum()
    }

    /// Whether nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

impl Records {
    /// The records of a partition.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition) -> Self {
        Self {
            store,
            partition,
            retrying: FairSemaphore::new(ONE),
        }
    }

    /// The records of another partition of the same store.
    #[must_use]
    pub fn in_partition(&self, partition: Partition) -> Self {
        Self {
            store: Arc::clone(&self.store),
            partition,
            retrying: Arc::clone(&self.retrying),
        }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The record of a key.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Bug`] when the record is damaged.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<Versioned<T>>> {
        let entry = self.get_bytes(key).await?;
        entry.map(|entry| decode_entry(key, &entry)).transpose()
    }

    /// The encoded record of a key.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn get_bytes(&self, key: &str) -> Result<Option<Entry>> {
        Ok(self.entries(&[key.to_owned()]).await?.pop().flatten())
    }

    /// The encoded records of some keys, in that order, of one state of the partition.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn entries(&self, keys: &[String]) -> Result<Vec<Option<Entry>>> {
        Ok(self.store.get(&self.partition, keys).await?)
    }

    /// Up to `max` encoded records whose key starts with `prefix` and comes after `after`, by key.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Result<Page> {
        Ok(self.store.scan(&self.partition, prefix, after, max).await?)
    }

    /// Every record under a prefix, by key; each with the part of its key that follows the prefix.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Bug`] when a record is damaged.
    pub async fn all<T: DeserializeOwned>(&self, prefix: &str) -> Result<Vec<(String, T)>> {
        let mut all = Vec::new();
        let mut pages = self.pages(prefix);
        while let Some(entries) = pages.next().await? {
            for (key, entry) in &entries {
                let name = key.strip_prefix(prefix).unwrap_or(key).to_owned();
                all.push((name, decode_entry(key, entry)?.record));
            }
        }
        Ok(all)
    }

    /// The encoded records under a prefix, by key, page by page.
    #[must_use]
    pub fn pages<'r>(&'r self, prefix: &'r str) -> Pages<'r> {
        Pages {
            records: self,
            prefix,
            after: None,
            is_over: false,
        }
    }

    /// How many jobs a queue has, counted up to `max`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn queued(&self, queue: &str, max: usize) -> Result<usize> {
        Ok(self.store.queued(&self.partition, queue, max).await?)
    }

    /// The record of a key; where there is none, `new` is written first. Answers whether it was. When several hosts do this
    /// at once, one of them writes, and the others take what it wrote.
    ///
    /// # Errors
    /// As [`Records::change`].
    pub async fn get_or_put<T>(&self, key: &str, new: &T) -> Result<(T, bool)>
    where
        T: Clone + DeserializeOwned + Serialize,
    {
        let plan = async || {
            let mut change = Change::default();
            if let Some(read) = self.get::<T>(key).await? {
                return Ok((change, (read.record, false)));
            }
            change.expect::<T>(key, None);
            change.put(key, new)?;
            change.notify(key);
            Ok((change, (new.clone(), true)))
        };
        self.change(plan).await
    }

    /// Plans a change and commits it; plans again when a version that it expects is not the current one any more, or when
    /// the plan fails with [`Error::Busy`]. A plan without operations is not committed. Answers what the plan that took
    /// effect answered.
    ///
    /// # Errors
    /// What the plan fails with; [`Error::Busy`] when other writers were faster every time;
    /// [`Error::Conflict`] when the lease of a job that it settles was lost; when the store is unavailable.
    pub async fn change<T, P>(&self, plan: impl Fn() -> P) -> Result<T>
    where
        P: Future<Output = Result<(Change, T)>>,
    {
        // Who comes while another plans again waits for that one.
        let mut permit = if self.retrying.is_in_use(&self.partition) {
            Some(self.permit().await?)
        } else {
            None
        };
        for _ in 0..MAX_ATTEMPTS {
            match plan().await {
                Ok((change, planned)) => {
                    if change.is_empty() || self.commit(change).await?.is_some() {
                        return Ok(planned);
                    }
                }
                // What it has read is inconsistent: other writers were faster in between.
                Err(Error::Busy) => {}
                Err(cause) => return Err(cause),
            }
            if permit.is_none() {
                permit = Some(self.permit().await?);
            }
        }
        Err(Error::Busy)
    }

    /// Commits a change; `None` when a version that it expects is not the current one.
    ///
    /// # Errors
    /// As [`Records::change`].
    pub async fn commit(&self, change: Change) -> Result<Option<Committed>> {
        let Change { checks, ops } = change;
        let commit = Commit {
            partition: self.partition.clone(),
            id: CommitId::random(),
            checks,
            ops,
        };
        match commit_surely(self.store.as_ref(), commit).await {
            Ok(committed) => Ok(Some(committed)),
            Err(CommitError::Conflict(_)) => Ok(None),
            Err(cause) => Err(cause.into()),
        }
    }

    async fn permit(&self) -> Result<Permit<Partition>> {
        let permit = self.retrying.acquire(self.partition.clone(), ()).await;
        permit.ok_or_else(|| Error::Bug("a permit was lost".to_owned()))
    }
}

/// The record of an entry.
///
/// # Errors
/// [`Error::Bug`] when it is damaged.
pub fn decode_entry<T: DeserializeOwned>(key: &str, entry: &Entry) -> Result<Versioned<T>> {
    let record = serde_json::from_slice(&entry.value);
    let record = record.map_err(|cause| Error::Bug(format!("{key} is damaged: {cause}")))?;
    Ok(Versioned {
        revision: entry.revision,
        record,
    })
}
