//! Reads a token request: the credentials of its header and the parameters of its form (RFC 6749, 2.3.1 and 3.2). This
//! module is pure.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode;
use tillgate_base::identity::Secret;

use super::token_error::TokenError;

/// The credentials of a client.
#[derive(Clone, Debug, Default)]
pub struct BasicCredentials {
    pub(super) id: String,
    pub(super) secret: Secret,
}

impl BasicCredentials {
    /// Reads the credentials of a `Basic` header, form-encoded (RFC 6749, 2.3.1) or plain. Ids and secrets have no `%`
    /// or `+`, so decoding leaves plain ones as they are.
    #[must_use]
    pub fn from_header(header: &str) -> Option<Self> {
        let (scheme, encoded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
        if !is_form_encoded(text.as_bytes()) {
            return None;
        }
        let (id, secret) = text.split_once(':')?;
        Some(Self {
            id: decode(id),
            secret: Secret::new(decode(secret)),
        })
    }
}

/// Decodes one value of a form.
fn decode(value: &str) -> String {
    // With an empty name, everything after the `=` is the value; an unencoded `&` in it stands for itself.
    let pair = format!("={}", value.replace('&', "%26"));
    let decoded = form_urlencoded::parse(pair.as_bytes()).next();
    decoded.map_or_else(String::new, |(_, value)| value.into_owned())
}

/// Returns whether a text is form-encoded: each `%` begins an escape, and the decoded text is UTF-8. The decoder would
/// replace invalid parts.
fn is_form_encoded(text: &[u8]) -> bool {
    let mut escapes = text.split(|byte| *byte == b'%').skip(1);
    let is_escape = |rest: &[u8]| {
        let digits = rest.get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    escapes.all(is_escape) && percent_decode(text).decode_utf8().is_ok()
}

/// A form's parameters, each once.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads a form.
    ///
    /// # Errors
    /// [`TokenError::Malformed`] for a body that is not a form, a parameter without a value, and one that appears
    /// twice.
    pub(super) fn parse(body: &[u8]) -> Result<Self, TokenError> {
        if !is_form_encoded(body) {
            return Err(TokenError::Malformed("the body is not a form".to_owned()));
        }
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body) {
            let shown = known_name(&name);
            // An empty scope requests no scope, which is allowed.
            if value.is_empty() && name != "scope" {
                return Err(TokenError::Malformed(format!("{shown} has no value")));
            }
            let value = value.into_owned();
            if parameters.insert(name.into_owned(), value).is_some() {
                return Err(TokenError::Malformed(format!("{shown} appears twice")));
            }
        }
        Ok(Self(parameters))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the client's credentials. The client must authenticate in one way: with its header or, where that is
    /// accepted, with a secret in the form (`client_secret_post`). RFC 6749 forbids both at once.
    ///
    /// # Errors
    /// [`TokenError::Malformed`]; [`TokenError::SecretInForm`].
    pub(super) fn credentials(
        &self,
        header: Option<BasicCredentials>,
        accepts_secret: bool,
    ) -> Result<Option<BasicCredentials>, TokenError> {
        let Some(credentials) = &header else {
            return match self.get("client_secret") {
                None => Ok(None),
                Some(_) if !accepts_secret => Err(TokenError::SecretInForm),
                Some(secret) => Ok(Some(BasicCredentials {
                    id: self.get("client_id").unwrap_or_default().to_owned(),
                    secret: Secret::new(secret.to_owned()),
                })),
            };
        };
        if self.get("client_secret").is_some() {
            let detail = "the client must authenticate in one way";
            return Err(TokenError::Malformed(detail.to_owned()));
        }
        if self.get("client_id").is_some_and(|id| id != credentials.id) {
            let detail = "client_id differs from the Authorization header";
            return Err(TokenError::Malformed(detail.to_owned()));
        }
        Ok(header)
    }
}

/// Returns a parameter's name for a message, which does not repeat an unknown name.
fn known_name(name: &str) -> &'static str {
    let known = [
        "grant_type",
        "audience",
        "scope",
        "client_id",
        "client_secret",
    ];
    let found = known.into_iter().find(|known| *known == name);
    found.unwrap_or("a parameter")
}
