//! Deliveries that are not sent: held for a limited time while their webhook is disabled, and given up once it is
//! deleted.

use std::time::Duration;

use bytes::Bytes;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use uuid::Uuid;

use super::claim::Claim;
use super::limiter::Deferral;
use crate::events::delivery_id::DeliveryId;
use crate::events::delivery_record::{FailureKind, LATER, Status};
use crate::registry::webhook::{Webhook, webhook_key};

/// The time in which a change of a webhook reaches every host.
const PROPAGATION: Duration = Duration::from_secs(1);

/// The queue of webhooks that take deliveries again, whose waiting deliveries are released.
pub(crate) const RELEASES: &str = "webhook-releases";

/// Returns the key prefix of a webhook's deliveries that are held or wait for their next attempt; `{delivery}` follows.
pub(crate) fn waiting_prefix(webhook: Uuid) -> String {
    format!("webhook-held/{webhook}/")
}

/// Returns the key that marks a delivery as held or waiting for its next attempt.
pub(crate) fn waiting_key(webhook: Uuid, delivery: DeliveryId) -> String {
    format!("{}{delivery}", waiting_prefix(webhook))
}

/// Holds a delivery of a disabled webhook.
pub(super) async fn hold(claim: &Claim<'_>, webhook: &Webhook) -> Result<()> {
    let key = webhook_key(webhook.id);
    let stored = claim.records.get::<Webhook>(&key).await?;
    let Some(stored) = stored.filter(|stored| !stored.record.is_enabled()) else {
        // The webhook was just enabled or removed, and this host's cache does not show it yet.
        return look_again(claim).await;
    };
    let mut change = Change::default();
    // Enabling the webhook releases its held deliveries, and would miss one that is held only later.
    change.expect(&key, Some(&stored));
    let Some(mut delivery) = claim.delivery().await? else {
        return claim.settle(Change::default()).await;
    };
    let now = claim.now();
    let key = waiting_key(webhook.id, claim.id);
    let max_hold = claim.webhooks.app.config.webhooks.hold;
    let until = delivery.record.created_at.plus(max_hold);
    let is_too_old = until <= now;
    if is_too_old {
        let message = "its webhook was disabled for too long";
        let kind = FailureKind::HeldTooLong;
        delivery.record.give_up(kind, message, now);
        let (webhooks, tenant) = (claim.webhooks, &claim.tenant);
        let telling = webhooks.tell_of_failure(&mut change, tenant, claim.id, &delivery.record);
        telling.await?;
        change.delete(&key);
    } else {
        delivery.record.wait(Status::Held, now, until);
        change.put_bytes(&key, Bytes::from_static(b"{}"));
        let body = claim.job.to_bytes()?;
        change.enqueue(LATER, &claim.work.job.id, until, body);
    }
    change.put(&claim.id.key(), &delivery.record)?;
    match claim.settle(change).await {
        // The webhook has changed in the meantime. If another host has the job by now, this fails as well.
        Err(Error::Conflict(..)) => return look_again(claim).await,
        settled => settled?,
    }
    if is_too_old {
        claim.webhooks.metrics.given_up()
    } else {
        claim.webhooks.metrics.held()
    }
    Ok(())
}

/// Defers a delivery until the cache shows the new state of its webhook.
async fn look_again(claim: &Claim<'_>) -> Result<()> {
    let deferral = Deferral {
        until: claim.now().plus(PROPAGATION),
        has_reservation: false,
    };
    claim.defer(deferral).await
}

/// Gives up a delivery whose webhook was deleted.
pub(super) async fn give_up(claim: &Claim<'_>) -> Result<()> {
    let Some(mut delivery) = claim.delivery().await? else {
        return claim.settle(Change::default()).await;
    };
    let (kind, message) = (FailureKind::WebhookDeleted, "its webhook was deleted");
    delivery.record.give_up(kind, message, claim.now());
    let mut change = Change::default();
    change.put(&claim.id.key(), &delivery.record)?;
    change.delete(&waiting_key(claim.job.webhook, claim.id));
    let (webhooks, tenant) = (claim.webhooks, &claim.tenant);
    let telling = webhooks.tell_of_failure(&mut change, tenant, claim.id, &delivery.record);
    telling.await?;
    claim.settle(change).await?;
    claim.webhooks.metrics.given_up();
    Ok(())
}
