//! Interprets the answer to an attempt, or its absence. Pure.

use std::time::Duration;

use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use tillgate_base::egress::{EgressError, Head};
use tillgate_store::clock::Timestamp;

use super::redaction::Secrets;
use crate::events::delivery_record::{Attempt, Failure, FailureKind};

/// The most bytes of an answer that the journal shows.
const MAX_EXCERPT: usize = 1 << 10;

/// The most bytes of an answer that are examined: enough to see all of a secret of 1 KiB that begins in the excerpt, at
/// eight bytes for each of its own.
pub(super) const MAX_PREFIX: usize = MAX_EXCERPT + (8 << 10);

/// The most bytes of a redirect's target that are reported.
const MAX_LOCATION: usize = 200;

#[derive(Clone, Debug)]
pub(crate) struct AttemptResult {
    pub(crate) attempt: Attempt,
    /// The pause that the receiver asks for.
    pub(crate) retry_after: Option<Duration>,
}

impl AttemptResult {
    pub(crate) const fn has_succeeded(&self) -> bool {
        self.attempt.error.is_none()
    }

    pub(crate) fn is_gone(&self) -> bool {
        let error = self.attempt.error.as_ref();
        error.is_some_and(|error| error.kind == FailureKind::Gone)
    }
}

/// Returns the result of an attempt that was answered.
pub(super) fn classify(
    at: Timestamp,
    took: Duration,
    head: &Head,
    secrets: &Secrets,
) -> AttemptResult {
    let status = head.status;
    let may_ask = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let asked = head.headers.get(RETRY_AFTER).filter(|_| may_ask);
    AttemptResult {
        retry_after: asked.and_then(retry_after),
        attempt: Attempt {
            at,
            duration_ms: millis(took),
            status: Some(status.as_u16()),
            error: failure(head, secrets),
            answer: Some(shown(&head.beginning, secrets)).filter(|shown| !shown.is_empty()),
        },
    }
}

/// Returns what the journal shows of an answer: its beginning, or only its length if it repeats a credential.
fn shown(answer: &[u8], secrets: &Secrets) -> String {
    let mut text = String::from_utf8_lossy(answer).into_owned();
    if secrets.are_in(&text) {
        let (length, is_all) = (answer.len(), answer.len() < MAX_PREFIX);
        let more = if is_all { "" } else { " or more" };
        return format!("an answer of {length} bytes{more} that repeats a credential");
    }
    text.truncate(text.floor_char_boundary(MAX_EXCERPT));
    text
}

/// Returns the result of an attempt that got no answer.
pub(super) fn unanswered(
    at: Timestamp,
    took: Duration,
    kind: FailureKind,
    message: String,
) -> AttemptResult {
    AttemptResult {
        retry_after: None,
        attempt: Attempt {
            at,
            duration_ms: millis(took),
            status: None,
            error: Some(Failure { kind, message }),
            answer: None,
        },
    }
}

/// Returns the reason why there is no answer.
pub(super) const fn kind_of(cause: &EgressError) -> FailureKind {
    match cause {
        EgressError::Refused(_) => FailureKind::RefusedAddress,
        EgressError::Unreachable(_) | EgressError::Untrusted { .. } => FailureKind::Unreachable,
        EgressError::Deadline(_) | EgressError::Silent(_) => FailureKind::Deadline,
        EgressError::TooLarge(_)
        | EgressError::EventTooLarge(_)
        | EgressError::Broken(_)
        | EgressError::Setup(_) => FailureKind::Broken,
    }
}

/// Returns the failure that an answer means. Only four statuses say that the receiver has taken the event.
fn failure(head: &Head, secrets: &Secrets) -> Option<Failure> {
    let status = head.status;
    let (kind, message) = match status {
        StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
            return None;
        }
        StatusCode::GONE => {
            let message = "the receiver answered 410 Gone: it wants no more events";
            (FailureKind::Gone, message.to_owned())
        }
        _ if status.is_redirection() => {
            let to = head.headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.map(|to| to.get(..MAX_PREFIX).unwrap_or(to));
            let to = to.filter(|to| !secrets.are_in(to));
            let to = to.map(|to| format!(" to {}", to.get(..MAX_LOCATION).unwrap_or(to)));
            let to = to.unwrap_or_default();
            let message = format!("the receiver answered {status}{to}: redirects are not followed");
            (FailureKind::Redirect, message)
        }
        _ => (
            FailureKind::Status,
            format!("the receiver answered {status}"),
        ),
    };
    Some(Failure { kind, message })
}

/// Reads whole seconds; other forms are ignored.
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large for a duration is capped like any other that is too large.
    is_number.then(|| Duration::from_secs(text.parse::<u32>().unwrap_or(u32::MAX).into()))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_seconds_say_when_to_come_again() {
        let seconds = |text| retry_after(&HeaderValue::from_static(text)).map(|it| it.as_secs());
        assert_eq!(seconds("0"), Some(0));
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("99999999999999999999"), Some(u64::from(u32::MAX)));
        for text in [
            "",
            "inf",
            "1e30",
            "-1",
            "1.5",
            "Wed, 21 Oct 2026 07:28:00 GMT",
            "٣",
        ] {
            let read = HeaderValue::from_str(text)
                .ok()
                .and_then(|it| retry_after(&it));
            assert_eq!(read, None, "{text}");
        }
    }
}
