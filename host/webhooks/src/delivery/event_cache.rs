//! A cache of the events of deliveries in flight: each event is in memory once, however many of its deliveries are sent
//! at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tillgate_base::identity::TenantId;
use tillgate_base::load::BoundedMap;
use uuid::Uuid;

use crate::events::event::Event;

/// It needs no bound of its own: it has as many events as deliveries are in flight.
#[derive(Debug)]
pub(crate) struct EventCache(Mutex<Events>);

type Events = BoundedMap<(TenantId, Uuid), Weak<Event>>;

impl Default for EventCache {
    fn default() -> Self {
        Self(Mutex::new(BoundedMap::new(usize::MAX)))
    }
}

impl EventCache {
    /// Returns the number of events, including some that are unused.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns an event if one of its deliveries is in flight.
    pub(crate) fn get(&self, tenant: &TenantId, key: Uuid) -> Option<Arc<Event>> {
        self.lock().get(&(tenant.clone(), key))?.upgrade()
    }

    /// Adds an event unless it is there already; returns the one that is there.
    pub(crate) fn get_or_insert(&self, tenant: &TenantId, key: Uuid, event: Event) -> Arc<Event> {
        let mut events = self.lock();
        let is_used = |event: &Weak<Event>| event.strong_count() > 0;
        let entry = events.get_or_insert((tenant.clone(), key), is_used, Weak::new);
        entry.upgrade().unwrap_or_else(|| {
            let event = Arc::new(event);
            *entry = Arc::downgrade(&event);
            event
        })
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
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
        assert!(cache.count() <= 64);
    }
}
