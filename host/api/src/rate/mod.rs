//! Exchange rates: the parts that bodies, answers and errors share. Decimals are JSON numbers with the digits of their
//! text; they never pass through a float (`rates.md`, "Setting rates").

pub mod document_type;
pub mod key;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tillgate_engine::rate::RateKey;

pub use self::document_type::DocumentType;
pub use self::key::Key;

/// The topic of the messages about rates.
pub const TOPIC: &str = "cer.public.event.rates-changed.v1";

/// The rule for the id of a business unit.
pub const UNIT_ID_RULE: &str = "must be 1 to 128 of letters, digits, . _ : and -";

/// Returns whether a text is the id of a business unit.
#[must_use]
pub fn is_unit_id(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
    (1..=128).contains(&text.len()) && text.bytes().all(allowed)
}

/// Returns the schema of the type of a rate.
pub fn rate_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["SALES", "PURCHASE", "INTERCOMPANY"], "examples": ["SALES"] })
}

/// Returns the schema of a currency.
#[must_use]
pub fn currency(example: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "An ISO 4217 code in capital letters.", "examples": [example] })
}

/// Returns the schema of the currency that a rate is counted in.
pub fn counted_currency(_: &mut SchemaGenerator) -> Schema {
    currency("SEK")
}

/// Returns the schema of the currency that a rate prices.
pub fn priced_currency(_: &mut SchemaGenerator) -> Schema {
    currency("EUR")
}

/// Returns the schema of a decimal.
pub fn decimal(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number" })
}

/// Returns the schema of the value of a rate.
pub fn rate_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "exclusiveMinimum": 0 })
}

/// Returns the schema of the value of a rate less its markup.
pub fn rate_value_with_markup(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0 })
}

/// Returns the schema of a percentage.
pub fn percentage(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "exclusiveMaximum": 100 })
}

/// Returns the JSON number with the digits of a text; `None` when the text is not a number.
#[must_use]
pub fn exact(text: &str) -> Option<&RawValue> {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    starts.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Writes a decimal text as a JSON number, for `serialize_with`.
///
/// # Errors
/// When the text is not a number.
pub fn number<S: Serializer>(text: &impl AsRef<str>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = text.as_ref();
    let number = exact(text).ok_or_else(|| S::Error::custom(format!("{text} is not a number")))?;
    number.serialize(serializer)
}

/// A rate that would move by more than its tolerance.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deviation {
    #[serde(flatten, with = "key")]
    #[schemars(with = "Key<'_>")]
    pub key: RateKey,
    /// The value that the unit uses now.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    pub old: String,
    /// The value that the unit would use.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    pub new: String,
    /// The change in percent; negative if the value falls.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    pub percent: String,
    /// The likely mistake: an inverted rate or a misplaced decimal point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["INVERTED", "DECIMAL_POINT"]))]
    pub hint: Option<String>,
}
