//! The fan-out: a change above the shops visits each of them in the background, a page at a time.
//!
//! A page is one commit: what its shops use from now on, their messages, and how far the change has come. It expects the
//! versions of everything that it was computed from, the shops and all units above them, so a message never tells of a
//! state that was not there. A shop is compared with what was published to it last, so visiting it twice publishes once
//! (`rates.md`, "The topic").

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::progress::{Pass, Progress, Task, change_key};
use crate::app::App;
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::observe::metrics::{Counter, Metrics};
use crate::rates::shop::math;
use crate::rates::shop::published::{Differences, Outcome, Sender, Shared, read_used};
use crate::rates::units::tree::{Node, Path, Tree, Walk};
use crate::store::Revision;

/// How many shops are visited in one commit, so that it holds up others for a few milliseconds at most: as few at first,
/// and as many as long as they are small.
const FIRST_PAGE: usize = 16;
const PAGE: usize = 100;

/// How large a page may become: shops that are not alike each have all of their rates in it.
const MAX_BYTES: usize = 8 << 20;

/// How many pages are visited before the other changes of the tenant have their turn.
const PAGES_PER_TURN: usize = 16;

/// How long a turn may take. Another host goes on with the change of one that was killed after that.
pub(in crate::rates) const LEASE: Duration = Duration::from_secs(10);

/// How many shops are counted at once.
const COUNTED_AT_ONCE: usize = 5_000;

/// How often a page is computed again when shops or units above them have changed meanwhile.
const MAX_ATTEMPTS: usize = 32;

/// How far changes have come on this host.
#[derive(Clone, Debug)]
pub(in crate::rates) struct Sent {
    shops: Counter,
    messages: Counter,
}

impl Sent {
    pub(in crate::rates) fn new(metrics: &Metrics) -> Self {
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

/// Goes on with a change for one turn.
///
/// # Errors
/// When the store is away; [`Error::Conflict`] when another host goes on with it.
pub(in crate::rates) async fn run(app: Arc<App>, sent: Sent, work: Work) -> Result<()> {
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(correlation)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not a change", work.job.id)));
    };
    let turn = Turn {
        records: app.records(work.partition.clone()),
        key: change_key(correlation),
        app,
        tenant,
        correlation,
        work,
        sent,
    };
    turn.take().await
}

/// A turn of a change.
struct Turn {
    app: Arc<App>,
    records: Records,
    tenant: TenantId,
    correlation: Uuid,
    key: String,
    work: Work,
    sent: Sent,
}

impl Turn {
    async fn take(&self) -> Result<()> {
        let Some(mut progress) = self.count().await? else {
            return Ok(());
        };
        let Some(pass) = progress.record.passes.front() else {
            let mut change = Change::default();
            self.work.settle(&mut change);
            return self.commit(change).await.map(drop);
        };
        let at = pass.at;
        let mut tree = Tree::new(&self.records);
        let mut differences = Differences::new(&self.app, &self.records, at);
        let mut size = FIRST_PAGE;
        for page in 1..=PAGES_PER_TURN {
            let is_last = page == PAGES_PER_TURN;
            let after = self
                .visit_page(&progress, is_last, &mut size, &mut tree, &mut differences)
                .await?;
            let Some(after) = after else { return Ok(()) };
            progress = after;
        }
        Ok(())
    }

    /// The record of the change, with the shops of its first pass counted.
    async fn count(&self) -> Result<Option<Versioned<Progress>>> {
        let read: Option<Versioned<Progress>> = self.records.get(&self.key).await?;
        let Some(mut read) = read else {
            let mut change = Change::default();
            self.work.settle(&mut change);
            self.commit(change).await?;
            return Ok(None);
        };
        let mut change = Change::default();
        change.expect(&self.key, Some(&read));
        let uncounted = |pass: &&mut Pass| pass.counted_at.is_none();
        let Some(pass) = read.record.passes.front_mut().filter(uncounted) else {
            return Ok(Some(read));
        };
        pass.counted_at = Some(read.revision.0);
        let mut walk = pass.walk.clone();
        let mut count = 0;
        while !walk.is_done() {
            count += walk.next(&self.records, COUNTED_AT_ONCE).await?.len();
        }
        read.record.total += u64::try_from(count).unwrap_or(u64::MAX);
        change.put(&self.key, &read.record)?;
        read.revision = self.commit(change).await?;
        Ok(Some(read))
    }

