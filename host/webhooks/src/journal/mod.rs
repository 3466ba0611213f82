//! The journal: deliveries as the API returns them, newest first, and each with its attempts.

pub(super) mod release;
pub(super) mod replay;
pub(super) mod replay_filter;
pub(super) mod retention;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::DELIVERY_NOT_FOUND;
use tillgate_api::schema::{time, uuid};
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::Webhooks;
use super::events::delivery_id::{DELIVERY, DeliveryId, key_before};
use super::events::delivery_record::{Attempt, Delivery, Failure, Status};
use super::events::event::{Event, event_key};
use super::registry::webhook::{Authentication, Webhook};

/// The most deliveries examined for one page.
const MAX_EXAMINED: usize = 2_000;

/// The number of deliveries read at once.
const PAGE: usize = 200;

/// A selection of deliveries.
#[derive(Clone, Debug, Default, serde::Deserialize, Serialize)]
pub(super) struct Filter {
    /// Only deliveries to this webhook.
    pub webhook: Option<Uuid>,
    /// Only deliveries with this status.
    pub status: Option<Status>,
    /// Only deliveries of events of this type.
    pub event_type: Option<String>,
    /// Only deliveries of this event.
    pub event_id: Option<String>,
    /// Only deliveries accepted at this time or later.
    pub since: Option<Timestamp>,
    /// Only deliveries accepted before this time.
    pub until: Option<Timestamp>,
}

impl Filter {
    pub(super) fn matches(&self, delivery: &Delivery) -> bool {
        self.webhook.is_none_or(|it| it == delivery.webhook_id)
            && self.status.is_none_or(|it| it == delivery.status)
            && self
                .event_type
                .as_ref()
                .is_none_or(|it| *it == delivery.event_type)
            && self
                .event_id
                .as_ref()
                .is_none_or(|it| *it == delivery.event_id)
            && self.until.is_none_or(|it| delivery.created_at < it)
    }

    /// Returns whether a delivery, and so every one that follows it in a journal, is too old.
    pub(super) fn is_before(&self, delivery: &Delivery) -> bool {
        self.since.is_some_and(|since| delivery.created_at < since)
    }

    /// Returns the key after which the journal is read.
    pub(super) fn begin(&self) -> Option<String> {
        // Deliveries of the same millisecond are checked one by one.
        self.until.map(key_before)
    }
}

