//! The tree of business units as one operation sees it: the units, what is set at them, and the path up from each.
//!
//! A [`Tree`] reads each unit once. Its data may be out of date by the time of a commit, so the commit expects the
//! versions of all units that it is based on. A planned change replaces what is stored, so that a dry run and the
//! change itself see the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_store::Entry;
use tillgate_store::clock::Timestamp;

use super::answers::unit_json;
use super::level::level_head;
use super::set_rates::{SetRates, StoredRates};
use super::unit::{MAX_DEPTH, Unit, UnitId, UnitSettings};

/// A unit with the rates that are set at it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: UnitId,
    pub(crate) stored: Versioned<Unit>,
    pub(crate) rates: Arc<StoredRates>,
    /// The beginning of its level for the module: everything that is set at it except the rates.
    pub(crate) level_head: String,
}

impl Node {
    pub(crate) fn new(
        id: UnitId,
        stored: Versioned<Unit>,
        rates: Arc<StoredRates>,
    ) -> Result<Self> {
        let settings = &stored.record.settings;
        let level_head = level_head(
            &id,
            settings.markup_percentage.as_deref(),
            &settings.markups,
        )?;
        Ok(Self {
            id,
            stored,
            rates,
            level_head,
        })
    }

    fn read(id: &UnitId, stored: Versioned<Unit>, rates: Option<Entry>) -> Result<Self> {
        let rates = rates.map(|entry| StoredRates::read(entry.value));
        let rates = rates.transpose()?.unwrap_or_default();
        Self::new(id.clone(), stored, Arc::new(rates))
    }

    pub(crate) fn unit(&self) -> &Unit {
        &self.stored.record
    }

    /// Returns the unit as it is answered.
    pub(crate) fn json(&self) -> Result<Bytes> {
        let unit = self.unit();
        unit_json(&self.id, &unit.settings, unit.last_modified_by.as_ref())
    }

    /// Returns the unit with these rates and nothing else set at it.
    pub(crate) fn with_rates_alone(&self, rates: SetRates) -> Result<Self> {
        let unit = self.unit();
        let parent = unit.settings.parent_id.clone();
        let record = Unit {
            settings: UnitSettings::new(unit.settings.unit_type, parent),
            has_rates: !rates.is_empty(),
            used_rates: None,
            changed_at: unit.changed_at,
            last_modified_by: None,
        };
        let revision = self.stored.revision;
        let rates = Arc::new(StoredRates::new(rates)?);
        Self::new(self.id.clone(), Versioned { revision, record }, rates)
    }

    /// Returns whether nothing is set at the unit that a shop could use.
    pub(crate) fn says_nothing(&self) -> bool {
        !self.unit().has_rates && !self.unit().settings.has_markups()
    }

    /// Lets a change take effect only while the unit and its rates are as they were read.
    pub(crate) fn expect(&self, change: &mut Change) {
        change.expect(&self.id.key(), Some(&self.stored));
    }
}

/// The units above a unit, the nearest first.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(crate) nodes: Vec<Arc<Node>>,
}

impl Path {
    /// Returns when any of the units was last changed.
    pub(crate) fn changed_at(&self) -> Timestamp {
        let changed = self.nodes.iter().map(|node| node.unit().changed_at);
        Timestamp(changed.max().unwrap_or_default())
    }
}

