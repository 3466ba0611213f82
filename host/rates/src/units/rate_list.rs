//! The rates of a unit as they are answered: one JSON text, its entity tag, and the place of each rate in the text, so
//! that one of ten thousand rates is answered without reading the others.

use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::error::Result;
use tillgate_engine::rate::RateKey;

use super::json::to_json;
use super::prepared::Weighed;
use super::rate_text::RateText;

#[derive(Debug)]
pub(crate) struct RateList {
    json: Bytes,
    etag: Etag,
    /// Sorted by key.
    places: Vec<(RateKey, Range<usize>)>,
}

impl RateList {
    /// Builds the list of the answers for these rates, in their order.
    ///
    /// # Errors
    /// [`Error::Bug`](tillgate_base::error::Error::Bug) for a damaged rate.
    pub(crate) fn new<'a, A: Serialize>(
        rates: impl Iterator<Item = RateText<'a>>,
        answer: impl Fn(RateText<'a>) -> Result<A>,
    ) -> Result<Self> {
        let (mut json, mut places) = (Vec::from(*b"["), Vec::new());
        for rate in rates {
            if !places.is_empty() {
                json.push(b',');
            }
            let begin = json.len();
            let key = rate.key()?;
            json.extend_from_slice(&to_json(&answer(rate)?)?);
            places.push((key, begin..json.len()));
        }
        json.push(b']');
        places.sort_unstable_by_key(|(key, _)| *key);
        Ok(Self {
            etag: etag::of_text(&json),
            json: json.into(),
            places,
        })
    }

    /// Returns the whole list of `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, … }`.
    pub(crate) const fn json(&self) -> &Bytes {
        &self.json
    }

    pub(crate) const fn etag(&self) -> &Etag {
        &self.etag
    }

    /// Returns one rate, as it stands in the list.
    pub(crate) fn get(&self, key: RateKey) -> Option<Bytes> {
        let place = self.places.binary_search_by_key(&key, |(key, _)| *key);
        let (_, range) = self.places.get(place.ok()?)?;
        Some(self.json.slice(range.clone()))
    }
}

impl Weighed for RateList {
    fn bytes(&self) -> usize {
        self.json.len() + size_of_val(self.places.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use tillgate_api::rate::key as rate_key;

    use super::*;
    use crate::units::rate_answers::SetRateAnswer;

    #[test]
    fn one_rate_is_answered_as_it_stands_in_the_list() -> Result<()> {
        let key = |from, to| {
            rate_key::parse("SALES", from, to).map_err(|_| tillgate_base::error::Error::Busy)
        };
        let set = |rate| Ok(SetRateAnswer::from(rate));
        let (sek, usd) = (key("SEK", "EUR")?, key("EUR", "USD")?);
        let list = RateList::new(
            [(sek, "11.5"), (usd, "0.9")]
                .map(|(key, value)| RateText::new(key, value))
                .into_iter(),
            set,
        )?;
        let one = list.get(usd).unwrap_or_default();
        assert_eq!(
            one,
            r#"{"exchangeRateType":"SALES","currencyIdFrom":"EUR","currencyIdTo":"USD","rateValue":0.9}"#
        );
        assert!(list.json().ends_with(b"\"rateValue\":0.9}]"));
        assert_eq!(list.get(usd.opposite()), None);
        assert_eq!(RateList::new(std::iter::empty(), set)?.json(), "[]");
        Ok(())
    }
}
