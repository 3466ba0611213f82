//! Limits a tenant's deliveries under way to one target, a scheme, host and port: webhooks may share a receiver.
//!
//! The first delivery of a proven webhook needs no place, so that others that stop answering at once do not delay it.
//! Its further deliveries do. Unproven webhooks get at most half of the places. In all, up to [`MOST`] times as many
//! deliveries as places are under way, so that a receiver that becomes slow is not sent more and more.
//!
//! Neither a webhook nor a job waits for a place: a delivery without one is deferred until one is expected. A target is
//! in memory while a delivery to it is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;

use super::pacing::SPACING;
use super::room::Room;
use super::{Deferral, Limiter};

/// The most deliveries under way to a target, as a multiple of its places.
const MOST: usize = 8;

/// The longest that a webhook waits as a whole before it is tried again: it may be one that answers.
const MAX_HOLD: Duration = Duration::from_secs(1);

/// A tenant and a target.
type Key = (TenantId, String);

/// The targets that this host has deliveries under way to.
#[derive(Clone, Debug)]
pub(crate) struct Targets(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max_under_way: usize,
    targets: Mutex<HashMap<Key, Target>>,
}

#[derive(Debug)]
struct Target {
    /// Each webhook that has deliveries under way, and their number.
    webhooks: Vec<(Arc<Limiter>, usize)>,
    room: Room,
}

/// A delivery that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    all: Targets,
    key: Key,
    limiter: Arc<Limiter>,
}

impl Targets {
    pub(crate) fn new(max_under_way: usize) -> Self {
        Self(Arc::new(Shared {
            max_under_way,
            targets: Mutex::default(),
        }))
    }

