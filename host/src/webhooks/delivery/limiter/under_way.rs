//! The deliveries to a receiver that are under way, and whether it answers. Pure.

use std::time::Duration;

use crate::clock::Timestamp;

/// After how long without any answer a receiver counts as silent, as long as it has not answered.
const SILENT: Duration = Duration::from_millis(250);

/// How soon a delivery looks again whether a silent receiver has answered.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// When each of them was begun.
    begun: Vec<Timestamp>,
    /// When the last one succeeded.
    succeeded: Timestamp,
}

impl UnderWay {
    pub(super) const fn count(&self) -> usize {
        self.begun.len()
    }

    pub(super) fn begin(&mut self, now: Timestamp) {
        self.begun.push(now);
    }

    /// One that was begun at a time is over.
    pub(super) fn end(&mut self, begun: Timestamp) {
        if let Some(at) = self.begun.iter().position(|each| *each == begun) {
            self.begun.swap_remove(at);
        }
    }

    pub(super) const fn succeed(&mut self, now: Timestamp) {
        self.succeeded = now;
    }

    /// When the next delivery is worth trying, if the receiver is silent: nothing has succeeded since the first of those
    /// that are under way was begun, a while ago.
    pub(super) fn silent_until(&self, now: Timestamp) -> Option<Timestamp> {
        let first = *self.begun.iter().min()?;
        let is_silent = self.succeeded < first && now.since(first) >= SILENT;
        is_silent.then(|| now.plus(LOOK_AGAIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);

    #[test]
    fn a_receiver_is_silent_while_what_it_was_sent_first_waits_and_nothing_has_succeeded_since() {
        let mut under_way = UnderWay::default();
        let later = START.plus(SILENT);
        assert_eq!(under_way.silent_until(later), None);
        under_way.begin(START);
        under_way.begin(START.plus(SILENT / 2));
        assert_eq!(under_way.silent_until(START.plus(SILENT / 2)), None);
        let again = later.plus(LOOK_AGAIN);
        assert_eq!(under_way.silent_until(later), Some(again));
        under_way.succeed(START.plus(SILENT / 4));
        assert_eq!(under_way.silent_until(later), None, "it answers");
        under_way.end(START);
        assert_eq!(under_way.count(), 1);
        let next = START.plus(SILENT * 2);
        assert_eq!(under_way.silent_until(next), Some(next.plus(LOOK_AGAIN)));
        under_way.end(START.plus(SILENT / 2));
        assert_eq!(under_way.silent_until(next), None, "nothing is under way");
    }
}
