//! The fan-out: a change above shops visits each of them in the background, a page at a time (`shop_page.rs`).
//!
//! A job continues a change for some pages, then gives way to the tenant's other changes. The record of the change
//! (`progress.rs`) has its progress, and is written in the commit of each page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_store::Revision;
use uuid::Uuid;

use super::progress::{Pass, Progress, change_key};
use super::shop_page::{Counters, Pages, Visit};

/// The number of pages to visit before the tenant's other changes continue.
const PAGES_AT_ONCE: usize = 16;

/// The time that this may take. After it, another host takes over the change of a host that was killed.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// The number of shops to count at once.
const COUNTED_AT_ONCE: usize = 5_000;

/// Continues a change for some pages.
///
/// # Errors
/// [`Error::Conflict`] when another host continues it; [`Error::Busy`] when shops keep changing;
/// [`Error::Unavailable`].
pub(crate) async fn run(app: Arc<App>, counters: Counters, work: Work) -> Result<()> {
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(correlation)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not a change", work.job.id)));
    };
    let visit = Visit {
        records: app.records(work.partition.clone()),
        key: change_key(correlation),
        app,
        tenant,
        correlation,
        work,
        counters,
    };
    let Some(mut progress) = count(&visit).await? else {
        return end(&visit).await;
    };
    let Some(pass) = progress.record.passes.front() else {
        return end(&visit).await;
    };
    let (mut pages, begin) = (Pages::new(&visit, pass.at), Instant::now());
    for page in 1..=PAGES_AT_ONCE {
        let is_last = || page == PAGES_AT_ONCE || begin.elapsed() > LEASE / 4;
        let next = pages.visit(&progress, is_last).await?;
        let Some(next) = next else { return Ok(()) };
        progress = next;
    }
    Ok(())
}

/// Returns the record of the change, with the shops of its first pass counted.
async fn count(visit: &Visit) -> Result<Option<Versioned<Progress>>> {
    let read: Option<Versioned<Progress>> = visit.records.get(&visit.key).await?;
    let Some(mut read) = read else {
        return Ok(None);
    };
    let mut change = Change::default();
    change.expect(&visit.key, Some(&read));
    let uncounted = |pass: &&mut Pass| pass.counted_at.is_none();
    let Some(pass) = read.record.passes.front_mut().filter(uncounted) else {
        return Ok(Some(read));
    };
    pass.counted_at = Some(read.revision.0);
    let mut walk = pass.walk.clone();
    let mut count = 0;
    while !walk.is_done() {
        count += walk.next(&visit.records, COUNTED_AT_ONCE).await?.len();
    }
    read.record.total += u64::try_from(count).unwrap_or(u64::MAX);
    change.put(&visit.key, &read.record)?;
    read.revision = commit(&visit.records, change).await?;
    Ok(Some(read))
}

/// Ends the job, because no shop is left to visit.
async fn end(visit: &Visit) -> Result<()> {
    let mut change = Change::default();
    visit.work.settle(&mut change);
    commit(&visit.records, change).await.map(drop)
}

async fn commit(records: &Records, change: Change) -> Result<Revision> {
    let committed = records.commit(change).await?;
    let committed = committed.ok_or_else(super::shop_page::another_goes_on)?;
    Ok(committed.revision)
}
