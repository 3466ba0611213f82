//! Tracks the deliveries under way to a receiver, and whether it answers. Pure.

use std::time::Duration;

use tillgate_store::clock::Timestamp;

/// The time without any answer after which a receiver counts as silent, until it answers.
const SILENT: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// The time at which each of them began.
    begun: Vec<Timestamp>,
    /// The end of the last successful delivery, unless one has failed since.
    succeeded: Timestamp,
}

impl UnderWay {
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.begun.push(now);
    }

    /// Removes a delivery that began at a time.
    pub(super) fn end(&mut self, begun: Timestamp) {
        if let Some(at) = self.begun.iter().position(|each| *each == begun) {
            self.begun.swap_remove(at);
        }
    }

    pub(super) const fn succeed(&mut self, now: Timestamp) {
        self.succeeded = now;
    }

    pub(super) const fn fail(&mut self) {
        self.succeeded = Timestamp(0);
    }

    /// Returns whether the last delivery that ended has succeeded, within a span of time.
    pub(super) fn has_succeeded_within(&self, span: Duration, now: Timestamp) -> bool {
        self.succeeded.plus(span) > now
    }

    /// Returns for how long the receiver has been silent: nothing has succeeded since the first of those under way
    /// began, a while ago.
    pub(super) fn silence(&self, now: Timestamp) -> Option<Duration> {
        let first = *self.begun.iter().min()?;
        let silence = now.since(first);
        (self.succeeded < first && silence >= SILENT).then_some(silence)
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
        assert_eq!(under_way.silence(later), None);
        under_way.begin(START);
        under_way.begin(START.plus(SILENT / 2));
        assert_eq!(under_way.silence(START.plus(SILENT / 2)), None);
        assert_eq!(under_way.silence(later), Some(SILENT));
        under_way.succeed(START.plus(SILENT / 4));
        assert_eq!(under_way.silence(later), None, "it answers");
        under_way.fail();
        assert_eq!(
            under_way.silence(later),
            Some(SILENT),
            "one has failed since"
        );
        under_way.succeed(START.plus(SILENT / 4));
        under_way.end(START);
        assert_eq!(
            under_way.silence(START.plus(SILENT * 2)),
            Some(SILENT * 3 / 2)
        );
        under_way.end(START.plus(SILENT / 2));
        assert_eq!(
            under_way.silence(START.plus(SILENT * 2)),
            None,
            "nothing is under way"
        );
    }
}
