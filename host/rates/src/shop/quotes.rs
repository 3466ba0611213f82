//! The quotes of reference rates at each business unit, by the day on which they were published (`rates.md`, "Reference
//! rates"): the history of rates that come from documents.
//!
//! A record is a month of one type. A quote of a day is written once, whichever document has it first, so that the
//! pieces of a document in any order leave the same as the whole document. Pairs are computed from the quotes when they
//! are read (`published.rs`). Records are retained as long as the history (`retention.rs`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::{Currency, Rate, RateKey, RateType};
use tillgate_store::clock::Timestamp;

use crate::units::unit::UnitId;

/// The prefix of the records of the quotes.
pub(crate) const QUOTES: &str = "rates-quotes/";

/// The currency that quotes are per one unit of.
pub(crate) const EURO: &str = "EUR";

/// The time of day from which the rates of a day count: the bank publishes in the afternoon.
const PUBLISHED: &str = "T15:00:00Z";

/// The number of months of each type to read or write at once.
const MONTHS_AT_ONCE: usize = 24;

/// The number of characters of a date that are its month: `2026-11`.
const MONTH: usize = 7;

/// The quotes of a month's days, by date.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Month(BTreeMap<String, Day>);

/// The quotes of a day: decimals by currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Day {
    /// The time from which they count, if they were imported before the bank's time of day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    /// The quotes of currencies that were imported with the euro alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    quotes: BTreeMap<String, String>,
    /// The quotes of currencies that were imported with crosses: each makes a pair with every other.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    crossed: BTreeMap<String, String>,
    /// Currencies whose quote was left out, since it would have moved a rate too far; the day says nothing about them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    left_out: BTreeSet<String>,
}

/// A day of a document.
#[derive(Debug)]
pub(crate) struct NewDay {
    pub(crate) date: Date,
    pub(crate) quotes: Vec<(Currency, Rate)>,
    /// True for the newest day, whose quotes were set and so replace others of this day.
    pub(crate) is_newest: bool,
}

/// The parameters of an import for all of its days.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'i> {
    pub(crate) rate_types: &'i [RateType],
    /// The types of which the newest day was set.
    pub(crate) set: &'i [RateType],
    /// The quotes of the newest day that were left out.
    pub(crate) left_out: &'i BTreeSet<(RateType, Currency)>,
    pub(crate) with_crosses: bool,
    pub(crate) now: Timestamp,
}

impl Day {
    /// Adds quotes. It keeps those that it has, unless the newest day replaces them.
    fn fill(&mut self, new: &NewDay, rate_type: RateType, filling: Filling<'_>) {
        let (with_crosses, is_set) = (filling.with_crosses, filling.set.contains(&rate_type));
        let replaces = is_set && new.is_newest;
        for (currency, rate) in &new.quotes {
            let code = currency.as_str();
            if replaces && filling.left_out.contains(&(rate_type, *currency)) {
                self.left_out.insert(code.to_owned());
                continue;
            }
            self.left_out.remove(code);
            let crossed = self.crossed.remove(code);
            let is_crossed = with_crosses || crossed.is_some();
            let held = crossed.or_else(|| self.quotes.remove(code));
            let quote = held.filter(|_| !replaces);
            let quote = quote.unwrap_or_else(|| rate.value().to_string());
            let quotes = if is_crossed {
                &mut self.crossed
            } else {
                &mut self.quotes
            };
            quotes.insert(code.to_owned(), quote);
        }
    }

    /// Returns whether it says nothing about a currency, since its quote was left out.
    fn leaves_out(&self, currency: Currency) -> bool {
        let code = currency.as_str();
        let has_quote = self.crossed.contains_key(code) || self.quotes.contains_key(code);
        !has_quote && self.left_out.contains(code)
    }

    /// Takes the quote of a currency out, after which the day is of no other use.
    fn take(&mut self, currency: Currency) -> Option<Quote> {
        let code = currency.as_str();
        let quote = |value: String, is_crossed| Quote { value, is_crossed };
        let crossed = self.crossed.remove(code).map(|value| quote(value, true));
        crossed.or_else(|| self.quotes.remove(code).map(|value| quote(value, false)))
    }
}

/// Returns when the rates of a day were published.
pub(crate) fn published_at(date: impl std::fmt::Display) -> Option<Timestamp> {
    let at: jiff::Timestamp = format!("{date}{PUBLISHED}").parse().ok()?;
    u64::try_from(at.as_microsecond()).ok().map(Timestamp)
}

