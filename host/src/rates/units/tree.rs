//! The tree of business units as one operation sees it: units with what is set at them, the way up from each, and the
//! walk over the shops below one.
//!
//! A [`Tree`] reads each unit once. What it has read may be out of date by the time of a commit, which therefore expects
//! the versions of all units that it rests on. A planned change stands in place of what is stored, so that a dry run and
//! the change itself see the same.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::set_rate::SetRates;
use super::unit::{MAX_DEPTH, Unit, UnitId, UnitType, children_prefix};
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};

/// The list of no rates.
const NO_RATES: Bytes = Bytes::from_static(b"[]");

/// How many entries of children are read at once.
const PAGE: usize = 500;

/// How many times one page of a walk reads children, however few shops they have.
const MAX_SCANS: usize = 200;

/// A unit with the rates that are set at it.
#[derive(Debug)]
pub(in crate::rates) struct Node {
    pub(in crate::rates) id: UnitId,
    pub(in crate::rates) stored: Versioned<Unit>,
    /// Its rates, a list as the module reads it.
    pub(in crate::rates) rates: Bytes,
    /// What is set at it, as a level for the module.
    pub(in crate::rates) level: String,
}

impl Node {
    pub(in crate::rates) fn new(id: UnitId, stored: Versioned<Unit>, rates: Bytes) -> Result<Self> {
        let level = level(&id, &stored.record, &rates)?;
        Ok(Self {
            id,
            stored,
            rates,
            level,
        })
    }

    pub(in crate::rates) fn unit(&self) -> &Unit {
        &self.stored.record
    }

    /// Whether nothing is set at it that a shop could use.
    pub(in crate::rates) fn says_nothing(&self) -> bool {
        !self.unit().has_rates && !self.unit().settings.has_markups()
    }

    pub(in crate::rates) fn set_rates(&self) -> Result<SetRates> {
        SetRates::read(Some(&self.rates))
    }

    /// A change takes effect only while the unit and its rates are as they were read.
    pub(in crate::rates) fn expect(&self, change: &mut Change) {
        change.expect(&self.id.key(), Some(&self.stored));
    }
}

/// What is set at a unit, as a level for the module.
fn level(id: &UnitId, unit: &Unit, rates: &[u8]) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Level<'a> {
        business_unit_id: &'a UnitId,
        #[serde(skip_serializing_if = "Option::is_none")]
        markup_percentage: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        markups: Option<serde_json::Value>,
        rates: &'a RawValue,
    }
    let markups = &unit.settings.markups;
    let level = Level {
        business_unit_id: id,
        markup_percentage: unit.settings.markup_percentage.as_deref(),
        markups: (!markups.is_empty()).then(|| json!(markups)),
        rates: serde_json::from_slice(rates).map_err(|cause| Error::Bug(cause.to_string()))?,
    };
    serde_json::to_string(&level).map_err(|cause| Error::Bug(cause.to_string()))
}

/// The units above a unit, the nearest first.
#[derive(Debug, Default)]
pub(in crate::rates) struct Path {
    pub(in crate::rates) nodes: Vec<Arc<Node>>,
    /// Their levels, as a list without its brackets.
    pub(in crate::rates) levels: String,
}

impl Path {
    /// When any of the units was last changed.
    pub(in crate::rates) fn changed_at(&self) -> Timestamp {
        let changed = self.nodes.iter().map(|node| node.unit().changed_at);
        Timestamp(changed.max().unwrap_or_default())
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(in crate::rates) struct Tree<'a> {
    records: &'a Records,
    nodes: HashMap<UnitId, Arc<Node>>,
    paths: HashMap<UnitId, Arc<Path>>,
}

impl<'a> Tree<'a> {
    pub(in crate::rates) fn new(records: &'a Records) -> Self {
        Self {
            records,
            nodes: HashMap::new(),
            paths: HashMap::new(),
        }
    }

    /// Has a planned unit stand in place of the stored one.
    pub(in crate::rates) fn plan(&mut self, node: Arc<Node>) {
        self.paths.clear();
        self.nodes.insert(node.id.clone(), node);
    }

    /// Forgets what was read.
    pub(in crate::rates) fn clear(&mut self) {
        self.nodes.clear();
        self.paths.clear();
    }

    /// A unit; kept, as many shops may stand below it.
    pub(in crate::rates) async fn node(&mut self, id: &UnitId) -> Result<Option<Arc<Node>>> {
        if let Some(node) = self.nodes.get(id) {
            return Ok(Some(Arc::clone(node)));
        }
        let keys = [id.key(), id.rates_key()];
        let mut entries = self.records.entries(&keys).await?.into_iter();
        let (Some(unit), rates) = (entries.next().flatten(), entries.next().flatten()) else {
            return Ok(None);
        };
        let unit = decode_entry::<Unit>(id.as_str(), &unit)?;
        let rates = rates.map_or(NO_RATES, |entry| entry.value);
        let node = Arc::new(Node::new(id.clone(), unit, rates)?);
        self.nodes.insert(id.clone(), Arc::clone(&node));
        Ok(Some(node))
    }

