//! Reads the messages of a tenant as subscribers receive them: `{ messageId, publishTime, attributes, data }` on one
//! line, with the lists in the data wherever they are stored.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::Message;

use super::message::{inline_body, shop_of};
use crate::units::unit::UnitId;

/// The most lists that a reader caches.
const MAX_LISTS: usize = 16;

/// A reader of a tenant's messages, as subscribers receive them.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) tenant: TenantId,
    pub(super) records: Records,
    /// A cache of lists that messages share: the messages of a change follow each other.
    lists: HashMap<String, Bytes>,
}

impl Reader {
    pub(super) fn new(tenant: TenantId, records: Records) -> Self {
        Self {
            tenant,
            records,
            lists: HashMap::new(),
        }
    }

    /// Returns a message as subscribers receive it, on one line; `None` when it is damaged, which must not hold up the
    /// others.
    pub(super) async fn data(&mut self, message: &Message) -> Result<Option<Arc<str>>> {
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
