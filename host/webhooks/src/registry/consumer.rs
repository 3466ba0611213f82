//! Consumers of a tenant's events: receivers that cannot be called and ask for events instead (`webhooks.md`, "Pull").

use serde::{Deserialize, Serialize};
use tillgate_store::Position;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

/// The key prefix of consumers, by name.
pub(crate) const CONSUMER: &str = "webhook-consumer/";

/// The most bytes of a name.
const MAX_NAME: usize = 64;

pub(crate) const NAME_RULE: &str =
    "must be 1 to 64 letters, digits, dots, hyphens and underscores, and not . or ..";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsumerName(String);

/// A consumer, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consumer {
    /// Its own id: a later consumer of the same name has another one.
    pub(crate) id: Uuid,
    /// The position in the log of events up to which it has acknowledged.
    position: u64,
    pub(crate) created_at: Timestamp,
    /// The time of its last request, to the minute.
    pub(crate) seen_at: Timestamp,
}

impl ConsumerName {
    /// Returns a text as a name, if it is one.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_allowed);
        (fits && text != "." && text != "..").then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn key(&self) -> String {
        format!("{CONSUMER}{}", self.0)
    }
}

impl Consumer {
    /// Creates a consumer, which gets the events after a position.
    pub(crate) fn new(position: Position, now: Timestamp) -> Self {
        Self {
            id: Uuid::new_v4(),
            position: position.0,
            created_at: now,
            seen_at: now,
        }
    }

    /// Returns the position up to which it has acknowledged.
    pub(crate) const fn position(&self) -> Position {
        Position(self.position)
    }

    /// Acknowledges the events up to a position; returns whether any of them were not acknowledged yet.
    pub(crate) fn acknowledge(&mut self, position: Position) -> bool {
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
