//! The walk over the shops at or below a unit, and the entries that it reads: one for each child of a unit, which says
//! whether the child is a shop.

use std::collections::HashSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tillgate_base::data::records::{Change, PAGE, Records};
use tillgate_base::error::{Error, Result};

use super::tree::Node;
use super::unit::{MAX_DEPTH, UnitId, UnitType, child_key, children_prefix};

/// The most reads of children for one page of a walk, however few shops they find.
const MAX_SCANS: usize = 200;

/// The value of a child's entry: the child is a shop, or there may be shops below it.
const SHOP: &[u8] = b"STORE";
const BRANCH: &[u8] = b"GROUP";

/// Returns the number of levels below a unit.
pub(crate) async fn depth_below(records: &Records, id: &UnitId) -> Result<usize> {
    let mut deepest = 0;
    let mut open = vec![(id.clone(), 0)];
    while let Some((parent, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let prefix = children_prefix(Some(&parent));
        let mut pages = records.pages(&prefix);
        while let Some(entries) = pages.next().await? {
            for (key, entry) in &entries {
                deepest = deepest.max(depth + 1);
                let child = UnitId::new(key.strip_prefix(&prefix).unwrap_or(key));
                if entry.value.as_ref() != SHOP && depth < MAX_DEPTH {
                    open.extend(child.map(|child| (child, depth + 1)));
                }
            }
        }
    }
    Ok(deepest)
}

/// The progress of a walk over the shops at or below a unit. It goes depth first, by id, so that it needs no more
/// memory than the tree is deep and another host can continue it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Walk {
    /// The only shop of the walk, if it is of a shop.
    shop: Option<UnitId>,
    /// The units whose children are being visited, outermost first (`None` is above the roots), each with its last
    /// visited child.
    stack: Vec<(Option<UnitId>, Option<UnitId>)>,
}

impl Walk {
    /// Creates a walk over the shops at or below a unit.
    pub(crate) fn of(unit: &Node) -> Self {
        Self::below(&unit.id, unit.unit().settings.unit_type)
    }

    /// Creates a walk over the shops at or below the unit of an id.
    pub(crate) fn below(id: &UnitId, unit_type: UnitType) -> Self {
        match unit_type {
            UnitType::Store => Self {
                shop: Some(id.clone()),
                stack: Vec::new(),
            },
            UnitType::Company | UnitType::Group => Self {
                shop: None,
                stack: vec![(Some(id.clone()), None)],
            },
        }
    }

    /// Creates a walk over all shops of a tenant.
    pub(crate) fn everywhere() -> Self {
        Self {
            shop: None,
            stack: vec![(None, None)],
        }
    }

    /// Returns whether every shop was visited.
    pub(crate) fn is_done(&self) -> bool {
        self.shop.is_none() && self.stack.is_empty()
    }

    /// Returns the next shops, at most `max`. There may be fewer, or none: call it until the walk is done.
    pub(crate) async fn next(&mut self, records: &Records, max: usize) -> Result<Vec<UnitId>> {
        let mut shops: Vec<UnitId> = self.shop.take().into_iter().collect();
        for _ in 0..MAX_SCANS {
            let Some((parent, after)) = self.stack.last_mut() else {
                break;
            };
            let wanted = max.saturating_sub(shops.len());
            if wanted == 0 {
                break;
            }
            let prefix = children_prefix(parent.as_ref());
            let after_key = after
                .as_ref()
                .map(|child| format!("{prefix}{}", child.as_str()));
            let page = records
                .scan(&prefix, after_key.as_deref(), wanted.min(PAGE))
                .await?;
            let mut descend = None;
            for (key, entry) in &page.entries {
                let child = UnitId::new(key.strip_prefix(&prefix).unwrap_or(key));
                let child = child.ok_or_else(|| Error::Bug(format!("{key} is not a unit")))?;
                *after = Some(child.clone());
                if entry.value.as_ref() == SHOP {
                    shops.push(child);
                } else {
                    descend = Some(child);
                    break;
                }
            }
            match descend {
                Some(child) => self.stack.push((Some(child), None)),
                None if !page.more => drop(self.stack.pop()),
                None => {}
            }
        }
        // A shop that is moved between two reads is in both.
        let mut seen = HashSet::with_capacity(shops.len());
        shops.retain(|shop| seen.insert(shop.clone()));
        Ok(shops)
    }
}

/// Adds the entry of a child to a change.
pub(crate) fn put_child(
    change: &mut Change,
    parent: Option<&UnitId>,
    child: &UnitId,
    unit_type: UnitType,
) {
    let entry = match unit_type {
        UnitType::Store => SHOP,
        UnitType::Company | UnitType::Group => BRANCH,
    };
    change.put_bytes(&child_key(parent, child), Bytes::from_static(entry));
}
