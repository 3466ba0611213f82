//! Refuses a change that would give a shop more rates than it may use.
//!
//! Most changes add no pair to what shops below use, or so few that no shop can come near the bound. Only for others
//! are the units below that have rates looked at. Concurrent changes above and below a shop may each find room for
//! themselves. The shop then has more rates, which costs time and nothing else.

use std::collections::{HashMap, HashSet};

use tillgate_api::problem::TOO_MANY_RATES;
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;

use super::place::Planned;
use crate::shop::history::pair_of;
use crate::units::tree::{Node, Tree};
use crate::units::unit::{MAX_DEPTH, Unit, UnitId, UnitType};
use crate::units::usage::units_with_rates;

/// The most rates that a shop uses, counting both directions of every pair.
const MAX_USED: usize = 20_000;

/// The number of units to read at once.
const READ_AT_ONCE: usize = 500;

/// Pairs, by the key of their first direction.
type Pairs = HashSet<RateKey>;

/// Checks that no shop at or below a planned unit uses more rates than it may.
///
/// # Errors
/// [`Error::Conflict`] with the shop, or the unit that may have shops below it, and the number.
pub(super) async fn check(records: &Records, tree: &mut Tree<'_>, planned: &Planned) -> Result<()> {
    let (after, before) = (&planned.after, planned.before.as_deref());
    let mut pairs = pairs_of(after);
    for above in &planned.path.nodes {
        pairs.extend(pairs_of(above));
    }
    let Some(before) = before else {
        return refuse(&after.id, pairs.len());
    };
    let mut old = pairs_of(before);
    for above in &tree.above(before.unit()).await?.nodes {
        old.extend(pairs_of(above));
    }
    if pairs.is_subset(&old) {
        return Ok(());
    }
    refuse(&after.id, pairs.len())?;
    if after.unit().settings.unit_type == UnitType::Store {
        return Ok(());
    }
    let on_path: HashSet<&UnitId> = planned.path.nodes.iter().map(|node| &node.id).collect();
    let mut others = units_with_rates(records).await?;
    others.retain(|(id, _)| *id != after.id && !on_path.contains(id));
    let mut most: Vec<usize> = others.iter().map(|(_, count)| *count).collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let levels = MAX_DEPTH.saturating_sub(planned.path.nodes.len() + 1);
    if 2 * (pairs.len() + most.iter().take(levels).sum::<usize>()) <= MAX_USED {
        return Ok(());
    }
    let counts: HashMap<UnitId, usize> = others.into_iter().collect();
    let parents = parents(records, counts.keys()).await?;
    for id in counts.keys() {
        let Some(chain) = chain_up_to(&after.id, id, &parents) else {
            continue;
        };
        let count = |id: &&UnitId| counts.get(*id).copied().unwrap_or(0);
        let count: usize = chain.iter().map(count).sum();
        if 2 * (pairs.len() + count) <= MAX_USED {
            continue;
        }
        let mut used = pairs.clone();
        for id in chain {
            if counts.contains_key(id) {
                // The node is not kept, because there may be very many.
                let node = Tree::new(records).node(id).await?.ok_or(Error::Busy)?;
                used.extend(pairs_of(&node));
            }
        }
        refuse(id, used.len())?;
    }
    Ok(())
}

fn pairs_of(node: &Node) -> Pairs {
    node.rates
        .rates
        .iter()
        .map(|(key, _)| pair_of(key))
        .collect()
}

fn refuse(id: &UnitId, pairs: usize) -> Result<()> {
    let used = 2 * pairs;
    if used <= MAX_USED {
        return Ok(());
    }
    let id = id.as_str();
    Err(Error::Conflict(
        TOO_MANY_RATES,
        format!("{id} would use {used} rates, but a business unit may use at most {MAX_USED}"),
    ))
}

/// Returns the parents of units, and of those above them.
async fn parents(
    records: &Records,
    units: impl Iterator<Item = &UnitId>,
) -> Result<HashMap<UnitId, Option<UnitId>>> {
    let mut parents: HashMap<UnitId, Option<UnitId>> = HashMap::new();
    let mut open: Vec<UnitId> = units.cloned().collect();
    while !open.is_empty() {
        let read: Vec<UnitId> = open
            .drain(open.len().saturating_sub(READ_AT_ONCE)..)
            .collect();
        let keys: Vec<String> = read.iter().map(UnitId::key).collect();
        for (id, entry) in read.into_iter().zip(records.entries(&keys).await?) {
            let unit = entry.map(|entry| decode_entry::<Unit>(id.as_str(), &entry));
            let parent = unit
                .transpose()?
                .and_then(|unit| unit.record.settings.parent_id);
            if let Some(parent) = &parent
                && !parents.contains_key(parent)
            {
                parents.insert(parent.clone(), None);
                open.push(parent.clone());
            }
            parents.insert(id, parent);
        }
    }
    Ok(parents)
}

/// Returns the units from `unit` up to `top`, without `top`; `None` when `unit` is not below it.
fn chain_up_to<'p>(
    top: &UnitId,
    unit: &'p UnitId,
    parents: &'p HashMap<UnitId, Option<UnitId>>,
) -> Option<Vec<&'p UnitId>> {
    let (mut chain, mut next) = (Vec::new(), unit);
    while next != top {
        if chain.len() > 2 * MAX_DEPTH {
            return None;
        }
        chain.push(next);
        next = parents.get(next)?.as_ref()?;
    }
    Some(chain)
}
