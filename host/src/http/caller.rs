//! Who is asking: from the `Authorization` header to a [`Caller`], or a reason why not.
//!
//! The order is that of `tokens.md`, "Verifying a caller": the header's shape here, the token in `tokens/verify.rs`.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::app::App;
use crate::error::{Error, Result};
use crate::tokens::Caller;

/// The longest token that is looked at.
const MAX_TOKEN: usize = 8 << 10;

/// What is wrong when no token was sent.
const NO_TOKEN: &str = "a bearer token is needed";

/// What is wrong with a header that is none of a bearer token.
const NO_BEARER: &str = "the Authorization header must hold one bearer token";

/// The caller that a request's headers name.
///
/// # Errors
/// [`Error::Unauthenticated`] when they name none.
pub async fn of(app: &App, headers: &HeaderMap) -> Result<Caller> {
    let token = bearer(headers)?;
    app.tokens.verify(token).await
}

/// The one token of the one header.
fn bearer(headers: &HeaderMap) -> Result<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let header = all.next().ok_or(Error::Unauthenticated(NO_TOKEN))?;
    let token = header
        .to_str()
        .ok()
        .filter(|_| all.next().is_none())
        .and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            let fits = !token.is_empty() && token.len() <= MAX_TOKEN;
            (scheme.eq_ignore_ascii_case("bearer") && fits).then_some(token)
        });
    token.ok_or(Error::Unauthenticated(NO_BEARER))
}
