//! Importing reference rates: the quotes of a document become rates that are set at a business unit (`rates.md`,
//! "Reference rates").
//!
//! Quotes are per 1 EUR: a rate from the quoted currency to EUR. With crosses, every pair of quoted currencies gets both
//! of its directions, each the quotient of the two quotes, rounded once (Regulation (EC) 1103/97 forbids inverting
//! derived rates).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::Serialize;
use tillgate_engine::rate::{Currency, Pair, Rate, RateKey, RateType};
use uuid::Uuid;

use super::{Day, Document, Quote};
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::rates::change::edit::{Edited, Edits};
use crate::rates::change::plan::{self, After, Places};
use crate::rates::shop::history::{self, Changed, ChangedPair};
use crate::rates::shop::math;
use crate::rates::units::rate_text::Reference;
use crate::rates::units::set_rates::{NewRate, SetRates, SetResult};
use crate::rates::units::tree::Node;
use crate::rates::units::unit::{UnitId, no_unit};

/// The name of the European Central Bank in requests and answers.
pub(in crate::rates) const ECB: &str = "ECB";

/// What its quotes are per one of.
const EURO: &str = "EUR";

/// The time of day from which a rate of the past counts in the history: the bank publishes in the afternoon.
const PUBLISHED: &str = "T15:00:00Z";

/// How many past days are written at once: a day has a row for each bucket of pairs at most.
const DAYS_AT_ONCE: usize = 8;

/// What is to be imported, and where.
#[derive(Debug)]
pub struct Import {
    /// The unit at which the rates are set.
    pub unit: UnitId,
    /// What they are for.
    pub rate_types: Vec<RateType>,
    /// Whether pairs of quoted currencies are set as well.
    pub crosses: bool,
    /// The quotes.
    pub document: Document,
}

/// What an import did: `{ correlationId, date, created, updated, unchanged, stale }`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The id of the change.
    pub correlation_id: Uuid,
    /// The newest day of the document: `2026-11-20`.
    pub date: String,
    /// How many rates were set that were not there.
    pub created: usize,
    /// How many have another value.
    pub updated: usize,
    /// How many have the value that they had.
    pub unchanged: usize,
    /// Currencies that the unit has rates of which are not in the document any more, by code.
    pub stale: Vec<String>,
}

/// Imports a document.
///
/// # Errors
/// [`Error::Invalid`] for a day in the future, or rates that cannot be set together; [`Error::NotFound`] for an unknown
/// unit; [`Error::Unavailable`].
pub(in crate::rates) async fn run(edits: &Edits<'_>, import: &Import) -> Result<Edited<Imported>> {
    let newest = import.document.newest();
    let today = edits.app.clock.now().to_millis_text();
    if newest.date.to_string().as_str() > today.get(..10).unwrap_or_default() {
        let message = format!("is of {}, a day in the future", newest.date);
        return Err(Error::invalid("$.document", message));
    }
    let new = new_rates(edits.app, &import.rate_types, import.crosses, newest)?;
    let (by, correlation_id) = (edits.editor.by, edits.editor.correlation);
    let edit = edits.edit(&import.unit, |before, at| {
        let mut imported = Imported {
            correlation_id,
            date: newest.date.to_string(),
            created: 0,
            updated: 0,
            unchanged: 0,
            stale: Vec::new(),
        };
        let after = plan(before, import, &new, &mut imported, by, at)?;
        Ok((after, imported))
    });
    let edited = edit.await?;
    if matches!(edited, Edited::Made(..)) {
        backfill(edits.app, &edits.records, import).await?;
    }
    Ok(edited)
}

/// What becomes of a unit at which the newest day's rates are set; what that does is counted.
fn plan(
    before: Option<&Node>,
    import: &Import,
    new: &[NewRate],
    imported: &mut Imported,
    by: &str,
    at: &str,
) -> Result<After<'static>> {
    let old = &before.ok_or_else(no_unit)?.rates.rates;
    if is_older(old, &import.rate_types, &imported.date) {
        imported.unchanged = new.len();
        return Ok(After::Same);
    }
    let mut rates = old.clone();
    for rate in new {
        match rates.set(rate, by, at) {
            SetResult::Created => imported.created += 1,
            SetResult::Updated => imported.updated += 1,
            SetResult::Unchanged => imported.unchanged += 1,
        }
    }
    rates.mark_stale(ECB, &import.rate_types, &imported.date);
    imported.stale = stale(&rates, import.document.newest());
    Ok(plan::after(old, rates, Places::Document))
}

/// Whether a later document was imported already.
fn is_older(rates: &SetRates, types: &[RateType], date: &str) -> bool {
    rates.iter().any(|(key, rate)| {
        let reference = rate.reference.as_ref();
        types.contains(&key.rate_type)
            && reference.is_some_and(|it| it.source == ECB && it.date.as_str() > date)
    })
}

