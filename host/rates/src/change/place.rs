//! Checks where a unit may stand in the tree, and writes the entries of its place (`rates.md`, "Business units").

use std::sync::Arc;
use tillgate_api::problem::{UNIT_MISPLACED, UNIT_NOT_EMPTY};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_store::clock::Timestamp;

use crate::units::set_rates::StoredRates;
use crate::units::tree::{Node, Path, Tree};
use crate::units::unit::{
    MAX_DEPTH, Unit, UnitId, UnitSettings, UnitType, child_key, children_prefix,
};
use crate::units::walk::{depth_below, put_child};

/// A unit before and after a change, and the units above it after the change.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) before: Option<Arc<Node>>,
    pub(super) after: Arc<Node>,
    pub(super) path: Arc<Path>,
    /// The time of the change.
    pub(super) now: Timestamp,
}

/// Plans the place of a unit in the tree, in which it then replaces the stored one.
///
/// # Errors
/// [`Error::Conflict`] when its place is not allowed.
pub(super) async fn plan(
    tree: &mut Tree<'_>,
    id: &UnitId,
    before: Option<Arc<Node>>,
    settings: UnitSettings,
    rates: Arc<StoredRates>,
    now: Timestamp,
    by: By,
) -> Result<Planned> {
    let old = before.as_ref().map(|before| before.unit());
    if old.is_some_and(|old| old.settings.unit_type != settings.unit_type) {
        return Err(conflict("a business unit keeps its type"));
    }
    let kept = old.filter(|old| old.settings == settings);
    let unit = Unit {
        has_rates: !rates.rates.is_empty(),
        used_rates: old.and_then(|old| old.used_rates.clone()),
        changed_at: now.0,
        last_modified_by: kept.map_or(Some(by), |old| old.last_modified_by.clone()),
        settings,
    };
    let is_moved = old.is_none_or(|old| old.settings.parent_id != unit.settings.parent_id);
    let path = match &unit.settings.parent_id {
        Some(parent) if is_moved => {
            check_parent(tree, parent).await?;
            let path = tree.above(&unit).await?;
            check_path(tree.records, id, &path, old.is_some()).await?;
            path
        }
        _ => tree.above(&unit).await?,
    };
    let revision = before.as_ref().map(|before| before.stored.revision);
    let stored = Versioned {
        revision: revision.unwrap_or_default(),
        record: unit,
    };
    let after = Arc::new(Node::new(id.clone(), stored, rates)?);
    tree.plan(Arc::clone(&after));
    Ok(Planned {
        before,
        after,
        path,
        now,
    })
}

async fn check_parent(tree: &mut Tree<'_>, parent: &UnitId) -> Result<()> {
    let Some(parent) = tree.node(parent).await? else {
        return Err(conflict("parentId names no business unit"));
    };
    if parent.unit().settings.unit_type == UnitType::Store {
        return Err(conflict("parentId names a STORE, which is always a leaf"));
    }
    Ok(())
}

/// Checks that a unit may stand below these. A unit that exists already takes those below it along.
async fn check_path(records: &Records, id: &UnitId, path: &Path, exists: bool) -> Result<()> {
    if path.nodes.iter().any(|above| above.id == *id) {
        return Err(conflict("a business unit cannot stand below itself"));
    }
    let below = if exists {
        depth_below(records, id).await?
    } else {
        0
    };
    if path.nodes.len() + 1 + below > MAX_DEPTH {
        return Err(conflict("the tree would be deeper than 32 levels"));
    }
    Ok(())
}

/// Adds the place of a unit to a change, if it is new.
pub(super) fn put(change: &mut Change, planned: &Planned) -> Result<()> {
    let (id, settings) = (&planned.after.id, &planned.after.unit().settings);
    let before = planned.before.as_ref();
    let old = before.map(|before| &before.unit().settings);
    if old.is_some_and(|old| old.parent_id == settings.parent_id) {
        return Ok(());
    }
    if let Some(old) = old {
        change.delete(&child_key(old.parent_id.as_ref(), id));
    }
    put_child(change, settings.parent_id.as_ref(), id, settings.unit_type);
    // The parent is written again, so that a request that is about to remove it sees a change there.
    if let Some(parent) = planned.path.nodes.first() {
        change.put(&parent.id.key(), parent.unit())?;
    }
    Ok(())
}

/// Adds the removal of a unit's place to a change.
///
/// # Errors
/// [`Error::Conflict`] when other units are below it.
pub(super) async fn remove(records: &Records, change: &mut Change, unit: &Node) -> Result<()> {
    let below = children_prefix(Some(&unit.id));
    if !records.scan(&below, None, 1).await?.entries.is_empty() {
        let detail = "the business unit has others below it";
        return Err(Error::Conflict(UNIT_NOT_EMPTY, detail.to_owned()));
    }
    change.delete(&child_key(
        unit.unit().settings.parent_id.as_ref(),
        &unit.id,
    ));
    Ok(())
}

fn conflict(detail: &str) -> Error {
    Error::Conflict(UNIT_MISPLACED, detail.to_owned())
}
