//! The messages under way: that of an event is in memory once, however many deliveries of it are sent at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use uuid::Uuid;

use super::send::Message;
use crate::identity::TenantId;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(in crate::webhooks) struct Messages(Mutex<Known>);

/// By tenant and event.
#[derive(Debug, Default)]
struct Known {
    messages: HashMap<(TenantId, Uuid), Weak<Message>>,
    /// Those that nobody sends any more are dropped once there are so many.
    sweep_at: usize,
}

impl Messages {
    /// The message of an event, when somebody sends it now.
    pub(in crate::webhooks) fn find(&self, tenant: &TenantId, event: Uuid) -> Option<Arc<Message>> {
        let known = self.lock();
        known.messages.get(&(tenant.clone(), event))?.upgrade()
    }

    /// The message of an event from now on, unless there is one already; answers the one that there is.
    pub(in crate::webhooks) fn add(
        &self,
        tenant: &TenantId,
        event: Uuid,
        message: Message,
    ) -> Arc<Message> {
        let mut known = self.lock();
        if known.messages.len() >= known.sweep_at {
            known
                .messages
                .retain(|_, message| message.strong_count() > 0);
            known.sweep_at = (known.messages.len() * 2).max(64);
        }
        let place = known.messages.entry((tenant.clone(), event)).or_default();
        place.upgrade().unwrap_or_else(|| {
            let message = Arc::new(message);
            *place = Arc::downgrade(&message);
            message
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(envelope: &str) -> Message {
        Message {
            event_id: "order-1".to_owned(),
            correlation: Uuid::nil(),
            envelope: envelope.to_owned(),
        }
    }

    #[test]
    fn a_message_is_shared_by_its_tenant_while_somebody_sends_it() {
        let (messages, event) = (Messages::default(), Uuid::from_u128(1));
        let [one, other] =
            ["one", "other"].map(|id| TenantId::new(id).unwrap_or_else(|| unreachable!()));
        let first = messages.add(&one, event, message("{}"));
        let second = messages.add(&one, event, message("{}"));
        assert!(Arc::ptr_eq(&first, &second));
        let found = messages.find(&one, event);
        assert!(found.is_some_and(|found| Arc::ptr_eq(&first, &found)));
        assert!(messages.find(&other, event).is_none());
        drop((first, second));
        assert!(messages.find(&one, event).is_none());
        for number in 0..1_000 {
            drop(messages.add(&one, Uuid::from_u128(number), message("{}")));
        }
        assert!(messages.lock().messages.len() <= 64);
    }
}
