//! The errors of the token endpoint. `http/oauth.rs` turns them into answers.

use std::time::Duration;

use tillgate_base::error::Error;

/// The reason why a token request is refused.
#[derive(Debug)]
pub enum TokenError {
    /// The request is malformed.
    Malformed(String),
    /// The client is unknown, its secret is wrong or missing, or it may not have a token.
    UnknownClient,
    /// The client's secret is in the form, where it is not accepted.
    SecretInForm,
    /// The grant type is not `client_credentials`.
    UnsupportedGrant,
    /// The audience is missing, or is not this one.
    Audience(String),
    /// A scope was requested; scopes are not supported.
    Scope,
    /// Too many wrong secrets in a row, with the time to wait.
    TooMany(Duration),
    /// The service failed.
    Failed(Error),
}

impl From<Error> for TokenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
