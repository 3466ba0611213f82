//! Implements Standard Webhooks 1.0 (<https://www.standardwebhooks.com>), which libraries for many languages verify.
//!
//! `webhook-signature` contains `v1,` and the base64 of an HMAC-SHA-256 over
//! `<webhook-id>.<webhook-timestamp>.<raw body>`; while a key is being replaced, it contains one signature under each
//! key, separated by a space. An id contains no dot, so the signed bytes cannot be split into another id, time and
//! body.
//!
//! The base64 of 32 bytes is written and read here: a library would be most of what signatures add to the module.

use std::borrow::Cow;

use hmac::digest::CtOutput;
use sha2::{Digest, Sha256};

use super::{SharedKey, VerifyError, check_time, parse_time};

/// The header with the id of the event, which stays the same when the event is delivered again.
pub const ID_HEADER: &str = "webhook-id";

/// The header with the time of the attempt, in Unix seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";

/// The header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// All three headers.
pub const HEADERS: [&str; 3] = [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER];

/// The version of a signature: an HMAC-SHA-256 in base64.
const VERSION: &str = "v1,";

const MAX_ID: usize = 255;

/// The number of characters of a digest in an id: 132 bits.
const DIGEST: usize = 22;

/// The last two digits of base64 (RFC 4648, 4 and 5).
const PLAIN: [u8; 2] = *b"+/";
const URL_SAFE: [u8; 2] = *b"-_";

/// The values of the three headers of a delivery.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
}

/// Returns the `webhook-id` of an event: its id if that is 1 to 255 letters, digits, `-` and `_`, otherwise `evt_` and
/// the first 22 characters of the base64url of the id's SHA-256.
#[must_use]
pub fn webhook_id(event_id: &str) -> Cow<'_, str> {
    if is_webhook_id(event_id) {
        return Cow::Borrowed(event_id);
    }
    let mut digest = String::with_capacity(43);
    push_base64(&Sha256::digest(event_id.as_bytes()), URL_SAFE, &mut digest);
    digest.truncate(DIGEST);
    Cow::Owned(format!("evt_{digest}"))
}

/// Returns one signature for `webhook-signature`, from a `webhook-id`, the time of the attempt in Unix seconds, and the
/// body exactly as it is sent.
#[must_use]
pub fn sign(key: &SharedKey, id: &str, t: u64, body: &[u8]) -> String {
    let t = t.to_string();
    let code = key.code(&[id.as_bytes(), b".", t.as_bytes(), b".", body]);
    let mut signature = String::with_capacity(47);
    signature.push_str(VERSION);
    push_base64(code.as_bytes(), PLAIN, &mut signature);
    signature.push('=');
    signature
}

/// Verifies the three headers of a delivery in constant time: first that one of the signatures matches, then that the
/// time is at most `tolerance_s` seconds from `now`, in Unix seconds. Signatures of other versions are ignored.
///
/// # Errors
/// The reason that the signature is rejected.
pub fn verify(
    key: &SharedKey,
    headers: &Headers<'_>,
    body: &[u8],
    now: u64,
    tolerance_s: u64,
) -> Result<(), VerifyError> {
    let Headers {
        id,
        timestamp,
        signature,
    } = headers;
    let time = parse_time(timestamp).filter(|_| is_webhook_id(id));
    let time = time.ok_or(VerifyError::Malformed)?;
    if !signature.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(VerifyError::Malformed);
    }
    let codes = signature.split_ascii_whitespace();
    let mut codes = codes
        .filter_map(|one| parse_code(one.strip_prefix(VERSION)?))
        .peekable();
    if codes.peek().is_none() {
        return Err(VerifyError::Malformed);
    }
    // Computed once, however many signatures were sent.
    let expected = key.code(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
    if !codes.any(|code| expected == CtOutput::new(code.into())) {
        return Err(VerifyError::Mismatch);
    }
    check_time(time, now, tolerance_s)
}

fn is_webhook_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(is_digit)
}

/// Appends the base64 of some bytes without padding; `last` has the digits for 62 and 63.
fn push_base64(bytes: &[u8], last: [u8; 2], out: &mut String) {
    for bytes in bytes.chunks(3) {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let group = u32::from_be_bytes([0, byte(0), byte(1), byte(2)]);
        let shifts = [18, 12, 6, 0].into_iter().take(bytes.len() + 1);
        out.extend(shifts.map(|shift| char::from(digit(group >> shift & 63, last))));
    }
}

