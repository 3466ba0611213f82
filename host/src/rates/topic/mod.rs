//! The topic `cer.public.event.rates-changed.v1`: its messages, and following it (`rates.md`, "The topic").
//!
//! Each tenant's messages are a log of its partition, so that a message is in the commit of the change that it tells of.
//! A message's body is the body that subscribers receive, or names the record that has its lists, which many messages
//! share (`shop.rs`); README, "Read the topic from Redis", documents both.

mod cursor;
mod hub;
mod subscription;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use uuid::Uuid;

pub use self::cursor::Cursor;
pub(super) use self::hub::Hubs;
pub use self::subscription::{Filter, Item};
pub(super) use self::subscription::{follow, follow_all};
use super::units::unit::UnitId;
use crate::data::records::Records;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::store::Message;

/// The topic, and the log of each tenant that holds its messages.
pub const TOPIC: &str = "cer.public.event.rates-changed.v1";

/// The records of lists that messages share, each below the day of its messages.
pub(super) const SHARED_LISTS: &str = "rates-changed/";

const TENANT_ID: &str = "Tenant-Id";
const BUSINESS_UNIT_ID: &str = "Business-Unit-Id";
const CORRELATION_ID: &str = "Correlation-Id";

/// The attributes of a message (`given.md`, 6.1).
pub(super) fn attributes(
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

/// The body of a message with its lists, which are a JSON object.
pub(super) fn inline_body(tenant: &TenantId, shop: &UnitId, lists: &[u8]) -> Bytes {
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

/// The body of a message whose lists are a record.
pub(super) fn shared_body(tenant: &TenantId, shop: &UnitId, key: &str) -> Bytes {
    let body = json!({ "tenantId": tenant, "businessUnitId": shop, "ratesKey": key });
    body.to_string().into()
}

/// The shop that a message is for.
fn shop_of(message: &Message) -> &str {
    let attributes = &message.attributes;
    let found = attributes.iter().find(|(name, _)| name == BUSINESS_UNIT_ID);
    found.map_or("", |(_, shop)| shop)
}

/// What subscribers receive of messages of a tenant.
#[derive(Debug)]
struct Reader {
    tenant: TenantId,
    records: Records,
    /// Lists that messages share, as read; the messages of a change follow each other.
    lists: HashMap<String, Bytes>,
}

/// How many lists a reader keeps.
const MAX_LISTS: usize = 16;

impl Reader {
    fn new(tenant: TenantId, records: Records) -> Self {
        Self {
            tenant,
            records,
            lists: HashMap::new(),
        }
    }

    /// What subscribers receive of a message, on one line; `None` when it is damaged, which must not hold up the others.
    async fn data(&mut self, message: &Message) -> Result<Option<Arc<str>>> {
        match self.read(message).await {
            Ok(data) => Ok(Some(data)),
            Err(Error::Bug(cause)) => {
                let (tenant, position) = (&self.tenant, message.position.0);
                tracing::error!(%tenant, position, cause, "a message cannot be read");
                Ok(None)
            }
            Err(cause) => Err(cause),
        }
    }

    async fn read(&mut self, message: &Message) -> Result<Arc<str>> {
        let body = self.body(message).await?;
        let body: &RawValue =
            serde_json::from_slice(&body).map_err(|cause| Error::Bug(cause.to_string()))?;
        let attributes: serde_json::Map<_, _> = message
            .attributes
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let (id, at) = (message.position.0, message.publish_time.to_micros_text());
        let attributes = serde_json::Value::from(attributes);
        let data = format!(
            r#"{{"messageId":"{}/{id}","publishTime":"{at}","attributes":{attributes},"data":{body}}}"#,
            self.tenant
        );
        Ok(data.into())
    }

    async fn body(&mut self, message: &Message) -> Result<Bytes> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Stored<'a> {
            rates_key: Option<&'a str>,
        }
        let stored: Stored<'_> = serde_json::from_slice(&message.body)
            .map_err(|cause| Error::Bug(format!("a message is damaged: {cause}")))?;
        let Some(key) = stored.rates_key else {
            return Ok(message.body.clone());
        };
        if !self.lists.contains_key(key) {
            let entry = self.records.get_bytes(key).await?;
            let entry = entry.ok_or_else(|| Error::Bug(format!("{key} is missing")))?;
            if self.lists.len() >= MAX_LISTS {
                self.lists.clear();
            }
            self.lists.insert(key.to_owned(), entry.value);
        }
        let lists = self.lists.get(key).cloned().unwrap_or_default();
        let shop = UnitId::new(shop_of(message));
        let shop = shop.ok_or_else(|| Error::Bug("a message names no shop".to_owned()))?;
        Ok(inline_body(&self.tenant, &shop, &lists))
    }
}
