//! The host's errors, by what the caller can do about them. Each has a problem code, which has a status.
//! `host/http/src/reply.rs` turns them into answers.

use std::time::Duration;

use serde_json::value::RawValue;
use tillgate_api::problem::{
    BUSY, CHANGED_MEANWHILE, CLIENT_GONE, CONDITION_NOT_FOUND, INTERNAL, INVALID, OVERLOADED,
    QUOTA_EXCEEDED, STORE_UNAVAILABLE, TESTS_FAILED, UNAUTHENTICATED, UNKNOWN_MEMBER,
};
use tillgate_api::{Code, ReadError};
use tillgate_engine::{self as engine, Fault};
use tillgate_store::{CommitError, Refusal, Unavailable};

use crate::engine::EngineError;

/// An error, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid: correct what is named.
    #[error("the request has faults: {}", list(.0))]
    Invalid(Vec<Fault>),
    /// The caller is unknown: get a token.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The caller lacks a permission: ask for it.
    #[error("{1}")]
    Denied(Code, String),
    /// It does not exist.
    #[error("{1}")]
    NotFound(Code, String),
    /// The request contradicts the current state.
    #[error("{1}")]
    Conflict(Code, String),
    /// The request contradicts the current state, and the answer lists how.
    #[error("{detail}")]
    ConflictList {
        /// The code of its problem document.
        code: Code,
        /// A description of the contradiction.
        detail: String,
        /// The member of the answer that has the list.
        member: &'static str,
        /// The list, as JSON.
        list: Box<RawValue>,
    },
    /// Tests beside the rule fail: correct the rule or the tests, or accept the failures. Each fault names a test.
    #[error("tests fail: {}", list(.0))]
    FailingTests(Vec<Fault>),
    /// It has changed since it was read: read it again.
    #[error("{1}")]
    Outdated(Code, String),
    /// The caller asks too often: wait.
    #[error("{detail}")]
    TooMany {
        /// The code of its problem document.
        code: Code,
        /// A description of the excess.
        detail: String,
        /// The time to wait.
        retry_after: Duration,
    },
    /// Other writers keep changing the same thing: try again.
    #[error("other requests keep changing the same thing: try again")]
    Busy,
    /// There is no room for the request now: try again.
    #[error("{0}: try again")]
    Overloaded(&'static str),
    /// The client no longer waits for the answer.
    #[error("the client has closed the connection")]
    Gone,
    /// The store is unavailable: try later.
    #[error("the store is unavailable")]
    Unavailable(#[source] Unavailable),
    /// The fault is on this side.
    #[error("internal error")]
    Bug(String),
}

/// The result of the host's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn list(faults: &[Fault]) -> String {
    faults
        .iter()
        .map(Fault::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

impl Error {
    /// Returns the code of its problem document.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid(faults) if faults.iter().all(Fault::is_of_unknown_name) => UNKNOWN_MEMBER,
            Self::Invalid(_) => INVALID,
            Self::Unauthenticated(_) => UNAUTHENTICATED,
            Self::Denied(code, _)
            | Self::NotFound(code, _)
            | Self::Conflict(code, _)
            | Self::Outdated(code, _)
            | Self::ConflictList { code, .. }
            | Self::TooMany { code, .. } => *code,
            Self::FailingTests(_) => TESTS_FAILED,
            Self::Busy => BUSY,
            Self::Overloaded(_) => OVERLOADED,
            Self::Gone => CLIENT_GONE,
            Self::Unavailable(_) => STORE_UNAVAILABLE,
            Self::Bug(_) => INTERNAL,
        }
    }

    /// Returns the error that nothing has the id or name that was asked for.
    #[must_use]
    pub fn missing(code: Code, id: impl std::fmt::Display) -> Self {
        Self::NotFound(code, code.missing(&id.to_string()))
    }

    /// Returns the error that a tenant has as many of something as it may.
    #[must_use]
    pub fn quota(of: &str, most: impl std::fmt::Display) -> Self {
        let detail = format!("a tenant may have at most {most} {of}");
        Self::Conflict(QUOTA_EXCEEDED, detail)
    }

    /// Returns whether the failed operation may have taken effect all the same.
    #[must_use]
    pub const fn may_follow_its_effect(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Bug(_))
    }

    /// Returns an error with one fault of the input.
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
    fn from_engine(code: engine::Code, faults: Vec<Fault>) -> Self {
        match code {
            engine::Code::Invalid => Self::Invalid(faults),
            engine::Code::ConditionNotFound => {
                let detail = "the condition is not in force";
                Self::NotFound(CONDITION_NOT_FOUND, detail.to_owned())
            }
            engine::Code::UnknownHandle => {
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
                let detail = "another request changed it at the same time";
                Self::Conflict(CHANGED_MEANWHILE, detail.to_owned())
            }
            CommitError::Refused(Refusal::TooLarge) => {
                Self::invalid("$", "must be smaller than 32 MiB as it is stored")
            }
            CommitError::Refused(cause) => Self::Bug(cause.to_string()),
        }
    }
}
