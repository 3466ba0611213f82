//! `[page]`: how people sign in to the page. The tables of `[[trusted_issuers]]` say which tokens the host then
//! accepts.

use serde::{Deserialize, Serialize};

use super::TrustedIssuer;
use super::safe_url::{is_safe_url, origin_of};

/// The page.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub sign_in: SignIn,
}

/// The identity provider at which people sign in with OpenID Connect.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub issuer: String,
    pub client_id: String,
    pub scopes: Vec<String>,
    pub resource: String,
    pub connect: Vec<String>,
}

impl Page {
    /// Returns the settings for signing in at an identity provider, if one is set.
    #[must_use]
    pub fn sign_in(&self) -> Option<&SignIn> {
        Some(&self.sign_in).filter(|sign_in| !sign_in.issuer.is_empty())
    }

    /// Checks the settings: the host must accept the tokens that the provider issues.
    pub(super) fn check(&self, trusted: &[TrustedIssuer]) -> Result<(), String> {
        let Some(sign_in) = self.sign_in() else {
            return if self.sign_in.client_id.is_empty() {
                Ok(())
            } else {
                Err("sign_in.issuer must be set where client_id is".to_owned())
            };
        };
        sign_in
            .check(trusted)
            .map_err(|fault| format!("sign_in.{fault}"))
    }
}

impl SignIn {
    fn check(&self, trusted: &[TrustedIssuer]) -> Result<(), String> {
        let Some(trusted) = trusted.iter().find(|it| it.issuer == self.issuer) else {
            return Err(
                "issuer must be the issuer of one of trusted_issuers: this host accepts tokens of no other"
                    .to_owned(),
            );
        };
        if !is_safe_url(&self.issuer) || origin_of(&self.issuer).is_none() {
            return Err(
                "issuer must be an https URL, or an http URL of this machine, for people to sign in there"
                    .to_owned(),
            );
        }
        if self.client_id.is_empty() {
            return Err(
                "client_id must be the id under which the page is registered at the issuer"
                    .to_owned(),
            );
        }
        if !self.scopes.iter().all(|scope| is_scope(scope)) {
            return Err("scopes must be texts without spaces, quotes or backslashes".to_owned());
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err(
                "scopes must name openid: without it the issuer does not say who signs in"
                    .to_owned(),
            );
        }
        if !self.resource.is_empty() && !trusted.audiences.contains(&self.resource) {
            return Err(format!(
                "resource must be one of the audiences that trusted_issuers has for the issuer: {}",
                trusted.audiences.join(", ")
            ));
        }
        let is_origin = |url: &String| is_safe_url(url) && origin_of(url).as_ref() == Some(url);
        if !self.connect.iter().all(is_origin) {
            return Err(
                "connect must name origins such as https://token.login.example, without a path"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Returns the origins that the page sends requests to: the issuer's, and those of its endpoints elsewhere.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        origin_of(&self.issuer)
            .into_iter()
            .chain(self.connect.iter().cloned())
    }
}

/// Returns whether a text is a scope (RFC 6749, section 3.3).
fn is_scope(text: &str) -> bool {
    let allowed = |b: u8| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~');
    !text.is_empty() && text.bytes().all(allowed)
}
