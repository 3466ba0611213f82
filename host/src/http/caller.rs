//! Who is asking: from the `Authorization` header to a [`Caller`], or a reason why not.
//!
//! The order is that of `tokens.md`, "Verifying a caller": the header's shape here, the token in `tokens/verify.rs`.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::app::App;
use crate::error::{Error, Result};
use crate::tokens::permission::{Permission, Permissions};
use crate::tokens::tenant::TenantId;

/// The longest token that is looked at.
const MAX_TOKEN: usize = 8 << 10;

/// What is wrong when no token was sent.
const NO_TOKEN: &str = "a bearer token is needed";

/// What is wrong with a header that is none of a bearer token.
const NO_BEARER: &str = "the Authorization header must hold one bearer token";

/// Who is asking, with what they may do.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant they act for; never a parameter of a request.
    pub tenant: TenantId,
    /// The client's or user's id.
    pub subject: Arc<str>,
    /// What they may do.
    pub permissions: Permissions,
    /// Whether they are of the platform's own tenant.
    pub platform: bool,
}

impl Caller {
    /// Nothing, when the caller may.
    ///
    /// # Errors
    /// [`Error::Denied`] naming the permission.
    pub fn may(&self, permission: Permission) -> Result<()> {
        if self.permissions.contains(permission) {
            return Ok(());
        }
        Err(Error::Denied(format!(
            "the permission {permission} is needed"
        )))
    }
}

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
