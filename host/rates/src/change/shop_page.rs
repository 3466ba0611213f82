//! A page of the fan-out: one commit with what its shops use from now on, their messages, and the progress of the
//! change.
//!
//! The commit expects the versions of everything that it was computed from, the shops and all units above them, so a
//! message never reports a state that did not exist. A shop is compared with what was last published to it, so
//! visiting it twice publishes once (`rates.md`, "The topic").

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tillgate_api::problem::CHANGED_MEANWHILE;
use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_base::observe::metrics::{Counter, Metrics};
use tillgate_store::Revision;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::progress::{Progress, Task};
use crate::shop::content::Content;
use crate::shop::differences::{Differences, how_many_fit};
use crate::shop::publishing::{Publisher, Shared, all_rates};
use crate::shop::used_record::read_used;
use crate::units::tree::{Node, Tree, expect_above};
use crate::units::unit::UnitId;

/// The shops of the first page, and the most of later ones while shops are small, so that a commit holds up others for
/// a few milliseconds at most.
const FIRST_PAGE: usize = 16;
const PAGE: usize = 100;

/// The duration of a page after which the next one is half as large, so that the job ends before its lease does.
const SLOW: Duration = Duration::from_secs(1);

/// The most bytes of a page: shops that are not alike each have all of their rates in it.
const MAX_BYTES: usize = 8 << 20;

/// The most attempts at a page while shops or units above them keep changing.
const MAX_ATTEMPTS: usize = 32;

/// The attempt at the job from which on a shop that fails is skipped.
const GIVE_UP: u32 = 3;

/// The metrics of the progress of changes on this host.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    shops: Counter,
    messages: Counter,
}

impl Counters {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self {
            shops: metrics.counter(
                "tillgate_rate_changes_shops",
                "Shops that changes of rates have visited on this host",
            ),
            messages: metrics.counter(
                "tillgate_rate_changes_messages",
                "Messages that changes of rates have published on this host",
            ),
        }
    }
}

/// A job that visits shops for a change.
pub(super) struct Visit {
    pub(super) app: Arc<App>,
    pub(super) records: Records,
    pub(super) tenant: TenantId,
    pub(super) correlation: Uuid,
    /// The key of the change's record.
    pub(super) key: String,
    pub(super) work: Work,
    pub(super) counters: Counters,
}

/// The pages of a visit, and what they share.
pub(super) struct Pages<'v> {
    visit: &'v Visit,
    tree: Tree<'v>,
    differences: Differences<'v>,
    shared: Shared,
    /// The number of shops on the next page.
    size: usize,
}

/// A page that is computed, but not committed.
struct Computed {
    change: Change,
    /// The record of the change with this page.
    next: Progress,
    /// The number of shops that it visits.
    shops: usize,
    is_pass_done: bool,
    /// The number of messages that it has.
    published: u64,
}

impl<'v> Pages<'v> {
    /// Begins the pages of a change that was made at a time.
    pub(super) fn new(visit: &'v Visit, at: Timestamp) -> Self {
        // The previous attempt may not have finished its first page in time.
        let halvings = visit.work.job.attempt.saturating_sub(1);
        Self {
            visit,
            tree: Tree::new(&visit.records),
            differences: Differences::new(&visit.app, &visit.records, at),
            shared: Shared::default(),
            size: FIRST_PAGE >> halvings.min(FIRST_PAGE.ilog2()),
        }
    }

    /// Visits the next page of shops. Returns the new record of the change, unless the job is over. `is_last` is called
    /// after the page is computed, which takes long on a busy host.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another host continues the change; [`Error::Busy`] when shops keep changing.
    pub(super) async fn visit(
        &mut self,
        progress: &Versioned<Progress>,
        is_last: impl Fn() -> bool,
    ) -> Result<Option<Versioned<Progress>>> {
        let Visit { records, key, .. } = self.visit;
        let begin = Instant::now();
        for _ in 0..MAX_ATTEMPTS {
            let page = match self.compute(progress).await {
                // The data that was read does not fit together, because others were writing in the meantime.
                Err(Error::Busy) => {
                    self.clear();
                    continue;
                }
                // One of the shops fails. Visiting them one by one finds it.
                Err(Error::Bug(_) | Error::Invalid(_)) if self.size > 1 => {
                    self.size = 1;
                    continue;
                }
                // Only a later attempt skips the shop, because the fault may be temporary.
                Err(cause @ (Error::Bug(_) | Error::Invalid(_)))
                    if self.visit.work.job.attempt >= GIVE_UP =>
                {
                    self.fail(progress, &cause).await?
                }
                page => page?,
            };
            let bytes = page.change.bytes();
            if bytes > MAX_BYTES && page.shops > 1 {
                self.size = page.shops / 2;
                continue;
            }
            let is_over = page.is_pass_done || is_last();
            let (next, published) = (page.next, page.published);
            let mut change = page.change;
            change.put(key, &next)?;
            self.settle(&mut change, &next, is_over);
            if let Some(committed) = records.commit(change).await? {
                self.shared.committed(committed.revision);
                let counters = &self.visit.counters;
                counters.messages.inc_by(published);
                counters
                    .shops
                    .inc_by(next.done.saturating_sub(progress.record.done));
                if begin.elapsed() > SLOW {
                    self.size = (self.size / 2).max(1);
                } else if bytes < MAX_BYTES / 4 {
                    self.size = (self.size * 2).min(PAGE);
                }
                return Ok((!is_over).then_some(Versioned {
                    revision: committed.revision,
                    record: next,
                }));
            }
            // Something has changed: a shop, a unit above it, or the change's own record.
            let now: Option<Versioned<Progress>> = records.get(key).await?;
            if now.is_none_or(|now| now.revision != progress.revision) {
                return Err(another_goes_on());
            }
            self.clear();
        }
        Err(Error::Busy)
    }

