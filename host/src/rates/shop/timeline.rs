//! What units have set over time, as far as it matters to one pair: the moments at which anything changed, and the levels
//! that a unit stood at in each.
//!
//! Pure: made from the entries of the history (`history.rs`) and from what is set now.

use std::collections::{BTreeMap, HashMap};

use tillgate_engine::rate::RateKey;

use super::history::{Changed, Entry};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::rates::units::json::to_json;
use crate::rates::units::level::level;
use crate::rates::units::rate_text::RateText;
use crate::rates::units::tree::Node;
use crate::rates::units::unit::{MAX_DEPTH, UnitId, UnitSettings};

/// States over time: what holds from each moment on, the first from the beginning.
#[derive(Debug)]
struct States<T>(BTreeMap<Timestamp, T>);

impl<T: Clone> States<T> {
    /// The states of `now` and of changes in their order: the time, before, and after.
    fn new(now: T, changes: impl Iterator<Item = (Timestamp, T, T)>) -> Self {
        let mut states = BTreeMap::new();
        for (at, before, after) in changes {
            if states.is_empty() {
                states.insert(Timestamp(0), before);
            }
            states.insert(at, after);
        }
        if states.is_empty() {
            states.insert(Timestamp(0), now);
        }
        Self(states)
    }

    fn at(&self, at: Timestamp) -> Option<&T> {
        self.0.range(..=at).next_back().map(|(_, state)| state)
    }
}

/// What a unit has set over time.
#[derive(Debug)]
pub(super) struct UnitStates {
    settings: States<Option<UnitSettings>>,
    /// The two directions, decimals.
    rates: [(RateKey, States<Option<String>>); 2],
}

impl UnitStates {
    /// The states of a unit as it is now, if it exists, and of its entries.
    pub(super) fn new(
        now: Option<&Node>,
        pair: [RateKey; 2],
        entries: &[(Timestamp, Entry)],
    ) -> Self {
        let changes = entries.iter().filter_map(|(at, entry)| {
            let Changed { before, after } = entry.settings.clone()?;
            Some((*at, before, after))
        });
        let mut changes: Vec<_> = changes.collect();
        // Imports add rates of the past: before it was created, a unit is taken to have stood where it was then.
        if let Some((_, before @ None, after)) = changes.first_mut() {
            before.clone_from(after);
        }
        let settings_now = now.map(|node| node.unit().settings.clone());
        let states_of = |key: RateKey| {
            let now = now.and_then(|node| node.rates.rates.get(key));
            let changes = entries.iter().filter_map(|(at, entry)| {
                let rate = entry.rates.iter().find(|rate| rate.key == key)?;
                let Changed { before, after } = rate.value.clone();
                Some((*at, before, after))
            });
            (
                key,
                States::new(now.map(|rate| rate.value.clone()), changes),
            )
        };
        Self {
            settings: States::new(settings_now, changes.into_iter()),
            rates: pair.map(states_of),
        }
    }

    /// The units that it has ever stood below directly.
    pub(super) fn parents(&self) -> impl Iterator<Item = &UnitId> {
        let settings = self.settings.0.values().flatten();
        settings.filter_map(|settings| settings.parent_id.as_ref())
    }

    /// The level that it was at a time, with the one pair.
    fn level(&self, id: &UnitId, settings: &UnitSettings, at: Timestamp) -> Result<String> {
        let rates = self.rates.iter().filter_map(|(key, states)| {
            let value = states.at(at)?.as_ref()?;
            Some(RateText::new(*key, value))
        });
        level(id, settings, &to_json(&rates.collect::<Vec<_>>())?)
    }
}

/// A unit, and all that it has ever stood below, over time.
#[derive(Debug)]
pub(super) struct Timeline<'q> {
    pub(super) unit: &'q UnitId,
    pub(super) units: HashMap<UnitId, UnitStates>,
}

impl Timeline<'_> {
    /// When anything changed since a time, and that time.
    pub(super) fn moments(&self, since: Timestamp) -> Vec<Timestamp> {
        let mut moments = vec![since];
        for unit in self.units.values() {
            moments.extend(unit.settings.0.keys());
            for (_, states) in &unit.rates {
                moments.extend(states.0.keys());
            }
        }
        moments.retain(|at| *at >= since);
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// The levels that the unit stood at, its own first: a list without brackets, for the module.
    pub(super) fn levels(&self, at: Timestamp) -> Result<String> {
        let mut levels: Vec<String> = Vec::new();
        let mut next = Some(self.unit);
        while let Some(id) = next {
            let unit = self.units.get(id);
            let settings = unit.and_then(|unit| unit.settings.at(at)?.as_ref());
            let (Some(unit), Some(settings)) = (unit, settings) else {
                break;
            };
            if levels.len() > 2 * MAX_DEPTH {
                // Two moves by hosts whose clocks differ: for a moment, units seem to stand below each other.
                break;
            }
            levels.push(unit.level(id, settings, at)?);
            next = settings.parent_id.as_ref();
        }
        Ok(levels.join(","))
    }
}
