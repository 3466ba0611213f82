//! A message as it is stored: its attributes and its body (`given.md`, 6.1).
//!
//! A body is either what subscribers receive, `{ tenantId, businessUnitId, createdRates?, updatedRates?, deletedRates?
//! }`, or `{ tenantId, businessUnitId, ratesKey }`. In the latter, the lists are the record of that key below
//! `rates-changed/`, shared by all messages that have the same lists. Consumers that read the log in Redis by
//! themselves (`host/store/src/redis/README.md`) insert these lists as `reader.rs` does.

use bytes::Bytes;
use serde_json::json;
use tillgate_base::identity::TenantId;
use tillgate_store::Message;
use uuid::Uuid;

use crate::units::unit::UnitId;

/// The topic is also the name of the log in each tenant's partition that holds its messages.
pub use tillgate_api::rate::TOPIC;

/// The prefix of the lists that messages share, each below the day of its messages.
pub(crate) const SHARED_LISTS: &str = "rates-changed/";

const TENANT_ID: &str = "Tenant-Id";
const BUSINESS_UNIT_ID: &str = "Business-Unit-Id";
const CORRELATION_ID: &str = "Correlation-Id";

pub(crate) fn attributes(
    tenant: &TenantId,
    shop: &UnitId,
    correlation: Uuid,
) -> Vec<(String, String)> {
    vec![
        (TENANT_ID.to_owned(), tenant.to_string()),
        (BUSINESS_UNIT_ID.to_owned(), shop.as_str().to_owned()),
        (CORRELATION_ID.to_owned(), correlation.to_string()),
    ]
}

pub(super) fn shop_of(message: &Message) -> &str {
    let attributes = &message.attributes;
    let found = attributes.iter().find(|(name, _)| name == BUSINESS_UNIT_ID);
    found.map_or("", |(_, shop)| shop)
}

/// Returns the body of a message with its lists, which are a JSON object.
pub(crate) fn inline_body(tenant: &TenantId, shop: &UnitId, lists: &[u8]) -> Bytes {
    let mut body = format!(
        r#"{{"tenantId":"{tenant}","businessUnitId":"{}""#,
        shop.as_str()
    )
    .into_bytes();
    match lists {
        [b'{', b'}'] => body.push(b'}'),
        [b'{', rest @ ..] => {
            body.push(b',');
            body.extend_from_slice(rest);
        }
        _ => {}
    }
    body.into()
}

/// Returns the body of a message whose lists are a record.
pub(crate) fn shared_body(tenant: &TenantId, shop: &UnitId, key: &str) -> Bytes {
    let body = json!({ "tenantId": tenant, "businessUnitId": shop, "ratesKey": key });
    body.to_string().into()
}