/// Parses the base64 of 32 bytes, with its padding. Each code has only one text.
fn parse_code(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_suffix('=')?.as_bytes();
    let mut code = [0; 32];
    if digits.len() != 43 {
        return None;
    }
    for (bytes, digits) in code.chunks_mut(3).zip(digits.chunks(4)) {
        let mut digits = digits.iter().chain(b"A").take(4);
        let group = digits.try_fold(0, |group, digit| Some(group << 6 | value(*digit)?))?;
        let [_, decoded @ ..] = u32::to_be_bytes(group);
        let (own, rest) = decoded.split_at_checked(bytes.len())?;
        if rest.iter().any(|bits| *bits != 0) {
            return None;
        }
        bytes.copy_from_slice(own);
    }
    Some(code)
}

fn digit(value: u32, [plus, slash]: [u8; 2]) -> u8 {
    match u8::try_from(value).unwrap_or_default() {
        value @ 0..=25 => b'A' + value,
        value @ 26..=51 => b'a' - 26 + value,
        value @ 52..=61 => value - 52 + b'0',
        62 => plus,
        _ => slash,
    }
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"order-7"}"#;
    const NOW: u64 = 1_795_196_400;

    fn key(text: &str) -> SharedKey {
        SharedKey::parse(text).unwrap()
    }

    fn verified(signature: &str) -> Result<(), VerifyError> {
        let headers = Headers {
            id: "order-7",
            timestamp: "1795196400",
            signature,
        };
        verify(&key("0123456789abcdef"), &headers, BODY, NOW, 0)
    }

    #[test]
    fn an_id_that_a_header_cannot_hold_becomes_a_digest_of_it() {
        let longest = "a".repeat(255);
        for id in ["order-7", "_", longest.as_str()] {
            assert_eq!(webhook_id(id), id);
        }
        let too_long = "a".repeat(256);
        let rows = [
            ("order.7", "evt_3NwZAx-v9a4HCvorz6MK3f"),
            ("", "evt_47DEQpj8HBSa-_TImW-5JC"),
            (too_long.as_str(), "evt_AtcWDXfhjGRHvoDC41XH7U"),
            ("ordre n° 7", "evt_tJN9iU1hckz0O8rRNRCGNF"),
        ];
        for (id, expected) in rows {
            assert_eq!(webhook_id(id), expected);
        }
    }

    #[test]
    fn a_signature_is_the_base64_of_what_any_hmac_gives() {
        let signature = sign(&key("0123456789abcdef"), "order-7", NOW, BODY);
        let expected = "v1,zoky0rcm1Hxrt94AesPssGlyW72UasZlVDp+RCR6qUM=";
        assert_eq!(signature, expected);
        assert_eq!(verified(&signature), Ok(()));
    }

    #[test]
    fn every_code_is_read_as_it_was_written_and_no_other_text_is() {
        for number in 0..256_u32 {
            let code: [u8; 32] = Sha256::digest(number.to_be_bytes()).into();
            let mut text = String::new();
            push_base64(&code, PLAIN, &mut text);
            assert_eq!(parse_code(&format!("{text}=")), Some(code));
            assert_eq!(parse_code(&text), None, "without its padding");
        }
        let zeros = format!("{}=", "A".repeat(43));
        assert_eq!(parse_code(&zeros), Some([0; 32]));
        for text in [
            zeros.replace("A=", "B="),
            zeros.replace("A=", "-="),
            zeros.replacen('A', "", 1),
            zeros.replacen('A', "AA", 1),
            String::new(),
        ] {
            assert_eq!(parse_code(&text), None, "{text}");
        }
    }

    #[test]
    fn one_right_signature_among_others_is_enough() {
        let right = sign(&key("0123456789abcdef"), "order-7", NOW, BODY);
        let other = sign(&key("another shared key"), "order-7", NOW, BODY);
        assert_eq!(verified(&format!("{other} {right}")), Ok(()));
        assert_eq!(verified(&format!("v1a,AA {right} v2,x")), Ok(()));
        assert_eq!(verified(&other), Err(VerifyError::Mismatch));
        let beyond_ascii = format!("{right} ü");
        assert_eq!(verified(&beyond_ascii), Err(VerifyError::Malformed));
        for text in ["", " ", "v1", "v1,", &right.replace("v1,", "v1a,")] {
            assert_eq!(verified(text), Err(VerifyError::Malformed), "{text}");
        }
    }
}
