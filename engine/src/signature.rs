//! What a webhook signature covers, making one and checking one (`webhooks.md`, "A delivery").
//!
//! - `X-Service-Signature: HS256=<hex>` covers the text of the envelope's `data` member as it is sent.
//! - `X-Service-Body-Signature: t=<unix seconds>,HS256=<hex>` covers `<id>.<t>.<raw body>`, so also when and what else.
//!   The body is a JSON object that holds the id: no other id and time can be cut out of what was signed.
//!
//! Both are HMAC-SHA-256 in lowercase hexadecimal, the key being the UTF-8 bytes of the shared key. The host signs with
//! this, a receiver checks with it. Tokens and certificates are not its business, nor is a clock: time comes in.

use std::fmt;

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::Error;
use crate::json::{Document, Faults, Node, Scalar, write_text};

/// How far a body signature's time may be from now, either way, where nothing else is asked for: five minutes.
pub const TOLERANCE_S: u64 = 300;

const MIN_KEY: usize = 16;
const MAX_KEY: usize = 128;
const MAX_ID: usize = 256;

/// A webhook's shared key: 16 to 128 printable characters (`webhooks.md`, "Resource"). Its text is not kept and never
/// shown.
#[derive(Clone)]
pub struct SharedKey(Hmac<Sha256>);

impl SharedKey {
    /// Reads a shared key; `None` when it is too short, too long, or has a control character or white space other than
    /// the space.
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

    /// The code over all parts, one after the other; two codes are compared in constant time.
    #[inline(never)]
    fn code(&self, parts: &[&[u8]]) -> CtOutput<Hmac<Sha256>> {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize()
    }

    fn verify(&self, parts: &[&[u8]], code: [u8; 32]) -> Result<(), Refusal> {
        if self.code(parts) == CtOutput::new(code.into()) {
            return Ok(());
        }
        Err(Refusal::Mismatch)
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

/// Why a signature is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The header has not the form it must have.
    Malformed,
    /// It is not the signature of this content under this key.
    Mismatch,
    /// It was made longer ago than is tolerated.
    TooOld,
    /// It was made later than is tolerated: one of the clocks is wrong.
    TooNew,
}

impl Refusal {
    /// The reason as it is written.
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the signature header is malformed",
            Self::Mismatch => "the signature is not of this content under this key",
            Self::TooOld => "the signature is too old",
            Self::TooNew => "the signature is from the future",
        })
    }
}

impl std::error::Error for Refusal {}

/// `X-Service-Signature` for the text of an envelope's `data` member, without quotes and as it is sent.
#[must_use]
pub fn sign_data(key: &SharedKey, data: &[u8]) -> String {
    let mut header = String::with_capacity(70);
    push_code(&mut header, &key.code(&[data]));
    header
}

/// `X-Service-Body-Signature` for an event's id, the time of the attempt in seconds since 1970, and the body as it is
/// sent.
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

/// Checks `X-Service-Signature`, in constant time.
///
/// # Errors
/// [`Refusal::Malformed`] or [`Refusal::Mismatch`].
pub fn verify_data(key: &SharedKey, data: &[u8], header: &str) -> Result<(), Refusal> {
    key.verify(&[data], code(header).ok_or(Refusal::Malformed)?)
}

/// Checks `X-Service-Body-Signature`, in constant time: first the signature, then that its time is at most
/// `tolerance_s` from `now`, both in seconds. `id` is that of the envelope in the body.
///
/// # Errors
/// What is wrong with it.
pub fn verify_body(
    key: &SharedKey,
    id: &str,
    body: &[u8],
    header: &str,
    now: u64,
    tolerance_s: u64,
) -> Result<(), Refusal> {
    let (t, time, code) = timed_code(header).ok_or(Refusal::Malformed)?;
    key.verify(&[id.as_bytes(), b".", t.as_bytes(), b".", body], code)?;
    if now.saturating_sub(time) > tolerance_s {
        return Err(Refusal::TooOld);
    }
    if time.saturating_sub(now) > tolerance_s {
        return Err(Refusal::TooNew);
    }
    Ok(())
}

/// The parts of a body signature: its time, as text and in seconds, and its code.
fn timed_code(header: &str) -> Option<(&str, u64, [u8; 32])> {
    let (t, rest) = header.strip_prefix("t=")?.split_once(',')?;
    // Digits alone, no zero before them: as it is signed.
    let is_plain = t.bytes().all(|byte| byte.is_ascii_digit());
    let time = t
        .parse()
        .ok()
        .filter(|_| is_plain && (t == "0" || !t.starts_with('0')))?;
    Some((t, time, code(rest)?))
}

