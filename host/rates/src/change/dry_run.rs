//! Dry runs: find what a change would publish by planning it for every shop that it reaches (`rates.md`, "Setting
//! rates").

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_api::rate::{Deviation, Key, decimal, key, number, rate_value};
use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::error::Result;
use tillgate_base::load::Context;
use tillgate_engine::rate::RateKey;

use crate::shop::differences::{Differences, ShopDifference, how_many_fit};
use crate::shop::math;
use crate::topic::Lists;
use crate::units::json::exact;
use crate::units::tree::{Node, Tree};
use crate::units::unit::{UnitId, UnitType};
use crate::units::walk::Walk;

/// The shops of the first page, and the most of later ones, which grow while shops have few rates.
const FIRST_PAGE: usize = 4;
const PAGE: usize = 100;

/// The bytes of rates that a page reads and compares, and the bytes of units above shops that are kept for the next
/// page.
const PAGE_BYTES: usize = 2 << 20;
const MAX_KEPT: usize = 8 << 20;

/// The duration after which a dry run checks after each page whether its client has gone.
const LONG: Duration = Duration::from_secs(2);

/// The bytes that a dry run takes besides those of its edit: a page with its calls of the module, and what is kept for
/// the next.
pub(crate) const MAX_BYTES: usize = 32 << 20;

/// The most shops that a dry run shows, of those that change and of those that do not.
const SAMPLE: usize = 20;

/// The most rates that are shown of a shop that keeps its own.
const MAX_OWN: usize = 10;

/// The result of a dry run.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    business_units: ShopCounts,
    #[schemars(length(max = 20))]
    sample: Vec<Sample>,
    /// The first shops that would not get a message, because they use a rate that is set nearer to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    shielded: Vec<Shielded>,
    /// The rates whose value at the unit would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangedRate>,
    /// The rates that would move by more than their tolerance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) deviations: Vec<Deviation>,
    /// The document that would be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<DocumentTrial>,
}

/// The document that a dry run would import.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DocumentTrial {
    /// The newest day of the document.
    #[schemars(extend("format" = "date"))]
    pub(crate) date: String,
    /// Currencies that the document lacks; their rates are kept.
    pub(crate) stale: Vec<String>,
    /// Currencies of the document for which no rate would be set.
    pub(crate) skipped: Vec<String>,
    /// `true` if a later document was already imported for a type, whose rates then stay.
    pub(crate) older: bool,
}

/// A rate that is set at the unit, before and after the change.
#[derive(Debug, JsonSchema, Serialize)]
struct ChangedRate {
    #[serde(flatten, with = "key")]
    #[schemars(with = "Key<'_>")]
    key: RateKey,
    /// The value that is set at the unit now; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "decimal")]
    old: Option<Box<RawValue>>,
    /// The value that would be set; absent if the rate would be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "decimal")]
    new: Option<Box<RawValue>>,
}

/// A shop that keeps its rates, with those that it uses instead.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShieldedShop")]
struct Shielded {
    business_unit_id: UnitId,
    /// The rates that the shop uses instead.
    #[schemars(length(max = 10))]
    rates: Vec<OwnRate>,
}

/// A rate that a shop uses instead of one that changes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnRate {
    #[serde(flatten, with = "key")]
    #[schemars(with = "Key<'_>")]
    key: RateKey,
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value")]
    rate_value: String,
    /// The unit at which it is set.
    set_at: UnitId,
}

/// The number of shops that a change concerns.
#[derive(Debug, Default, JsonSchema, Serialize)]
struct ShopCounts {
    /// Shops at or below the unit.
    total: usize,
    /// Shops that would get a message.
    affected: usize,
    /// Shops that would not get one, because they use a rate that is set nearer to them.
    shielded: usize,
}

/// The rates of a shop that would change. Empty lists are left out.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ShopChange", rename_all = "camelCase")]
struct Sample {
    /// The shop.
    #[schemars(rename = "businessUnitId")]
    shop: UnitId,
    #[schemars(flatten, with = "Lists<'_>")]
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

/// Returns the dry run of a change that changes nothing.
pub(crate) async fn nothing(records: &Records, unit: Option<&Node>) -> Result<DryRun> {
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
        ..DryRun::default()
    })
}

/// Returns the dry run of a planned change of a unit, in which the values of the `changed` rates change.
pub(crate) async fn run(
    app: &Arc<App>,
    records: &Records,
    tree: &mut Tree<'_>,
    before: Option<&Node>,
    unit: &Arc<Node>,
    changed: &[RateKey],
) -> Result<DryRun> {
    let mut differences = Differences::new(app, records, app.clock.now());
    let mut shielding = Shielding::new(tree, unit, changed).await?;
    let mut dry = DryRun {
        changes: changes(before, unit, changed)?,
        ..DryRun::default()
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
            // The differences were computed from units that are read again, perhaps in another version.
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
        size = if fitting < shops.len() || !ids.is_empty() {
            fitting.max(1)
        } else {
            (size * 2).min(PAGE)
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
                None => {
                    let rates = shielding.own_rates(&computed)?;
                    dry.business_units.shielded += usize::from(!rates.is_empty());
                    if !rates.is_empty() && dry.shielded.len() < SAMPLE {
                        let business_unit_id = computed.shop.id.clone();
                        dry.shielded.push(Shielded {
                            business_unit_id,
                            rates: rates.to_vec(),
                        });
                    }
                }
            }
        }
    }
    Ok(dry)
}

/// Returns the rates at a unit whose values change, with the values before and after.
fn changes(before: Option<&Node>, after: &Node, changed: &[RateKey]) -> Result<Vec<ChangedRate>> {
    let value = |node: Option<&Node>, key| {
        let set = node.and_then(|node| node.rates.rates.get(key));
        set.map(|rate| exact(&rate.value).map(ToOwned::to_owned))
            .transpose()
    };
    let changes = changed.iter().map(|key| {
        Ok(ChangedRate {
            key: *key,
            old: value(before, *key)?,
            new: value(Some(after), *key)?,
        })
    });
    changes.collect()
}

/// Finds the shops that a change does not reach because a rate that is set nearer to them decides.
struct Shielding<'c> {
    changed: &'c [RateKey],
    /// The changed unit, and those above it.
    above: HashSet<UnitId>,
    /// The answer for the previous shop: shops that use the same rates have the same answer.
    latest: Option<(Bytes, Vec<OwnRate>)>,
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

    /// Returns the rates that a shop uses instead of those that change; none when it uses those.
    fn own_rates(&mut self, shop: &ShopDifference) -> Result<&[OwnRate]> {
        let used = shop.difference.rates.bytes();
        let own = match self.latest.take() {
            Some((same, own)) if same == used => own,
            _ => self.read(used)?,
        };
        let (_, own) = self.latest.insert((used.clone(), own));
        Ok(own)
    }

    fn read(&self, used: &Bytes) -> Result<Vec<OwnRate>> {
        let rates = math::read_rates(used)?;
        let own = rates.iter().filter_map(|rate| {
            let set_at = rate.set_at.as_deref().and_then(UnitId::new);
            let set_at = set_at.filter(|id| !self.above.contains(id))?;
            let key = self.changed.iter().find(|key| rate.is_of(**key))?;
            Some(OwnRate {
                key: *key,
                rate_value: rate.rate_value.to_owned(),
                set_at,
            })
        });
        Ok(own.take(MAX_OWN).collect())
    }
}
