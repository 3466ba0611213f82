//! The rates of a message (`given.md`, 2.5).

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_base::error::Result;

use crate::units::json::to_json;
use crate::units::rate_answers::MessageRate;
use crate::units::rate_text::RateText;

/// The rates of a message. Empty lists are left out.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Lists<'r> {
    /// Rates that the shop did not have before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    created_rates: Vec<MessageRate<'r>>,
    /// Rates that it had, with a new value or markup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    updated_rates: Vec<MessageRate<'r>>,
    /// Rates that it no longer has, as it last used them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deleted_rates: Vec<MessageRate<'r>>,
}

/// Returns the rates of a message as a JSON object.
///
/// # Errors
/// [`Error::Bug`](tillgate_base::error::Error::Bug) for a rate whose decimals are not numbers.
pub(crate) fn lists(
    created: &[RateText<'_>],
    updated: &[RateText<'_>],
    deleted: &[RateText<'_>],
) -> Result<Bytes> {
    to_json(&Lists {
        created_rates: message_rates(created)?,
        updated_rates: message_rates(updated)?,
        deleted_rates: message_rates(deleted)?,
    })
}

fn message_rates<'r>(rates: &'r [RateText<'_>]) -> Result<Vec<MessageRate<'r>>> {
    rates.iter().map(MessageRate::new).collect()
}
