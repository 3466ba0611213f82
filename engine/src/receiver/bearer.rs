//! Verifies the scheme Bearer: checks a token of the sender's identity provider in the order of `given.md` 5.2.
//!
//! The algorithm is RS256, whatever the token says, and the key comes from the published certificates only. Nothing in
//! the token is trusted before that is settled. An accepted token is remembered (`remembered.rs`).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::certificates::Certificates;
use super::refusal::Refusal;
use super::remembered::Remembered;
use super::x509::Certificate;
use crate::json::{Document, Node, Scalar};

const ALGORITHM: &str = "RS256";
const MIN_BITS: usize = 2_048;
const MAX_TOKEN: usize = 8_192;

/// The members that a token's header must not have: keys that the token brings itself, and extensions.
const FORBIDDEN: [&str; 6] = ["crit", "b64", "jwk", "jku", "x5c", "x5u"];

#[derive(Debug)]
pub(super) struct BearerScheme {
    audience: String,
    email: String,
    issuer: String,
    tolerance_s: u64,
    remembered: Remembered,
}

/// A well-formed token: `header.claims.signature`.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    header: &'a str,
    claims: &'a str,
    /// The header and the claims, as they are signed.
    signed: &'a str,
    signature: &'a str,
}

impl BearerScheme {
    pub(super) fn new(audience: String, email: String, issuer: String, tolerance_s: u64) -> Self {
        Self {
            audience,
            email,
            issuer,
            tolerance_s,
            remembered: Remembered::default(),
        }
    }

    /// Checks the value of the Authorization header.
    pub(super) fn verify(
        &self,
        authorization: Option<&[u8]>,
        certificates: &Certificates,
        now: u64,
    ) -> Result<(), Refusal> {
        let token = Token::read(authorization)?;
        if self.remembered.has(token.text, now) {
            return Ok(());
        }
        let certificate = certificates.find(&token.kid()?, now)?;
        self.check_certificate(&certificate, now)?;
        token.check_signature(&certificate)?;
        let expires = self.check_claims(token, now)?;
        let until = expires.min(certificate.not_after);
        self.remembered.add(token.text, until, now);
        Ok(())
    }

    fn check_certificate(&self, certificate: &Certificate, now: u64) -> Result<(), Refusal> {
        if certificate.bits < MIN_BITS {
            return Err(Refusal::WeakKey);
        }
        if now.saturating_add(self.tolerance_s) < certificate.not_before {
            return Err(Refusal::CertificateNotYetValid);
        }
        if now > certificate.not_after {
            return Err(Refusal::CertificateExpired);
        }
        Ok(())
    }

    /// Returns when the token expires. Each claim must be exactly as expected: an `aud` with several audiences is for
    /// other receivers too.
    fn check_claims(&self, token: Token<'_>, now: u64) -> Result<u64, Refusal> {
        let json = decode(token.claims)?;
        let claims = parse(&json)?;
        let claims = claims.root();
        let is = |name: &str, expected: &str| {
            let claim = claims.member(name).and_then(Node::text);
            claim.is_some_and(|claim| claim == expected)
        };
        if !is("aud", &self.audience) {
            return Err(Refusal::WrongAudience);
        }
        if !is("email", &self.email) {
            return Err(Refusal::WrongEmail);
        }
        let verified = claims.member("email_verified").map(Node::scalar);
        if verified != Some(&Scalar::Bool(true)) {
            return Err(Refusal::EmailNotVerified);
        }
        if !is("iss", &self.issuer) {
            return Err(Refusal::WrongIssuer);
        }
        self.check_times(claims, now)
    }

    /// Returns when the token expires. The sender renews a token well before that, so only its start needs a tolerance.
    fn check_times(&self, claims: Node<'_, '_>, now: u64) -> Result<u64, Refusal> {
        let expires = claims.member("exp").and_then(seconds);
        let expires = expires.ok_or(Refusal::MissingExpiry)?;
        let expires = u64::try_from(expires).unwrap_or(0);
        if now >= expires {
            return Err(Refusal::Expired);
        }
        let latest = now.saturating_add(self.tolerance_s);
        for begin in ["nbf", "iat"].iter().filter_map(|name| claims.member(name)) {
            let begin = seconds(begin).ok_or(Refusal::MalformedToken)?;
            if u64::try_from(begin).is_ok_and(|begin| begin > latest) {
                return Err(Refusal::NotYetValid);
            }
        }
        Ok(expires)
    }
}

impl<'a> Token<'a> {
    fn read(authorization: Option<&'a [u8]>) -> Result<Self, Refusal> {
        let value = authorization.ok_or(Refusal::MissingToken)?;
        let (scheme, token) = value.split_at_checked(7).ok_or(Refusal::WrongScheme)?;
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return Err(Refusal::WrongScheme);
        }
        if token.len() > MAX_TOKEN {
            return Err(Refusal::OversizedToken);
        }
        let text = std::str::from_utf8(token).map_err(|_| Refusal::MalformedToken)?;
        Self::split(text).ok_or(Refusal::MalformedToken)
    }

    /// Splits a token into three parts of base64url without padding; the signature is decoded when it is verified.
    fn split(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_part = |part: &str| part.bytes().all(is_base64url);
        let is_token = is_part(header) && is_part(claims) && is_part(signature);
        (is_token && !header.is_empty() && !claims.is_empty()).then_some(Self {
            text,
            header,
            claims,
            signed,
            signature,
        })
    }

    /// Returns the id of the certificate to verify the token with. Nothing depends on the rest of the header before the
    /// algorithm is known to be right.
    fn kid(self) -> Result<String, Refusal> {
        let json = decode(self.header)?;
        let header = parse(&json)?;
        let header = header.root();
        let text = |name: &str| header.member(name).and_then(Node::text);
        if text("alg").is_none_or(|alg| alg != ALGORITHM) {
            return Err(Refusal::WrongAlgorithm);
        }
        if FORBIDDEN.iter().any(|name| header.member(name).is_some()) {
            return Err(Refusal::ForbiddenHeader);
        }
        if text("typ").is_none_or(|typ| !typ.eq_ignore_ascii_case("JWT")) {
            return Err(Refusal::WrongType);
        }
        let kid = text("kid").filter(|kid| !kid.is_empty());
        Ok(kid.ok_or(Refusal::MissingKid)?.clone().into_owned())
    }

    fn check_signature(self, certificate: &Certificate) -> Result<(), Refusal> {
        let signature = BASE64_URL_SAFE_NO_PAD.decode(self.signature);
        let signature = signature.map_err(|_| Refusal::BadSignature)?;
        if certificate.verifies(self.signed.as_bytes(), &signature) {
            return Ok(());
        }
        Err(Refusal::BadSignature)
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Refusal> {
    let json = BASE64_URL_SAFE_NO_PAD.decode(part);
    json.map_err(|_| Refusal::MalformedToken)
}

/// Parses a JSON object without duplicate members.
fn parse(json: &[u8]) -> Result<Document<'_>, Refusal> {
    let document = Document::parse(json).map_err(|_| Refusal::MalformedToken)?;
    let is_object = document.root().is_object();
    is_object.then_some(document).ok_or(Refusal::MalformedToken)
}

/// Returns a time in whole seconds; RFC 7519 allows fractions, which are cut off.
fn seconds(time: Node<'_, '_>) -> Option<i64> {
    match time.scalar() {
        Scalar::Integer(seconds) => Some(*seconds),
        Scalar::Number(text) => {
            let (whole, fraction) = text.split_once('.')?;
            let is_digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
            whole.parse().ok().filter(|_| is_digits)
        }
        _ => None,
    }
}
