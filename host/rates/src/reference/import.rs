//! Imports reference rates: the quotes of a document become rates that are set at a business unit (`rates.md`,
//! "Reference rates").
//!
//! Quotes are per 1 EUR: each is a rate from the quoted currency to EUR. With crosses, every pair of quoted currencies
//! gets a rate in both directions, each the quotient of the two quotes, rounded once (Regulation (EC) 1103/97 forbids
//! inverting derived rates). Every day of the document also becomes part of the history (`shop/quotes.rs`).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::rate::Deviation;
use tillgate_api::schema::uuid;
use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_base::observe::audit::Line;
use tillgate_engine::rate::{Currency, Pair, Rate, RateKey, RateType};
use uuid::Uuid;

use super::{Day, Document, Quote};
use crate::change::author::Editor;
use crate::change::deviations;
use crate::change::dry_run::DocumentTrial;
use crate::change::plan::{self, After, Places};
use crate::change::unit_edit::{Edited, Edits};
use crate::shop::math;
use crate::shop::quotes::{self, EURO, Filling, NewDay, published_at};
use crate::units::rate_text::Reference;
use crate::units::set_rates::{NewRate, SetRates, SetResult};
use crate::units::tree::Node;
use crate::units::unit::{UnitId, no_unit};

/// The name of the European Central Bank in requests and answers.
pub(crate) const ECB: &str = "ECB";

/// A document to import, and where.
#[derive(Debug)]
pub struct Import {
    /// The unit at which the rates are set.
    pub unit: UnitId,
    /// The types of the rates.
    pub rate_types: Vec<RateType>,
    /// True to set pairs of quoted currencies as well.
    pub crosses: bool,
    /// The quotes.
    pub document: Document,
}

/// The result of an import.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReferenceRatesImported")]
pub struct Imported {
    /// The id of the change.
    #[schemars(schema_with = "uuid")]
    pub correlation_id: Uuid,
    /// The newest day of the document.
    #[schemars(extend("format" = "date"))]
    pub date: String,
    /// Rates that were not set before.
    pub created: usize,
    /// Rates with a new value.
    pub updated: usize,
    /// Rates that stay as they were.
    pub unchanged: usize,
    /// Currencies that the document lacks; their rates are kept.
    pub stale: Vec<String>,
    /// Rates that were left out because they would move by more than their tolerance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// Currencies of the document for which no rate is set.
    pub skipped: Vec<String>,
    /// `true` if a later document was already imported for a type: its rates then stay, and only its history is filled.
    pub older: bool,
    /// The number of days for which the history got new values.
    pub filled_days: usize,
}

/// Imports a document.
///
/// # Errors
/// [`Error::Invalid`] for a day in the future, or rates that cannot be set together; [`Error::NotFound`] for an unknown
/// unit; [`Error::Unavailable`].
pub(crate) async fn run(edits: &Edits<'_>, import: &Import) -> Result<Edited<Imported>> {
    let newest = import.document.newest();
    let today = edits.app.clock.now().to_millis_text();
    if newest.date.to_string().as_str() > today.get(..10).unwrap_or_default() {
        let message = format!("is dated {}, a day in the future", newest.date);
        return Err(Error::invalid("$.document", message));
    }
    let new = new_rates(edits.app, &import.rate_types, import.crosses, newest)?;
    let (by, correlation_id) = (edits.editor.by, edits.editor.correlation);
    let edit = edits.edit_within_tolerance(&import.unit, |before, at, deviations| {
        let mut imported = Imported {
            correlation_id,
            date: newest.date.to_string(),
            created: 0,
            updated: 0,
            unchanged: 0,
            stale: Vec::new(),
            deviations: deviations::listed(deviations).to_vec(),
            skipped: import.document.skipped().to_vec(),
            older: false,
            filled_days: 0,
        };
        let set = set_types(before, import);
        imported.older = set.len() < import.rate_types.len();
        let left_out = LeftOut::new(deviations);
        let is_taken = |rate: &&NewRate| !left_out.has(rate.key);
        let new: Vec<&NewRate> = new.iter().filter(is_taken).collect();
        let after = plan(
            before.ok_or_else(|| no_unit(&import.unit))?,
            import,
            (&new, &set),
            &left_out,
            &mut imported,
            by,
            at,
        )?;
        Ok((after, (imported, set, left_out.quotes)))
    });
    let ((mut imported, set, left_out), line) = match edit.await? {
        Edited::Made(made, line) => (made, line),
        Edited::Dry(mut dry, (imported, ..)) => {
            dry.document = Some(DocumentTrial {
                date: imported.date.clone(),
                stale: imported.stale.clone(),
                skipped: imported.skipped.clone(),
                older: imported.older,
            });
            return Ok(Edited::Dry(dry, imported));
        }
    };
    // The rates are set. After an interruption from here on, the same import fills what is missing.
    imported.filled_days = fill(edits.app, &edits.records, import, &set, &left_out).await?;
    let of_history = || history_line(&edits.editor, &import.unit);
    let line = line.or_else(|| (imported.filled_days > 0).then(of_history));
    Ok(Edited::Made(imported, line))
}

