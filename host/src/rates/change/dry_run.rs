//! Dry runs: what a change would publish, found by planning it for every shop that it reaches (`rates.md`, "Setting
//! rates").

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_engine::rate::RateKey;

use super::guard::Deviation;
use crate::app::App;
use crate::data::records::Records;
use crate::error::Result;
use crate::load::Context;
use crate::rates::shop::differences::{Differences, ShopDifference, how_many_fit};
use crate::rates::shop::math;
use crate::rates::units::tree::{Node, Tree};
use crate::rates::units::unit::{UnitId, UnitType};
use crate::rates::units::walk::Walk;

/// The first page has this many shops, and later ones up to 100 while shops have few rates.
const FIRST_PAGE: usize = 4;
const PAGE: usize = 100;

/// The bytes of rates that a page reads and compares, and those of units above shops that are kept for the next page.
const PAGE_BYTES: usize = 2 << 20;
const MAX_KEPT: usize = 8 << 20;

/// A dry run that takes longer checks after each page whether its client has gone.
const LONG: Duration = Duration::from_secs(2);

/// The bytes that a dry run takes beside those of its edit: a page with its calls of the module, and what is kept for the next.
pub(in crate::rates) const MAX_BYTES: usize = 32 << 20;

/// How many shops a dry run shows.
const SAMPLE: usize = 20;

/// What a change would publish: `{ businessUnits: { total, affected, shielded }, sample: [{ businessUnitId, createdRates?,
/// updatedRates?, deletedRates? }], deviations? }`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    business_units: ShopCounts,
    sample: Vec<Sample>,
    /// The rates that would move by more than they may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) deviations: Vec<Deviation>,
}

/// Shops at or below the unit that would be changed.
#[derive(Debug, Default, Serialize)]
struct ShopCounts {
    /// All of them.
    total: usize,
    /// Those that would get a message.
    affected: usize,
    /// Those that would not, because a rate that is set nearer to them decides.
    shielded: usize,
}

/// A shop that would get a message, with its lists.
#[derive(Debug)]
struct Sample {
    shop: UnitId,
    lists: Bytes,
}

impl Serialize for Sample {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer<'a> {
            business_unit_id: &'a UnitId,
            #[serde(flatten)]
            lists: BTreeMap<&'a str, &'a RawValue>,
        }
        let lists = serde_json::from_slice(&self.lists).map_err(serde::ser::Error::custom)?;
        let answer = Answer {
            business_unit_id: &self.shop,
            lists,
        };
        answer.serialize(serializer)
    }
}

/// What a change that changes nothing would publish.
pub(in crate::rates) async fn nothing(records: &Records, unit: Option<&Node>) -> Result<DryRun> {
    let mut total = 0;
    if let Some(unit) = unit {
        let mut walk = Walk::of(unit);
        while !walk.is_done() {
            total += walk.next(records, PAGE).await?.len();
        }
    }
    let business_units = ShopCounts {
        total,
        ..ShopCounts::default()
    };
    Ok(DryRun {
        business_units,
        sample: Vec::new(),
        deviations: Vec::new(),
    })
}

/// What a planned change of a unit, in which the values of these rates change, would publish.
pub(in crate::rates) async fn run(
    app: &Arc<App>,
    records: &Records,
    tree: &mut Tree<'_>,
    unit: &Arc<Node>,
    changed: &[RateKey],
) -> Result<DryRun> {
    let mut differences = Differences::new(app, records, app.clock.now());
    let mut shielding = Shielding::new(tree, unit, changed).await?;
    let mut dry = DryRun {
        business_units: ShopCounts::default(),
        sample: Vec::new(),
        deviations: Vec::new(),
    };
    let (mut walk, mut size) = (Walk::of(unit), FIRST_PAGE);
    let (context, begin) = (Context::current(), Instant::now());
    let (mut ids, mut shops) = (Vec::new(), Vec::new());
    while !shops.is_empty() || !ids.is_empty() || !walk.is_done() {
        if begin.elapsed() > LONG {
            context.look()?;
        }
        if tree.bytes > MAX_KEPT {
            tree.clear();
            // They were computed from units that are read again, maybe in another version.
            differences.clear();
        }
        if shops.is_empty() && ids.is_empty() {
            ids = walk.next(records, size).await?;
        }
        if shops.is_empty() {
            let taken;
            (shops, taken) = match unit.unit().settings.unit_type {
                UnitType::Store => (vec![Arc::clone(unit)], ids.len()),
                UnitType::Company | UnitType::Group => tree.first_shops(&ids, PAGE_BYTES).await?,
            };
            ids.drain(..taken);
        }
        let fitting = how_many_fit(tree, &shops, PAGE_BYTES).await?;
        size = match fitting < shops.len() || !ids.is_empty() {
            true => fitting.max(1),
            false => (size * 2).min(PAGE),
        };
        let page = shops.drain(..fitting).collect();
        for computed in differences.of(tree, page).await? {
            dry.business_units.total += 1;
            match &computed.difference.lists {
                Some(lists) => {
                    dry.business_units.affected += 1;
                    if dry.sample.len() < SAMPLE {
                        dry.sample.push(Sample {
                            shop: computed.shop.id.clone(),
                            lists: lists.bytes().clone(),
                        });
                    }
                }
                None if shielding.covers(&computed)? => dry.business_units.shielded += 1,
                None => {}
            }
        }
    }
    Ok(dry)
}

/// Which shops a change does not reach because a rate that is set nearer to them decides.
struct Shielding<'c> {
    changed: &'c [RateKey],
    /// The unit that is changed, and those above it.
    above: HashSet<UnitId>,
    /// The answer for the shop before: shops that use the same have the same.
    latest: Option<(Bytes, bool)>,
}

impl<'c> Shielding<'c> {
    async fn new(tree: &mut Tree<'_>, unit: &Node, changed: &'c [RateKey]) -> Result<Self> {
        let path = tree.above(unit.unit()).await?;
        let mut above: HashSet<_> = path.nodes.iter().map(|node| node.id.clone()).collect();
        above.insert(unit.id.clone());
        Ok(Self {
            changed,
            above,
            latest: None,
        })
    }

    fn covers(&mut self, shop: &ShopDifference) -> Result<bool> {
        let used = shop.difference.rates.bytes();
        if let Some((same, covers)) = &self.latest
            && same == used
        {
            return Ok(*covers);
        }
        let rates = math::read_rates(used)?;
        let covers = rates.iter().any(|rate| {
            let set_at = rate.set_at.as_deref().and_then(UnitId::new);
            let is_nearer = set_at.is_some_and(|id| !self.above.contains(&id));
            is_nearer && self.changed.iter().any(|key| rate.is_of(*key))
        });
        self.latest = Some((used.clone(), covers));
        Ok(covers)
    }
}
