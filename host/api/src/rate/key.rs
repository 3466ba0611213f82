//! A rate's key as three members of an object, `exchangeRateType`, `currencyIdFrom` and `currencyIdTo`: for
//! `#[serde(flatten, with = "key")]`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tillgate_engine::rate::{Currency, Invalid, Pair, RateKey, RateType};

use super::{counted_currency, priced_currency, rate_type};

/// The type and the currencies of a rate.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Key<'a> {
    #[serde(borrow)]
    #[schemars(schema_with = "rate_type")]
    pub exchange_rate_type: Cow<'a, str>,
    #[serde(borrow)]
    #[schemars(schema_with = "counted_currency")]
    pub currency_id_from: Cow<'a, str>,
    #[serde(borrow)]
    #[schemars(schema_with = "priced_currency")]
    pub currency_id_to: Cow<'a, str>,
}

/// Parses a key from three texts.
///
/// # Errors
/// The engine's error about the first text that is invalid.
pub fn parse(rate_type: &str, from: &str, to: &str) -> Result<RateKey, Invalid> {
    Ok(RateKey {
        rate_type: RateType::parse(rate_type)?,
        pair: Pair::new(Currency::parse(from)?, Currency::parse(to)?)?,
    })
}

/// Returns a key in the form that errors use: `SALES EUR/SEK`.
#[must_use]
pub fn text(key: RateKey) -> String {
    let (rate_type, pair) = (key.rate_type.as_str(), key.pair);
    format!(
        "{rate_type} {}/{}",
        pair.from().as_str(),
        pair.to().as_str()
    )
}

/// Writes a key, for `with`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(key: &RateKey, serializer: S) -> Result<S::Ok, S::Error> {
    let members = Key {
        exchange_rate_type: key.rate_type.as_str().into(),
        currency_id_from: key.pair.from().as_str().into(),
        currency_id_to: key.pair.to().as_str().into(),
    };
    members.serialize(serializer)
}

/// Reads a key, for `with`.
///
/// # Errors
/// When a member is missing or invalid.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RateKey, D::Error> {
    let members = Key::deserialize(deserializer)?;
    let key = parse(
        &members.exchange_rate_type,
        &members.currency_id_from,
        &members.currency_id_to,
    );
    key.map_err(D::Error::custom)
}
