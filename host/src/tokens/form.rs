//! What a token request says: the credentials of its header, the parameters of its form (RFC 6749, 2.3.1 and 3.2).
//!
//! Pure: reads, and decides nothing but whether it is a request at all.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode;

use super::Refusal;

/// Credentials as a client shows them.
#[derive(Clone, Default)]
pub struct Shown {
    pub(super) id: String,
    pub(super) secret: String,
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Shown {
    /// The credentials of an `Authorization` header, if they are any: `Basic`, form-encoded (RFC 6749, 2.3.1) or plain.
    /// Ids and secrets have no `%` and no `+`, so decoding what is plain leaves it as it is.
    #[must_use]
    pub fn of_header(header: &str) -> Option<Self> {
        let (scheme, encoded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
        let (id, secret) = text.split_once(':')?;
        Some(Self {
            id: decode(id.as_bytes())?,
            secret: decode(secret.as_bytes())?,
        })
    }
}

/// A form's parameters, each once.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let mut parameters = BTreeMap::new();
        for pair in body
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty())
        {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let undecodable = || Refusal::Malformed("the body is no form".to_owned());
            let name = halves.next().and_then(decode).ok_or_else(undecodable)?;
            let value = halves
                .next()
                .map(|value| decode(value).ok_or_else(undecodable));
            let value = value.transpose()?.unwrap_or_default();
            // An empty scope asks for none, which is what there is.
            if value.is_empty() && name != "scope" {
                return Err(Refusal::Malformed(format!("{} has no value", known(&name))));
            }
            if parameters.contains_key(&name) {
                return Err(Refusal::Malformed(format!(
                    "{} is there twice",
                    known(&name)
                )));
            }
            parameters.insert(name, value);
        }
        Ok(Self(parameters))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The credentials to look at. A secret in the body is none (`client_secret_post`), and beside a header it is a
    /// second way of authentication, which RFC 6749 refuses.
    pub(super) fn check_authentication(
        &self,
        shown: Option<Shown>,
    ) -> Result<Option<Shown>, Refusal> {
        let Some(header) = &shown else {
            return Ok(None);
        };
        if self.get("client_secret").is_some() {
            let detail = "the client must authenticate in one way";
            return Err(Refusal::Malformed(detail.to_owned()));
        }
        if self.get("client_id").is_some_and(|id| id != header.id) {
            let detail = "client_id is not that of the Authorization header";
            return Err(Refusal::Malformed(detail.to_owned()));
        }
        Ok(shown)
    }
}

/// A parameter's name for a message: nothing of what was sent is repeated unless it is known.
fn known(name: &str) -> &str {
    let known = [
        "grant_type",
        "audience",
        "scope",
        "client_id",
        "client_secret",
    ];
    known
        .into_iter()
        .find(|known| *known == name)
        .unwrap_or("a parameter")
}

/// Decodes `application/x-www-form-urlencoded`; `None` for what is not.
fn decode(text: &[u8]) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digits = rest.get(at + 1..at + 3)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        rest = rest.get(at + 3..)?;
    }
    let spaced: Vec<u8> = text
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    String::from_utf8(percent_decode(&spaced).collect()).ok()
}
