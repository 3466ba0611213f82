//! Copying a store into another one, whatever they are: the way from one machine to many, and back.
//!
//! What is copied: entries with their revisions, logs with order, publish times, positions and what was trimmed, jobs
//! with due times and attempts, and what each partition counts (revision, publish time, leases), so that all of these go
//! on where they were. What is not: leases that run (a job under one is due when it ends, and its holder cannot settle
//! it any more), and the ids of commits (a commit whose outcome is unknown must not be repeated at the other store).
//! Nobody may use either store meanwhile. A copy that was interrupted goes on where it was when it is started again.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Commit, CommitId, Entry, Lease, MAX_COMMIT_BYTES, Message, Op, Partition, Position, Revision,
    Store, Unavailable, commit_surely,
};
use crate::clock::Timestamp;

/// The partition that tells what is being copied into a store. No tenant has a name with a space.
const ABOUT: &str = "copied store";

/// The key of what is copied, whose value names its source, and of whether it is finished.
const SOURCE: &str = "from";
const FINISHED: &str = "finished";

/// How many partitions, entries, messages or jobs are read at once.
const PAGE: usize = 500;

/// How many bytes are put at once, some more than these: 4 MiB.
const PART_BYTES: usize = MAX_COMMIT_BYTES / 8;

/// A store that lays open what is in it, so that it can be copied.
#[async_trait]
pub trait Portable: Store {
    /// What a partition holds besides entries.
    async fn outline(&self, partition: &Partition) -> Result<Outline, Unavailable>;

    /// Up to `max` jobs of a queue after one, in the order in which they are due; those of one moment by id.
    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&Waiting>,
        max: usize,
    ) -> Result<Vec<Waiting>, Unavailable>;

    /// Puts a part of what another store had, as it was there. No commit: it has no revision, and nobody hears of it.
    /// A repeat changes nothing. The partition is not listed before its [`Part::Head`] is put.
    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable>;
}

/// What a partition counts, and the names of its logs and queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// What it counts.
    pub head: Head,
    /// The ends of its logs.
    pub logs: BTreeMap<String, Ends>,
    /// The names of its queues, some of which may be empty.
    pub queues: Vec<String>,
}

/// What a partition counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its newest commit; 0 when there was none.
    pub revision: Revision,
    /// The newest publish time.
    pub at: Timestamp,
    /// The newest lease.
    pub lease: Lease,
}

/// The ends of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The newest position ever appended.
    pub last: Position,
    /// The newest position that was trimmed.
    pub trimmed: Position,
}

/// A job that waits, or is under a lease until it is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its id within the queue.
    pub id: String,
    /// When it may be claimed.
    pub due: Timestamp,
    /// How often it was claimed.
    pub attempt: u32,
    /// What to do.
    pub body: Bytes,
}

/// A part of a partition.
#[derive(Clone, Debug)]
pub enum Part {
    /// Some entries.
    Entries(Vec<(String, Entry)>),
    /// Some messages of a log, oldest first, all newer than those that are there.
    Messages(String, Vec<Message>),
    /// The ends of a log whose messages are all there.
    Ends(String, Ends),
    /// Some jobs of a queue.
    Jobs(String, Vec<Waiting>),
    /// What the partition counts; last.
    Head(Head),
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Whether it compares already.
    pub comparing: bool,
    /// Whole partitions.
    pub partitions: u64,
    /// Entries.
    pub entries: u64,
    /// Messages.
    pub messages: u64,
    /// Jobs.
    pub jobs: u64,
}

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the stores is away: start it again, and it goes on.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The target holds something that is no part of this copy.
    #[error("{0}")]
    Occupied(String),
    /// They differ, though all was copied.
    #[error("the stores differ in the partition {partition:?}: {what}; was one of them in use?")]
    Different {
        /// Where.
        partition: Partition,
        /// In what.
        what: String,
    },
}

/// A copy from one store into another.
pub struct Copying<'a> {
    from: &'a dyn Portable,
    to: &'a dyn Portable,
    progress: Progress,
    tell: &'a mut (dyn FnMut(&Progress) + Send),
}

