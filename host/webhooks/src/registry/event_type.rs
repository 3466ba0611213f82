//! The names of event types: what a webhook may want, and what an event may have (`webhooks.md`, "Resource"). Those of
//! the service's own events are reserved, so that a receiver of one knows who published it.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::problem::EVENT_TYPE_RESERVED;
use tillgate_base::error::{Error, Result};

/// The event type that stands for all.
pub(super) const ALL: &str = "*";

/// The most bytes of an event type.
const MAX_TYPE: usize = 256;

pub(crate) const TYPE_RULE: &str =
    "must be an event type such as x.order-updates.v1, of at most 256 bytes";

/// The types of test events, of events about webhooks, and of events about deliveries.
pub(crate) const PING: &str = "exe.events.v1";
pub(crate) const WEBHOOK_EVENTS: &str = "webhooks.events.v1";
pub(crate) const DELIVERY_EVENTS: &str = "deliveries.events.v1";

/// The types that only the service publishes: these, and those about conditions and projects.
const RESERVED: [&str; 5] = [
    "entity-conditions.events.v1",
    "projects.events.v1",
    WEBHOOK_EVENTS,
    DELIVERY_EVENTS,
    PING,
];

/// The topic of rate changes. Its name has the form of an event type, but is not one.
const RATES_TOPIC: &str = "cer.public.event.rates-changed.v1";

const TOPIC_RULE: &str = "must not be the topic of rate changes, which are no events: follow \
                          GET /api/v1/topics/cer.public.event.rates-changed.v1";

/// Returns what is wrong with a text as an event type, if anything is.
pub(crate) fn fault_of_type(text: &str) -> Option<&'static str> {
    match text {
        RATES_TOPIC => Some(TOPIC_RULE),
        text if is_event_type(text) => None,
        _ => Some(TYPE_RULE),
    }
}

/// Refuses a type that only the service publishes.
///
/// # Errors
/// [`Error::Denied`].
pub(crate) fn require_unreserved(event_type: &str) -> Result<()> {
    if RESERVED.contains(&event_type) {
        Err(Error::Denied(
            EVENT_TYPE_RESERVED,
            format!("only the service itself publishes events of the type {event_type}"),
        ))
    } else {
        Ok(())
    }
}

/// Returns whether a text is an event type: `<name>(.<name>)*.v<n>`.
pub(crate) fn is_event_type(text: &str) -> bool {
    let Some((names, version)) = text.rsplit_once(".v") else {
        return false;
    };
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty()
            && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= MAX_TYPE && is_version && names.split('.').all(is_name)
}

pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": r"^[a-z0-9-]+(\.[a-z0-9-]+)*\.v[0-9]+$", "maxLength": 256, "examples": ["x.order-updates.v1"],
    })
}

#[cfg(test)]
mod tests {
    use super::is_event_type;

    #[test]
    fn an_event_type_has_names_and_a_version() {
        for text in [
            "exe.events.v1",
            "txr.sequence-gaps.v1",
            "x.order-updates.v12",
            "a.v1",
        ] {
            assert!(is_event_type(text), "{text}");
        }
        for text in [
            "", "v1", ".v1", "a", "a.v", "a.vx", "A.v1", "a..b.v1", "a b.v1", "a.v1.b", "é.v1", "*",
        ] {
            assert!(!is_event_type(text), "{text}");
        }
    }
}
