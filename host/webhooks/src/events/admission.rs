//! Limits what a tenant may publish: its events per second, and none while too many of its deliveries wait
//! (`[quotas]`).
//!
//! Each host counts both in memory for itself, so that no commit waits for a count that all others change. The number
//! of waiting deliveries is read from the store at intervals, and what this host has accepted since is added: with
//! several hosts there may be more, by what the others accept until the next read. Events of the service itself and
//! replays of many deliveries are never refused: their deliveries are created once there is room.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::try_join_all;
use tillgate_api::problem::{RATE_LIMITED, TOO_MUCH_WAITING};
use tillgate_base::data::quota::Usage;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::load::BoundedMap;
use tillgate_store::clock::Timestamp;

use super::delivery_record::{FIRST, LATER};
use crate::Webhooks;

/// The most tenants counted at once.
const MAX_COUNTED: usize = 50_000;

/// The time for which a count from the store is used: while many deliveries wait, and while few do.
const READ_EVERY: Duration = Duration::from_secs(1);
const READ_FEW_EVERY: Duration = Duration::from_secs(60);

/// Fewer deliveries than the quota divided by this count as few.
const FEW: usize = 10;

/// The time after which there may be room again.
pub(crate) const NO_ROOM: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Admission {
    events_per_second: u32,
    max_waiting: usize,
    tenants: Mutex<Tenants>,
}

#[derive(Debug)]
struct Tenants {
    by_id: BoundedMap<TenantId, OfTenant>,
    /// The time at which entries that no longer count were last removed.
    swept: Timestamp,
}

#[derive(Debug, Default)]
struct OfTenant {
    /// The time at which all events so far would be out at the highest rate; a second's events may come at once.
    paid_until: Timestamp,
    waiting: Waiting,
}

/// The number of a tenant's waiting deliveries, as far as this host knows.
#[derive(Debug, Default)]
struct Waiting {
    /// The time at which the store was last asked.
    asked: Option<Timestamp>,
    /// The last answer of the store.
    read: usize,
    /// The deliveries accepted between the last two reads, and since the last.
    accepted_before: usize,
    accepted: usize,
}

impl Admission {
    pub(crate) fn new(events_per_second: u32, max_waiting: usize) -> Self {
        Self {
            events_per_second,
            max_waiting,
            tenants: Mutex::new(Tenants {
                by_id: BoundedMap::new(MAX_COUNTED),
                swept: Timestamp(0),
            }),
        }
    }

    /// Returns the number of counted tenants.
    pub(crate) fn tenants(&self) -> usize {
        self.lock().by_id.len()
    }

    /// Counts an event that a tenant publishes.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub(crate) fn count_event(&self, tenant: &TenantId, now: Timestamp) -> Result<()> {
        let max = self.events_per_second;
        let counted = self.with(tenant, now, |it| it.count_event(max, now));
        counted.map_err(|retry_after| Error::TooMany {
            code: RATE_LIMITED,
            detail: format!("a tenant may publish at most {max} events a second"),
            retry_after,
        })
    }

    /// Returns how many events a tenant has published in the last second.
    pub(crate) fn events(&self, tenant: &TenantId, now: Timestamp) -> Usage {
        let max = self.events_per_second;
        let used = self.with(tenant, now, |it| it.events(max, now));
        Usage {
            used: used.into(),
            quota: max.into(),
        }
    }

    /// Counts deliveries that are accepted or made to wait again.
    pub(crate) fn add(&self, tenant: &TenantId, count: usize, now: Timestamp) {
        self.with(tenant, now, |it| it.waiting.accepted += count);
    }

    /// Counts deliveries that are accepted, unless that would be too many.
    fn admit(&self, tenant: &TenantId, count: usize, now: Timestamp) -> Result<()> {
        let max = self.max_waiting;
        let is_admitted = self.with(tenant, now, |it| {
            let fits = it.waiting.count().saturating_add(count) <= max;
            it.waiting.accepted += if fits { count } else { 0 };
            fits
        });
        if is_admitted {
            return Ok(());
        }
        Err(Error::TooMany {
            code: TOO_MUCH_WAITING,
            detail: format!("a tenant may have at most {max} deliveries waiting"),
            retry_after: NO_ROOM,
        })
    }

    fn with<T>(
        &self,
        tenant: &TenantId,
        now: Timestamp,
        work: impl FnOnce(&mut OfTenant) -> T,
    ) -> T {
        let Tenants { by_id, swept } = &mut *self.lock();
        let still_counts = |it: &OfTenant| it.still_counts(now);
        if now.since(*swept) >= READ_FEW_EVERY {
            *swept = now;
            by_id.sweep(still_counts);
        }
        work(by_id.get_or_insert(tenant.clone(), still_counts, OfTenant::default))
    }

    fn lock(&self) -> MutexGuard<'_, Tenants> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfTenant {
    /// Returns whether it has an effect that a new entry would not have.
    fn still_counts(&self, now: Timestamp) -> bool {
        let asked = self.waiting.asked.unwrap_or_default();
        self.paid_until > now || now.since(asked) < READ_FEW_EVERY
    }

    /// Counts an event; returns how long to wait when there are too many.
    fn count_event(&mut self, max: u32, now: Timestamp) -> Result<(), Duration> {
        const SECOND: Duration = Duration::from_secs(1);
        // Setting the clock back must not make the tenant wait longer.
        if self.paid_until > now.plus(SECOND * 2) {
            self.paid_until = now;
        }
        let paid_until = self.paid_until.max(now).plus(SECOND / max.max(1));
        let ahead = paid_until.since(now);
        if ahead > SECOND {
            return Err(ahead - SECOND);
        }
        self.paid_until = paid_until;
        Ok(())
    }

    fn events(&self, max: u32, now: Timestamp) -> u32 {
        let ahead = self.paid_until.since(now).as_micros();
        let events = ahead.saturating_mul(max.into()).div_ceil(1_000_000);
        u32::try_from(events).unwrap_or(max).min(max)
    }
}

