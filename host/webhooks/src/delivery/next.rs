//! Decides the next step of a delivery after an attempt, and whether its webhook is disabled. Pure, except for
//! randomness.

use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder};
use tillgate_store::clock::Timestamp;

use super::answer::AttemptResult;
use crate::registry::webhook::DisabledReason;

/// The longest pause that a receiver may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10 * 60);

/// The largest shift of a retry, as a part of its delay, so that deliveries that failed together do not return
/// together.
const JITTER: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The receiver has taken it.
    Delivered,
    /// It is tried again at this time.
    Retry(Timestamp),
    /// It is given up.
    Failed,
}

/// Returns the next step after an attempt. `delay` is the schedule's delay after this failure, if another attempt
/// follows.
pub(super) fn next_step(
    result: &AttemptResult,
    delay: Option<Duration>,
    now: Timestamp,
) -> NextStep {
    if result.has_succeeded() {
        return NextStep::Delivered;
    }
    match delay.filter(|_| !result.is_gone()) {
        Some(delay) => {
            let asked = result.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
            NextStep::Retry(now.plus(delay.max(asked)))
        }
        None => NextStep::Failed,
    }
}

/// Returns the reason to disable a webhook after an attempt, if there is one: its receiver is gone, or every attempt
/// since `failing_since` has failed, for `patience` or longer.
pub(super) fn reason_to_disable(
    result: &AttemptResult,
    failing_since: Option<Timestamp>,
    patience: Duration,
    now: Timestamp,
) -> Option<DisabledReason> {
    let has_failed_too_long = failing_since.is_some_and(|since| now.since(since) >= patience);
    match (result.is_gone(), result.has_succeeded()) {
        (true, _) => Some(DisabledReason::Gone),
        (false, false) if has_failed_too_long => Some(DisabledReason::Failing),
        _ => None,
    }
}

/// Returns a delay, made a little shorter or longer.
pub(super) fn jittered(delay: Duration) -> Duration {
    let span = delay.mul_f64(2.0 * JITTER);
    // The jitter adds at most the delay that the builder is given.
    let shifted = ConstantBuilder::new()
        .with_delay(span)
        .with_jitter()
        .build()
        .next();
    let shift = shifted.map_or(Duration::ZERO, |shifted| shifted.saturating_sub(span));
    delay.mul_f64(1.0 - JITTER) + shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::answer::unanswered;
    use crate::events::delivery_record::FailureKind;

    const NOW: Timestamp = Timestamp(1_767_225_600_000_000);
    const MINUTE: Duration = Duration::from_secs(60);

    fn result(kind: Option<FailureKind>, retry_after: Option<Duration>) -> AttemptResult {
        let kind_or_any = kind.unwrap_or(FailureKind::Status);
        let mut result = unanswered(NOW, MINUTE, kind_or_any, String::new());
        result.attempt.error = result.attempt.error.filter(|_| kind.is_some());
        result.retry_after = retry_after;
        result
    }

    #[test]
    fn a_delivery_is_tried_again_while_the_schedule_says_so_and_not_sooner_than_its_receiver_asks()
    {
        let (status, gone) = (Some(FailureKind::Status), Some(FailureKind::Gone));
        let hour = MINUTE * 60;
        let rows = [
            (None, None, Some(MINUTE), NextStep::Delivered),
            (
                status,
                None,
                Some(MINUTE),
                NextStep::Retry(NOW.plus(MINUTE)),
            ),
            (status, None, None, NextStep::Failed),
            (gone, None, Some(MINUTE), NextStep::Failed),
            (
                status,
                Some(MINUTE * 2),
                Some(MINUTE),
                NextStep::Retry(NOW.plus(MINUTE * 2)),
            ),
            (
                status,
                Some(MINUTE),
                Some(MINUTE * 4),
                NextStep::Retry(NOW.plus(MINUTE * 4)),
            ),
            (
                status,
                Some(hour),
                Some(MINUTE),
                NextStep::Retry(NOW.plus(MAX_RETRY_AFTER)),
            ),
        ];
        for (kind, retry_after, delay, expected) in rows {
            let result = result(kind, retry_after);
            assert_eq!(next_step(&result, delay, NOW), expected, "{result:?}");
        }
    }

    #[test]
    fn a_webhook_is_disabled_when_it_is_gone_or_has_failed_for_too_long() {
        let (status, gone) = (Some(FailureKind::Status), Some(FailureKind::Gone));
        let (before, just) = (Some(NOW.minus(MINUTE)), Some(NOW.minus(MINUTE / 2)));
        let rows = [
            (gone, None, Some(DisabledReason::Gone)),
            (status, before, Some(DisabledReason::Failing)),
            (status, just, None),
            (status, None, None),
            (None, before, None),
        ];
        for (kind, since, expected) in rows {
            let reason = reason_to_disable(&result(kind, None), since, MINUTE, NOW);
            assert_eq!(reason, expected, "{kind:?} {since:?}");
        }
    }

    #[test]
    fn a_retry_comes_within_a_tenth_of_its_delay() {
        for _ in 0..1_000 {
            let delay = jittered(MINUTE);
            assert!((54.0..=66.0).contains(&delay.as_secs_f64()), "{delay:?}");
        }
    }
}