    /// Visits the next page of shops, as many as `size` says, which is made to fit. Answers the record of the change from
    /// then on, unless the turn is over.
    async fn visit_page(
        &self,
        progress: &Versioned<Progress>,
        is_last: bool,
        size: &mut usize,
        tree: &mut Tree<'_>,
        differences: &mut Differences<'_>,
    ) -> Result<Option<Versioned<Progress>>> {
        for _ in 0..MAX_ATTEMPTS {
            let mut next = progress.record.clone();
            let Some(pass) = next.passes.front_mut() else {
                return Ok(None);
            };
            let (task, since) = (pass.task, Revision(pass.counted_at.unwrap_or(u64::MAX)));
            let ids = pass.walk.next(&self.records, *size).await?;
            let is_pass_done = pass.walk.is_done();
            if is_pass_done {
                next.passes.pop_front();
            }
            next.done += u64::try_from(ids.len()).unwrap_or(0);
            // A walk may meet shops that were created since they were counted.
            next.total = next.total.max(next.done);
            let mut change = Change::default();
            change.expect(&self.key, Some(progress));
            let shops = tree.shops(&ids).await?;
            let published = match task {
                Task::Difference => {
                    // Edited since, and brought up to date by that: a shop that is edited all the time holds up nobody.
                    let is_behind = |shop: &Arc<Node>| shop.stored.revision <= since;
                    let shops = shops.into_iter().filter(is_behind).collect();
                    match differences.of(tree, shops).await {
                        Ok(outcomes) => self.publish(&mut change, &outcomes).await,
                        Err(cause) => Err(cause),
                    }
                }
                Task::InitialState => self.send_all(&mut change, &shops).await,
            };
            let published = match published {
                // What was read does not fit together: others were writing meanwhile.
                Err(Error::Busy) => {
                    tree.clear();
                    differences.clear();
                    continue;
                }
                published => published?,
            };
            let bytes = change.bytes();
            if bytes > MAX_BYTES && ids.len() > 1 {
                *size = ids.len() / 2;
                continue;
            }
            next.published += published;
            change.put(&self.key, &next)?;
            let ends_turn = is_pass_done || is_last;
            if next.passes.is_empty() {
                self.work.settle(&mut change);
            } else if ends_turn {
                let now = self.app.clock.now();
                self.work.continue_at(&mut change, now, Bytes::new());
            }
            if let Some(committed) = self.records.commit(change).await? {
                self.sent.messages.inc_by(published);
                let visited = next.done.saturating_sub(progress.record.done);
                self.sent.shops.inc_by(visited);
                if bytes < MAX_BYTES / 4 {
                    *size = (*size * 2).min(PAGE);
                }
                return Ok((!ends_turn).then_some(Versioned {
                    revision: committed.revision,
                    record: next,
                }));
            }
            // Something has changed: a shop, a unit above it, or the change's own record.
            let now: Option<Versioned<Progress>> = self.records.get(&self.key).await?;
            if now.is_none_or(|now| now.revision != progress.revision) {
                return Err(another_goes_on());
            }
            tree.clear();
            differences.clear();
        }
        Err(Error::Busy)
    }

    /// Adds to a change what has changed for shops; answers how many messages that is.
    async fn publish(&self, change: &mut Change, outcomes: &[Outcome]) -> Result<u64> {
        let mut shared = Shared::default();
        let mut published = 0;
        expect_above(change, outcomes.iter().map(|outcome| outcome.path.as_ref()));
        for outcome in outcomes {
            // A page takes a millisecond, for which no decision should wait.
            tokio::task::yield_now().await;
            outcome.shop.expect(change);
            let (unit, has_message) =
                self.sender()
                    .publish(change, &mut shared, &outcome.shop, &outcome.difference)?;
            if let Some(unit) = unit {
                change.put(&outcome.shop.id.key(), &unit)?;
            }
            published += u64::from(has_message);
        }
        Ok(published)
    }

    /// Adds to a change a message with all that each shop uses.
    async fn send_all(&self, change: &mut Change, shops: &[Arc<Node>]) -> Result<u64> {
        let mut shared = Shared::default();
        let mut known: Option<(Option<String>, Bytes)> = None;
        for shop in shops {
            shop.expect(change);
            let key = &shop.unit().used_rates;
            let lists = match &known {
                Some((same, lists)) if same == key => lists.clone(),
                _ => {
                    let used = read_used(&self.records, key.as_deref()).await?;
                    math::all_rates(&used)?
                }
            };
            self.sender().send(change, &mut shared, &shop.id, &lists);
            known = Some((key.clone(), lists));
        }
        Ok(u64::try_from(shops.len()).unwrap_or(0))
    }

    fn sender(&self) -> Sender<'_> {
        Sender {
            tenant: &self.tenant,
            correlation: self.correlation,
            now: self.app.clock.now(),
        }
    }

    async fn commit(&self, change: Change) -> Result<Revision> {
        let committed = self.records.commit(change).await?;
        let committed = committed.ok_or_else(another_goes_on)?;
        Ok(committed.revision)
    }
}

/// A change takes effect only while the units above shops are as they were read.
pub(in crate::rates) fn expect_above<'p>(
    change: &mut Change,
    paths: impl Iterator<Item = &'p Path>,
) {
    let mut expected = std::collections::HashSet::new();
    for path in paths {
        for node in &path.nodes {
            if expected.insert(&node.id) {
                node.expect(change);
            }
        }
    }
}

fn another_goes_on() -> Error {
    Error::Conflict("the change has been taken on by another host".to_owned())
}

/// A walk over one shop, or over those below a unit.
pub(in crate::rates) fn walk_of(node: &Node) -> Walk {
    Walk::below(&node.id, node.unit().settings.unit_type)
}
