//! How many deliveries of a tenant are under way to one target, a scheme, host and port: many webhooks may have one receiver.
//!
//! Neither a webhook nor a job waits for a place: a delivery without one is put off until there is expected to be one. A
//! target is in memory for as long as a delivery to it is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;

use super::Deferral;
use super::pacing::SPACING;
use super::room::Room;
use super::under_way::UnderWay;
use crate::clock::Timestamp;
use crate::identity::TenantId;

/// A tenant, and where it sends to.
type Key = (TenantId, String);

/// The targets that deliveries of this host are under way to.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Targets(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max_under_way: usize,
    targets: Mutex<HashMap<Key, Target>>,
}

#[derive(Debug)]
struct Target {
    under_way: UnderWay,
    room: Room,
}

/// A delivery that is under way, until this is dropped.
#[derive(Debug)]
pub(in crate::webhooks) struct Place {
    all: Targets,
    key: Key,
    begun: Timestamp,
}

impl Targets {
    pub(in crate::webhooks) fn new(max_under_way: usize) -> Self {
        Self(Arc::new(Shared {
            max_under_way,
            targets: Mutex::default(),
        }))
    }

    /// Asks to send a delivery of a tenant to a URL.
    ///
    /// # Errors
    /// Until when it is put off instead.
    pub(in crate::webhooks) fn enter(
        &self,
        tenant: &TenantId,
        url: &str,
        now: Timestamp,
    ) -> Result<Place, Deferral> {
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        let key = (tenant.clone(), origin.unwrap_or_default());
        let max = self.0.max_under_way;
        let mut targets = self.lock();
        let target = targets.entry(key.clone()).or_insert_with(|| Target {
            under_way: UnderWay::default(),
            room: Room::new(max),
        });
        if target.under_way.count() >= max {
            let until = match target.under_way.silent_until(now) {
                Some(until) => target.room.reserve_after(until, SPACING),
                None => target.room.reserve(now),
            };
            return Err(Deferral::reserved(until));
        }
        target.under_way.begin(now);
        Ok(Place {
            all: self.clone(),
            key,
            begun: now,
        })
    }

    /// How many targets there are.
    pub(in crate::webhooks) fn count(&self) -> usize {
        self.lock().len()
    }

    /// How many deliveries of a tenant are under way to the target that has most of them.
    pub(in crate::webhooks) fn most(&self, tenant: &TenantId) -> usize {
        let targets = self.lock();
        let own = targets.iter().filter(|((of, _), _)| of == tenant);
        own.map(|(_, target)| target.under_way.count())
            .max()
            .unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Target>> {
        let targets = &self.0.targets;
        targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Notes how long the delivery has taken. After one that has succeeded, those that are put off do not wait behind others
    /// that were put off while the target was slow.
    pub(in crate::webhooks) fn finish(self, now: Timestamp, took: Duration, has_succeeded: bool) {
        if let Some(target) = self.all.lock().get_mut(&self.key) {
            target.room.took(took);
            if has_succeeded {
                target.under_way.succeed(now);
                target.room.clear();
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut targets = self.all.lock();
        let Some(target) = targets.get_mut(&self.key) else {
            return;
        };
        target.under_way.end(self.begun);
        if target.under_way.count() == 0 {
            targets.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);

    #[test]
    fn each_tenant_has_so_many_under_way_to_a_target_and_the_next_come_one_after_the_other() {
        let targets = Targets::new(2);
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let [acme, other] = ["acme", "other"].map(|name| TenantId::new(name).unwrap());
        let enter = |tenant, url| targets.enter(tenant, url, START);
        let own = [
            enter(&acme, "https://erp.example/a"),
            enter(&acme, "https://erp.example:443/b?c"),
        ];
        let later = [1, 2, 3].map(|_| {
            let refused = enter(&acme, "https://ERP.example/c");
            refused.map_or_else(|deferral| deferral.until.since(START).as_millis(), |_| 0)
        });
        assert_eq!(later, [20, 30, 40]);
        let besides = [
            enter(&acme, "http://erp.example/a"),
            enter(&acme, "https://erp.example:8443/a"),
            enter(&other, "https://erp.example/a"),
        ];
        assert!(own.iter().chain(&besides).all(Result::is_ok));
        assert_eq!((targets.count(), targets.most(&acme)), (4, 2));
        let [first, second] = own;
        drop((first, besides));
        assert_eq!((targets.count(), targets.most(&acme)), (1, 1));
        assert!(enter(&acme, "https://erp.example/d").is_ok());
        drop(second);
        assert_eq!(targets.count(), 0);
    }
}
