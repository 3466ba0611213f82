//! The names of event types: what a webhook may want, and what an event may have (`webhooks.md`, "Resource").

/// The event type that stands for all.
pub(super) const ALL: &str = "*";

/// The most bytes of an event type.
const MAX_TYPE: usize = 256;

/// What is wrong with a text that is no event type.
pub(in crate::webhooks) const TYPE_RULE: &str =
    "must be an event type such as x.order-updates.v1, of at most 256 bytes";

/// Whether a text is an event type: `<name>(.<name>)*.v<n>`.
pub(in crate::webhooks) fn is_event_type(text: &str) -> bool {
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

/// Whether a text may stand in a webhook's `eventTypes`.
pub(in crate::webhooks) fn is_wanted_type(text: &str) -> bool {
    text == ALL || is_event_type(text)
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
