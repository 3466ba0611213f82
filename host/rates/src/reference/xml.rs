//! Reads the XML of the ECB: an `Envelope` has a `Cube`, which has a `Cube` with a `time` for each day, which has a
//! `Cube` with a `currency` and a `rate` for each quote.
//!
//! Elements are recognised by their local names. Nothing is expanded or fetched: an entity that XML itself does not
//! define is a fault where it is read, and a document type is ignored.

use std::borrow::Cow;

use quick_xml::de::Deserializer;
use serde::Deserialize;
use tillgate_engine::rate::Currency;

use super::Quote;
use super::draft::{Draft, Place, Quoted, is_code};
use super::text::shown;

#[derive(Deserialize)]
enum Root<'x> {
    #[serde(borrow)]
    Envelope(Envelope<'x>),
}

#[derive(Deserialize)]
struct Envelope<'x> {
    #[serde(borrow, rename = "Cube")]
    days: Days<'x>,
}

#[derive(Deserialize)]
struct Days<'x> {
    #[serde(borrow, rename = "Cube", default)]
    days: Vec<Day<'x>>,
}

#[derive(Deserialize)]
struct Day<'x> {
    #[serde(borrow, rename = "@time")]
    time: Cow<'x, str>,
    #[serde(borrow, rename = "Cube", default)]
    rates: Vec<Rate<'x>>,
}

#[derive(Deserialize)]
struct Rate<'x> {
    #[serde(borrow, rename = "@currency")]
    currency: Cow<'x, str>,
    #[serde(borrow, rename = "@rate")]
    rate: Cow<'x, str>,
}

pub(super) fn read(text: &str, draft: &mut Draft) {
    let mut deserializer = Deserializer::from_str(text.trim_ascii());
    let Root::Envelope(envelope) = match Root::deserialize(&mut deserializer) {
        Ok(root) => root,
        Err(cause) => {
            let cause = shown(&cause.to_string());
            draft.fault_of_document(format!("must be the XML of the ECB: {cause}"));
            return;
        }
    };
    if !deserializer.is_empty() {
        draft.fault_of_document("must end with its Envelope");
        return;
    }
    for day in &envelope.days.days {
        let time = day.time.trim_ascii();
        let date = draft.date(Place::Day(time), time);
        let mut quotes: Vec<Quote> = Vec::new();
        for rate in &day.rates {
            let code = rate.currency.trim_ascii();
            let place = Place::OnDay(time, code);
            if let Some(currency) = currency(code, place, draft)
                && let Some(rate) = draft.rate(place, rate.rate.trim_ascii())
            {
                if quotes.iter().any(|quote| quote.currency == currency) {
                    draft.fault(place, "must not appear twice");
                }
                quotes.push(Quote { currency, rate });
            }
        }
        if !draft.add(date, quotes) {
            return;
        }
    }
}

/// Returns the currency of a quote, if this service knows it.
fn currency(code: &str, place: Place<'_>, draft: &mut Draft) -> Option<Currency> {
    match Quoted::parse(code) {
        Quoted::Known(currency) => return Some(currency),
        Quoted::Euro => draft.fault(place, "must not have a rate: rates are per 1 EUR"),
        Quoted::Unknown if is_code(code) => draft.skip(code),
        Quoted::Unknown => draft.fault(place, "must be a code such as SEK"),
    }
    None
}