/// Adds the quotes that days do not have yet, with a commit for some months of them. After an interruption, the same
/// call continues. Returns the number of days to which it has added quotes.
///
/// # Errors
/// [`Error::Busy`] when others keep filling the same days; [`Error::Unavailable`].
pub(crate) async fn fill(
    records: &Records,
    id: &UnitId,
    days: &[NewDay],
    filling: Filling<'_>,
) -> Result<usize> {
    let mut months: BTreeMap<String, Vec<&NewDay>> = BTreeMap::new();
    for day in days {
        let mut month = day.date.to_string();
        month.truncate(MONTH);
        months.entry(month).or_default().push(day);
    }
    let months: Vec<(String, Vec<&NewDay>)> = months.into_iter().collect();
    let mut filled = 0;
    for months in months.chunks(MONTHS_AT_ONCE) {
        let plan = async || {
            let (mut change, mut filled) = (Change::default(), BTreeSet::new());
            for rate_type in filling.rate_types {
                let prefix = prefix(id, *rate_type);
                let keys = months.iter().map(|(month, _)| format!("{prefix}{month}"));
                let keys: Vec<String> = keys.collect();
                let stored = records.entries(&keys).await?;
                for ((key, stored), (_, days)) in keys.iter().zip(stored).zip(months) {
                    let stored = stored.map(|entry| decode_entry::<Month>(key, &entry));
                    let stored = stored.transpose()?;
                    let filled_days =
                        fill_month(&mut change, key, stored, days, filling, *rate_type);
                    filled.extend(filled_days?);
                }
            }
            Ok((change, filled.len()))
        };
        filled += records.change(plan).await?;
    }
    Ok(filled)
}

/// Adds the quotes of days to a month in a change. Returns the days that add anything.
fn fill_month(
    change: &mut Change,
    key: &str,
    stored: Option<Versioned<Month>>,
    days: &[&NewDay],
    filling: Filling<'_>,
    rate_type: RateType,
) -> Result<Vec<Date>> {
    let mut month = stored
        .as_ref()
        .map_or_else(Month::default, |stored| stored.record.clone());
    let mut filled = Vec::new();
    for new in days {
        let day = month.0.entry(new.date.to_string()).or_insert_with(|| Day {
            since: published_at(new.date)
                .is_none_or(|at| at > filling.now)
                .then_some(filling.now),
            ..Day::default()
        });
        let before = day.clone();
        day.fill(new, rate_type, filling);
        if *day != before {
            filled.push(new.date);
        }
    }
    if !filled.is_empty() {
        change.expect(key, stored.as_ref());
        change.put(key, &month)?;
    }
    Ok(filled)
}

/// A currency's quote on a day.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) value: String,
    /// True if it makes pairs with currencies other than the euro.
    pub(super) is_crossed: bool,
}

/// The published quotes of the two currencies of a pair on a day.
#[derive(Debug)]
pub(super) struct PairDay {
    pub(super) at: Timestamp,
    pub(super) date: String,
    pub(super) from: Option<Quote>,
    pub(super) to: Option<Quote>,
}

/// Days, oldest first.
#[derive(Debug)]
pub(super) struct PairDays {
    pub(super) days: Vec<PairDay>,
    /// The time up to which they were read; `None` if all were.
    pub(super) until: Option<Timestamp>,
}

/// Returns what was published of a pair: the last day up to a time, and at most `max` days after it.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a record is damaged.
pub(super) async fn pair(
    records: &Records,
    id: &UnitId,
    key: RateKey,
    since: Timestamp,
    max: usize,
) -> Result<PairDays> {
    let prefix = prefix(id, key.rate_type);
    let mut days: Vec<PairDay> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = records
            .scan(&prefix, after.as_deref(), MONTHS_AT_ONCE)
            .await?;
        for (key_of_month, entry) in &page.entries {
            let month: Versioned<Month> = decode_entry(key_of_month, entry)?;
            for (date, mut day) in month.record.0 {
                let at = day.since.or_else(|| published_at(&date));
                let at = at.ok_or_else(|| Error::Bug(format!("{date} is not a date")))?;
                if day.leaves_out(key.pair.from()) || day.leaves_out(key.pair.to()) {
                    continue;
                }
                if at <= since {
                    // Of these days, only the last counts.
                    days.clear();
                } else if days.len() > max {
                    let until = days.last().map(|day| day.at);
                    return Ok(PairDays { days, until });
                }
                let (from, to) = (day.take(key.pair.from()), day.take(key.pair.to()));
                days.push(PairDay { at, date, from, to });
            }
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more || after.is_none() {
            return Ok(PairDays { days, until: None });
        }
    }
}

fn prefix(id: &UnitId, rate_type: RateType) -> String {
    format!("{QUOTES}{}/{}/", id.as_str(), rate_type.as_str())
}

/// Returns whether a record's month and the next one are over at a time: its last day may count until then.
pub(crate) fn is_old(key: &str, since: Timestamp) -> bool {
    const LONGEST_MONTH: std::time::Duration = std::time::Duration::from_secs(31 * 24 * 60 * 60);
    let oldest = since.minus(LONGEST_MONTH).to_millis_text();
    let month = key.rsplit_once('/').map(|(_, month)| month);
    month.is_some_and(|month| Some(month) < oldest.get(..MONTH))
}