impl Waiting {
    /// Returns about how many deliveries wait.
    const fn count(&self) -> usize {
        let accepted = self.accepted_before.saturating_add(self.accepted);
        self.read.saturating_add(accepted)
    }

    /// Returns whether to ask the store, and notes that it is asked: others go on with what is known. While few
    /// deliveries wait, an answer is used for `few_every`.
    fn begin_reading(&mut self, max: usize, few_every: Duration, now: Timestamp) -> bool {
        let serves = if self.count() < max / FEW {
            few_every
        } else {
            READ_EVERY
        };
        let age = |asked: Timestamp| Duration::from_micros(now.0.abs_diff(asked.0));
        if self.asked.is_some_and(|asked| age(asked) < serves) {
            return false;
        }
        self.asked = Some(now);
        self.accepted_before += std::mem::take(&mut self.accepted);
        true
    }

    /// Takes the store's answer, which includes what was accepted before the store was asked.
    const fn end_reading(&mut self, read: usize) {
        self.read = read;
        self.accepted_before = 0;
    }
}

impl Webhooks {
    /// Counts deliveries of a tenant that are about to wait.
    ///
    /// # Errors
    /// [`Error::TooMany`] when too many wait; when the store is unavailable.
    pub(crate) async fn admit(&self, tenant: &TenantId, count: usize) -> Result<()> {
        self.look_at_waiting(tenant, READ_FEW_EVERY).await?;
        let now = self.app.clock.now();
        self.admission.admit(tenant, count, now)
    }

    /// Returns whether another delivery of a tenant may wait.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn has_room(&self, tenant: &TenantId) -> Result<bool> {
        let waiting = self.look_at_waiting(tenant, READ_FEW_EVERY).await?;
        Ok(waiting < self.admission.max_waiting)
    }

    /// Returns how many deliveries of a tenant wait, as of the last second.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn waiting(&self, tenant: &TenantId) -> Result<Usage> {
        let waiting = self.look_at_waiting(tenant, READ_EVERY).await?;
        Ok(Usage::of(waiting, self.admission.max_waiting))
    }

    /// Returns about how many deliveries of a tenant wait. Asks the store if it was not asked recently.
    async fn look_at_waiting(&self, tenant: &TenantId, few_every: Duration) -> Result<usize> {
        let (admission, now) = (&self.admission, self.app.clock.now());
        let max = admission.max_waiting;
        let begin = |it: &mut OfTenant| it.waiting.begin_reading(max, few_every, now);
        if admission.with(tenant, now, begin) {
            let read = self.read_waiting(tenant).await?;
            admission.with(tenant, now, |it| it.waiting.end_reading(read));
        }
        Ok(admission.with(tenant, now, |it| it.waiting.count()))
    }

    /// Reads how many deliveries of a tenant are on the queues of attempts.
    async fn read_waiting(&self, tenant: &TenantId) -> Result<usize> {
        // A number beyond the quota need not be exact.
        let max = self.admission.max_waiting.saturating_mul(2);
        let records: &Records = &self.records(tenant);
        let counts = [FIRST, LATER].map(|queue| records.queued(queue, max));
        Ok(try_join_all(counts).await?.into_iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);

    #[test]
    fn a_seconds_events_come_at_once_and_then_one_after_the_other() {
        let mut tenant = OfTenant::default();
        let mut count = |now| tenant.count_event(4, now);
        let quarter = Duration::from_millis(250);
        assert!((0..4).all(|_| count(START).is_ok()));
        assert_eq!(count(START), Err(quarter));
        assert_eq!(count(START.plus(quarter)), Ok(()));
        assert_eq!(count(START.plus(quarter)), Err(quarter));
        let back = START.minus(Duration::from_secs(3_600));
        assert!((0..4).all(|_| count(back).is_ok()));
        assert_eq!(count(back), Err(quarter));
        assert_eq!((tenant.events(4, back), tenant.events(4, START)), (4, 0));
    }

    #[test]
    fn what_was_accepted_counts_until_the_store_has_counted_it() {
        let mut waiting = Waiting::default();
        let begin = |it: &mut Waiting, now| it.begin_reading(100, READ_FEW_EVERY, now);
        assert!(begin(&mut waiting, START), "it was never asked");
        waiting.accepted += 3;
        waiting.end_reading(50);
        assert_eq!(waiting.count(), 53);
        assert!(!begin(&mut waiting, START.plus(READ_EVERY / 2)));
        assert!(begin(&mut waiting, START.plus(READ_EVERY)));
        waiting.accepted += 4;
        assert_eq!(waiting.count(), 57);
        waiting.end_reading(9);
        assert_eq!(waiting.count(), 13);
        let later = START.plus(READ_EVERY * 2);
        assert!(begin(&mut waiting, later), "they are not few");
        waiting.end_reading(9);
        let next = later.plus(READ_EVERY * 30);
        assert!(!begin(&mut waiting, next), "they are few");
        assert!(begin(&mut waiting, later.plus(READ_FEW_EVERY)));
    }
}
