//! Reads the paths and queries of exchange rates strictly: an error names every fault by its parameter.

use schemars::json_schema;
use tillgate_api::rate::{counted_currency, priced_currency, rate_type};
use tillgate_api::schema::{cursor, time as time_schema};
use tillgate_base::body::parse_time;
use tillgate_base::error::Result;
use tillgate_engine::rate::{Currency, Invalid, Pair, RateKey, RateType};
use tillgate_http::{CURSOR_RULE, Faults, Query, QueryParameter, Request};
use tillgate_store::clock::Timestamp;

use crate::Rates;
use crate::shop::history_page::HistoryQuery;
use crate::units::unit::{ID_RULE, UnitId};
use crate::units::unit::{UNIT_ID, unit_id_schema};

pub(super) const BUSINESS_UNIT: QueryParameter<UnitId> = QueryParameter {
    name: "businessUnit",
    about: "The id of the business unit.",
    schema: unit_id_schema,
    read: unit_id,
};
pub(super) const RATE_TYPE: QueryParameter<RateType> = QueryParameter {
    name: "exchangeRateType",
    about: "The type of the rate.",
    schema: rate_type,
    read: |text| RateType::parse(text).map_err(Invalid::as_str),
};
pub(super) const FROM: QueryParameter<Currency> = QueryParameter {
    name: "currencyIdFrom",
    about: "The currency that the rate is counted in.",
    schema: counted_currency,
    read: |text| Currency::parse(text).map_err(Invalid::as_str),
};
pub(super) const TO: QueryParameter<Currency> = QueryParameter {
    name: "currencyIdTo",
    about: "The currency that is priced.",
    schema: priced_currency,
    read: |text| Currency::parse(text).map_err(Invalid::as_str),
};
pub(super) const SINCE: QueryParameter<Timestamp> = QueryParameter {
    name: "since",
    about: "The start of the period. Default: 400 days ago, unless configured otherwise.",
    schema: time_schema,
    read: |text| time(text).ok_or("must be a date or a time such as 2026-11-20T17:40:00Z"),
};
pub(super) const CURSOR: QueryParameter<Timestamp> = QueryParameter::cursor(cursor, |text| {
    text.parse().map(Timestamp).map_err(|_| CURSOR_RULE)
});
pub(super) const UNIT_CURSOR: QueryParameter<UnitId> = QueryParameter::cursor(
    |_| json_schema!({ "type": "string", "pattern": UNIT_ID }),
    |text| UnitId::new(text).ok_or(CURSOR_RULE),
);

/// The members of a rate, with their former short names, which a query may use for one more release.
const RATE: [(&str, &str); 3] = [
    (RATE_TYPE.name, "type"),
    (FROM.name, "from"),
    (TO.name, "to"),
];

/// Reads the query of the history; an error names every fault.
pub(super) fn history_query(rates: &Rates, request: &Request) -> Result<HistoryQuery> {
    let mut query = Query::of(request);
    let unit = query.required(&BUSINESS_UNIT);
    let rate = RATE.map(|names| renamed(request, names));
    let rate = rate.each_ref().map(|(name, text)| (*name, text.as_str()));
    let key = rate_key(rate, &mut query.faults);
    let retention = rates.app.config.rates.history_retention;
    let earliest = rates.app.clock.now().minus(retention);
    let since = query.optional(&SINCE);
    let cursor = query.optional(&CURSOR);
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

/// Returns a parameter and its name, or the former name if only that is present.
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
    /// The last unit of the previous page.
    pub(super) after: Option<UnitId>,
    pub(super) limit: usize,
}

/// Reads which page of the list of units is wanted; `None` for the whole list.
pub(super) fn unit_query(request: &Request) -> Result<Option<UnitQuery>> {
    let is_absent = |name: &&str| request.query_param(name).is_none();
    if ["cursor", "limit"].iter().all(is_absent) {
        return Ok(None);
    }
    let mut query = Query::of(request);
    let after = query.optional(&UNIT_CURSOR);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(Some(UnitQuery { after, limit }))
}

/// Parses a time, or a date as the beginning of that day in UTC.
fn time(text: &str) -> Option<Timestamp> {
    let whole = match text.parse::<jiff::civil::Date>() {
        Ok(date) if text.len() == 10 => format!("{date}T00:00:00Z"),
        _ => text.to_owned(),
    };
    parse_time(&whole)
}

/// Parses a rate's key from three texts, each with its parameter's name.
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

pub(super) fn unit_of_query(request: &Request) -> Result<UnitId> {
    let mut query = Query::of(request);
    query
        .required(&BUSINESS_UNIT)
        .ok_or_else(|| query.faults.into_error())
}
