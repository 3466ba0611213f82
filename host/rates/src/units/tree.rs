//! The tree of business units as one operation sees it: units with what is set at them, and the way up from each.
//!
//! A [`Tree`] reads each unit once. What it has read may be out of date by the time of a commit, which therefore expects
//! the versions of all units that it rests on. A planned change stands in place of what is stored, so that a dry run and
//! the change itself see the same.

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
    /// What is set at it besides rates, as the beginning of a level for the module.
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

    /// The unit as it is answered.
    pub(crate) fn json(&self) -> Result<Bytes> {
        let unit = self.unit();
        unit_json(&self.id, &unit.settings, unit.last_modified_by.as_ref())
    }

    /// The unit with these rates and nothing else that is set at it.
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

    /// Whether nothing is set at it that a shop could use.
    pub(crate) fn says_nothing(&self) -> bool {
        !self.unit().has_rates && !self.unit().settings.has_markups()
    }

    /// A change takes effect only while the unit and its rates are as they were read.
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
    /// When any of the units was last changed.
    pub(crate) fn changed_at(&self) -> Timestamp {
        let changed = self.nodes.iter().map(|node| node.unit().changed_at);
        Timestamp(changed.max().unwrap_or_default())
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) records: &'a Records,
    planned: Option<Arc<Node>>,
    nodes: HashMap<UnitId, Arc<Node>>,
    paths: HashMap<UnitId, Arc<Path>>,
    /// The bytes of the rates of these nodes.
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

    /// Has a planned unit stand in place of the stored one.
    pub(crate) fn plan(&mut self, node: Arc<Node>) {
        self.paths.clear();
        self.planned = Some(node);
    }

    /// Drops what was read; what is planned stays.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.paths.clear();
        self.bytes = 0;
    }

    /// A unit; cached, as many shops may stand below it.
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

    /// The units above one.
    ///
    /// # Errors
    /// [`Error::Busy`] when a unit above is missing: it was removed in the meantime.
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
            // Units were moved while this was read. Two moves at the same time may make a tree deeper than one may.
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

    /// The shops of these ids, with their own rates; those that are gone are left out.
    pub(crate) async fn shops(&mut self, ids: &[UnitId]) -> Result<Vec<Arc<Node>>> {
        let (shops, _) = self.first_shops(ids, usize::MAX).await?;
        Ok(shops)
    }

    /// The same for the first of these ids, until their rates have so many bytes; and how many ids that were.
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
            // Read later than the unit: a commit expects the unit's version, and so that of these.
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

/// A change takes effect only while the units above shops are as they were read.
pub(crate) fn expect_above<'p>(change: &mut Change, paths: impl Iterator<Item = &'p Path>) {
    let mut expected = HashSet::new();
    for node in paths.flat_map(|path| &path.nodes) {
        if expected.insert(&node.id) {
            node.expect(change);
        }
    }
}