#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) records: &'a Records,
    planned: Option<Arc<Node>>,
    nodes: HashMap<UnitId, Arc<Node>>,
    paths: HashMap<UnitId, Arc<Path>>,
    /// The bytes of the rates in `nodes`.
    pub(crate) bytes: usize,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(records: &'a Records) -> Self {
        Self {
            records,
            planned: None,
            nodes: HashMap::new(),
            paths: HashMap::new(),
            bytes: 0,
        }
    }

    /// Replaces a stored unit by a planned one.
    pub(crate) fn plan(&mut self, node: Arc<Node>) {
        self.paths.clear();
        self.planned = Some(node);
    }

    /// Drops what was read and keeps what is planned.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.paths.clear();
        self.bytes = 0;
    }

    /// Returns a unit. It is cached, because many shops may be below it.
    pub(crate) async fn node(&mut self, id: &UnitId) -> Result<Option<Arc<Node>>> {
        let known = self.planned(id).or_else(|| self.nodes.get(id));
        if let Some(node) = known {
            return Ok(Some(Arc::clone(node)));
        }
        let keys = [id.key(), id.rates_key()];
        let mut entries = self.records.entries(&keys).await?.into_iter();
        let (Some(unit), rates) = (entries.next().flatten(), entries.next().flatten()) else {
            return Ok(None);
        };
        let unit = decode_entry::<Unit>(id.as_str(), &unit)?;
        let node = Arc::new(Node::read(id, unit, rates)?);
        self.bytes += node.rates.record.len();
        self.nodes.insert(id.clone(), Arc::clone(&node));
        Ok(Some(node))
    }

    fn planned(&self, id: &UnitId) -> Option<&Arc<Node>> {
        self.planned.as_ref().filter(|node| node.id == *id)
    }

    /// Returns the units above a unit.
    ///
    /// # Errors
    /// [`Error::Busy`] when a unit above was removed in the meantime.
    pub(crate) async fn above(&mut self, unit: &Unit) -> Result<Arc<Path>> {
        let Some(parent) = &unit.settings.parent_id else {
            return Ok(Arc::default());
        };
        if let Some(path) = self.paths.get(parent) {
            return Ok(Arc::clone(path));
        }
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        let mut next = Some(parent.clone());
        while let Some(id) = next.take() {
            // Units were moved during the loop. Two concurrent moves may make the tree deeper than one may.
            if nodes.len() > 2 * MAX_DEPTH {
                return Err(Error::Busy);
            }
            let node = self.node(&id).await?.ok_or(Error::Busy)?;
            next.clone_from(&node.unit().settings.parent_id);
            nodes.push(node);
        }
        let path = Arc::new(Path { nodes });
        self.paths.insert(parent.clone(), Arc::clone(&path));
        Ok(path)
    }

    /// Returns the shops of these ids with their own rates; leaves out those that are gone.
    pub(crate) async fn shops(&mut self, ids: &[UnitId]) -> Result<Vec<Arc<Node>>> {
        let (shops, _) = self.first_shops(ids, usize::MAX).await?;
        Ok(shops)
    }

    /// Returns the shops of the first of these ids, until their rates exceed `max_bytes`, and the number of these ids.
    pub(crate) async fn first_shops(
        &mut self,
        ids: &[UnitId],
        max_bytes: usize,
    ) -> Result<(Vec<Arc<Node>>, usize)> {
        let keys: Vec<String> = ids.iter().map(UnitId::key).collect();
        let units = self.records.entries(&keys).await?;
        let (mut shops, mut bytes) = (Vec::with_capacity(ids.len()), 0);
        for (index, (id, entry)) in ids.iter().zip(units).enumerate() {
            if bytes > max_bytes {
                return Ok((shops, index));
            }
            tokio::task::yield_now().await;
            if let Some(planned) = self.planned(id) {
                shops.push(Arc::clone(planned));
                continue;
            }
            let Some(entry) = entry else { continue };
            let unit = decode_entry::<Unit>(id.as_str(), &entry)?;
            // Read after the unit. A commit that expects the unit's version also expects that of its rates.
            let rates = if unit.record.has_rates {
                self.records.get_bytes(&id.rates_key()).await?
            } else {
                None
            };
            let shop = Node::read(id, unit, rates)?;
            bytes += shop.rates.record.len();
            shops.push(Arc::new(shop));
        }
        Ok((shops, ids.len()))
    }
}

/// Lets a change take effect only while the units above shops are as they were read.
pub(crate) fn expect_above<'p>(change: &mut Change, paths: impl Iterator<Item = &'p Path>) {
    let mut expected = HashSet::new();
    for node in paths.flat_map(|path| &path.nodes) {
        if expected.insert(&node.id) {
            node.expect(change);
        }
    }
}
