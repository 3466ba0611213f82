//! Tries out a webhook with proposed settings: sends it a test event, and stores nothing. A receiver that hangs keeps a
//! permit for as long as an attempt may take, so tenants take turns, and one has at most half of the permits.

use std::sync::Arc;
use std::time::Duration;

use tillgate_api::problem::TOO_MUCH_WAITING;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::load::budget::Limit;
use tillgate_base::load::semaphore::{FairSemaphore, Permit};
use tokio::time::timeout;
use uuid::Uuid;

use super::answer::AttemptResult;
use crate::Webhooks;
use crate::events::publish::ping;
use crate::registry::body::NewWebhook;
use crate::registry::secrets::with_secrets;

/// The most webhooks that are tried out at once on this host.
const LIMIT: Limit = Limit::half_each(32);

/// The longest that a request waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A permit for each webhook that may be tried out at once.
#[derive(Debug)]
pub(crate) struct Trials(Arc<FairSemaphore<TenantId>>);

impl Default for Trials {
    fn default() -> Self {
        Self(FairSemaphore::new(LIMIT))
    }
}

impl Trials {
    async fn permit(&self, tenant: &TenantId) -> Result<Permit<TenantId>> {
        let permit = timeout(MAX_WAIT, self.0.acquire(tenant.clone(), ())).await;
        permit.ok().flatten().ok_or_else(|| {
            let Limit { all, each } = LIMIT;
            Error::TooMany {
                code: TOO_MUCH_WAITING,
                detail: format!(
                    "too many webhooks are being tried out: at most {all} at once, {each} of them of one tenant"
                ),
                retry_after: Duration::from_secs(1),
            }
        })
    }
}

impl Webhooks {
    /// Sends a test event to a webhook with proposed settings, and waits for the result.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotFound`], [`Error::TooMany`].
    pub(crate) async fn try_out(
        &self,
        tenant: &TenantId,
        new: NewWebhook,
        correlation: Uuid,
    ) -> Result<AttemptResult> {
        let _permit = self.trials.permit(tenant).await?;
        let stored = match new.id {
            Some(id) => Some(self.get(tenant, id).await?),
            None => None,
        };
        let stored = stored.as_ref().map(|webhook| &webhook.settings);
        let settings = with_secrets(&new, stored)?;
        let clock = self.app.clock.as_ref();
        let event = ping(clock.now(), correlation);
        let event = event.to_event(Uuid::new_v4(), &self.app.config.webhooks)?;
        let sent = self
            .sender
            .send(&self.identity, &settings, Arc::new(event), clock);
        sent.await
    }
}
