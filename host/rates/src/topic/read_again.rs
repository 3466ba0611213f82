//! What a subscriber would read again if it resumed after the last event that it was sent: in which form it is told a newer
//! cursor where there is no message for it.
//!
//! As a comment, which disturbs no reader, while reading again costs little. Then as an event that only has an id, since
//! readers of others know no comments: reading very many messages again is expensive, and a cursor older than the retention
//! resets.

use std::time::Duration;

use tillgate_store::clock::Timestamp;

use super::cursor::Cursor;
use super::item::Item;

/// How many messages may be read again.
const MAX: u64 = 1_000;

/// How old the first of them may be: far less than the retention.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The messages after the cursor of the last event.
#[derive(Debug, Default)]
pub(super) struct ReadAgain {
    count: u64,
    oldest: Option<Timestamp>,
}

impl ReadAgain {
    /// Nothing yet; a subscriber that resumes from a moment long ago is told a newer one.
    pub(super) fn since(moment: Timestamp, now: Timestamp) -> Self {
        Self {
            count: 0,
            oldest: Some(moment).filter(|at| now.since(*at) >= MAX_AGE),
        }
    }

    /// So many messages more, the first of them published then.
    pub(super) fn add(&mut self, count: u64, at: Timestamp) {
        self.count = self.count.saturating_add(count);
        self.oldest.get_or_insert(at);
    }

    /// An event tells the newest cursor.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Tells a cursor, where there is no message to be sent.
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