    /// Drops what was computed from units that have changed, and what is known of records that may be gone.
    fn clear(&mut self) {
        self.tree.clear();
        self.differences.clear();
        self.shared.clear();
    }

    /// Adds to a change what happens to the job: it ends, continues after the others of the tenant, or continues now.
    fn settle(&self, change: &mut Change, next: &Progress, is_over: bool) {
        let (work, clock) = (&self.visit.work, &self.visit.app.clock);
        if next.passes.is_empty() {
            work.settle(change);
        } else if is_over {
            work.continue_at(change, clock.now(), Bytes::new());
        }
    }

    /// Computes the next page, without the record of the change and without what happens to the job.
    async fn compute(&mut self, progress: &Versioned<Progress>) -> Result<Computed> {
        let (mut page, ids) = self.next(progress, self.size).await?;
        let pass = progress.record.passes.front();
        let pass = pass.ok_or_else(no_shops)?;
        let (task, since) = (pass.task, Revision(pass.counted_at.unwrap_or(u64::MAX)));
        let shops = self.tree.shops(&ids).await?;
        // The bytes to read for the shops are known before anything is computed.
        let fitting = how_many_fit(&mut self.tree, &shops, MAX_BYTES).await?;
        if fitting < shops.len() {
            self.size = fitting;
            return Box::pin(self.compute(progress)).await;
        }
        self.shared.plan();
        let change = &mut page.change;
        let published = match task {
            Task::Difference => {
                // A shop that was edited since is already up to date: one that is edited all the time holds up no
                // other.
                let is_behind = |shop: &Arc<Node>| shop.stored.revision <= since;
                let shops = shops.into_iter().filter(is_behind).collect();
                self.publish(change, shops).await?
            }
            Task::InitialState => self.send_all(change, &shops).await?,
        };
        page.published = published;
        page.next.published += published;
        Ok(page)
    }

    /// Returns a page of the next shops, at most `max`, in which nothing is done with them.
    async fn next(
        &self,
        progress: &Versioned<Progress>,
        max: usize,
    ) -> Result<(Computed, Vec<UnitId>)> {
        let Visit { records, key, .. } = self.visit;
        let mut next = progress.record.clone();
        let pass = next.passes.front_mut().ok_or_else(no_shops)?;
        let ids = pass.walk.next(records, max).await?;
        let is_pass_done = pass.walk.is_done();
        if is_pass_done {
            next.passes.pop_front();
        }
        next.done += u64::try_from(ids.len()).unwrap_or(0);
        // A walk may meet shops that were created since they were counted.
        next.total = next.total.max(next.done);
        let mut change = Change::default();
        change.expect(key, Some(progress));
        let page = Computed {
            change,
            next,
            shops: ids.len(),
            is_pass_done,
            published: 0,
        };
        Ok((page, ids))
    }

    /// Returns the next page, whose one shop failed, so that the others do not wait for it.
    async fn fail(&mut self, progress: &Versioned<Progress>, cause: &Error) -> Result<Computed> {
        // This page has nothing of what was planned for the shop.
        self.shared.plan();
        let (mut page, ids) = self.next(progress, 1).await?;
        let (tenant, correlation) = (&self.visit.tenant, self.visit.correlation);
        for id in ids {
            let shop = id.as_str();
            tracing::error!(%tenant, %correlation, shop, ?cause, "a change of rates failed for a shop");
            page.next.fail(id);
        }
        Ok(page)
    }

    /// Adds what has changed for shops to a change; returns the number of messages.
    async fn publish(&mut self, change: &mut Change, shops: Vec<Arc<Node>>) -> Result<u64> {
        let computed = self.differences.of(&mut self.tree, shops).await?;
        let (publisher, mut published) = (self.publisher(), 0);
        expect_above(change, computed.iter().map(|shop| shop.path.as_ref()));
        for computed in &computed {
            // A page takes a millisecond, and no decision should wait for that.
            tokio::task::yield_now().await;
            let shop = &computed.shop;
            shop.expect(change);
            let (unit, has_message) =
                publisher.publish(change, &mut self.shared, shop, &computed.difference);
            if let Some(unit) = unit {
                change.put(&shop.id.key(), &unit)?;
            }
            published += u64::from(has_message);
        }
        Ok(published)
    }

    /// Adds to a change a message for each shop, with all that it uses; returns the number of messages.
    async fn send_all(&mut self, change: &mut Change, shops: &[Arc<Node>]) -> Result<u64> {
        let publisher = self.publisher();
        // Shops that use the same rates mostly follow each other.
        let mut latest: Option<(Option<String>, Content)> = None;
        for shop in shops {
            shop.expect(change);
            let key = &shop.unit().used_rates;
            let lists = match &latest {
                Some((same, lists)) if same == key => lists.clone(),
                _ => {
                    let used = read_used(&self.visit.records, key.as_deref()).await?;
                    all_rates(&used)?
                }
            };
            publisher.send(change, &mut self.shared, &shop.id, &lists);
            latest = Some((key.clone(), lists));
        }
        Ok(u64::try_from(shops.len()).unwrap_or(0))
    }

    fn publisher(&self) -> Publisher<'v> {
        Publisher {
            tenant: &self.visit.tenant,
            correlation: self.visit.correlation,
            now: self.visit.app.clock.now(),
        }
    }
}

fn no_shops() -> Error {
    Error::Bug("a change has no shops to visit".to_owned())
}

pub(super) fn another_goes_on() -> Error {
    let detail = "another host has taken over the change";
    Error::Conflict(CHANGED_MEANWHILE, detail.to_owned())
}