/// Returns the types whose rates are set: those of which no later document was imported.
fn set_types(before: Option<&Node>, import: &Import) -> Vec<RateType> {
    let date = import.document.newest().date.to_string();
    let is_older = |rate_type: RateType| {
        let mut rates = before.iter().flat_map(|unit| unit.rates.rates.iter());
        rates.any(|(key, rate)| {
            let reference = rate.reference.as_ref();
            key.rate_type == rate_type
                && reference.is_some_and(|it| it.source == ECB && it.date > date)
        })
    };
    let types = import.rate_types.iter().copied();
    types.filter(|rate_type| !is_older(*rate_type)).collect()
}

/// Returns the audit log line of an import that has changed only the history.
fn history_line(editor: &Editor<'_>, unit: &UnitId) -> Box<Line> {
    Box::new(Line {
        tenant: Some(editor.tenant.clone()),
        unit: Some(unit.as_str().to_owned()),
        note: editor.note.clone(),
        ..Line::default()
    })
}

/// Plans the newest day's rates at a unit, and counts what that does.
fn plan(
    before: &Node,
    import: &Import,
    (new, types): (&[&NewRate], &[RateType]),
    left_out: &LeftOut,
    imported: &mut Imported,
    by: &str,
    at: &str,
) -> Result<After<'static>> {
    let old = &before.rates.rates;
    if types.is_empty() {
        imported.unchanged = new.len();
        return Ok(After::Same);
    }
    let mut rates = old.clone();
    for rate in new {
        let set = if types.contains(&rate.key.rate_type) {
            rates.set(rate, by, at)
        } else {
            SetResult::Unchanged
        };
        match set {
            SetResult::Created => imported.created += 1,
            SetResult::Updated => imported.updated += 1,
            SetResult::Unchanged => imported.unchanged += 1,
        }
    }
    let is_missing = |key| !left_out.has(key);
    rates.mark_stale(ECB, types, &imported.date, is_missing);
    imported.stale = stale(&rates, import.document.newest());
    Ok(plan::after(old, rates, Places::Document))
}

/// The rates that are left out because they, or the quotes they are computed from, would move by more than their
/// tolerance.
#[derive(Debug, Default)]
struct LeftOut {
    /// Pairs, each in one direction.
    pairs: BTreeSet<RateKey>,
    /// Currencies whose quote is left out, by type; their crosses are left out too.
    quotes: BTreeSet<(RateType, Currency)>,
}

impl LeftOut {
    fn new(deviations: &[Deviation]) -> Self {
        let mut left_out = Self::default();
        for Deviation { key, .. } in deviations {
            let (from, to) = (key.pair.from(), key.pair.to());
            left_out.pairs.insert((*key).min(key.opposite()));
            if to.as_str() == EURO {
                left_out.quotes.insert((key.rate_type, from));
            } else if from.as_str() == EURO {
                left_out.quotes.insert((key.rate_type, to));
            }
        }
        left_out
    }

    fn has(&self, key: RateKey) -> bool {
        let currencies = [key.pair.from(), key.pair.to()];
        self.pairs.contains(&key.min(key.opposite()))
            || currencies
                .iter()
                .any(|it| self.quotes.contains(&(key.rate_type, *it)))
    }
}

/// Returns the currencies of stale rates that a day does not quote. The other currency of a stale cross rate may be
/// quoted.
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

/// Returns the rates that a day's quotes set.
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
            managed_by: None,
        })
    };
    Ok(rate_types.iter().flat_map(of_type).collect())
}

fn euro() -> Result<Currency> {
    Currency::parse(EURO).map_err(|cause| Error::Bug(cause.to_string()))
}

/// Returns both directions of every pair of quoted currencies: the units of the first for one unit of the second.
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

/// Fills the history with the days of a document, so that it has every day that was published.
async fn fill(
    app: &App,
    records: &Records,
    import: &Import,
    set: &[RateType],
    left_out: &BTreeSet<(RateType, Currency)>,
) -> Result<usize> {
    let now = app.clock.now();
    let (document, since) = (
        &import.document,
        now.minus(app.config.rates.history_retention),
    );
    let newest = document.newest().date;
    let is_retained = |day: &&Day| published_at(day.date).is_some_and(|at| at >= since);
    let days = document.days().filter(is_retained).map(|day| NewDay {
        date: day.date,
        quotes: day.quotes.iter().map(|it| (it.currency, it.rate)).collect(),
        is_newest: day.date == newest,
    });
    let filling = Filling {
        rate_types: &import.rate_types,
        set,
        left_out,
        with_crosses: import.crosses,
        now,
    };
    quotes::fill(records, &import.unit, &days.collect::<Vec<_>>(), filling).await
}
