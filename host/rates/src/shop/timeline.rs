//! The settings of units over time, as far as they matter to one pair: the moments at which anything changed, and the
//! levels of a unit at each.
//!
//! Pure. A timeline is made from rows of the history (`history.rs`), from what is set now, and from what was published
//! (`published.rs`). It is known from a time on, and perhaps only up to another.

use std::collections::{BTreeMap, HashMap};
use std::iter::successors;

use tillgate_base::error::Result;
use tillgate_engine::rate::RateKey;
use tillgate_store::clock::Timestamp;

use super::history::{Changed, PairState, Placed, Rows};
use super::published::Published;
use crate::units::json::to_json;
use crate::units::level::{level_head, push_level};
use crate::units::rate_text::RateText;
use crate::units::unit::{MAX_DEPTH, PairMarkup, UnitId};

/// States over time: each holds from its moment on, the first from the beginning.
#[derive(Debug)]
struct States<T>(BTreeMap<Timestamp, T>);

impl<T> States<T> {
    /// Creates the states from changes in their order, or from `now` if there are none.
    fn new(now: T, rows: Vec<(Timestamp, Changed<T>)>) -> Self {
        let mut states = BTreeMap::new();
        for (at, Changed { before, after }) in rows {
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

/// The settings of a unit over time.
#[derive(Debug)]
pub(super) struct UnitStates {
    places: States<Option<Placed>>,
    pair: States<PairState>,
    published: Published,
}

impl UnitStates {
    /// Creates the states of a unit from what is set now, from its rows, and from what was published of the pair.
    pub(super) fn new(
        place: Option<Placed>,
        pair: PairState,
        places: Rows<Option<Placed>>,
        pairs: Rows<PairState>,
        published: Published,
    ) -> Self {
        Self {
            places: States::new(place, places.rows),
            pair: States::new(pair, pairs.rows),
            published,
        }
    }

    /// Returns whether anything of it was changed at a moment.
    fn has_changed(&self, at: Timestamp) -> bool {
        self.places.0.contains_key(&at) || self.pair.0.contains_key(&at)
    }

    /// Returns the unit that it stood directly below at a time.
    fn parent(&self, at: Timestamp) -> Option<&UnitId> {
        self.places.at(at)?.as_ref()?.parent_id.as_ref()
    }

    /// Returns the units that it has stood directly below from a time on, each with the time when that began.
    pub(super) fn parents(&self, since: Timestamp) -> impl Iterator<Item = (Timestamp, &UnitId)> {
        let places = self.places.0.iter();
        places.filter_map(move |(at, place)| {
            let parent = place.as_ref()?.parent_id.as_ref()?;
            Some(((*at).max(since), parent))
        })
    }

    /// Adds its level at a time, with the one pair.
    fn push_level(
        &self,
        levels: &mut String,
        id: &UnitId,
        place: &Placed,
        key: RateKey,
        at: Timestamp,
    ) -> Result<()> {
        let none = PairState::default();
        let pair = self.pair.at(at).unwrap_or(&none);
        let pair = self.published.state_at(pair, at);
        let rates = [(key, &pair.rate), (key.opposite(), &pair.opposite)];
        let rates = rates
            .iter()
            .filter_map(|(key, value)| Some(RateText::new(*key, value.as_deref()?)));
        let rates = to_json(&rates.collect::<Vec<_>>())?;
        let markup = pair.markup.as_ref().map(|markup| PairMarkup {
            key,
            markup_percentage: markup.clone(),
        });
        let head = level_head(id, place.markup_percentage.as_deref(), markup.as_slice())?;
        push_level(levels, &head, &rates)
    }
}

/// A unit, and all units that it has stood below, over time.
#[derive(Debug)]
pub(super) struct Timeline<'q> {
    pub(super) unit: &'q UnitId,
    /// The key of the pair's first direction.
    pub(super) pair: RateKey,
    pub(super) units: HashMap<UnitId, UnitStates>,
    /// The time up to which it is known; `None` for up to now.
    pub(super) until: Option<Timestamp>,
}

impl Timeline<'_> {
    /// Returns the moments at which anything changed since a time, and that time.
    pub(super) fn moments(&self, since: Timestamp) -> Vec<Timestamp> {
        let mut moments = vec![since];
        for unit in self.units.values() {
            moments.extend(unit.places.0.keys());
            moments.extend(unit.pair.0.keys());
            moments.extend(unit.published.moments());
        }
        let until = self.until.unwrap_or(Timestamp(u64::MAX));
        moments.retain(|at| (since..=until).contains(at));
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// Returns the unit and those that it stood below at a time, nearest first.
    fn path(&self, at: Timestamp) -> impl Iterator<Item = (&UnitId, &UnitStates)> {
        let ids = successors(Some(self.unit), move |id| self.units.get(*id)?.parent(at));
        // After two moves by hosts whose clocks differ, units seem to stand below each other for a moment.
        let ids = ids.take(2 * MAX_DEPTH + 1);
        ids.map_while(|id| Some((id, self.units.get(id)?)))
    }

    /// Returns the unit whose change at a moment matters here: `set_at` if that was changed, otherwise the nearest.
    pub(super) fn changed_at(&self, at: Timestamp, set_at: Option<&str>) -> Option<&UnitId> {
        let changed = || self.path(at).filter(|(_, unit)| unit.has_changed(at));
        let set = changed().find(|(id, _)| Some(id.as_str()) == set_at);
        set.or_else(|| changed().next()).map(|(id, _)| id)
    }

    /// Returns the levels of the unit, its own first: a list without brackets, for the module.
    pub(super) fn levels(&self, at: Timestamp) -> Result<String> {
        let mut levels = String::new();
        for (id, unit) in self.path(at) {
            let Some(Some(place)) = unit.places.at(at) else {
                break;
            };
            unit.push_level(&mut levels, id, place, self.pair, at)?;
        }
        Ok(levels)
    }
}
