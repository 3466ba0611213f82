//! The events of deliveries that are in flight: each is in memory once, however many deliveries of it are sent at the same
//! time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use uuid::Uuid;

use crate::identity::TenantId;
use crate::webhooks::events::event::Event;

/// How many entries there are at least before those that are unused are dropped.
const MIN_SWEEP: usize = 64;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(in crate::webhooks) struct EventCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    events: HashMap<(TenantId, Uuid), Weak<Event>>,
    /// Those that are unused are dropped once there are so many.
    sweep_at: usize,
}

impl EventCache {
    /// How many there are, with some that are unused.
    pub(in crate::webhooks) fn count(&self) -> usize {
        self.lock().events.len()
    }

    /// An event, when a delivery of it is in flight.
    pub(in crate::webhooks) fn get(&self, tenant: &TenantId, key: Uuid) -> Option<Arc<Event>> {
        let entries = self.lock();
        entries.events.get(&(tenant.clone(), key))?.upgrade()
    }

    /// Adds an event, unless it is there already; answers the one that is there.
    pub(in crate::webhooks) fn get_or_insert(
        &self,
        tenant: &TenantId,
        key: Uuid,
        event: Event,
    ) -> Arc<Event> {
        let mut entries = self.lock();
        if entries.events.len() >= entries.sweep_at {
            entries.events.retain(|_, event| event.strong_count() > 0);
            entries.sweep_at = (entries.events.len() * 2).max(MIN_SWEEP);
        }
        let entry = entries.events.entry((tenant.clone(), key)).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let event = Arc::new(event);
            *entry = Arc::downgrade(&event);
            event
        })
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        let record = r#"{"id":"order-1","type":"a.v1","correlation":"00000000-0000-0000-0000-000000000000","envelope":{}}"#;
        serde_json::from_str(record).unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn an_event_is_shared_by_the_deliveries_of_its_tenant_that_are_in_flight() {
        let (cache, key) = (EventCache::default(), Uuid::from_u128(1));
        let [one, other] =
            ["one", "other"].map(|id| TenantId::new(id).unwrap_or_else(|| unreachable!()));
        let first = cache.get_or_insert(&one, key, event());
        let second = cache.get_or_insert(&one, key, event());
        assert!(Arc::ptr_eq(&first, &second));
        let found = cache.get(&one, key);
        assert!(found.is_some_and(|found| Arc::ptr_eq(&first, &found)));
        assert!(cache.get(&other, key).is_none());
        drop((first, second));
        assert!(cache.get(&one, key).is_none());
        for number in 0..1_000 {
            drop(cache.get_or_insert(&one, Uuid::from_u128(number), event()));
        }
        assert!(cache.lock().events.len() <= MIN_SWEEP);
    }
}
