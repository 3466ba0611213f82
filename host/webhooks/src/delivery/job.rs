//! The job of a delivery: makes an attempt, unless the webhook is gone or disabled.

use std::sync::Arc;

use tillgate_base::error::Result;
use tillgate_base::jobs::Work;

use super::attempt::attempt;
use super::claim::Claim;
use super::hold::{give_up, hold};
use crate::Webhooks;

/// Runs the job of a delivery.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`](tillgate_base::error::Error::Conflict) when another host has the
/// job by now.
pub(crate) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let claim = Claim::read(&webhooks, work)?;
    let mut all = webhooks.caches.of(&webhooks.app, &claim.tenant).await?;
    if !all.contains_key(&claim.job.webhook) {
        // Another host may have just created it.
        webhooks
            .caches
            .catch_up(&webhooks.app, &claim.tenant)
            .await?;
        all = webhooks.caches.of(&webhooks.app, &claim.tenant).await?;
    }
    match all.get(&claim.job.webhook) {
        None => give_up(&claim).await,
        Some(webhook) if !webhook.is_enabled() => hold(&claim, webhook).await,
        Some(webhook) => attempt(&claim, webhook).await,
    }
}
