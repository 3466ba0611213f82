//! Copies a store into another one of any kind: the way from one machine to many, and back.
//!
//! A copy has the entries with their revisions; logs with their order, publish times, positions and trimmed position;
//! jobs with due times and attempts; and the counters of each partition (revision, publish time, lease), so that all of
//! these continue where they were. It does not have running leases (a job under a lease is due when the lease ends, and
//! its holder can no longer settle it) or the ids of commits (a commit whose outcome is unknown must not be repeated at
//! the other store). Neither store may be in use meanwhile. An interrupted copy continues when it is started again.

use bytes::Bytes;

use super::contract::{
    Commit, CommitId, MAX_COMMIT_BYTES, Op, Partition, Position, Unavailable, commit_surely,
};
use super::portable::{LogBounds, Part, Portable, QueuedJob};

/// The partition of the target that records what is copied into it; tenants' names contain no space.
const RECORD: &str = "copied store";

/// The keys of that partition: the name of the source, and the mark of a finished copy.
const SOURCE: &str = "from";
const FINISHED: &str = "finished";

/// The number of partitions, entries, messages or jobs to read at once.
const PAGE: usize = 500;

/// The number of bytes at which a part is full: 4 MiB. The last item may exceed it.
const PART_BYTES: usize = MAX_COMMIT_BYTES / 8;

/// The progress of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// True if everything is copied and is now being compared.
    pub comparing: bool,
    /// Complete partitions.
    pub partitions: u64,
    /// Entries.
    pub entries: u64,
    /// Messages.
    pub messages: u64,
    /// Jobs.
    pub jobs: u64,
}

/// The reason a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the stores is unavailable: start the copy again, and it continues.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The target contains something that is not part of this copy.
    #[error("{0}")]
    Occupied(String),
    /// The stores differ, although everything was copied.
    #[error("the stores differ in the partition {partition:?}: {what}; was one of them in use?")]
    Different {
        /// The partition that differs.
        partition: Partition,
        /// The part of it that differs.
        what: String,
    },
}

/// A copy in progress.
struct Copier<'a> {
    from: &'a dyn Portable,
    to: &'a dyn Portable,
    progress: Progress,
    report: &'a mut (dyn FnMut(&Progress) + Send),
}

/// Copies a store into an empty one, or into one with the beginning of this copy, then compares the two. `name`
/// identifies the source when an interrupted copy is continued. Returns what was compared.
///
/// # Errors
/// When a store is unavailable, the target contains something else, or the stores differ in the end.
pub async fn copy(
    (from, name): (&dyn Portable, &str),
    to: &dyn Portable,
    report: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Progress, CopyError> {
    begin(to, name).await?;
    let mut copier = Copier {
        from,
        to,
        progress: Progress::default(),
        report,
    };
    copier.run().await?;
    copier.progress = Progress {
        comparing: true,
        ..Progress::default()
    };
    copier.run().await?;
    record(to, FINISHED, name).await?;
    Ok(copier.progress)
}

/// Records in the target what is copied into it, unless it contains something else.
async fn begin(to: &dyn Portable, name: &str) -> Result<(), CopyError> {
    let keys = [SOURCE.to_owned(), FINISHED.to_owned()];
    let recorded = to.get(&record_partition(), &keys).await?;
    if let [source, finished] = recorded.as_slice() {
        if let Some(finished) = finished {
            // The last commit to the record is the one that marked the copy as finished.
            let at = to.metadata(&record_partition()).await?.counters.at;
            return Err(CopyError::Occupied(format!(
                "nothing was done: this store has a copy of {} that was finished at {}; to copy again, use an empty store",
                String::from_utf8_lossy(&finished.value),
                at.to_millis_text()
            )));
        }
        if let Some(source) = source {
            if source.value == name {
                return Ok(());
            }
            let other = String::from_utf8_lossy(&source.value);
            return Err(CopyError::Occupied(format!(
                "this store contains the beginning of a copy of {other}"
            )));
        }
    }
    if !to.partitions(None, 1).await?.is_empty() {
        return Err(CopyError::Occupied(
            "the store to copy into is not empty".to_owned(),
        ));
    }
    record(to, SOURCE, name).await
}

async fn record(to: &dyn Portable, key: &str, value: &str) -> Result<(), CopyError> {
    let put = Op::Put {
        key: key.to_owned(),
        value: Bytes::copy_from_slice(value.as_bytes()),
    };
    let commit = Commit {
        partition: record_partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![put],
    };
    let recorded = commit_surely(to, commit).await;
    recorded
        .map(drop)
        .map_err(|cause| Unavailable(cause.to_string()).into())
}

fn record_partition() -> Partition {
    Partition::named(RECORD)
}

impl Copier<'_> {
    /// Copies, or compares, every partition except the source's own record of a copy.
    async fn run(&mut self) -> Result<(), CopyError> {
        let mut after: Option<String> = None;
        loop {
            let page = self.from.partitions(after.as_deref(), PAGE).await?;
            let tenants = page.iter().filter(|name| **name != record_partition());
            for partition in tenants {
                self.partition(partition).await?;
                self.progress.partitions += 1;
                self.report();
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.as_str().to_owned()),
                _ => return Ok(()),
            }
        }
    }

    async fn partition(&mut self, partition: &Partition) -> Result<(), CopyError> {
        let source = self.from.metadata(partition).await?;
        let target = self.to.metadata(partition).await?;
        // The counters are copied last: a partition that has them is complete.
        let complete = target.counters == source.counters;
        if self.progress.comparing && (!complete || target.logs != source.logs) {
            return Err(different(partition, "counters"));
        }
        if !self.progress.comparing && complete {
            return Ok(());
        }
        self.entries(partition).await?;
        for (log, bounds) in &source.logs {
            let copied = target.logs.get(log).copied().unwrap_or_default();
            self.messages(partition, log, *bounds, copied.last).await?;
        }
        for queue in &source.queues {
            self.jobs(partition, queue).await?;
        }
        if !self.progress.comparing {
            let counters = Part::Counters(source.counters);
            self.to.restore(partition, counters).await?;
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

    /// Copies the messages of a log after `copied`, where an interrupted copy ended, or compares all of them.
    async fn messages(
        &mut self,
        partition: &Partition,
        log: &str,
        bounds: LogBounds,
        copied: Position,
    ) -> Result<(), CopyError> {
        let comparing = self.progress.comparing;
        let mut after = if comparing {
            Position::default()
        } else {
            copied
        };
        loop {
            let slice = self.from.read(partition, log, after, PAGE).await?;
            if comparing && self.to.read(partition, log, after, PAGE).await? != slice {
                return Err(different(partition, &format!("the log {log}")));
            }
            let Some(last) = slice.messages.last().map(|message| message.position) else {
                let bounds = Part::LogBounds(log.to_owned(), bounds);
                return self.put(partition, bounds).await;
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
        let mut after: Option<QueuedJob> = None;
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

    /// Reports the progress, and puts a part into the target unless the stores are being compared.
    async fn put(&mut self, partition: &Partition, part: Part) -> Result<(), CopyError> {
        self.report();
        if !self.progress.comparing {
            self.to.restore(partition, part).await?;
        }
        Ok(())
    }

    fn report(&mut self) {
        (self.report)(&self.progress);
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

/// Splits items into parts, each of which ends with the item that reaches [`PART_BYTES`].
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
