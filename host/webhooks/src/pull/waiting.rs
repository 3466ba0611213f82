//! Waiting for a consumer's first event: until the log of its tenant goes on, its time is over, the client has gone, or the
//! host stops.
//!
//! The store's hints tell when to look. They may be lost, so the log is looked at now and then all the same; and they come
//! for whatever the tenant changes, so commits that follow each other share a look.

use std::pin::pin;
use std::time::Duration;

use tillgate_api::problem::TOO_MUCH_WAITING;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::load::budget::Reservation;
use tillgate_store::{Slice, hinted};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Asked;
use crate::Webhooks;
use crate::events::log::EVENT_LOG;
use crate::registry::consumer::Consumer;

/// How long a request may wait.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// How often the log is looked at without a hint, and with hints at most.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// How soon there may be a place again for a request that wants to wait.
const NO_PLACE: Duration = Duration::from_secs(1);

impl Webhooks {
    /// A place among the requests of a tenant that wait, for one that will.
    pub(super) fn waiter(
        &self,
        tenant: &TenantId,
        wait: Duration,
    ) -> Result<Option<Reservation<TenantId>>> {
        if wait.is_zero() {
            return Ok(None);
        }
        let waiter = self.waiters.reserve(Some(tenant.clone()), 1);
        let too_many = || Error::TooMany {
            code: TOO_MUCH_WAITING,
            detail: format!(
                "at most {} requests of a tenant may wait for events",
                self.waiters.limit().each
            ),
            retry_after: NO_PLACE,
        };
        waiter.map(Some).ok_or_else(too_many)
    }

    /// What the log has after a consumer's position, once it has anything, or when the request has waited for long enough.
    pub(super) async fn first(
        &self,
        records: &Records,
        consumer: &Consumer,
        asked: &Asked,
        gone: impl Future<Output = ()>,
    ) -> Result<Slice> {
        let (store, partition) = (records.store(), records.partition());
        let (mut hints, mut stopping) = (store.hints(partition), self.app.stopping());
        let after = consumer.position();
        let over = Instant::now() + asked.wait;
        let mut gone = pin!(gone);
        loop {
            let looked_at = Instant::now();
            let slice = store.read(partition, EVENT_LOG, after, asked.limit).await?;
            let has_any = !slice.messages.is_empty() || after < slice.trimmed;
            if has_any || looked_at >= over {
                return Ok(slice);
            }
            let soon = over.min(looked_at + LOOK_AT_MOST_EVERY);
            tokio::select! {
                () = async {
                    hinted(&mut hints).await;
                    sleep_until(soon).await;
                } => {}
                () = sleep_until(over.min(looked_at + LOOK_EVERY)) => {}
                () = stopped(&mut stopping) => return Ok(slice),
                () = &mut gone => return Ok(slice),
            }
        }
    }
}

/// Waits until the host is stopping.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