    /// The units above one.
    ///
    /// # Errors
    /// [`Error::Busy`] when a unit above is missing: it was removed in the meantime.
    pub(in crate::rates) async fn above(&mut self, unit: &Unit) -> Result<Arc<Path>> {
        let Some(parent) = &unit.settings.parent_id else {
            return Ok(Arc::default());
        };
        if let Some(path) = self.paths.get(parent) {
            return Ok(Arc::clone(path));
        }
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        let mut next = Some(parent.clone());
        while let Some(id) = next.take() {
            // Units were moved while this was read. Two moves at the same time may make a tree deeper than one may.
            if nodes.len() > 2 * MAX_DEPTH {
                return Err(Error::Busy);
            }
            let node = self.node(&id).await?.ok_or(Error::Busy)?;
            next.clone_from(&node.unit().settings.parent_id);
            nodes.push(node);
        }
        let levels: Vec<&str> = nodes.iter().map(|node| node.level.as_str()).collect();
        let levels = levels.join(",");
        let path = Arc::new(Path { nodes, levels });
        self.paths.insert(parent.clone(), Arc::clone(&path));
        Ok(path)
    }

    /// The shops of these ids, with their own rates; those that are gone are left out.
    pub(in crate::rates) async fn shops(&mut self, ids: &[UnitId]) -> Result<Vec<Arc<Node>>> {
        let keys: Vec<String> = ids.iter().map(UnitId::key).collect();
        let units = self.records.entries(&keys).await?;
        let mut shops = Vec::with_capacity(ids.len());
        for (id, entry) in ids.iter().zip(units) {
            tokio::task::yield_now().await;
            if let Some(planned) = self.nodes.get(id) {
                shops.push(Arc::clone(planned));
                continue;
            }
            let Some(entry) = entry else { continue };
            let unit = decode_entry::<Unit>(id.as_str(), &entry)?;
            if unit.record.has_rates {
                // Read later than the unit: whoever commits expects the unit's version, and so that of these.
                let rates = self.records.get_bytes(&id.rates_key()).await?;
                let rates = rates.map_or(NO_RATES, |entry| entry.value);
                shops.push(Arc::new(Node::new(id.clone(), unit, rates)?));
            } else {
                shops.push(Arc::new(Node::new(id.clone(), unit, NO_RATES)?));
            }
        }
        Ok(shops)
    }
}

/// How many levels stand below a unit.
pub(in crate::rates) async fn depth_below(records: &Records, id: &UnitId) -> Result<usize> {
    let mut deepest = 0;
    let mut open = vec![(id.clone(), 0)];
    while let Some((parent, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let prefix = children_prefix(Some(&parent));
        let mut after: Option<String> = None;
        loop {
            let page = records.scan(&prefix, after.as_deref(), PAGE).await?;
            for (key, entry) in &page.entries {
                deepest = deepest.max(depth + 1);
                let child = UnitId::new(key.strip_prefix(&prefix).unwrap_or(key));
                if entry.value.as_ref() != SHOP && depth < MAX_DEPTH {
                    open.extend(child.map(|child| (child, depth + 1)));
                }
            }
            after = page.entries.last().map(|(key, _)| key.clone());
            if !page.more || after.is_none() {
                break;
            }
        }
    }
    Ok(deepest)
}

/// How far a walk over the shops at or below a unit has come. Depth first, by id, so that it needs no more memory than
/// the tree is deep and can be taken up again by another host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::rates) struct Walk {
    /// A shop that is the whole walk.
    shop: Option<UnitId>,
    /// The units whose children are visited, outermost first (`None` stands above the roots), and the last child that was.
    stack: Vec<(Option<UnitId>, Option<UnitId>)>,
}

impl Walk {
    /// The shops at or below a unit.
    pub(in crate::rates) fn below(id: &UnitId, unit_type: UnitType) -> Self {
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

    /// All shops of a tenant.
    pub(in crate::rates) fn everywhere() -> Self {
        Self {
            shop: None,
            stack: vec![(None, None)],
        }
    }

    /// Whether every shop was visited.
    pub(in crate::rates) fn is_done(&self) -> bool {
        self.shop.is_none() && self.stack.is_empty()
    }

    /// The next shops, `max` at most; fewer, or none, where a page has few: ask until the walk is done.
    pub(in crate::rates) async fn next(
        &mut self,
        records: &Records,
        max: usize,
    ) -> Result<Vec<UnitId>> {
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
        Ok(shops)
    }
}

/// What the entry of a child says: that it is a shop, or that there may be shops below it.
const SHOP: &[u8] = b"STORE";
const BRANCH: &[u8] = b"GROUP";

/// The entry of a child.
pub(in crate::rates) const fn child_entry(unit_type: UnitType) -> Bytes {
    match unit_type {
        UnitType::Store => Bytes::from_static(SHOP),
        UnitType::Company | UnitType::Group => Bytes::from_static(BRANCH),
    }
}
