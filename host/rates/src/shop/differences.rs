//! Compares what each shop used, as it was last published, with what it uses now.
//!
//! The module compares (`math.rs`). Shops that are alike are computed once, because most shops of a tenant have nothing
//! of their own and stand below the same units.

use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::sync::Arc;

use bytes::Bytes;
use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;

use super::math::{self, Difference, DifferenceCall};
use super::used_record::{is_shared, read_used};
use crate::units::tree::{Node, Path, Tree};
use crate::units::unit::UnitId;

/// The difference of a shop, and the units above it that it was computed from.
#[derive(Debug)]
pub(crate) struct ShopDifference {
    pub(crate) shop: Arc<Node>,
    pub(crate) path: Arc<Path>,
    pub(crate) difference: Arc<Difference>,
}

/// Computes the differences of shops, once for all that are alike.
#[derive(Debug)]
pub(crate) struct Differences<'a> {
    app: &'a Arc<App>,
    records: &'a Records,
    /// The time of the change: the date of what is new, unless a later change of a unit above is seen with it.
    at: Timestamp,
    computed: HashMap<Group, Arc<Difference>>,
    /// A cache of the shared records of what shops used.
    used: HashMap<String, Bytes>,
}

/// Shops that are alike: they used the same, and have the same settings of their own and the same units above.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    used: Option<String>,
    own: Option<String>,
    parent: Option<UnitId>,
}

/// The size in bytes at which the cache is emptied: a shop with rates of its own shares its entry with no other.
const MAX_CACHED: usize = 16 << 20;

/// The bytes of calls to gather before the module is called.
const MAX_CALLS: usize = 2 << 20;

impl<'a> Differences<'a> {
    pub(crate) fn new(app: &'a Arc<App>, records: &'a Records, at: Timestamp) -> Self {
        Self {
            app,
            records,
            at,
            computed: HashMap::new(),
            used: HashMap::new(),
        }
    }

    /// Drops what was computed from units that have changed or are read again.
    pub(crate) fn clear(&mut self) {
        self.computed.clear();
    }

    /// Returns the differences of these shops.
    pub(crate) async fn of(
        &mut self,
        tree: &mut Tree<'_>,
        shops: Vec<Arc<Node>>,
    ) -> Result<Vec<ShopDifference>> {
        if self.bytes() > MAX_CACHED {
            self.computed.clear();
            self.used.clear();
        }
        let mut placed = Vec::with_capacity(shops.len());
        for shop in shops {
            let path = tree.above(shop.unit()).await?;
            placed.push((group_of(&shop), shop, path));
        }
        self.compute(&placed).await?;
        let differences = placed.into_iter().map(|(group, shop, path)| {
            let difference = self.computed.get(&group).map(Arc::clone);
            let difference =
                difference.ok_or_else(|| Error::Bug("a shop was not computed".to_owned()))?;
            Ok(ShopDifference {
                shop,
                path,
                difference,
            })
        });
        differences.collect()
    }

    /// Returns the number of cached bytes.
    fn bytes(&self) -> usize {
        let computed = self.computed.values().map(|computed| {
            let lists = computed.lists.as_ref();
            let lists = lists.map_or(0, |lists| lists.bytes().len());
            computed.rates.bytes().len() + lists
        });
        let used = self.used.values().map(Bytes::len);
        computed.chain(used).sum()
    }

    async fn compute(&mut self, placed: &[(Group, Arc<Node>, Arc<Path>)]) -> Result<()> {
        let (mut groups, mut calls) = (Vec::new(), Vec::new());
        let (mut seen, mut bytes) = (HashSet::new(), 0);
        for (group, shop, path) in placed {
            if self.computed.contains_key(group) || !seen.insert(group) {
                continue;
            }
            let used = self.used(group.used.as_deref()).await?;
            let at = self.at.max(path.changed_at()).to_millis_text();
            let call = DifferenceCall {
                before: used,
                levels: levels(shop, path),
                at,
            };
            bytes += call.len();
            calls.push(call);
            groups.push(group.clone());
            if bytes > MAX_CALLS {
                self.call(take(&mut groups), take(&mut calls)).await?;
                bytes = 0;
            }
        }
        self.call(groups, calls).await
    }

    /// Calls the module for the differences of groups of shops.
    async fn call(&mut self, groups: Vec<Group>, calls: Vec<DifferenceCall>) -> Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let differences = math::differences(self.app, calls).await?;
        let differences = differences.into_iter().map(Arc::new);
        self.computed.extend(groups.into_iter().zip(differences));
        Ok(())
    }

    /// Returns the rates of a record of what shops use.
    async fn used(&mut self, key: Option<&str>) -> Result<Bytes> {
        let shared = key.filter(|key| is_shared(key));
        if let Some(used) = shared.and_then(|key| self.used.get(key)) {
            return Ok(used.clone());
        }
        let used = read_used(self.records, key).await?;
        if let Some(key) = shared {
            self.used.insert(key.to_owned(), used.clone());
        }
        Ok(used)
    }
}

/// Returns how many of the first of these shops, at least one, can be compared with at most `max_bytes` of their rates
/// and of those above them. Shops that are alike count once.
pub(crate) async fn how_many_fit(
    tree: &mut Tree<'_>,
    shops: &[Arc<Node>],
    max_bytes: usize,
) -> Result<usize> {
    let (mut bytes, mut seen) = (0, HashSet::new());
    for (index, shop) in shops.iter().enumerate() {
        let unit = shop.unit();
        if !unit.has_rates && !seen.insert((&unit.used_rates, &unit.settings.parent_id)) {
            continue;
        }
        let path = tree.above(unit).await?;
        let above = path.nodes.iter().map(|node| node.rates.record.len());
        bytes += 2 * (shop.rates.record.len() + above.sum::<usize>());
        if bytes > max_bytes && index > 0 {
            return Ok(index);
        }
    }
    Ok(shops.len())
}

/// Returns the units that are the levels of a shop, itself first.
fn levels(shop: &Arc<Node>, path: &Path) -> Vec<Arc<Node>> {
    let own = (!shop.says_nothing()).then_some(shop);
    own.into_iter().chain(&path.nodes).cloned().collect()
}

fn group_of(shop: &Node) -> Group {
    let settings = &shop.unit().settings;
    Group {
        used: shop.unit().used_rates.clone(),
        own: match (shop.unit().has_rates, shop.says_nothing()) {
            // The answer names the shop, so it is like no other.
            (true, _) => Some(format!("{}@{}", shop.id.as_str(), shop.stored.revision.0)),
            (false, true) => None,
            (false, false) => Some(format!(
                "{:?}",
                (&settings.markup_percentage, &settings.markups)
            )),
        },
        parent: settings.parent_id.clone(),
    }
}
