//! Retention: a job of each tenant, and one of the platform, removes old rows with their versions, and versions that
//! were set aside for a change that was never made.
//!
//! It runs every night for as long as there is any history, in steps. It never reads versions, since the rows name them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tillgate_base::app::App;
use tillgate_base::data::outbox::Action;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::jobs::{Queue, Scope, Work};
use tillgate_store::clock::Timestamp;
use tillgate_store::{Entry, Page};
use uuid::Uuid;

use super::deleted::key_beside;
use super::{ASIDE, RECORDED, ROW, Recorded, Row, aside_key, version_key};

const QUEUE: &str = "history-retention";

/// The job of a tenant, or of the platform.
const JOB: &str = "retention";

/// The most rows to read at once, and to remove with their versions in one commit.
const ROWS: usize = 400;

/// The approximate bytes of versions to remove in one commit, for which others wait.
const BYTES: usize = 16 << 20;

/// The most pages of rows that one step reads.
const PAGES: usize = 50;

/// The age at which a version that was set aside is abandoned: its change will certainly no longer be made.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Has the runner do the jobs, for as long as the application exists.
pub(crate) fn register(app: &Arc<App>) {
    let weak = Arc::downgrade(app);
    let queue = Queue::new(QUEUE, Scope::AllPartitions);
    app.runner.register(queue, move |work| {
        let app = weak.upgrade();
        async move {
            match app {
                Some(app) => run(&app, work).await,
                None => Ok(()),
            }
        }
    });
}

/// Adds the job of its partition to a change. It is due at the next midnight, however often it is added.
pub(super) fn begin(change: &mut Change, now: Timestamp) {
    change.enqueue(QUEUE, JOB, now.next_midnight(), Bytes::new());
}

/// Runs a step, from the row that the job's body names.
async fn run(app: &App, work: Work) -> Result<()> {
    let records = app.records(work.partition.clone());
    let now = app.clock.now();
    let old = now.minus(app.config.conditions.history_retention);
    let mut after = String::from_utf8(work.job.body.to_vec()).ok();
    after = after.filter(|key| !key.is_empty());
    if after.is_none() {
        remove_abandoned(&records, now.minus(ABANDONED)).await?;
    }
    for _ in 0..PAGES {
        let page = records.scan(ROW, after.as_deref(), ROWS).await?;
        remove_old(&records, &page, old).await?;
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more {
            after = None;
            break;
        }
    }
    let mut change = Change::default();
    match after {
        Some(after) => work.continue_at(&mut change, now, after.into()),
        None if is_any(&records).await? => {
            work.continue_at(&mut change, now.next_midnight(), Bytes::new());
        }
        None => work.settle(&mut change),
    }
    records.commit(change).await?;
    Ok(())
}

/// Returns whether there is anything that will become old.
async fn is_any(records: &Records) -> Result<bool> {
    let rows = records.scan(ROW, None, 1).await?;
    let asides = records.scan(ASIDE, None, 1).await?;
    Ok(!rows.entries.is_empty() || !asides.entries.is_empty())
}

/// Removes the rows of a page that are older than a time, with their versions.
async fn remove_old(records: &Records, page: &Page, old: Timestamp) -> Result<()> {
    let (mut keys, mut bytes) = (Vec::new(), 0);
    for (key, entry) in &page.entries {
        let row = decode_entry::<Row>(key, entry)?.record;
        if row.at >= old {
            continue;
        }
        keys.push(key.clone());
        if matches!(row.action, Action::Deleted) {
            keys.push(key_beside(key));
        }
        keys.extend(row.replaced.map(|version| version_key(version.id)));
        bytes += entry.value.len() + row.replaced.map_or(0, |version| version.bytes);
        if bytes >= BYTES {
            remove(records, &keys, bytes).await?;
            (keys, bytes) = (Vec::new(), 0);
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    remove(records, &keys, bytes).await
}

/// Removes rows and versions of this many bytes.
async fn remove(records: &Records, keys: &[String], bytes: usize) -> Result<()> {
    let plan = async || {
        let recorded = records.get::<Recorded>(RECORDED).await?;
        let mut change = Change::default();
        keys.iter().for_each(|key| change.delete(key));
        let left = recorded
            .as_ref()
            .map(|read| read.record)
            .unwrap_or_default();
        change.expect(RECORDED, recorded.as_ref());
        let left = Recorded {
            bytes: left.bytes.saturating_sub(bytes),
            ..left
        };
        change.put(RECORDED, &left)?;
        Ok((change, ()))
    };
    records.change(plan).await
}

/// Removes versions that were set aside before a time. If the change of one is made after all, it removes the note first.
async fn remove_abandoned(records: &Records, before: Timestamp) -> Result<()> {
    for (name, noted) in notes(records).await? {
        if noted.record >= before {
            continue;
        }
        let id = Uuid::try_parse(&name);
        let id = id.map_err(|_| Error::Bug(format!("{name} is no version")))?;
        let mut change = Change::default();
        change.expect(&aside_key(id), Some(&noted));
        change.delete(&aside_key(id));
        change.delete(&version_key(id));
        records.commit(change).await?;
    }
    Ok(())
}

/// Returns the notes of versions that were set aside.
async fn notes(records: &Records) -> Result<Vec<(String, Versioned<Timestamp>)>> {
    let page = records.scan(ASIDE, None, ROWS).await?;
    let note = |(key, entry): &(String, Entry)| {
        let name = key.strip_prefix(ASIDE).unwrap_or(key).to_owned();
        Ok((name, decode_entry(key, entry)?))
    };
    page.entries.iter().map(note).collect()
}
