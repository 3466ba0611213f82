//! The caller of a request: from the `Authorization` header to a [`Caller`], or the reason for a 401.
//!
//! The checks follow the order of `tokens.md`, "Verifying a caller": the header's form here, the token in [`Authenticate`].

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

/// Finds the caller of a bearer token.
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync {
    /// Returns the caller of a token, and how stale the cached data about it is.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] when the token is not accepted.
    async fn authenticate(&self, token: &str) -> Result<(Arc<Caller>, Staleness)>;
}

/// Returns the caller that a request's headers name, and how stale the cached data about it is.
///
/// # Errors
/// [`Error::Unauthenticated`] when they name none.
pub(crate) async fn caller_of(
    tokens: &dyn Authenticate,
    headers: &HeaderMap,
) -> Result<(Arc<Caller>, Staleness)> {
    tokens.authenticate(bearer_token(headers)?).await
}

/// Tells an operator, who may mean another tenant, in which tenant a resource does not exist.
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

/// Returns the one token of the one header.
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
