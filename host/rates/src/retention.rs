//! Removes old data: messages, the lists that messages share, changes, history, and rates that no shop uses any longer.
//!
//! Each tenant that changes anything has a job. It runs at the end of that hour, and then once a day while anything is
//! left that will expire (`rates.md`, "The topic": 7 days or 10 million messages).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::Result;
use tillgate_base::jobs::{CLOCK_SKEW, Work};
use tillgate_store::clock::{DAY, Timestamp};
use tillgate_store::{Entry, Position};

use super::change::progress::{CHANGES, Progress};
use super::shop::history::{HISTORY, time_of};
use super::shop::quotes::{self, QUOTES};
use super::shop::used_record::{REFERENCES, SHARED, reference_key};
use super::topic::{SHARED_LISTS, TOPIC};
use super::units::unit::{Unit, units_prefix};

/// The most unused shared rates to remove at once.
const REMOVED_AT_ONCE: usize = 200;

/// The most messages to drop at once.
const TRIMMED_AT_ONCE: usize = 1_000;

/// Removes the old data of a tenant.
///
/// # Errors
/// [`Error::Unavailable`](tillgate_base::error::Error::Unavailable).
pub(super) async fn run(app: Arc<App>, work: Work) -> Result<()> {
    let records = app.records(work.partition.clone());
    let (now, settings) = (app.clock.now(), &app.config.rates);
    let since = now.minus(settings.message_retention);
    let since = match newest_first(&records, settings.max_messages).await? {
        Some(too_many) => since.max(too_many),
        None => since,
    };
    let (store, partition) = (records.store(), records.partition());
    while store.trim(partition, TOPIC, since, TRIMMED_AT_ONCE).await? == TRIMMED_AT_ONCE {}
    // A list is named by the day of a host's clock, but its messages have the store's time: keep it one day longer.
    let day = since.minus(DAY).to_millis_text();
    let day = format!("{SHARED_LISTS}{}", day.get(..10).unwrap_or_default());
    remove(&records, SHARED_LISTS, |key, _| Ok(*key < *day)).await?;
    remove(&records, CHANGES, |key, entry| {
        let progress: Versioned<Progress> = decode_entry(key, entry)?;
        let Progress {
            passes, made_at, ..
        } = progress.record;
        Ok(passes.is_empty() && Timestamp(made_at) < since)
    })
    .await?;
    let history = now.minus(settings.history_retention);
    remove(&records, HISTORY, |key, _| {
        Ok(time_of(key).is_some_and(|at| at < history))
    })
    .await?;
    remove(&records, QUOTES, |key, _| Ok(quotes::is_old(key, history))).await?;
    remove_unused(&records).await?;
    let mut change = Change::default();
    if will_anything_be_old(&records).await? {
        work.reschedule(&mut change, now.plus(DAY).plus(CLOCK_SKEW));
    } else {
        work.settle(&mut change);
    }
    records.commit(change).await?;
    Ok(())
}

/// Returns whether anything is left that will expire.
async fn will_anything_be_old(records: &Records) -> Result<bool> {
    let (store, partition) = (records.store(), records.partition());
    let log = store.read(partition, TOPIC, Position::default(), 0).await?;
    let mut is_any = log.trimmed < log.last;
    for prefix in [CHANGES, HISTORY, QUOTES] {
        is_any = is_any || !records.scan(prefix, None, 1).await?.entries.is_empty();
    }
    Ok(is_any)
}

/// Returns when the newest change was made whose messages exceed `max_messages`, counted from the newest.
async fn newest_first(records: &Records, max_messages: u64) -> Result<Option<Timestamp>> {
    let mut changes: Vec<(u64, u64)> = Vec::new();
    for (_, change) in records.all::<Progress>(CHANGES).await? {
        changes.push((change.made_at, change.published));
    }
    changes.sort_unstable_by(|a, b| b.cmp(a));
    let mut newer: u64 = 0;
    for (made_at, published) in changes {
        newer = newer.saturating_add(published);
        if newer > max_messages {
            // The messages of this change are the first beyond the limit; those of newer changes are all retained.
            return Ok(Some(Timestamp(made_at)));
        }
    }
    Ok(None)
}

/// Removes the old records under a prefix.
async fn remove(
    records: &Records,
    prefix: &str,
    is_old: impl Fn(&str, &Entry) -> Result<bool>,
) -> Result<()> {
    let mut pages = records.pages(prefix);
    while let Some(entries) = pages.next().await? {
        let mut change = Change::default();
        for (key, entry) in &entries {
            if is_old(key, entry)? {
                change.expect(key, Some(&version(entry)));
                change.delete(key);
            }
        }
        if !change.is_empty() {
            // The next run checks a record again that has changed in the meantime.
            records.commit(change).await?;
        }
    }
    Ok(())
}

/// Removes shared rates that no shop uses. A commit that refers to shared rates writes either them or their reference
/// record. If neither was written since it was read here, the rates are in use only if a unit refers to them.
async fn remove_unused(records: &Records) -> Result<()> {
    let shared = versions(records, SHARED).await?;
    let references = versions(records, REFERENCES).await?;
    let used = used_keys(records).await?;
    let unused: Vec<_> = shared
        .iter()
        .filter(|(key, _)| !used.contains(*key))
        .collect();
    for unused in unused.chunks(REMOVED_AT_ONCE) {
        let mut change = Change::default();
        for (key, version) in unused {
            change.expect(key, Some(version));
            change.delete(key);
            let Some(reference) = reference_key(key) else {
                continue;
            };
            let version = references.get(&reference);
            change.expect(&reference, version);
            if version.is_some() {
                change.delete(&reference);
            }
        }
        records.commit(change).await?;
    }
    Ok(())
}

/// Returns the versions of the records under a prefix, by key.
async fn versions(records: &Records, prefix: &str) -> Result<HashMap<String, Versioned<()>>> {
    let mut versions = HashMap::new();
    let mut pages = records.pages(prefix);
    while let Some(entries) = pages.next().await? {
        let entries = entries.into_iter();
        versions.extend(entries.map(|(key, entry)| (key, version(&entry))));
    }
    Ok(versions)
}

async fn used_keys(records: &Records) -> Result<HashSet<String>> {
    let mut used = HashSet::new();
    let mut pages = records.pages(units_prefix());
    while let Some(entries) = pages.next().await? {
        for (key, entry) in &entries {
            used.extend(decode_entry::<Unit>(key, entry)?.record.used_rates);
        }
    }
    Ok(used)
}

fn version(entry: &Entry) -> Versioned<()> {
    Versioned {
        revision: entry.revision,
        record: (),
    }
}