    /// Asks to send a delivery of a tenant to the URL of a webhook.
    ///
    /// # Errors
    /// The deferral, when there is no place for it.
    pub(crate) fn enter(
        &self,
        tenant: &TenantId,
        url: &str,
        limiter: &Arc<Limiter>,
        now: Timestamp,
    ) -> Result<Place, Deferral> {
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        let key = (tenant.clone(), origin.unwrap_or_default());
        let max = self.0.max_under_way;
        let mut targets = self.lock();
        let target = targets.entry(key.clone()).or_insert_with(|| Target {
            webhooks: Vec::new(),
            room: Room::new(max),
        });
        target.admit(limiter, max, now)?;
        match target
            .webhooks
            .iter_mut()
            .find(|(of, _)| Arc::ptr_eq(of, limiter))
        {
            Some((_, under_way)) => *under_way += 1,
            None => target.webhooks.push((Arc::clone(limiter), 1)),
        }
        Ok(Place {
            all: self.clone(),
            key,
            limiter: Arc::clone(limiter),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns how many places of a target a tenant has taken, where it has taken most.
    pub(crate) fn most(&self, tenant: &TenantId, now: Timestamp) -> usize {
        let targets = self.lock();
        let own = targets.iter().filter(|((of, _), _)| of == tenant);
        let most = own.map(|(_, target)| target.taken(now)).max();
        most.unwrap_or(0).min(self.0.max_under_way)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Target>> {
        let targets = &self.0.targets;
        targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target {
    fn under_way(&self) -> usize {
        self.webhooks.iter().map(|(_, under_way)| under_way).sum()
    }

    /// Returns how many places are taken: by unproven webhooks, and by what proven ones have beside their first delivery.
    fn taken(&self, now: Timestamp) -> usize {
        let taken = self.webhooks.iter();
        let taken = taken.map(|(of, under_way)| under_way - usize::from(of.is_proven(now)));
        taken.sum()
    }

    /// Checks whether there is a place for a webhook's delivery.
    ///
    /// # Errors
    /// The deferral of the delivery, when there is none.
    fn admit(
        &mut self,
        limiter: &Arc<Limiter>,
        max: usize,
        now: Timestamp,
    ) -> Result<(), Deferral> {
        let is_proven = limiter.is_proven(now);
        let half = max.div_ceil(2);
        let is_full = self.under_way() >= max * MOST;
        let (proven, unproven): (Vec<_>, Vec<_>) =
            self.webhooks.iter().partition(|(of, _)| of.is_proven(now));
        let of_unproven: usize = unproven.iter().map(|(_, under_way)| under_way).sum();
        let has_room = if is_proven {
            let is_first = !proven.iter().any(|(of, _)| Arc::ptr_eq(of, limiter));
            let shared: usize = proven.iter().map(|(_, under_way)| under_way - 1).sum();
            !is_full && (is_first || shared < max - of_unproven.min(max - half))
        } else {
            of_unproven < half
        };
        if has_room {
            return Ok(());
        }
        let silences = unproven.iter().map(|(of, _)| of.pacing().silence(now));
        let silences: Option<Vec<Duration>> = silences.collect();
        let until = match silences.and_then(|all| all.into_iter().max()) {
            // None of the unproven webhooks answers: this webhook waits as a whole.
            Some(silence) if !is_proven || is_full => {
                let again = now.plus(silence.min(MAX_HOLD));
                let until = self.room.reserve_after(again, SPACING);
                limiter.pacing().hold(until);
                until
            }
            _ => self.room.reserve(now),
        };
        Err(Deferral::reserved(until))
    }
}

impl Place {
    /// Notes how long a successful delivery took. Those deferred from now on do not wait behind others that were
    /// deferred while the target was slow.
    pub(crate) fn finish(self, took: Duration, has_succeeded: bool) {
        if !has_succeeded {
            return;
        }
        if let Some(target) = self.all.lock().get_mut(&self.key) {
            target.room.took(took);
            target.room.clear();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut targets = self.all.lock();
        let Some(target) = targets.get_mut(&self.key) else {
            return;
        };
        target.webhooks.retain_mut(|(of, under_way)| {
            *under_way -= usize::from(Arc::ptr_eq(of, &self.limiter));
            *under_way > 0
        });
        if target.webhooks.is_empty() {
            targets.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::Limiters;
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);
    const ONE: Duration = Duration::from_millis(1);
    const URL: &str = "https://erp.example/a";

    fn tenant(name: &str) -> TenantId {
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        TenantId::new(name).unwrap()
    }

    /// Returns the limiters of some webhooks of a tenant, each proven by a successful delivery if `is_proven`.
    async fn webhooks(count: u128, is_proven: bool) -> Vec<Arc<Limiter>> {
        let all = Limiters::new(8);
        let mut limiters = Vec::new();
        for id in 0..count {
            let limiter = all.of(&tenant("acme"), Uuid::from_u128(id), START);
            if is_proven && let Ok(permit) = limiter.admit(START, None, false).await {
                permit.finish(START, Duration::from_millis(5), true);
            }
            limiters.push(limiter);
        }
        limiters
    }

    /// Returns the places that these get at a time, and for how many milliseconds the others are deferred.
    fn enter(
        targets: &Targets,
        limiters: &[Arc<Limiter>],
        now: Timestamp,
    ) -> (Vec<Place>, Vec<u128>) {
        let (mut places, mut put_off) = (Vec::new(), Vec::new());
        for limiter in limiters {
            match targets.enter(&tenant("acme"), URL, limiter, now) {
                Ok(place) => places.push(place),
                Err(deferral) => put_off.push(deferral.until.since(now).as_millis()),
            }
        }
        (places, put_off)
    }

    #[tokio::test]
    async fn proven_webhooks_have_one_delivery_each_and_share_the_places_of_their_target() {
        let targets = Targets::new(2);
        let proven = webhooks(5, true).await;
        let (first, put_off) = enter(&targets, &proven, START);
        assert_eq!((first.len(), put_off.len()), (5, 0));
        let (own, put_off) = enter(&targets, &proven, START);
        assert_eq!((own.len(), put_off), (2, vec![20, 30, 40]));
        let enter = |name, url| {
            let limiters = proven.iter().take(1);
            let entered = limiters.map(|of| targets.enter(&tenant(name), url, of, START));
            entered.collect::<Result<Vec<_>, _>>()
        };
        let besides = [
            enter("acme", "http://erp.example/a"),
            enter("acme", "https://erp.example:8443/a"),
            enter("other", "https://erp.example:443/b?c"),
        ];
        assert!(besides.iter().all(Result::is_ok));
        assert!(enter("acme", "https://ERP.example:443/b?c").is_err());
        assert_eq!(
            (targets.count(), targets.most(&tenant("acme"), START)),
            (4, 2)
        );
        drop((first, own, besides));
        assert_eq!(targets.count(), 0);
    }

    #[tokio::test]
    async fn webhooks_that_are_not_proven_have_half_of_the_places() {
        let targets = Targets::new(4);
        let (unproven, proven) = (webhooks(4, false).await, webhooks(3, true).await);
        let (few, put_off) = enter(&targets, &unproven, START);
        assert_eq!((few.len(), put_off), (2, vec![20, 25]));
        let (first, put_off) = enter(&targets, &proven, START);
        assert_eq!((first.len(), put_off.len()), (3, 0));
        let (others, put_off) = enter(&targets, &proven, START);
        assert_eq!((others.len(), put_off.len()), (2, 1));
    }

    #[tokio::test]
    async fn those_that_stop_answering_take_no_places_from_others() {
        let targets = Targets::new(4);
        let hanging = webhooks(5, true).await;
        let mut permits = Vec::new();
        for limiter in &hanging {
            permits.push(limiter.admit(START.plus(ONE), None, false).await);
        }
        let (all, put_off) = enter(&targets, &hanging, START);
        assert_eq!((all.len(), put_off.len()), (5, 0));
        let (more, put_off) = enter(&targets, &hanging, START);
        assert_eq!((more.len(), put_off.len()), (4, 1));
        let good = webhooks(3, true).await;
        let (others, _) = enter(&targets, &good, START);
        assert_eq!(others.len(), 3, "they do not know yet that five hang");
        let later = START.plus(ONE + Duration::from_millis(1_500));
        let (none, put_off) = enter(&targets, &hanging, later);
        assert_eq!(
            (none.len(), put_off),
            (0, vec![1_000, 1_005, 1_010, 1_015, 1_020])
        );
        let (second, _) = enter(&targets, &good, later);
        assert_eq!(second.len(), 2, "half of the places");
        assert_eq!(targets.most(&tenant("acme"), START), 4);
    }

    #[tokio::test]
    async fn a_target_that_becomes_slow_is_not_sent_more_and_more() {
        let targets = Targets::new(2);
        let (mut all, mut permits, mut now) = (Vec::new(), Vec::new(), START.plus(ONE));
        for _ in 0..20 {
            let proven = webhooks(2, true).await;
            for limiter in &proven {
                permits.push(limiter.admit(now, None, false).await);
            }
            all.extend(enter(&targets, &proven, now).0);
            now = now.plus(Duration::from_millis(250));
        }
        assert_eq!(all.len(), 2 * MOST);
    }
}
