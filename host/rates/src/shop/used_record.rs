//! The records of the rates that shops use, as they were last published: lists as the module wrote them, with their dates.
//!
//! Most shops of a tenant use the same: they share one record, named by its content. A shop that has rates of its own has a
//! record of its own.

use bytes::Bytes;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};

use super::content::Content;
use crate::units::tree::Node;

/// The records that several shops may share, by content.
pub(crate) const SHARED: &str = "used-rates/shared/";

/// The records that say that commits have referred to those, by content. They are empty: their version counts.
pub(crate) const REFERENCES: &str = "used-rates-references/";

/// The records of one shop each.
const OWN: &str = "used-rates/shop/";

/// The list of no rates.
const NO_RATES: Bytes = Bytes::from_static(b"[]");

/// The rates of a record; none without one.
///
/// # Errors
/// [`Error::Busy`] when the record is gone: the shop uses another by now.
pub(crate) async fn read_used(records: &Records, key: Option<&str>) -> Result<Bytes> {
    let Some(key) = key else {
        return Ok(NO_RATES);
    };
    let entry = records.get_bytes(key).await?.ok_or(Error::Busy)?;
    Ok(entry.value)
}

/// The key of the record of the rates that a shop uses.
pub(super) fn used_key(shop: &Node, rates: &Content) -> String {
    if shop.unit().has_rates {
        return format!("{OWN}{}", shop.id.as_str());
    }
    format!("{SHARED}{}", rates.digest())
}

/// Whether several shops may use a record.
pub(super) fn is_shared(key: &str) -> bool {
    key.starts_with(SHARED)
}

/// The key of the record that says that commits have referred to a shared one.
pub(crate) fn reference_key(key: &str) -> Option<String> {
    Some(format!("{REFERENCES}{}", key.strip_prefix(SHARED)?))
}
