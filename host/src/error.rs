//! What goes wrong in the host, by what the caller can do about it. Statuses are for `http/reply.rs` alone.

use std::time::Duration;

use tillgate_engine::{Code, Fault};

use crate::engine::EngineError;
use crate::store::{CommitError, Refusal, Unavailable};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is not what it must be: mend what is named.
    #[error("the request has faults: {}", list(.0))]
    Invalid(Vec<Fault>),
    /// Who is asking is not known: get a token.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// Who is asking may not: ask for the permission.
    #[error("{0}")]
    Denied(String),
    /// It is not there.
    #[error("{0}")]
    NotFound(String),
    /// It contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// It has changed since it was read: read again.
    #[error("{0}")]
    Outdated(String),
    /// Too often: wait.
    #[error("{detail}")]
    TooMany {
        /// What there is too much of.
        detail: String,
        /// How long to wait.
        retry_after: Duration,
    },
    /// Others change the same all the time: try later.
    #[error("others change the same all the time: try again")]
    Busy,
    /// The store is away: try later.
    #[error("the store is away")]
    Unavailable(#[source] Unavailable),
    /// Nothing the caller did.
    #[error("something is wrong here")]
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
            Code::NotFound => Self::NotFound("no condition of this id is in force".to_owned()),
            Code::UnknownHandle => Self::Bug("the module lost what it had prepared".to_owned()),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(code, faults) => Self::from_engine(code, faults),
            EngineError::Ended(cause) => Self::Bug(cause),
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
                Self::Conflict("it was changed by someone else at the same time".to_owned())
            }
            CommitError::Refused(Refusal::TooLarge) => {
                Self::invalid("$", "must be less than 32 MiB as it is stored")
            }
            CommitError::Refused(cause) => Self::Bug(cause.to_string()),
        }
    }
}