/// Copies all of a store, whose name is only compared, into an empty one or one with the beginning of this copy; then
/// compares them. Answers what there is.
///
/// # Errors
/// When a store is away, the target holds something else, or they differ in the end.
pub async fn copy(
    (from, name): (&dyn Portable, &str),
    to: &dyn Portable,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Progress, CopyError> {
    begin(to, name).await?;
    let mut copying = Copying {
        from,
        to,
        progress: Progress::default(),
        tell,
    };
    copying.all().await?;
    copying.progress = Progress {
        comparing: true,
        ..Progress::default()
    };
    copying.all().await?;
    note(to, FINISHED, name).await?;
    Ok(copying.progress)
}

/// Notes in the target what is copied into it, unless something else is there.
async fn begin(to: &dyn Portable, name: &str) -> Result<(), CopyError> {
    let keys = [SOURCE.to_owned(), FINISHED.to_owned()];
    let noted = to.get(&about(), &keys).await?;
    if let [source, finished] = noted.as_slice() {
        if finished.is_some() {
            return Err(CopyError::Occupied(
                "the copy into this store is finished".to_owned(),
            ));
        }
        if let Some(source) = source {
            if source.value == name {
                return Ok(());
            }
            let other = String::from_utf8_lossy(&source.value);
            return Err(CopyError::Occupied(format!(
                "this store holds the beginning of a copy of {other}"
            )));
        }
    }
    if !to.partitions(None, 1).await?.is_empty() {
        return Err(CopyError::Occupied(
            "the store to copy into is not empty".to_owned(),
        ));
    }
    note(to, SOURCE, name).await
}

async fn note(to: &dyn Portable, key: &str, value: &str) -> Result<(), CopyError> {
    let put = Op::Put {
        key: key.to_owned(),
        value: Bytes::copy_from_slice(value.as_bytes()),
    };
    let commit = Commit {
        partition: about(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![put],
    };
    let noted = commit_surely(to, commit).await;
    noted
        .map(drop)
        .map_err(|cause| Unavailable(cause.to_string()).into())
}

fn about() -> Partition {
    Partition::named(ABOUT)
}

impl Copying<'_> {
    /// Copies, or compares, every partition but those that tell of copies.
    async fn all(&mut self) -> Result<(), CopyError> {
        let mut after: Option<String> = None;
        loop {
            let page = self.from.partitions(after.as_deref(), PAGE).await?;
            for partition in page.iter().filter(|partition| **partition != about()) {
                self.partition(partition).await?;
                self.progress.partitions += 1;
                self.tell();
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.as_str().to_owned()),
                _ => return Ok(()),
            }
        }
    }

    async fn partition(&mut self, partition: &Partition) -> Result<(), CopyError> {
        let theirs = self.from.outline(partition).await?;
        let ours = self.to.outline(partition).await?;
        let whole = ours.head == theirs.head;
        if self.progress.comparing && (!whole || ours.logs != theirs.logs) {
            return Err(different(partition, "what is counted"));
        }
        // One that has its head was copied as a whole before.
        if !self.progress.comparing && whole {
            return Ok(());
        }
        self.entries(partition).await?;
        for (log, ends) in &theirs.logs {
            let there = ours.logs.get(log).copied().unwrap_or_default();
            self.messages(partition, log, *ends, there.last).await?;
        }
        for queue in &theirs.queues {
            self.jobs(partition, queue).await?;
        }
        if !self.progress.comparing {
            self.to.restore(partition, Part::Head(theirs.head)).await?;
        }
        Ok(())
    }

    async fn entries(&mut self, partition: &Partition) -> Result<(), CopyError> {
        let mut after: Option<String> = None;
        loop {
            let page = self
                .from
                .scan(partition, "", after.as_deref(), PAGE)
                .await?;
            if self.progress.comparing {
                let copied = self.to.scan(partition, "", after.as_deref(), PAGE).await?;
                if copied != page {
                    return Err(different(partition, "entries"));
                }
            }
            let (more, last) = (page.more, page.entries.last().map(|(key, _)| key.clone()));
            for part in parts(page.entries, |(key, entry)| key.len() + entry.value.len()) {
                self.progress.entries += count(&part);
                self.put(partition, Part::Entries(part)).await?;
            }
            if !more || last.is_none() {
                return Ok(());
            }
            after = last;
        }
    }

    /// What is there already of a log is not copied again.
    async fn messages(
        &mut self,
        partition: &Partition,
        log: &str,
        ends: Ends,
        there: Position,
    ) -> Result<(), CopyError> {
        let comparing = self.progress.comparing;
        let mut after = if comparing {
            Position::default()
        } else {
            there
        };
        loop {
            let slice = self.from.read(partition, log, after, PAGE).await?;
            if comparing && self.to.read(partition, log, after, PAGE).await? != slice {
                return Err(different(partition, &format!("the log {log}")));
            }
            let Some(last) = slice.messages.last().map(|message| message.position) else {
                return self.put(partition, Part::Ends(log.to_owned(), ends)).await;
            };
            after = last;
            for part in parts(slice.messages, |message| message.body.len()) {
                self.progress.messages += count(&part);
                self.put(partition, Part::Messages(log.to_owned(), part))
                    .await?;
            }
        }
    }

    async fn jobs(&mut self, partition: &Partition, queue: &str) -> Result<(), CopyError> {
        let mut after: Option<Waiting> = None;
        loop {
            let page = self
                .from
                .jobs(partition, queue, after.as_ref(), PAGE)
                .await?;
            if self.progress.comparing {
                let copied = self
                    .to
                    .jobs(partition, queue, after.as_ref(), page.len())
                    .await?;
                if copied != page {
                    return Err(different(partition, &format!("the queue {queue}")));
                }
            }
            if page.is_empty() {
                return Ok(());
            }
            after = page.last().cloned();
            for part in parts(page, |job| job.body.len()) {
                self.progress.jobs += count(&part);
                self.put(partition, Part::Jobs(queue.to_owned(), part))
                    .await?;
            }
        }
    }

    /// Puts a part, unless this only compares.
    async fn put(&mut self, partition: &Partition, part: Part) -> Result<(), CopyError> {
        self.tell();
        if !self.progress.comparing {
            self.to.restore(partition, part).await?;
        }
        Ok(())
    }

    fn tell(&mut self) {
        (self.tell)(&self.progress);
    }
}

fn different(partition: &Partition, what: &str) -> CopyError {
    CopyError::Different {
        partition: partition.clone(),
        what: what.to_owned(),
    }
}

fn count<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}

/// Items in groups of not much more than [`PART_BYTES`].
fn parts<T>(items: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut parts, mut size) = (Vec::new(), usize::MAX);
    for item in items {
        if size >= PART_BYTES {
            parts.push(Vec::new());
            size = 0;
        }
        size += bytes(&item);
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts
}