/// The 32 bytes of `HS256=` and 64 lowercase hexadecimal digits.
fn code(text: &str) -> Option<[u8; 32]> {
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

/// One call, from text to text.
///
/// | `op` | members | answer |
/// |---|---|---|
/// | `sign` | `sharedKey`, `data` | `{ signature }` |
/// | `signBody` | `sharedKey`, `id`, `t`, `body` | `{ signature }` |
/// | `verify` | `sharedKey`, `data`, `signature` | `{ valid: true }` or `{ valid: false, reason }` |
/// | `verifyBody` | `sharedKey`, `id`, `body`, `signature`, `now`, `toleranceSeconds?` (300) | the same |
///
/// Times are whole seconds; `reason` is a [`Refusal`], and a malformed signature is no fault of the call.
///
/// The answer is appended, nothing when there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the call.
pub fn answer(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let document = Document::parse(request)?;
    let mut faults = Faults::default();
    let answer = answer_to(document.root(), &mut faults);
    faults.none_or_error()?;
    if let Some(answer) = answer {
        answer.write(out);
    }
    Ok(())
}

enum Answer {
    Signature(String),
    Verdict(Result<(), Refusal>),
}

impl Answer {
    fn write(&self, out: &mut Vec<u8>) {
        let (start, text) = match self {
            Self::Signature(signature) => ("{\"signature\":", signature.as_str()),
            Self::Verdict(Ok(())) => return out.extend_from_slice(b"{\"valid\":true}"),
            Self::Verdict(Err(refusal)) => ("{\"valid\":false,\"reason\":", refusal.as_str()),
        };
        out.extend_from_slice(start.as_bytes());
        write_text(text, out);
        out.push(b'}');
    }
}

fn answer_to(call: Node<'_, '_>, faults: &mut Faults) -> Option<Answer> {
    let call = faults.object(call)?;
    let op = faults.required(call, "op")?;
    match op.text().map(AsRef::as_ref) {
        Some("sign") => {
            let (key, data) = (shared_key(call, faults), text(call, "data", faults));
            Some(Answer::Signature(sign_data(&key?, data?.as_bytes())))
        }
        Some("signBody") => {
            let (key, id) = (shared_key(call, faults), id(call, faults));
            let (t, body) = (time(call, "t", faults), text(call, "body", faults));
            let signature = sign_body(&key?, id?, t?, body?.as_bytes());
            Some(Answer::Signature(signature))
        }
        Some("verify") => {
            let (key, data) = (shared_key(call, faults), text(call, "data", faults));
            let signature = text(call, "signature", faults);
            Some(Answer::Verdict(verify_data(
                &key?,
                data?.as_bytes(),
                signature?,
            )))
        }
        Some("verifyBody") => {
            let (key, id) = (shared_key(call, faults), id(call, faults));
            let (body, signature) = (text(call, "body", faults), text(call, "signature", faults));
            let now = time(call, "now", faults);
            let tolerance_s = match call.member("toleranceSeconds") {
                Some(node) if !node.is_null() => time(call, "toleranceSeconds", faults),
                _ => Some(TOLERANCE_S),
            };
            let body = body?.as_bytes();
            Some(Answer::Verdict(verify_body(
                &key?,
                id?,
                body,
                signature?,
                now?,
                tolerance_s?,
            )))
        }
        _ => {
            faults.add(op, "must be sign, signBody, verify or verifyBody");
            None
        }
    }
}

fn shared_key(call: Node<'_, '_>, faults: &mut Faults) -> Option<SharedKey> {
    let node = faults.required(call, "sharedKey")?;
    let key = node.text().and_then(|text| SharedKey::parse(text));
    if key.is_none() {
        faults.add(node, "must be 16 to 128 printable characters");
    }
    key
}

fn id<'d>(call: Node<'d, '_>, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(call, "id")?;
    faults.name(node, MAX_ID)?;
    node.text().map(AsRef::as_ref)
}

fn text<'d>(call: Node<'d, '_>, member: &str, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(call, member)?;
    if node.text().is_none() {
        faults.add(node, "must be a string");
    }
    node.text().map(AsRef::as_ref)
}

fn time(call: Node<'_, '_>, member: &str, faults: &mut Faults) -> Option<u64> {
    let node = faults.required(call, member)?;
    let seconds = match node.scalar() {
        Scalar::Integer(seconds) => u64::try_from(*seconds).ok(),
        _ => None,
    };
    if seconds.is_none() {
        faults.add(node, "must be whole seconds, 0 or more");
    }
    seconds
}
