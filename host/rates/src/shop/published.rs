//! The rates that a source has published of a pair over time, and which of them count in the history of a business
//! unit.
//!
//! The rule: what people have set, changed or deleted counts as they did it. If a rate comes from a document, its days
//! count as they were published, whenever they were imported, and it ends on the first day that no longer quotes it.
//! The days before anything was set for a pair count too.

use std::collections::BTreeMap;
use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::{Rate, RateKey};
use tillgate_store::clock::Timestamp;

use super::history::{self, PairState};
use super::math;
use super::quotes::{EURO, PairDay};
use crate::units::unit::UnitId;

/// The rates of a pair that a source has published.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// The rates that count from each moment on.
    days: BTreeMap<Timestamp, PublishedDay>,
    /// The time until which nothing was set for the pair.
    open_until: Timestamp,
}

/// The rates of a day: decimals.
#[derive(Debug)]
struct PublishedDay {
    date: String,
    rate: Option<String>,
    opposite: Option<String>,
}

impl Published {
    /// Computes the rates of a pair from days.
    ///
    /// # Errors
    /// [`Error::Bug`] when what was stored is damaged, or the module does not answer.
    pub(super) async fn new(
        app: &Arc<App>,
        key: RateKey,
        days: Vec<PairDay>,
        open_until: Timestamp,
    ) -> Result<Self> {
        let mut published = BTreeMap::new();
        let (mut crossed, mut quotes) = (Vec::new(), Vec::new());
        for PairDay { at, date, from, to } in days {
            let mut day = PublishedDay {
                date,
                rate: None,
                opposite: None,
            };
            match (from, to) {
                (None, Some(to)) if key.pair.from().as_str() == EURO => {
                    day.opposite = Some(to.value);
                }
                (Some(from), None) if key.pair.to().as_str() == EURO => day.rate = Some(from.value),
                (Some(from), Some(to)) if from.is_crossed && to.is_crossed => {
                    let (from, to) = (quote(&from.value)?, quote(&to.value)?);
                    crossed.push(at);
                    quotes.extend([[from, to], [to, from]]);
                }
                _ => {}
            }
            published.insert(at, day);
        }
        let rates = if quotes.is_empty() {
            Vec::new()
        } else {
            app.run_blocking(move |app| crosses(app, &quotes)).await??
        };
        for (at, rates) in crossed.iter().zip(rates.chunks(2)) {
            if let (Some(day), [Some(rate), Some(opposite)]) = (published.get_mut(at), rates) {
                day.rate = Some(rate.clone());
                day.opposite = Some(opposite.clone());
            }
        }
        Ok(Self {
            days: published,
            open_until,
        })
    }

    /// Returns the moments at which the rates that count may change.
    pub(super) fn moments(&self) -> impl Iterator<Item = &Timestamp> {
        self.days.keys()
    }

    /// Returns what counts for a pair at a time, given what was set then.
    pub(super) fn state_at(&self, set: &PairState, at: Timestamp) -> PairState {
        let mut state = set.clone();
        let Some((_, day)) = self.days.range(..=at).next_back() else {
            return state;
        };
        let counts = |date: &Option<String>| {
            at < self.open_until || date.as_ref().is_some_and(|date| *date <= day.date)
        };
        if counts(&set.rate_date) {
            state.rate.clone_from(&day.rate);
        }
        if counts(&set.opposite_date) {
            state.opposite.clone_from(&day.opposite);
        }
        if can_be_used(&state) {
            state
        } else {
            set.clone()
        }
    }
}

/// Returns whether the module can make both directions: a rate whose opposite rounds to 0.000000 needs the opposite.
fn can_be_used(state: &PairState) -> bool {
    match (&state.rate, &state.opposite) {
        (Some(one), None) | (None, Some(one)) => {
            Rate::parse(one).is_ok_and(|rate| rate.opposite().is_some())
        }
        (Some(_), Some(_)) | (None, None) => true,
    }
}

/// Returns the time until which nothing was set for a pair; `first` is what was set where the history begins.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn open_until(
    records: &Records,
    id: &UnitId,
    key: RateKey,
    first: &PairState,
) -> Result<Timestamp> {
    if first.has_rate() {
        return Ok(Timestamp(0));
    }
    let set = history::first_set(records, id, key).await?;
    Ok(set.unwrap_or(Timestamp(u64::MAX)))
}

/// Parses a stored quote.
fn quote(value: &str) -> Result<Rate> {
    Rate::parse(value).map_err(|cause| Error::Bug(format!("{value} is not a quote: {cause}")))
}

/// Returns the cross rates of quotes; `None` for one that cannot be set.
fn crosses(app: &App, quotes: &[[Rate; 2]]) -> Result<Vec<Option<String>>> {
    match math::crosses(app, quotes) {
        Ok(rates) => Ok(rates
            .iter()
            .map(|rate| Some(rate.value().to_string()))
            .collect()),
        Err(Error::Invalid(_)) if quotes.len() > 1 => {
            let each = quotes.chunks(1).map(|quotes| crosses(app, quotes));
            Ok(each.collect::<Result<Vec<_>>>()?.concat())
        }
        Err(Error::Invalid(_)) => Ok(vec![None]),
        Err(cause) => Err(cause),
    }
}
