//! Signs and verifies webhooks (`webhooks.md`, "A delivery"). [`standard_webhooks`] has the signatures of Standard Webhooks;
//! [`text`] makes and verifies signatures from JSON to JSON.
//!
//! - `X-Service-Signature: HS256=<hex>` covers the text of the envelope's `data` member as it is sent.
//! - `X-Service-Body-Signature: t=<unix seconds>,HS256=<hex>` covers `<id>.<t>.<raw body>`, and therefore the time and
//!   the whole envelope too. The body is a JSON object that contains the id, so the signed bytes cannot be split into
//!   another id, time and body.
//!
//! Both are HMAC-SHA-256 in lowercase hexadecimal; the key is the UTF-8 bytes of the shared key. There is no clock
//! here: the time is an argument.

pub mod standard_webhooks;
pub mod text;

use std::fmt;

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::swar::find;

/// The default tolerance between the time of a body signature and now, in either direction, in seconds: five minutes.
pub const TOLERANCE_S: u64 = 300;

const MIN_KEY: usize = 16;
const MAX_KEY: usize = 128;

/// A webhook's shared key: 16 to 128 printable characters (`webhooks.md`, "Resource"). Its text is neither kept nor
/// shown.
#[derive(Clone)]
pub struct SharedKey(Hmac<Sha256>);

impl SharedKey {
    /// Parses a shared key; `None` if it is too short or too long, or has a control character or white space other than
    /// a space.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut length = 0;
        let is_printable = text.chars().all(|c| {
            length += 1;
            length <= MAX_KEY && (c == ' ' || !(c.is_control() || c.is_whitespace()))
        });
        if !is_printable || length < MIN_KEY {
            return None;
        }
        Hmac::new_from_slice(text.as_bytes()).ok().map(Self)
    }

    /// Returns the authentication code of the concatenated parts. Codes are compared in constant time.
    #[inline(never)]
    fn code(&self, parts: &[&[u8]]) -> CtOutput<Hmac<Sha256>> {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize()
    }

    fn verify(&self, parts: &[&[u8]], code: [u8; 32]) -> Result<(), VerifyError> {
        if self.code(parts) == CtOutput::new(code.into()) {
            return Ok(());
        }
        Err(VerifyError::Mismatch)
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

/// The reason that a signature is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// The header is malformed.
    Malformed,
    /// The signature does not match the content and the key.
    Mismatch,
    /// The signature is older than the tolerance allows.
    TooOld,
    /// The signature is from further in the future than the tolerance allows: one of the clocks is wrong.
    TooNew,
}

impl VerifyError {
    /// Returns the reason as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Mismatch => "mismatch",
            Self::TooOld => "too_old",
            Self::TooNew => "too_new",
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the signature header is malformed",
            Self::Mismatch => "the signature does not match the content and the key",
            Self::TooOld => "the signature is too old",
            Self::TooNew => "the signature is from the future",
        })
    }
}

impl std::error::Error for VerifyError {}

/// Returns `X-Service-Signature` for the text of an envelope's `data` member exactly as it is sent, without the quotes
/// around it.
#[must_use]
pub fn sign_data(key: &SharedKey, data: &[u8]) -> String {
    let mut header = String::with_capacity(70);
    push_code(&mut header, &key.code(&[data]));
    header
}

/// Returns `X-Service-Body-Signature` for an event's id, the time of the attempt in Unix seconds, and the body exactly
/// as it is sent.
#[must_use]
pub fn sign_body(key: &SharedKey, id: &str, t: u64, body: &[u8]) -> String {
    let t = t.to_string();
    let code = key.code(&[id.as_bytes(), b".", t.as_bytes(), b".", body]);
    let mut header = String::with_capacity(96);
    header.push_str("t=");
    header.push_str(&t);
    header.push(',');
    push_code(&mut header, &code);
    header
}

/// Verifies `X-Service-Signature`, in constant time.
///
/// # Errors
/// [`VerifyError::Malformed`] or [`VerifyError::Mismatch`].
pub fn verify_data(key: &SharedKey, data: &[u8], header: &str) -> Result<(), VerifyError> {
    key.verify(&[data], parse_code(header).ok_or(VerifyError::Malformed)?)
}

/// Verifies `X-Service-Body-Signature`, in constant time: first the signature, then that its time is at most
/// `tolerance_s` seconds from `now`, in Unix seconds. `id` is the id of the envelope in the body.
///
/// # Errors
/// The reason that the signature is rejected.
pub fn verify_body(
    key: &SharedKey,
    id: &str,
    body: &[u8],
    header: &str,
    now: u64,
    tolerance_s: u64,
) -> Result<(), VerifyError> {
    let (t, time, code) = parse_timed_code(header).ok_or(VerifyError::Malformed)?;
    key.verify(&[id.as_bytes(), b".", t.as_bytes(), b".", body], code)?;
    check_time(time, now, tolerance_s)
}

/// Checks that a signature was made at most `tolerance_s` seconds from `now`.
const fn check_time(time: u64, now: u64, tolerance_s: u64) -> Result<(), VerifyError> {
    if now.saturating_sub(time) > tolerance_s {
        return Err(VerifyError::TooOld);
    }
    if time.saturating_sub(now) > tolerance_s {
        return Err(VerifyError::TooNew);
    }
    Ok(())
}

/// Splits a body signature into its time, as text and in Unix seconds, and its code.
fn parse_timed_code(header: &str) -> Option<(&str, u64, [u8; 32])> {
    let rest = header.strip_prefix("t=")?;
    let (t, rest) = rest.split_at_checked(find(rest.as_bytes(), b',')?)?;
    Some((t, parse_time(t)?, parse_code(rest.strip_prefix(',')?)?))
}

/// Parses Unix seconds: only digits, without leading zeros, so that each time has only one signed text.
fn parse_time(text: &str) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_digits && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Parses `HS256=` and 64 lowercase hexadecimal digits.
fn parse_code(text: &str) -> Option<[u8; 32]> {
    let (pairs, rest) = text.strip_prefix("HS256=")?.as_bytes().as_chunks::<2>();
    let mut code = [0; 32];
    if !rest.is_empty() || pairs.len() != code.len() {
        return None;
    }
    for (byte, [high, low]) in code.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(code)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn push_code(header: &mut String, code: &CtOutput<Hmac<Sha256>>) {
    header.push_str("HS256=");
    for byte in code.as_bytes() {
        for nibble in [byte >> 4, byte & 15] {
            header.push(char::from(if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' - 10 + nibble
            }));
        }
    }
}
