//! Tracks what a subscriber would read again if it resumed after its last event. This decides the form in which it is
//! sent a newer cursor when there is no message for it.
//!
//! While reading again costs little, the cursor is a comment, which disturbs no reader. After that, it is an event that
//! only has an id, since third-party readers ignore comments: reading very many messages again is expensive, and a
//! cursor older than the retention resets.

use std::time::Duration;

use tillgate_store::clock::Timestamp;

use super::cursor::Cursor;
use super::item::Item;

/// The most messages that may be read again.
const MAX: u64 = 1_000;

/// The greatest age of the first of them: far less than the retention.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The messages after the cursor of the last event.
#[derive(Debug, Default)]
pub(super) struct ReadAgain {
    count: u64,
    oldest: Option<Timestamp>,
}

impl ReadAgain {
    /// Begins with no messages. A subscriber that resumes from a moment long ago is sent a newer one.
    pub(super) fn since(moment: Timestamp, now: Timestamp) -> Self {
        Self {
            count: 0,
            oldest: Some(moment).filter(|at| now.since(*at) >= MAX_AGE),
        }
    }

    /// Adds `count` messages, the first of them published at `at`.
    pub(super) fn add(&mut self, count: u64, at: Timestamp) {
        self.count = self.count.saturating_add(count);
        self.oldest.get_or_insert(at);
    }

    /// Starts over after an event with the newest cursor.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the item that sends a cursor when there is no message.
    pub(super) fn tell(&mut self, cursor: Cursor, now: Timestamp) -> Item {
        let is_old = self.oldest.is_some_and(|at| now.since(at) >= MAX_AGE);
        if self.count < MAX && !is_old {
            return Item::CaughtUp(cursor);
        }
        self.clear();
        Item::Position(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_767_225_600_000_000);

    fn is_event(read_again: &mut ReadAgain) -> bool {
        matches!(read_again.tell(Cursor::Latest, NOW), Item::Position(_))
    }

    #[test]
    fn a_cursor_is_an_event_once_reading_again_is_expensive_and_then_a_comment_again() {
        let mut none = ReadAgain::default();
        assert!(!is_event(&mut none));
        let mut many = ReadAgain::default();
        many.add(MAX - 1, NOW);
        assert!(!is_event(&mut many));
        many.add(1, NOW);
        assert!(is_event(&mut many));
        assert!(!is_event(&mut many));
        let mut old = ReadAgain::default();
        old.add(1, NOW.minus(MAX_AGE));
        old.add(1, NOW);
        assert!(is_event(&mut old));
        assert!(!is_event(&mut old));
        assert!(is_event(&mut ReadAgain::since(NOW.minus(MAX_AGE), NOW)));
        old.add(MAX, NOW);
        old.clear();
        assert!(!is_event(&mut old));
    }
}
