//! Paths and queries of exchange rates, read strictly: every fault is named by its parameter.

use tillgate_engine::rate::{Currency, Invalid, Pair, RateKey, RateType};

use crate::body::parse_time;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::http::{Faults, Query, Request};
use crate::rates::Rates;
use crate::rates::shop::history_page::HistoryQuery;
use crate::rates::units::unit::{ID_RULE, UnitId};

const SINCE_RULE: &str = "must be a date or a time such as 2026-11-20T17:40:00Z";

/// The members of a rate in a query, and the short names that they had before: those are accepted for one more release.
const RATE: [(&str, &str); 3] = [
    ("exchangeRateType", "type"),
    ("currencyIdFrom", "from"),
    ("currencyIdTo", "to"),
];

/// What the query says of the history; every fault of it is named.
pub(super) fn history_query(rates: &Rates, request: &Request) -> Result<HistoryQuery> {
    let mut query = Query::of(request);
    let unit = request.query_param("businessUnit").unwrap_or_default();
    let unit = query.faults.check("businessUnit", unit_id(&unit));
    let rate = RATE.map(|names| renamed(request, names));
    let rate = rate.each_ref().map(|(name, text)| (*name, text.as_str()));
    let key = rate_key(rate, &mut query.faults);
    let retention = rates.app.config.rates.history_retention;
    let earliest = rates.app.clock.now().minus(retention);
    let since = query.optional("since", time, SINCE_RULE);
    let cursor = query.cursor(|cursor| cursor.parse().ok().map(Timestamp));
    let limit = query.limit();
    let (Some(unit), Some(key)) = (unit, key) else {
        return Err(query.faults.into_error());
    };
    query.faults.none_or_error()?;
    Ok(HistoryQuery {
        unit,
        key,
        since: cursor.or(since).unwrap_or(earliest).max(earliest),
        goes_on: cursor.is_some(),
        limit,
    })
}

/// A parameter with its name, or with the one that it had before if only that is there.
fn renamed(
    request: &Request,
    (name, before): (&'static str, &'static str),
) -> (&'static str, String) {
    match (request.query_param(name), request.query_param(before)) {
        (None, Some(text)) => (before, text),
        (text, _) => (name, text.unwrap_or_default()),
    }
}

/// A page of the list of units.
pub(super) struct UnitQuery {
    /// The last unit of the page before.
    pub(super) after: Option<UnitId>,
    pub(super) limit: usize,
}

/// What the query says of a page of the list of units; `None` when the whole list is wanted.
pub(super) fn unit_query(request: &Request) -> Result<Option<UnitQuery>> {
    let is_absent = |name: &&str| request.query_param(name).is_none();
    if ["cursor", "limit"].iter().all(is_absent) {
        return Ok(None);
    }
    let mut query = Query::of(request);
    let after = query.cursor(UnitId::new);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(Some(UnitQuery { after, limit }))
}

/// A time, or the beginning of a day in UTC.
fn time(text: &str) -> Option<Timestamp> {
    let whole = match text.parse::<jiff::civil::Date>() {
        Ok(date) if text.len() == 10 => format!("{date}T00:00:00Z"),
        _ => text.to_owned(),
    };
    parse_time(&whole)
}

/// A rate's key in three texts with their names.
pub(super) fn rate_key(texts: [(&str, &str); 3], faults: &mut Faults) -> Option<RateKey> {
    let [(type_name, rate_type), (from_name, from), (to_name, to)] = texts;
    let rate_type = faults.check(type_name, RateType::parse(rate_type));
    let from = faults.check(from_name, Currency::parse(from));
    let to = faults.check(to_name, Currency::parse(to));
    let pair =
        Pair::new(from?, to?).map_err(|_: Invalid| format!("must differ from $.{from_name}"));
    let pair = faults.check(to_name, pair);
    Some(RateKey {
        rate_type: rate_type?,
        pair: pair?,
    })
}

pub(super) fn unit_id(text: &str) -> Result<UnitId, &'static str> {
    UnitId::new(text).ok_or(ID_RULE)
}

/// The unit that a parameter of the query names.
pub(super) fn unit_of_query(request: &Request, name: &str) -> Result<UnitId> {
    let text = request.query_param(name);
    let text = text.ok_or_else(|| Error::invalid(format!("$.{name}"), "is required"))?;
    unit_id(&text).map_err(|rule| Error::invalid(format!("$.{name}"), rule))
}
