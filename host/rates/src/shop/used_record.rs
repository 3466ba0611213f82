//! The records of the rates that shops use, as they were last published: lists as the module wrote them, with their dates.
//!
//! Most shops of a tenant use the same rates and share one record, named by its content. A shop that has rates of its
//! own has its own record.

use bytes::Bytes;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};

use super::content::Content;
use crate::units::tree::Node;

/// The prefix of the records that several shops may share, by content.
pub(crate) const SHARED: &str = "used-rates/shared/";

/// The prefix of the records that say that commits have referred to shared ones, by content. They are empty: their
/// version counts.
pub(crate) const REFERENCES: &str = "used-rates-references/";

/// The prefix of the records of one shop each.
const OWN: &str = "used-rates/shop/";

const NO_RATES: Bytes = Bytes::from_static(b"[]");

/// Returns the rates of a record; no rates without a key.
///
/// # Errors
/// [`Error::Busy`] when the record is gone, because the shop uses another by now.
pub(crate) async fn read_used(records: &Records, key: Option<&str>) -> Result<Bytes> {
    let Some(key) = key else {
        return Ok(NO_RATES);
    };
    let entry = records.get_bytes(key).await?.ok_or(Error::Busy)?;
    Ok(entry.value)
}

pub(super) fn used_key(shop: &Node, rates: &Content) -> String {
    if shop.unit().has_rates {
        return format!("{OWN}{}", shop.id.as_str());
    }
    format!("{SHARED}{}", rates.digest())
}

/// Returns whether several shops may use a record.
pub(super) fn is_shared(key: &str) -> bool {
    key.starts_with(SHARED)
}

/// Returns the key of the record that says that commits have referred to a shared one.
pub(crate) fn reference_key(key: &str) -> Option<String> {
    Some(format!("{REFERENCES}{}", key.strip_prefix(SHARED)?))
}
