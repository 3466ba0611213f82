//! Trying out a webhook as it would be: a test event is sent to it, and nothing is stored.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use uuid::Uuid;

use super::answer::AttemptResult;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::webhooks::Webhooks;
use crate::webhooks::events::publish::ping;
use crate::webhooks::registry::body::NewWebhook;
use crate::webhooks::registry::secrets::with_secrets;

/// How many webhooks are tried out at once on this host.
const MAX_TRIALS: usize = 32;

/// As many permits as webhooks may be tried out at once.
#[derive(Debug)]
pub(in crate::webhooks) struct Trials(Semaphore);

impl Default for Trials {
    fn default() -> Self {
        Self(Semaphore::new(MAX_TRIALS))
    }
}

impl Webhooks {
    /// Sends a test event to a webhook as it would be, and waits for the result.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotFound`], [`Error::TooMany`].
    pub(in crate::webhooks) async fn try_out(
        &self,
        tenant: &TenantId,
        new: NewWebhook,
        correlation: Uuid,
    ) -> Result<AttemptResult> {
        let too_many = |_| Error::TooMany {
            detail: "too many webhooks are being tried out".to_owned(),
            retry_after: Duration::from_secs(1),
        };
        let _permit = self.trials.0.try_acquire().map_err(too_many)?;
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
