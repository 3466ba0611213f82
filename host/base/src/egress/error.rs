//! The reasons why there is no answer, without the URL and the address that was dialed.

use std::time::Duration;

use super::names::{Refusal, refusal};
use super::trust::{Distrust, distrust};

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The address of a host may not be dialed.
    #[error(transparent)]
    Refused(Refusal),
    /// No connection could be opened.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The certificate of the other end was not accepted.
    #[error("no connection: {in_full}")]
    Untrusted {
        /// The error with its causes.
        in_full: String,
        /// The reason.
        why: Distrust,
    },
    /// The deadline has passed.
    #[error("no answer within {}", humantime::format_duration(*.0))]
    Deadline(Duration),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// Nothing has arrived on a stream for too long.
    #[error("nothing has arrived for {}", humantime::format_duration(*.0))]
    Silent(Duration),
    /// An event of a stream is too large.
    #[error("an event is larger than {0} bytes")]
    EventTooLarge(usize),
    /// The connection broke, or the answer is not HTTP.
    #[error("the answer could not be read: {0}")]
    Broken(String),
    /// TLS cannot be set up on this machine, which may have no CA certificates.
    #[error("TLS cannot be set up here: {0}")]
    Setup(String),
}

/// Returns the reason why a request failed.
pub(super) fn failure(cause: reqwest::Error, deadline: Duration) -> EgressError {
    if let Some(refusal) = refusal(&cause) {
        return EgressError::Refused(refusal);
    }
    if cause.is_timeout() {
        return EgressError::Deadline(deadline);
    }
    match (distrust(&cause), cause.is_connect()) {
        (Some(why), true) => EgressError::Untrusted {
            in_full: in_full(cause),
            why,
        },
        (None, true) => EgressError::Unreachable(in_full(cause)),
        (_, false) => EgressError::Broken(in_full(cause)),
    }
}

/// Returns an error with its causes, without the URL.
pub(super) fn in_full(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        // The other end's own words are left out: they may be long, and repeat what was sent.
        let reason = error
            .downcast_ref::<h2::Error>()
            .and_then(h2::Error::reason);
        text = match reason {
            Some(reason) => format!("{text}: {reason}"),
            None => format!("{text}: {error}"),
        };
        cause = error.source();
    }
    text
}
