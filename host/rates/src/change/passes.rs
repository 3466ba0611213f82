//! Passes: visits of all shops below a unit, which changes above shops and initial states have to make. A tenant's
//! passes are made one after the other, so only a few may be under way or waiting (`quotas.rate_passes`).
//!
//! A change that finds no room waits a moment, since passes over few shops are made faster than requests come; only
//! then is it refused. The record of the passes is written in the commit of the change that adds one. It is cleaned up
//! only when it is full, so it may name passes that are done.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};
use tillgate_api::problem::TOO_MUCH_WAITING;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::load::budget::Limit;
use tillgate_base::load::semaphore::FairSemaphore;
use tillgate_store::Partition;
use tillgate_store::clock::Timestamp;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::progress::{self, Progress, Reach, change_key};

/// The record of a tenant's changes whose passes are under way or wait, with one entry for each pass.
const PASSES: &str = "rates-passes";

/// The longest wait of a change for room.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The first and the longest pause between two attempts.
const MIN_PAUSE: Duration = Duration::from_millis(25);
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The delay after which a caller whose change has found no room may try again.
const RETRY: Duration = Duration::from_secs(5);

/// Allows one of the waiting changes of a tenant to try again.
const ONE_EACH: Limit = Limit {
    all: usize::MAX,
    each: 1,
};

#[derive(Debug)]
pub(crate) struct Passes {
    waiting: Arc<FairSemaphore<Partition>>,
    /// Becomes true when requests must be answered, because nothing makes room any longer. `None` for jobs, which are
    /// handed back instead.
    stopping: Option<watch::Receiver<bool>>,
}

impl Passes {
    pub(crate) fn new() -> Self {
        Self {
            waiting: FairSemaphore::new(ONE_EACH),
            stopping: None,
        }
    }

    /// Creates it for requests, none of which waits once the host is stopping.
    pub(crate) fn until(stopping: watch::Receiver<bool>) -> Self {
        Self {
            stopping: Some(stopping),
            ..Self::new()
        }
    }

    /// Makes a change once there is room for the pass that it may need.
    ///
    /// # Errors
    /// Any error of the change; [`Error::TooMany`] when there is no room for a while.
    pub(super) async fn make<T, C>(&self, records: &Records, change: impl Fn() -> C) -> Result<T>
    where
        C: Future<Output = Result<T>>,
    {
        let made = change().await;
        if !made.as_ref().is_err_and(is_full) {
            return made;
        }
        let begin = Instant::now();
        let turn = self.waiting.acquire(records.partition().clone(), ());
        let _turn = tokio::select! {
            turn = timeout(MAX_WAIT, turn) => match turn {
                Ok(turn) => turn,
                Err(_) => return made,
            },
            () = self.stopped() => return made,
        };
        let pauses = ExponentialBuilder::new()
            .with_min_delay(MIN_PAUSE)
            .with_max_delay(MAX_PAUSE)
            .without_max_times()
            .with_total_delay(Some(MAX_WAIT.saturating_sub(begin.elapsed())));
        let goes_on = |cause: &Error| is_full(cause) && !self.is_stopping();
        change.retry(pauses).sleep(sleep).when(goes_on).await
    }

    fn is_stopping(&self) -> bool {
        let stopping = self.stopping.as_ref();
        stopping.is_some_and(|stopping| *stopping.borrow())
    }

    /// Waits until requests must be answered; for jobs, forever.
    async fn stopped(&self) {
        if let Some(mut stopping) = self.stopping.clone() {
            let _ = stopping.wait_for(|stopping| *stopping).await;
        } else {
            pending::<()>().await;
        }
    }
}

const fn is_full(cause: &Error) -> bool {
    matches!(cause, Error::TooMany { .. })
}

/// Adds a change's record to the change (`progress.rs`), and its pass if it needs one.
///
/// # Errors
/// [`Error::TooMany`] when its tenant has `quota` passes under way or waiting; [`Error::Unavailable`].
pub(super) async fn record(
    records: &Records,
    change: &mut Change,
    correlation: Uuid,
    reach: Reach,
    made_at: Timestamp,
    quota: usize,
) -> Result<()> {
    if matches!(reach, Reach::Below(..) | Reach::InitialState(_)) {
        add(records, change, correlation, quota).await?;
    }
    progress::record(records, change, correlation, reach, made_at).await
}

/// Adds one more pass to a change.
async fn add(
    records: &Records,
    change: &mut Change,
    correlation: Uuid,
    quota: usize,
) -> Result<()> {
    let read: Option<Versioned<Vec<Uuid>>> = records.get(PASSES).await?;
    change.expect(PASSES, read.as_ref());
    let mut passes = read.map(|read| read.record).unwrap_or_default();
    if passes.len() >= quota {
        passes = unfinished(records, &passes).await?;
    }
    if passes.len() >= quota {
        return Err(Error::TooMany {
            code: TOO_MUCH_WAITING,
            detail: format!(
                "a tenant may have at most {quota} changes and initial states with shops left to visit"
            ),
            retry_after: RETRY,
        });
    }
    passes.push(correlation);
    change.put(PASSES, &passes)
}

/// Returns the number of passes that a tenant has under way or waiting.
///
/// # Errors
/// [`Error::Unavailable`].
pub(crate) async fn count(records: &Records) -> Result<usize> {
    let read: Option<Versioned<Vec<Uuid>>> = records.get(PASSES).await?;
    let passes = read.map(|read| read.record).unwrap_or_default();
    Ok(unfinished(records, &passes).await?.len())
}

/// Returns the passes that are not done.
async fn unfinished(records: &Records, passes: &[Uuid]) -> Result<Vec<Uuid>> {
    let changes: BTreeSet<Uuid> = passes.iter().copied().collect();
    let keys: Vec<String> = changes.iter().copied().map(change_key).collect();
    let entries = records.entries(&keys).await?;
    let mut unfinished = Vec::new();
    for ((correlation, key), entry) in changes.into_iter().zip(&keys).zip(entries) {
        if let Some(entry) = entry {
            let progress: Versioned<Progress> = decode_entry(key, &entry)?;
            unfinished.extend(progress.record.passes.iter().map(|_| correlation));
        }
    }
    Ok(unfinished)
}