/// The currencies of stale rates that a day does not quote. Their cross rates are stale too, with currencies that it does.
fn stale(rates: &SetRates, day: &Day) -> Vec<String> {
    let stale = rates.iter().filter(|(_, rate)| {
        let reference = rate.reference.as_ref();
        reference.is_some_and(|reference| reference.source == ECB && reference.stale)
    });
    let currencies = stale.flat_map(|(key, _)| [key.pair.from(), key.pair.to()]);
    let is_quoted = |currency: Currency| {
        currency.as_str() == EURO || day.quotes.iter().any(|quote| quote.currency == currency)
    };
    let missing: BTreeSet<&str> = currencies
        .filter(|currency| !is_quoted(*currency))
        .map(Currency::as_str)
        .collect();
    missing.into_iter().map(str::to_owned).collect()
}

/// The rates that a day's quotes set.
fn new_rates(
    app: &App,
    rate_types: &[RateType],
    with_crosses: bool,
    day: &Day,
) -> Result<Vec<NewRate>> {
    let euro = euro()?;
    let mut pairs: Vec<(Pair, Rate)> = Vec::new();
    for quote in &day.quotes {
        if let Ok(pair) = Pair::new(quote.currency, euro) {
            pairs.push((pair, quote.rate));
        }
    }
    if with_crosses {
        pairs.extend(crosses(app, &day.quotes)?);
    }
    let reference = Reference {
        source: ECB.to_owned(),
        date: day.date.to_string(),
        stale: false,
    };
    let of_type = |rate_type: &RateType| {
        let (rate_type, reference) = (*rate_type, &reference);
        pairs.iter().map(move |(pair, rate)| NewRate {
            key: RateKey {
                rate_type,
                pair: *pair,
            },
            rate: *rate,
            reference: Some(reference.clone()),
        })
    };
    Ok(rate_types.iter().flat_map(of_type).collect())
}

fn euro() -> Result<Currency> {
    Currency::parse(EURO).map_err(|cause| Error::Bug(cause.to_string()))
}

/// Both directions of every pair of quoted currencies: so many of the one are one of the other.
fn crosses(app: &App, quotes: &[Quote]) -> Result<Vec<(Pair, Rate)>> {
    let mut pairs = Vec::new();
    let mut rates = Vec::new();
    for from in quotes {
        for to in quotes {
            if let Ok(pair) = Pair::new(from.currency, to.currency) {
                pairs.push(pair);
                rates.push([from.rate, to.rate]);
            }
        }
    }
    let crosses = math::crosses(app, &rates).map_err(|error| match error {
        Error::Invalid(_) => Error::invalid(
            "$.document",
            "has quotes whose cross rate cannot be set: it rounds to 0.000000 or has too many digits",
        ),
        other => other,
    })?;
    Ok(pairs.into_iter().zip(crosses).collect())
}

/// Adds the days of a document that are older than anything in the unit's history to it, so that charts reach back.
async fn backfill(app: &App, records: &Records, import: &Import) -> Result<()> {
    let Some(oldest) = history::oldest(records, &import.unit).await? else {
        return Ok(());
    };
    let since = app.clock.now().minus(app.config.rates.history_retention);
    let mut values: BTreeMap<RateKey, String> = BTreeMap::new();
    let mut written: Vec<Vec<(String, Bytes)>> = Vec::new();
    // The newest day is set, not added to the past. Of the others the pairs that are quoted are enough.
    let mut days: Vec<&Day> = import.document.days().skip(1).collect();
    days.reverse();
    for day in days {
        let Some(at) = published_at(day).filter(|at| *at < oldest && *at >= since) else {
            continue;
        };
        let mut pairs = Vec::new();
        for new in new_rates(app, &import.rate_types, false, day)? {
            let after = new.rate.value().to_string();
            let before = values.insert(new.key, after.clone());
            if before.as_ref() != Some(&after) {
                let after = Some(after);
                pairs.push(ChangedPair::of_rate(new.key, Changed { before, after }));
            }
        }
        written.push(history::rows(&import.unit, at, pairs.into_iter())?);
    }
    // What followed says that there was nothing before it: from now on, there was the last of these days.
    let last = values.into_iter().map(|(key, value)| {
        let (before, after) = (Some(value.clone()), Some(value));
        ChangedPair::of_rate(key, Changed { before, after })
    });
    let end = Timestamp(oldest.0.saturating_sub(1));
    written.push(history::rows(&import.unit, end, last)?);
    // The oldest last: until it is there, an import that was interrupted is taken up again.
    written.reverse();
    for days in written.chunks(DAYS_AT_ONCE) {
        let mut change = Change::default();
        for (key, json) in days.iter().flatten() {
            change.put_bytes(key, json.clone());
        }
        records.commit(change).await?;
    }
    Ok(())
}

/// When the rates of a day were published.
fn published_at(day: &Day) -> Option<Timestamp> {
    let at: jiff::Timestamp = format!("{}{PUBLISHED}", day.date).parse().ok()?;
    u64::try_from(at.as_microsecond()).ok().map(Timestamp)
}
