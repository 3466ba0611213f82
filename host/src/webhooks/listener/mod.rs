//! Listeners: webhooks for development, whose receiver is on a developer's own machine, where this service cannot reach it.
//!
//! A temporary webhook has a slot (`registry/slot.rs`) with a queue of its own. The developer's command follows a stream
//! (`stream.rs`): the host that it is connected to claims the deliveries of that queue and sends each with the request as
//! it is to be made (`offer.rs`). The command makes it, and reports what was answered (`report.rs`), which then counts as
//! any attempt does. A listener without a stream for a minute is removed (`expiry.rs`).
//!
//! The URL that is forwarded to is the audience of the tokens that the command sees. It must therefore be of that
//! machine or its network: a token for another URL would be good enough to deceive the receiver there (`body.rs`).

mod body;
mod expiry;
mod live;
mod offer;
mod report;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

pub(super) use self::body::{
    NewListener, listener as read_listener, listener_schema, report as read_report, report_schema,
};
pub(super) use self::expiry::{QUEUE, leave, run};
pub(super) use self::live::LiveStreams;
pub(super) use self::stream::Offered;
use tillgate_api::problem::{QUOTA_EXCEEDED, WEBHOOK_NOT_TEMPORARY};

use super::Webhooks;
use super::journal::retention;
use super::registry::quota::WEBHOOKS;
use super::registry::secrets::generate_key;
use super::registry::slot::{SLOTS, Slot, SlotHolder};
use super::registry::webhook::{Authentication, Settings, Webhook, webhook_key};
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// How long a listener may be without a stream.
const GONE_AFTER: Duration = Duration::from_secs(60);

/// A temporary webhook that was created.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) webhook: Webhook,
    /// Whether its shared key was made here.
    pub(super) key_is_made: bool,
    /// When it is removed unless a stream has begun by then.
    pub(super) expires_at: Timestamp,
}

impl Webhooks {
    /// Creates a temporary webhook.
    ///
    /// # Errors
    /// [`Error::Conflict`] when there are too many; when the store is unavailable.
    pub(super) async fn listen(&self, tenant: &TenantId, new: NewListener) -> Result<Created> {
        let key_is_made = new.shared_key.is_none();
        let shared_key = match new.shared_key {
            Some(given) => given,
            None => generate_key()?,
        };
        let settings = Settings {
            name: new.name,
            callback_url: new.forward_to,
            event_types: new.event_types,
            filter: None,
            authentication: Authentication::Bearer,
            shared_key: Some(shared_key),
            previous_key: None,
            signature_header: None,
            max_per_second: None,
            enabled: true,
            managed_by: None,
        };
        let (records, id) = (self.records(tenant), Uuid::new_v4());
        let plan = async || {
            let slot = free_slot(&records).await?;
            let now = self.app.clock.now();
            let webhook = Webhook {
                id,
                settings: settings.clone(),
                disabled: None,
                slot: Some(slot),
                created_at: now,
                last_modified: now,
                key_changed_at: Some(now),
                resumed_at: None,
            };
            let (mut change, key) = (Change::default(), webhook_key(id));
            WEBHOOKS
                .add_one(&records, &mut change, self.app.config.quotas.webhooks)
                .await?;
            change.expect(&slot.key(), None::<&Versioned<SlotHolder>>);
            let holder = SlotHolder {
                webhook: id,
                stream: None,
            };
            change.put(&slot.key(), &holder)?;
            change.put(&key, &webhook)?;
            change.notify(&key);
            expiry::renew(&mut change, id, slot, now)?;
            retention::begin(&mut change, now);
            let created = Created {
                webhook,
                key_is_made,
                expires_at: now.plus(GONE_AFTER),
            };
            Ok((change, created))
        };
        let created = records.change(plan).await?;
        self.caches.catch_up(&self.app, tenant).await?;
        Ok(created)
    }

    /// A temporary webhook and its slot. It may have been created on another host just now.
    async fn listener(&self, tenant: &TenantId, id: Uuid) -> Result<(Arc<Webhook>, Slot)> {
        let webhook = match self.get(tenant, id).await {
            Err(Error::NotFound(..)) => {
                self.caches.catch_up(&self.app, tenant).await?;
                self.get(tenant, id).await?
            }
            found => found?,
        };
        let slot = webhook.slot.ok_or_else(|| {
            let detail = "the webhook is not a temporary one: its deliveries are sent to its URL";
            Error::Conflict(WEBHOOK_NOT_TEMPORARY, detail.to_owned())
        })?;
        Ok((webhook, slot))
    }
}

async fn free_slot(records: &Records) -> Result<Slot> {
    let keys: Vec<String> = Slot::all().map(Slot::key).collect();
    let entries = records.entries(&keys).await?;
    let mut slots = Slot::all().zip(entries);
    let free = slots.find(|(_, entry)| entry.is_none());
    free.map(|(slot, _)| slot).ok_or_else(|| {
        let detail = format!("a tenant has at most {SLOTS} temporary webhooks at once");
        Error::Conflict(QUOTA_EXCEEDED, detail)
    })
}
