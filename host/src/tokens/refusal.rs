//! Why a token request is refused. How a refusal is answered stands in `http/oauth.rs`.

use std::time::Duration;

use crate::error::Error;

/// Why there is no token.
#[derive(Debug)]
pub enum Refusal {
    /// The request is malformed.
    Malformed(String),
    /// The client is unknown, its secret is wrong or missing, or it may not have a token.
    UnknownClient,
    /// Another grant than `client_credentials` was asked for.
    UnsupportedGrant,
    /// The audience is missing or another one than this.
    Audience(String),
    /// A scope was asked for; scopes are not supported.
    Scope,
    /// Too many wrong secrets in a row.
    TooMany(Duration),
    /// The fault is on this side.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
