//! Tells the page about the identity provider at which people sign in, and allows requests to it in the page's policy.

use ::http::HeaderValue;
use serde_json::json;
use tillgate_base::config::SignIn;
use tillgate_base::error::{Error, Result};

/// Returns the element that tells the page where people sign in, and as which client.
pub(super) fn element(sign_in: &SignIn) -> String {
    let told = json!({
        "issuer": sign_in.issuer,
        "clientId": sign_in.client_id,
        "scope": sign_in.scopes.join(" "),
        "resource": sign_in.resource,
    });
    let told = super::escaped(&told.to_string());
    format!(r#"<meta name="tillgate-sign-in" content="{told}" />"#)
}

/// Returns a policy that also allows requests to the identity provider.
///
/// # Errors
/// [`Error::Bug`] when the policy says nothing about requests.
pub(super) fn policy(base: HeaderValue, sign_in: &SignIn) -> Result<HeaderValue> {
    const OWN: &str = "connect-src 'self'";
    let bug = |what: &str| Error::Bug(format!("the page's policy {what}"));
    let base = base.to_str().map_err(|_| bug("is no text"))?;
    let (before, after) = base.split_once(OWN).ok_or_else(|| bug("has no requests"))?;
    let origins: String = sign_in.origins().map(|it| format!(" {it}")).collect();
    HeaderValue::from_str(&[before, OWN, &origins, after].concat())
        .map_err(|_| bug("cannot name the identity provider"))
}
