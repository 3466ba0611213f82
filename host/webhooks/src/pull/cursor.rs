//! Cursors mark where a page of events ends, and are opaque to consumers. A cursor names the consumer that it was given
//! to, by an id that no other has, so that no other can acknowledge with it.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tillgate_store::Position;
use uuid::Uuid;

/// The most bytes of a cursor's text, which is more than any cursor has.
const MAX_TEXT: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(super) consumer: Uuid,
    pub(super) position: Position,
}

impl Cursor {
    /// Parses the text of a cursor; returns `None` if it is malformed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (position, consumer) = std::str::from_utf8(&decoded).ok()?.split_once(' ')?;
        Some(Self {
            consumer: Uuid::try_parse(consumer).ok()?,
            position: Position(position.parse().ok()?),
        })
    }

    pub(super) fn to_text(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{} {}", self.position.0, self.consumer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_from_its_text_and_from_no_other() {
        let cursor = Cursor {
            consumer: Uuid::from_u128(u128::MAX),
            position: Position(u64::MAX),
        };
        let text = cursor.to_text();
        assert_eq!(Cursor::parse(&text), Some(cursor));
        let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        for other in [
            String::new(),
            "earliest".to_owned(),
            format!("{text}="),
            encoded("1"),
            encoded("-1 00000000-0000-0000-0000-000000000000"),
            encoded("1 acme"),
            "A".repeat(1_000),
        ] {
            assert_eq!(Cursor::parse(&other), None, "{other}");
        }
    }
}
