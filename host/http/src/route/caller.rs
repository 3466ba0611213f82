//! The caller of a request: from the `Authorization` header to a [`Caller`], or the reason for a 401.
//!
//! The order is that of `tokens.md`, "Verifying a caller": the header's shape here, the token in [`Authenticate`].

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tillgate_base::data::feed::Staleness;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Caller;

const MISSING: &str = "a bearer token is needed";
const MALFORMED: &str = "the Authorization header must hold one bearer token";

/// Says whose a bearer token is.
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync {
    /// The caller of a token, and how old what is known of them in memory is.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] when the token is not accepted.
    async fn authenticate(&self, token: &str) -> Result<(Arc<Caller>, Staleness)>;
}

/// The caller that a request's headers name, and how old that is in memory.
///
/// # Errors
/// [`Error::Unauthenticated`] when they name none.
pub(crate) async fn caller_of(
    tokens: &dyn Authenticate,
    headers: &HeaderMap,
) -> Result<(Arc<Caller>, Staleness)> {
    tokens.authenticate(bearer_token(headers)?).await
}

/// The error for a resource that does not exist, which tells an operator in which tenant it does not: they may mean another.
pub(crate) fn named(error: Error, operator: Option<Arc<Caller>>) -> Error {
    match (error, operator) {
        (Error::NotFound(code, detail), Some(operator)) => {
            let tenant = &operator.tenant;
            let detail = format!("{detail} (in {tenant}, the tenant of the caller)");
            Error::NotFound(code, detail)
        }
        (error, _) => error,
    }
}

/// The one token of the one header.
fn bearer_token(headers: &HeaderMap) -> Result<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let header = all.next().ok_or(Error::Unauthenticated(MISSING))?;
    let token = header
        .to_str()
        .ok()
        .filter(|_| all.next().is_none())
        .and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            (is_bearer && !token.is_empty()).then_some(token)
        });
    token.ok_or(Error::Unauthenticated(MALFORMED))
}
