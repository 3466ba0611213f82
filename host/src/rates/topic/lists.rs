//! The rates of a message: `{ createdRates?, updatedRates?, deletedRates? }`, each a list of rates as `given.md` 2.5 has
//! them.

use bytes::Bytes;
use serde::Serialize;

use crate::error::Result;
use crate::rates::units::json::to_json;
use crate::rates::units::rate_text::{RateNumbers, RateText};

/// The rates of a message: a JSON object without the lists that are empty.
///
/// # Errors
/// [`Error::Bug`](crate::error::Error::Bug) for a rate whose decimals are not numbers.
pub(in crate::rates) fn lists(
    created: &[RateText<'_>],
    updated: &[RateText<'_>],
    deleted: &[RateText<'_>],
) -> Result<Bytes> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Lists<'r, 'a> {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        created_rates: Vec<RateNumbers<'r, 'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        updated_rates: Vec<RateNumbers<'r, 'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        deleted_rates: Vec<RateNumbers<'r, 'a>>,
    }
    to_json(&Lists {
        created_rates: created.iter().map(RateText::sent).collect(),
        updated_rates: updated.iter().map(RateText::sent).collect(),
        deleted_rates: deleted.iter().map(RateText::sent).collect(),
    })
}
