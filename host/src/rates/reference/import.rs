//! Importing reference rates: the quotes of a document become rates that are set at a business unit (`rates.md`,
//! "Reference rates").
//!
//! Quotes are per 1 EUR: a rate from the quoted currency to EUR. With crosses, every pair of quoted currencies gets both
//! of its directions, each the quotient of the two quotes, rounded once (Regulation (EC) 1103/97 forbids inverting
//! derived rates).

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tillgate_engine::rate::{Currency, Pair, Rate, RateKey, RateType};
use uuid::Uuid;

use super::{Day, Document, Quote};
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::rates::change::edit::{After, Edited, Editor, Edits};
use crate::rates::shop::history::{self, Changed, ChangedRate, HISTORY};
use crate::rates::shop::math;
use crate::rates::units::set_rate::{KeyText, NewRate, Outcome, Reference, SetRates};
use crate::rates::units::unit::{UnitId, no_unit};
use crate::rates::{check_together, too_many_rates};

/// The name of the European Central Bank in requests and answers.
pub const ECB: &str = "ECB";

/// What its quotes are per one of.
const EURO: &str = "EUR";

/// The time of day from which a rate of the past counts in the history: the bank publishes in the afternoon.
const PUBLISHED: &str = "T15:00:00Z";

/// How many past days are written at once.
const DAYS_AT_ONCE: usize = 200;

/// The most calls in one request to the module.
const CALLS_AT_ONCE: usize = 5_000;

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

/// What an import did.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The id of the change.
    pub correlation_id: Uuid,
    /// The newest day of the document.
    pub date: String,
    /// How many rates were set that were not there.
    pub created: usize,
    /// How many have another value.
    pub updated: usize,
    /// How many have the value that they had.
    pub unchanged: usize,
    /// Currencies that the unit has rates of which are not in the document any more.
    pub stale: Vec<String>,
}

/// Imports a document.
///
/// # Errors
/// [`Error::Invalid`] for a day in the future, or rates that cannot be set together; [`Error::NotFound`] for an unknown
/// unit.
pub(in crate::rates) async fn run(
    app: &Arc<App>,
    records: &Records,
    editor: Editor<'_>,
    import: &Import,
) -> Result<Edited<Imported>> {
    let newest = import.document.newest();
    let today = app.clock.now().to_millis_text();
    if newest.date.to_string().as_str() > today.get(..10).unwrap_or_default() {
        let message = format!("is of {}, a day in the future", newest.date);
        return Err(Error::invalid("$.document", message));
    }
    let new = new_rates(app, &import.rate_types, import.crosses, newest)?;
    let edits = Edits {
        app,
        records,
        editor,
    };
    let plan = |before: Option<&crate::rates::units::tree::Node>, at: &str| {
        let before = before.ok_or_else(no_unit)?;
        let old = before.set_rates()?;
        let mut rates = old.clone();
        let mut imported = Imported {
            correlation_id: editor.correlation,
            date: newest.date.to_string(),
            created: 0,
            updated: 0,
            unchanged: 0,
            stale: Vec::new(),
        };
        if is_older(&old, &import.rate_types, &imported.date) {
            imported.unchanged = new.len();
            return Ok((After::Same, imported));
        }
        for rate in &new {
            match rates.set(rate, editor.by, at) {
                Outcome::Created => imported.created += 1,
                Outcome::Updated => imported.updated += 1,
                Outcome::Unchanged => imported.unchanged += 1,
            }
        }
        rates.mark_stale(ECB, &import.rate_types, &imported.date);
        imported.stale = stale(&rates, newest);
        if rates == old {
            return Ok((After::Same, imported));
        }
        too_many_rates(&rates, "$.document")?;
        check_together(app, &rates, |_| Some("$.document".to_owned()))?;
        let settings = before.unit().settings.clone();
        Ok((After::Put(settings, rates), imported))
    };
    let edited = edits.edit(&import.unit, plan).await?;
    if matches!(edited, Edited::Made(_)) {
        backfill(app, records, import).await?;
    }
    Ok(edited)
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
    #[derive(Deserialize)]
    struct Answer {
        answers: Vec<Cross>,
    }
    #[derive(Deserialize)]
    struct Cross {
        rate: String,
    }
    let mut pairs = Vec::new();
    let mut calls = Vec::new();
    for from in quotes {
        for to in quotes {
            if let Ok(pair) = Pair::new(from.currency, to.currency) {
                pairs.push(pair);
                let [rate, per] = [from, to].map(|quote| quote.rate.value().to_string());
                calls.push(json!({ "op": "cross", "rate": rate, "per": per }));
            }
        }
    }
    let mut rates = Vec::with_capacity(pairs.len());
    for calls in calls.chunks(CALLS_AT_ONCE) {
        let answer = math::ask(app, calls).map_err(|error| match Error::from(error) {
            Error::Invalid(_) => Error::invalid(
                "$.document",
                "has quotes whose cross rate cannot be set: it rounds to 0.000000 or has too many digits",
            ),
            other => other,
        })?;
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|cause| Error::Bug(cause.to_string()))?;
        for cross in answer.answers {
            rates.push(Rate::parse(&cross.rate).map_err(|cause| Error::Bug(cause.to_string()))?);
        }
    }
    Ok(pairs.into_iter().zip(rates).collect())
}

/// Adds the days of a document that are older than anything in the unit's history to it, so that charts reach back.
async fn backfill(app: &App, records: &Records, import: &Import) -> Result<()> {
    let oldest = records
        .scan(&format!("{HISTORY}{}/", import.unit.as_str()), None, 1)
        .await?;
    let oldest = oldest.entries.first();
    let Some(oldest) = oldest.and_then(|(key, _)| history::time_of(key)) else {
        return Ok(());
    };
    let since = app.clock.now().minus(app.config.rates.history_retention);
    let mut values: std::collections::BTreeMap<RateKey, String> = std::collections::BTreeMap::new();
    let mut entries: Vec<(String, Bytes)> = Vec::new();
    // The newest day is set, not added to the past. Of the others the pairs that are quoted are enough.
    let mut days: Vec<&Day> = import.document.days().skip(1).collect();
    days.reverse();
    for day in days {
        let Some(at) = published_at(day).filter(|at| *at < oldest && *at >= since) else {
            continue;
        };
        let mut rates = Vec::new();
        for new in new_rates(app, &import.rate_types, false, day)? {
            let after = new.rate.value().to_string();
            let before = values.insert(new.key, after.clone());
            if before.as_ref() != Some(&after) {
                rates.push(ChangedRate {
                    key: KeyText::of(new.key),
                    value: Changed {
                        before,
                        after: Some(after),
                    },
                });
            }
        }
        if !rates.is_empty() {
            entries.push(history::backdated(&import.unit, at, rates)?);
        }
    }
    // The oldest last: until it is there, an import that was interrupted is taken up again.
    entries.reverse();
    for entries in entries.chunks(DAYS_AT_ONCE) {
        let mut change = Change::default();
        for (key, json) in entries {
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