/// A page of deliveries.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Deliveries")]
pub(super) struct Page {
    /// The deliveries. There may be fewer than asked for, even none, although more follow.
    items: Vec<Entry>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A delivery without its attempts.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Delivery")]
pub(super) struct Entry {
    #[schemars(schema_with = "uuid")]
    id: Uuid,
    #[schemars(schema_with = "uuid")]
    webhook_id: Uuid,
    event_id: String,
    event_type: String,
    status: Status,
    #[schemars(schema_with = "time")]
    created_at: String,
    #[schemars(schema_with = "time")]
    updated_at: String,
    /// The number of attempts that are kept: at most the newest 25.
    attempt_count: usize,
    /// The time of its next attempt; while it is `HELD`, the time when it is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    next_attempt_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_attempt: Option<LastAttempt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Failure>,
}

/// The last attempt of a delivery in a list.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastAttempt {
    #[schemars(schema_with = "time")]
    at: String,
    duration_ms: u64,
    /// The status that the receiver answered; absent if it did not answer.
    #[schemars(range(min = 100, max = 999))]
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

/// A delivery with its attempts.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeliveryDetails")]
pub(super) struct Details {
    #[serde(flatten)]
    entry: Entry,
    attempts: Vec<Attempt>,
    /// The request, without secrets; absent if the webhook or the event is gone. It has signatures once the receiver answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestAnswer>,
}

/// The request of an attempt, without secrets.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DeliveryRequest")]
struct RequestAnswer {
    /// The method, which is `POST`.
    method: &'static str,
    url: String,
    headers: BTreeMap<String, String>,
    /// The envelope of the event.
    body: String,
}

impl Entry {
    pub(super) fn new(id: DeliveryId, delivery: &Delivery) -> Self {
        let last = delivery.attempts.last();
        Self {
            id: id.0,
            webhook_id: delivery.webhook_id,
            event_id: delivery.event_id.clone(),
            event_type: delivery.event_type.clone(),
            status: delivery.status,
            created_at: delivery.created_at.to_millis_text(),
            updated_at: delivery.updated_at.to_millis_text(),
            attempt_count: delivery.attempts.len(),
            next_attempt_at: delivery.next_attempt_at.map(Timestamp::to_millis_text),
            last_attempt: last.map(|last| LastAttempt {
                at: last.at.to_millis_text(),
                duration_ms: last.duration_ms,
                status: last.status,
            }),
            last_error: last.and_then(|last| last.error.clone()),
        }
    }
}

/// Returns the deliveries after a cursor, at most `limit`.
///
/// # Errors
/// When the store is unavailable.
pub(super) async fn page(
    records: &Records,
    filter: &Filter,
    cursor: Option<DeliveryId>,
    limit: usize,
) -> Result<Page> {
    let mut after = cursor.map(DeliveryId::key).or_else(|| filter.begin());
    let (mut items, mut examined) = (Vec::new(), 0);
    loop {
        let read = records.scan(DELIVERY, after.as_deref(), PAGE).await?;
        let mut next = None;
        for (key, entry) in &read.entries {
            let delivery = decode_entry::<Delivery>(key, entry)?.record;
            if filter.is_before(&delivery) {
                return Ok(Page { items, next: None });
            }
            let id = DeliveryId::of_key(key);
            let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a delivery")))?;
            examined += 1;
            if filter.matches(&delivery) {
                items.push(Entry::new(id, &delivery));
            }
            next = Some(id);
            if items.len() == limit {
                break;
            }
        }
        let is_last = !read.more
            && next.map(DeliveryId::key).as_ref() == read.entries.last().map(|(key, _)| key);
        if is_last || next.is_none() {
            return Ok(Page { items, next: None });
        }
        if items.len() == limit || examined >= MAX_EXAMINED {
            let next = next.map(|id| id.to_string());
            return Ok(Page { items, next });
        }
        after = next.map(DeliveryId::key);
    }
}

/// Returns a delivery with its attempts.
///
/// # Errors
/// [`Error::NotFound`]; when the store is unavailable.
pub(super) async fn details(webhooks: &Webhooks, tenant: &TenantId, id: Uuid) -> Result<Details> {
    let id = DeliveryId(id);
    let records = webhooks.app.records(tenant.partition());
    let read = records.get::<Delivery>(&id.key()).await?;
    let delivery = read.ok_or_else(|| no_delivery(id))?.record;
    let all = webhooks.caches.of(&webhooks.app, tenant).await?;
    let request = match all.get(&delivery.webhook_id) {
        Some(webhook) => request(webhooks, &records, webhook, &delivery).await?,
        None => None,
    };
    Ok(Details {
        entry: Entry::new(id, &delivery),
        attempts: delivery.attempts,
        request,
    })
}

/// Returns the request that is sent, with its signatures once the receiver has answered it. A signature proves that
/// this service sent a request, so reading the journal must not make one for a request that was never sent.
async fn request(
    webhooks: &Webhooks,
    records: &Records,
    webhook: &Webhook,
    delivery: &Delivery,
) -> Result<Option<RequestAnswer>> {
    let Some(event) = records.get::<Event>(&event_key(delivery.event)).await? else {
        return Ok(None);
    };
    let event = event.record;
    let settings = &webhook.settings;
    let mut sent = webhooks.sender.headers(&event)?;
    let answered = delivery.answered_at();
    let now = webhooks.app.clock.now();
    if let Some(at) = answered.filter(|at| webhook.has_had_its_keys_since(*at, now)) {
        webhooks.sender.sign(&mut sent, settings, &event, at)?;
    }
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut headers: BTreeMap<String, String> = sent
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect();
    let authorization = match settings.authentication {
        Authentication::Bearer => "Bearer …",
        Authentication::Basic { .. } => "Basic …",
    };
    headers.insert("authorization".to_owned(), authorization.to_owned());
    Ok(Some(RequestAnswer {
        method: "POST",
        url: settings.callback_url.clone(),
        headers,
        body: event.envelope().to_owned(),
    }))
}

pub(super) fn no_delivery(id: impl std::fmt::Display) -> Error {
    Error::missing(DELIVERY_NOT_FOUND, id)
}
