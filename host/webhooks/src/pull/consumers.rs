//! The consumers of a tenant: lists how far each has read, and removes one.

use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::CONSUMER_NOT_FOUND;
use tillgate_api::schema::time;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;

use crate::Webhooks;
use crate::events::log::EVENT_LOG;
use crate::registry::consumer::{CONSUMER, Consumer, ConsumerName};
use crate::registry::quota::CONSUMERS;

/// A consumer of events.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EventConsumer")]
pub(crate) struct Entry {
    name: String,
    #[schemars(schema_with = "time")]
    created_at: String,
    /// The time of its last request, to the minute.
    #[schemars(schema_with = "time")]
    last_seen_at: String,
    /// The time when its oldest unacknowledged event was accepted; absent if it has acknowledged all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    waiting_since: Option<String>,
    /// `true` if events that it has not acknowledged are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<bool>,
}

impl Webhooks {
    /// Returns a tenant's consumers, sorted by name.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn consumers(&self, tenant: &TenantId) -> Result<Vec<Entry>> {
        let records = self.records(tenant);
        let all = records.all::<Consumer>(CONSUMER).await?;
        let entries = all.into_iter().map(|(name, it)| entry(&records, name, it));
        try_join_all(entries).await
    }

    /// Removes a consumer. The events that it has not acknowledged stay for the others.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(crate) async fn remove_consumer(
        &self,
        tenant: &TenantId,
        name: &ConsumerName,
    ) -> Result<()> {
        let (records, key) = (self.records(tenant), name.key());
        let plan = async || {
            let read = records.get::<Consumer>(&key).await?;
            let read = read.ok_or_else(|| no_consumer(name.as_str()))?;
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            change.delete(&key);
            CONSUMERS.remove_one(&records, &mut change).await?;
            change.notify(CONSUMERS.count_key);
            Ok((change, ()))
        };
        records.change(plan).await
    }
}

async fn entry(records: &Records, name: String, consumer: Consumer) -> Result<Entry> {
    let (store, partition) = (records.store(), records.partition());
    let after = consumer.position();
    let slice = store.read(partition, EVENT_LOG, after, 1).await?;
    let oldest = slice.messages.first().map(|message| message.publish_time);
    Ok(Entry {
        name,
        created_at: consumer.created_at.to_millis_text(),
        last_seen_at: consumer.seen_at.to_millis_text(),
        waiting_since: oldest.map(Timestamp::to_millis_text),
        reset: (after < slice.trimmed).then_some(true),
    })
}

pub(crate) fn no_consumer(name: &str) -> Error {
    Error::missing(CONSUMER_NOT_FOUND, name)
}
