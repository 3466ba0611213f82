//! The host's errors, by what the caller can do about them. How they become statuses stands in `http/reply.rs`.

use std::time::Duration;

use serde_json::value::RawValue;
use tillgate_api::ReadError;
use tillgate_engine::{Code, Fault};

use crate::engine::EngineError;
use crate::store::{CommitError, Refusal, Unavailable};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid: mend what is named.
    #[error("the request has faults: {}", list(.0))]
    Invalid(Vec<Fault>),
    /// The caller is unknown: get a token.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The caller lacks a permission: ask for it.
    #[error("{0}")]
    Denied(String),
    /// It does not exist.
    #[error("{0}")]
    NotFound(String),
    /// It contradicts the current state.
    #[error("{0}")]
    Conflict(String),
    /// It contradicts the current state, and the answer lists how.
    #[error("{detail}")]
    ConflictList {
        /// What contradicts what.
        detail: String,
        /// The member of the answer that lists it.
        member: &'static str,
        /// The list: JSON.
        list: Box<RawValue>,
    },
    /// Tests beside the rule fail: mend the rule or the tests, or accept it. Each fault names a test.
    #[error("tests fail: {}", list(.0))]
    FailingTests(Vec<Fault>),
    /// It has changed since it was read: read again.
    #[error("{0}")]
    Outdated(String),
    /// The caller asks too often: wait.
    #[error("{detail}")]
    TooMany {
        /// What there are too many of.
        detail: String,
        /// How long to wait.
        retry_after: Duration,
    },
    /// Other writers keep changing the same thing: try again.
    #[error("other requests keep changing the same thing: try again")]
    Busy,
    /// There is no room for it now: try again.
    #[error("{0}: try again")]
    Overloaded(&'static str),
    /// Nobody waits for the answer any more.
    #[error("the client has closed the connection")]
    Gone,
    /// The store is unavailable: try later.
    #[error("the store is unavailable")]
    Unavailable(#[source] Unavailable),
    /// The fault is on this side.
    #[error("internal error")]
    Bug(String),
}

/// What the host's functions answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn list(faults: &[Fault]) -> String {
    faults
        .iter()
        .map(Fault::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

impl Error {
    /// A tenant has as many of something as it may.
    #[must_use]
    pub fn quota(of: &str, most: impl std::fmt::Display) -> Self {
        Self::Conflict(format!("a tenant may have at most {most} {of}"))
    }

    /// Whether what has failed may have taken effect all the same.
    #[must_use]
    pub const fn may_follow_its_effect(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Bug(_))
    }

    /// One fault of the input.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault {
            path: path.into(),
            message: message.into().into(),
        }])
    }
}

impl From<tillgate_engine::Error> for Error {
    fn from(error: tillgate_engine::Error) -> Self {
        Self::from_engine(error.code, error.faults)
    }
}

impl Error {
    fn from_engine(code: Code, faults: Vec<Fault>) -> Self {
        match code {
            Code::Invalid => Self::Invalid(faults),
            Code::NotFound => Self::NotFound("no condition with this id is in force".to_owned()),
            Code::UnknownHandle => {
                Self::Bug("the module does not know a document that it has prepared".to_owned())
            }
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Refused(faults) => faults.into(),
            ReadError::Silent => Self::Bug("a body was refused without a fault".to_owned()),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(code, faults) => Self::from_engine(code, faults),
            EngineError::Failed(cause) => Self::Bug(cause),
        }
    }
}

impl From<Unavailable> for Error {
    fn from(cause: Unavailable) -> Self {
        Self::Unavailable(cause)
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Unavailable(cause) | CommitError::Unknown(cause) => {
                Self::Unavailable(Unavailable(cause))
            }
            CommitError::Conflict(_) | CommitError::LeaseLost { .. } => {
                Self::Conflict("another request changed it at the same time".to_owned())
            }
            CommitError::Refused(Refusal::TooLarge) => {
                Self::invalid("$", "must be smaller than 32 MiB as it is stored")
            }
            CommitError::Refused(cause) => Self::Bug(cause.to_string()),
        }
    }
}
