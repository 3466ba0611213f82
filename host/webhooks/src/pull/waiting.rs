//! Waits for a consumer's first event: until the log of its tenant grows, the time is up, the client has gone, or the
//! host stops.
//!
//! The store's hints say when to look. They may get lost, so the log is also read at intervals without one. They come
//! for every change of the tenant, so commits in quick succession share a read.

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

/// The longest that a request may wait.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// The interval between reads of the log without a hint, and the shortest one with hints.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// The time after which a request that found no place to wait may try again.
const NO_PLACE: Duration = Duration::from_secs(1);

impl Webhooks {
    /// Reserves a place among the tenant's waiting requests, if this one will wait.
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

    /// Returns what the log has after a consumer's position, once it has anything or the request has waited long
    /// enough.
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
