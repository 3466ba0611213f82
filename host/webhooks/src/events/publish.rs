//! Publishes events: those that a caller sends, those of the service's own features, and test events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tillgate_api::problem::{EVENT_ID_TAKEN, WEBHOOK_DISABLED};
use tillgate_base::app::App;
use tillgate_base::data::outbox::{self, Action};
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::INLINE;
use super::accept::accept_for_all;
use super::accepted_id::{AcceptedId, accepted_id_key};
use super::event::NewEvent;
use super::log::Logging;
use crate::Webhooks;
use crate::registry::cache::{Webhooks as Registered, wanting};
use crate::registry::event_type::{PING, require_unreserved};

/// The most bytes of a document that an event carries; a receiver reads a larger one by its id.
const MAX_DOCUMENT: usize = 128 << 10;

/// The most filters that the serving threads themselves compare an event with.
const INLINE_FILTERS: usize = 64;

/// The data of an event of the service's own features.
#[derive(Debug, Serialize)]
struct Own<'a> {
    action: Action,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<serde_json::Value>,
}

/// The accepted event.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "PublishedEvent")]
pub(crate) struct Published {
    /// The id of the event.
    pub id: String,
    /// The number of webhooks that it is delivered to.
    pub deliveries: usize,
}

impl Webhooks {
    /// Accepts an event for consumers and the webhooks that want it. One whose id was accepted before is accepted
    /// again, with no further effect.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another event was accepted with its id; [`Error::TooMany`] when the tenant publishes too
    /// often, or too many of its deliveries wait; when the store is unavailable.
    pub(crate) async fn publish(&self, tenant: &TenantId, event: &NewEvent) -> Result<Published> {
        require_unreserved(&event.event_type)?;
        self.admission.count_event(tenant, self.app.clock.now())?;
        let all = self.caches.of(&self.app, tenant).await?;
        let wanted = self.wanting(all, event).await?;
        let (records, is_admitted) = (self.records(tenant), AtomicBool::new(false));
        let plan = async |logging: Logging| {
            let mut change = Change::default();
            let now = self.app.clock.now();
            if let Some(id) = &event.id {
                let key = accepted_id_key(id);
                let known = records.get::<AcceptedId>(&key).await?;
                if let Some(known) = known.as_ref().filter(|it| it.record.is_remembered(now)) {
                    return Ok((change, repeated(event, id, &known.record)?));
                }
                change.expect(&key, known.as_ref());
            }
            if wanted.is_empty() && logging == Logging::Off {
                let id = event
                    .id
                    .clone()
                    .unwrap_or_else(|| Uuid::new_v4().to_string());
                return Ok((Change::default(), Published { id, deliveries: 0 }));
            }
            let deliveries = wanted.len();
            if deliveries > 0 && !is_admitted.load(Ordering::Relaxed) {
                self.admit(tenant, deliveries).await?;
                is_admitted.store(true, Ordering::Relaxed);
            }
            let accepted = self.accept(&mut change, tenant, event, &wanted, logging, now)?;
            if let Some(id) = &event.id {
                let remembered = AcceptedId::new(event, now, deliveries, accepted.key);
                change.put(&accepted_id_key(id), &remembered)?;
            }
            let id = accepted.event_id;
            Ok((change, Published { id, deliveries }))
        };
        // If no webhook wants it, there may be no commit that would check what the cache knows of consumers.
        let logging = if wanted.is_empty() {
            Logging::read(&records).await?
        } else {
            Logging::of(self.caches.has_consumers(&self.app, tenant).await?)
        };
        // It conflicts only with its own id and a tenant's first consumer, so it does not wait for changes that are
        // planned again.
        let (change, published) = plan(logging).await?;
        if change.is_empty() || records.commit(change).await?.is_some() {
            return Ok(published);
        }
        let plan_again = async || plan(Logging::read(&records).await?).await;
        records.change(plan_again).await
    }

    /// Returns the webhooks that an event is for.
    async fn wanting(&self, all: Arc<Registered>, event: &NewEvent) -> Result<Vec<Uuid>> {
        let filters = all.values().filter(|it| it.settings.filter.is_some());
        let is_quick = match filters.count() {
            0 => true,
            count => count <= INLINE_FILTERS && event.data.len() <= INLINE,
        };
        if is_quick {
            return Ok(wanting(all.values(), event));
        }
        let event = event.clone();
        let find = move || wanting(all.values(), &event);
        Box::pin(self.app.workers.run(find)).await
    }

    /// Sends a test event to a webhook; returns the ids of the event and of the delivery.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] while it is disabled; [`Error::TooMany`]; when the store is unavailable.
    pub(crate) async fn ping(
        &self,
        tenant: &TenantId,
        webhook: Uuid,
        correlation: Uuid,
    ) -> Result<(String, Uuid)> {
        if !self.get(tenant, webhook).await?.is_enabled() {
            let detail = "the webhook is disabled: enable it first";
            return Err(Error::Conflict(WEBHOOK_DISABLED, detail.to_owned()));
        }
        let now = self.app.clock.now();
        self.admission.count_event(tenant, now)?;
        self.admit(tenant, 1).await?;
        let (mut change, event) = (Change::default(), ping(now, correlation));
        let never = Logging::Never;
        let accepted = self.accept(&mut change, tenant, &event, &[webhook], never, now)?;
        let delivery = accepted.first_delivery;
        let delivery = delivery.ok_or_else(|| Error::Bug("no delivery was made".to_owned()))?;
        self.records(tenant).commit(change).await?;
        Ok((accepted.event_id, delivery.0))
    }
}

/// Creates a test event.
pub(crate) fn ping(now: Timestamp, correlation: Uuid) -> NewEvent {
    let data = json!({ "action": "PING", "message": "This is a test." });
    NewEvent::own(PING, &data, now, correlation)
}

fn repeated(event: &NewEvent, id: &str, accepted: &AcceptedId) -> Result<Published> {
    if !accepted.is_of(event) {
        let detail = "another event was published with this id in the last 24 hours";
        return Err(Error::Conflict(EVENT_ID_TAKEN, detail.to_owned()));
    }
    Ok(Published {
        id: id.to_owned(),
        deliveries: accepted.deliveries,
    })
}

/// Publishes the events of the service's own features in the commits of their changes. A job finds out later which
/// webhooks want them.
pub(crate) fn follow_outbox(app: &Arc<App>) {
    let settings = Arc::new(app.config.webhooks.clone());
    let clock = Arc::clone(&app.clock);
    app.outbox.subscribe(move |event, records, change| {
        let (now, settings) = (clock.now(), Arc::clone(&settings));
        Box::pin(async move {
            let own = own_event(event, now)?;
            let logging = Logging::read(records).await?;
            accept_for_all(change, &own, logging, &settings, now)
        })
    });
}

/// Creates an event of the service's own features.
fn own_event(event: &outbox::Event<'_>, now: Timestamp) -> Result<NewEvent> {
    let document = event.document.filter(|json| json.len() <= MAX_DOCUMENT);
    let document = document
        .map(|json| serde_json::from_slice(json))
        .transpose();
    let document = document.map_err(|cause| Error::Bug(cause.to_string()))?;
    let data = serde_json::to_value(Own {
        action: event.action,
        id: event.id,
        document,
    });
    let data = data.map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(NewEvent::own(event.event_type, &data, now, Uuid::new_v4()))
}
