//! Events: the envelope that receivers get (`given.md`, 2.8), and the commit that accepts one.
//!
//! An event is stored once, its envelope as it will be sent, byte for byte, in every attempt. Each webhook that wants it
//! gets a delivery and a job, in the same commit; where there are too many of them for one, a job goes on with the
//! others. An id that was accepted is remembered for a day: the same event sent again has no further effect.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::delivery::{Delivery, DeliveryId, FIRST, Job, LATER};
use crate::clock::Timestamp;
use crate::config;
use crate::data::records::Change;
use crate::error::{Error, Result};

/// The records of accepted events, by when they were accepted.
pub(in crate::webhooks) const EVENT: &str = "webhook-event/";

/// The records of the ids that were accepted.
pub(in crate::webhooks) const EVENT_ID: &str = "webhook-event-id/";

/// The queue of events that have more deliveries to be made.
pub(in crate::webhooks) const FAN_OUT: &str = "webhook-fan-out";

/// How long an id is remembered.
pub(in crate::webhooks) const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// How many deliveries are made in one commit: each has two operations of its own.
const MAX_AT_ONCE: usize = 400;

/// An event that is published.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct NewEvent {
    /// Its id; made when there is none.
    pub id: Option<String>,
    /// Its type.
    pub event_type: String,
    /// When it happened.
    pub time: Timestamp,
    /// What kind of data it has.
    pub datacontenttype: String,
    /// Its data.
    pub data: Bytes,
    /// The correlation of what caused it.
    pub correlation: Uuid,
}

/// An event as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Stored<'a> {
    pub(in crate::webhooks) id: std::borrow::Cow<'a, str>,
    #[serde(rename = "type")]
    pub(in crate::webhooks) event_type: std::borrow::Cow<'a, str>,
    pub(in crate::webhooks) correlation: Uuid,
    /// What is sent.
    #[serde(borrow)]
    pub(in crate::webhooks) envelope: &'a RawValue,
}

/// An id that was accepted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Accepted {
    pub(in crate::webhooks) at: Timestamp,
    /// Of what is the same when it is sent again: type and data.
    digest: String,
    pub(in crate::webhooks) deliveries: usize,
}

/// The key of an event's record.
pub(in crate::webhooks) fn event_key(event: Uuid) -> String {
    format!("{EVENT}{event}")
}

/// The key of the record of an accepted id.
pub(in crate::webhooks) fn accepted_key(id: &str) -> String {
    format!("{EVENT_ID}{id}")
}

impl NewEvent {
    /// The data of an event of this service itself.
    pub(in crate::webhooks) fn own(
        event_type: &str,
        data: &serde_json::Value,
        now: Timestamp,
        correlation: Uuid,
    ) -> Self {
        Self {
            id: None,
            event_type: event_type.to_owned(),
            time: now,
            datacontenttype: "application/json".to_owned(),
            data: data.to_string().into(),
            correlation,
        }
    }

    fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(&self.event_type);
        hasher.update([0]);
        hasher.update(&self.datacontenttype);
        hasher.update([0]);
        hasher.update(&self.data);
        hex::encode(hasher.finalize())
    }

    /// What an id stands for from now on.
    pub(in crate::webhooks) fn accepted(&self, at: Timestamp, deliveries: usize) -> Accepted {
        Accepted {
            at,
            digest: self.digest(),
            deliveries,
        }
    }

    /// Whether it is the event that was accepted.
    pub(in crate::webhooks) fn is(&self, accepted: &Accepted) -> bool {
        self.digest() == accepted.digest
    }

    /// What receivers get, without white space.
    pub(in crate::webhooks) fn envelope(&self, id: &str, settings: &config::Webhooks) -> String {
        let meta = match settings.deprecations.get(&self.event_type) {
            Some(deprecation) => {
                json!({ "deprecationNotice": { "removedAfter": deprecation.removed_after.to_string() } })
            }
            None => json!({}),
        };
        let text = |text: &str| serde_json::Value::from(text).to_string();
        format!(
            r#"{{"id":{},"time":"{}","type":"{}","datacontenttype":{},"data":"{}","dataencoding":"base64","meta":{meta},"source":{},"specversion":"1.0"}}"#,
            text(id),
            self.time.to_millis_text(),
            self.event_type,
            text(&self.datacontenttype),
            BASE64_STANDARD.encode(&self.data),
            text(&settings.source),
        )
    }
}

/// The text of the `data` member of an envelope, as it is sent.
pub(in crate::webhooks) fn data_of(envelope: &str) -> Result<&str> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        data: &'a str,
    }
    let read: Result<Envelope<'_>, _> = serde_json::from_str(envelope);
    let read =
        read.map_err(|cause| Error::Bug(format!("a stored envelope is damaged: {cause}")))?;
    Ok(read.data)
}

/// Adds to a change what accepts an event for some webhooks. Answers its id, and the first delivery. `first_try` says when
/// a webhook is to be tried.
pub(in crate::webhooks) fn accept(
    change: &mut Change,
    event: &NewEvent,
    webhooks: &[Uuid],
    settings: &config::Webhooks,
    now: Timestamp,
    first_try: impl Fn(Uuid) -> Timestamp,
) -> Result<(String, Option<DeliveryId>)> {
    let key = DeliveryId::new(now).0;
    let id = event.id.clone().unwrap_or_else(|| key.to_string());
    put(change, key, &id, event, settings)?;
    let first = deliver(
        change,
        key,
        &id,
        &event.event_type,
        webhooks,
        now,
        first_try,
    )?;
    Ok((id, first))
}

/// Adds to a change the record of an event.
pub(in crate::webhooks) fn put(
    change: &mut Change,
    key: Uuid,
    id: &str,
    event: &NewEvent,
    settings: &config::Webhooks,
) -> Result<()> {
    let envelope = RawValue::from_string(event.envelope(id, settings));
    let envelope = envelope.map_err(|cause| Error::Bug(cause.to_string()))?;
    let stored = Stored {
        id: id.into(),
        event_type: event.event_type.as_str().into(),
        correlation: event.correlation,
        envelope: &envelope,
    };
    change.put(&event_key(key), &stored)
}

/// Adds to a change the deliveries of an event, or a job that makes those that are too many. Answers the first. `first_try`
/// says when a webhook is to be tried: what would be put off at once is put off already.
pub(in crate::webhooks) fn deliver(
    change: &mut Change,
    event: Uuid,
    event_id: &str,
    event_type: &str,
    webhooks: &[Uuid],
    now: Timestamp,
    first_try: impl Fn(Uuid) -> Timestamp,
) -> Result<Option<DeliveryId>> {
    let (these, others) = webhooks.split_at(webhooks.len().min(MAX_AT_ONCE));
    let mut first = None;
    for webhook in these {
        let id = DeliveryId::new(now);
        first.get_or_insert(id);
        let mut delivery = Delivery::new(*webhook, event, event_id, event_type, now);
        let at = first_try(*webhook);
        delivery.next_attempt_at = Some(at);
        change.put(&id.key(), &delivery)?;
        let job = Job {
            webhook: *webhook,
            event,
            has_slot: false,
        };
        let queue = if at > now { LATER } else { FIRST };
        change.enqueue(queue, &id.to_string(), at, job.to_bytes()?);
    }
    if !others.is_empty() {
        let others = serde_json::to_vec(others).map_err(|cause| Error::Bug(cause.to_string()))?;
        change.enqueue(FAN_OUT, &event.to_string(), now, others.into());
    }
    Ok(first)
}
