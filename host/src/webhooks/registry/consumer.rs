//! Consumers of a tenant's events: receivers that cannot be called, and ask for events instead (`webhooks.md`, "Pull").

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::store::Position;

/// The records of consumers, by name.
pub(in crate::webhooks) const CONSUMER: &str = "webhook-consumer/";

/// The most bytes of a name.
const MAX_NAME: usize = 64;

/// What is wrong with a text that is no name.
pub(in crate::webhooks) const NAME_RULE: &str =
    "must be 1 to 64 letters, digits, dots, hyphens and underscores, and not . or ..";

/// The name of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::webhooks) struct ConsumerName(String);

/// A consumer, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Consumer {
    /// Its own: a later consumer of the same name has another one.
    pub(in crate::webhooks) id: Uuid,
    /// How far in the log of events it has acknowledged.
    position: u64,
    pub(in crate::webhooks) created_at: Timestamp,
    /// When it asked last, to the minute.
    pub(in crate::webhooks) seen_at: Timestamp,
}

impl ConsumerName {
    /// The name that a text is.
    pub(in crate::webhooks) fn new(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_allowed);
        (fits && text != "." && text != "..").then(|| Self(text.to_owned()))
    }

    /// Its text.
    pub(in crate::webhooks) fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the consumer's record.
    pub(in crate::webhooks) fn key(&self) -> String {
        format!("{CONSUMER}{}", self.0)
    }
}

impl Consumer {
    /// A new consumer, which gets what comes after a position.
    pub(in crate::webhooks) fn new(position: Position, now: Timestamp) -> Self {
        Self {
            id: Uuid::new_v4(),
            position: position.0,
            created_at: now,
            seen_at: now,
        }
    }

    /// How far it has acknowledged.
    pub(in crate::webhooks) const fn position(&self) -> Position {
        Position(self.position)
    }

    /// Acknowledges what comes before a position; whether that was not acknowledged yet.
    pub(in crate::webhooks) fn acknowledge(&mut self, position: Position) -> bool {
        let is_new = position > self.position();
        self.position = self.position.max(position.0);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::ConsumerName;

    #[test]
    fn a_name_can_stand_in_a_path_as_it_is() {
        let long = "x".repeat(64);
        for text in ["erp", "ERP-1.eu_west", "...", "-", &long] {
            assert!(ConsumerName::new(text).is_some(), "{text}");
        }
        let too_long = "x".repeat(65);
        for text in [
            "", ".", "..", "a b", "a/b", "a%2Fb", "\u{e9}rp", "a\n", &too_long,
        ] {
            assert!(ConsumerName::new(text).is_none(), "{text}");
        }
    }
}
