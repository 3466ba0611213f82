//! Typed records over the store: how features read and change their data.
//!
//! [`Records`] are bound to one partition of the store. A change is planned from the records that were read: the plan
//! lists the versions that it expects, the operations that follow from them, and the jobs, messages and change notices
//! of the same commit. If another writer was faster, the change is planned again from the current records. Other
//! features add to a change through the outbox (`outbox.rs`).

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

/// The most times that a change is planned while other writers change the same records.
const MAX_ATTEMPTS: usize = 32;

/// The number of entries that are read at once.
pub const PAGE: usize = 500;

/// One change of a partition is planned again at a time.
const ONE: Limit = Limit {
    all: usize::MAX,
    each: 1,
};

/// The records of one partition.
#[derive(Clone, Debug)]
pub struct Records {
    store: Arc<dyn Store>,
    partition: Partition,
    /// Permits for changes that are planned again. One change of each partition has a permit at a time, so that the
    /// writers of this host do not overtake each other forever.
    retrying: Arc<FairSemaphore<Partition>>,
}

/// A record, and the version that a change may expect.
#[derive(Clone, Debug)]
pub struct Versioned<T> {
    /// The commit that wrote it.
    pub revision: Revision,
    /// The record itself.
    pub record: T,
}

/// The checks and operations of a commit: the versions that it expects, and what it changes.
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
    /// Returns the next page, with at least one record, or `None` when all are read.
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
    /// Lets the change take effect only if the record is still as it was read; with `None`, only if there is none.
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

    /// Writes a record that is already encoded.
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

    /// Puts a job on a queue. It replaces an earlier job with the same id.
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
    pub fn retry_at(&mut self, queue: &str, job: &Job, next: Timestamp) {
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

    /// Adds everything in another change.
    pub fn add(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.ops.extend(other.ops);
    }

    /// Returns the size of its values and bodies, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let content = |op: &Op| match op {
            Op::Put { value, .. } => value.len(),
            Op::Append { body, .. } | Op::Enqueue { body, .. } => body.len(),
            Op::Delete { .. } | Op::Settle { .. } => 0,
        };
        self.ops.iter().map(content).sum()
    }

    /// Returns whether the change has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

impl Records {
    /// Returns the records of a partition.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition) -> Self {
        Self {
            store,
            partition,
            retrying: FairSemaphore::new(ONE),
        }
    }

    /// Returns the records of another partition of the same store.
    #[must_use]
    pub fn in_partition(&self, partition: Partition) -> Self {
        Self {
            store: Arc::clone(&self.store),
            partition,
            retrying: Arc::clone(&self.retrying),
        }
    }

    /// Returns the partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Returns the store.
    #[must_use]
    pub const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Reads the record of a key.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Bug`] when the record is damaged.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<Versioned<T>>> {
        let entry = self.get_bytes(key).await?;
        entry.map(|entry| decode_entry(key, &entry)).transpose()
    }

    /// Reads the encoded record of a key.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn get_bytes(&self, key: &str) -> Result<Option<Entry>> {
        Ok(self.entries(&[key.to_owned()]).await?.pop().flatten())
    }

    /// Reads the encoded records of some keys, in that order, from one state of the partition.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn entries(&self, keys: &[String]) -> Result<Vec<Option<Entry>>> {
        Ok(self.store.get(&self.partition, keys).await?)
    }

    /// Reads up to `max` encoded records whose key starts with `prefix` and comes after `after`, in key order.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Result<Page> {
        Ok(self.store.scan(&self.partition, prefix, after, max).await?)
    }

    /// Reads every record under a prefix, in key order; each comes with the part of its key that follows the prefix.
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

    /// Returns the encoded records under a prefix, in key order, page by page.
    #[must_use]
    pub fn pages<'r>(&'r self, prefix: &'r str) -> Pages<'r> {
        Pages {
            records: self,
            prefix,
            after: None,
            is_over: false,
        }
    }

    /// Counts the jobs of a queue, up to `max`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn queued(&self, queue: &str, max: usize) -> Result<usize> {
        Ok(self.store.queued(&self.partition, queue, max).await?)
    }

    /// Reads the record of a key, or writes `new` if there is none. Also returns whether it was written. If several
    /// hosts do this at once, one of them writes, and the others get its record.
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

    /// Plans a change and commits it. It plans again if a version that it expects is no longer current, or if the plan
    /// fails with [`Error::Busy`]. A plan without operations is not committed. Returns the result of the plan that took
    /// effect.
    ///
    /// # Errors
    /// The error of the plan; [`Error::Busy`] when other writers were faster every time; [`Error::Conflict`] when the
    /// lease of a job that it settles was lost; when the store is unavailable.
    pub async fn change<T, P>(&self, plan: impl Fn() -> P) -> Result<T>
    where
        P: Future<Output = Result<(Change, T)>>,
    {
        // While another change is planned again, this one waits for it.
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
                // The plan read inconsistent records: other writers were faster in between.
                Err(Error::Busy) => {}
                Err(cause) => return Err(cause),
            }
            if permit.is_none() {
                permit = Some(self.permit().await?);
            }
        }
        Err(Error::Busy)
    }

    /// Commits a change. Returns `None` if a version that it expects is not the current one.
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

/// Decodes the record of an entry.
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
