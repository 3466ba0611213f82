//! Signs and verifies from JSON to JSON, as every face of the module offers it.
//!
//! The modules beside this one decide what a signature covers. The time is a member of the call.

use super::standard_webhooks::{self, Headers};
use super::{SharedKey, TOLERANCE_S, VerifyError, sign_body, sign_data, verify_body, verify_data};
use crate::error::Error;
use crate::json::{Document, Faults, Node, write_text};

const MAX_ID: usize = 256;

/// The members of `verifyBody` and of `verifyStandard`.
const BODY: [&str; 7] = [
    "op",
    "sharedKey",
    "id",
    "body",
    "signature",
    "now",
    "toleranceSeconds",
];
const STANDARD: [&str; 8] = [
    "op",
    "sharedKey",
    "id",
    "timestamp",
    "body",
    "signature",
    "now",
    "toleranceSeconds",
];

/// Signs or verifies, from JSON to JSON.
///
/// | `op` | members | answer |
/// |---|---|---|
/// | `sign` | `sharedKey`, `data` | `{ signature }` |
/// | `signBody` | `sharedKey`, `id`, `t`, `body` | `{ signature }` |
/// | `verify` | `sharedKey`, `data`, `signature` | `{ valid: true }` or `{ valid: false, reason }` |
/// | `verifyBody` | `sharedKey`, `id`, `body`, `signature`, `now`, `toleranceSeconds?` (300) | the same |
/// | `verifyStandard` | `sharedKey`, `id`, `timestamp`, `body`, `signature`, `now`, `toleranceSeconds?` (300) | the same |
///
/// Times are Unix seconds; `reason` is a [`VerifyError`]. A malformed signature is an answer, not an error. In
/// `verifyStandard`, `id`, `timestamp` and `signature` are the texts of the Standard Webhooks headers.
///
/// Appends the answer to `out`, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the call.
pub fn answer(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let document = Document::parse_without_number_text(request, usize::MAX)?;
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
    Verification(Result<(), VerifyError>),
}

impl Answer {
    fn write(&self, out: &mut Vec<u8>) {
        let (start, text) = match self {
            Self::Signature(signature) => ("{\"signature\":", signature.as_str()),
            Self::Verification(Ok(())) => return out.extend_from_slice(b"{\"valid\":true}"),
            Self::Verification(Err(error)) => ("{\"valid\":false,\"reason\":", error.as_str()),
        };
        out.extend_from_slice(start.as_bytes());
        write_text(text, out);
        out.push(b'}');
    }
}

fn answer_to(call: Node<'_, '_>, faults: &mut Faults) -> Option<Answer> {
    let call = faults.object(call)?;
    let op = faults.required(call, "op")?;
    let name = op.text().map(AsRef::as_ref);
    let members: &[&str] = match name {
        Some("sign") => &["op", "sharedKey", "data"],
        Some("signBody") => &["op", "sharedKey", "id", "t", "body"],
        Some("verify") => &["op", "sharedKey", "data", "signature"],
        Some("verifyBody") => &BODY,
        _ => &STANDARD,
    };
    faults.refuse_unknown(call, members);
    match name {
        Some("sign") => {
            let (key, data) = (
                read_shared_key(call, faults),
                read_text(call, "data", faults),
            );
            Some(Answer::Signature(sign_data(&key?, data?.as_bytes())))
        }
        Some("signBody") => {
            let (key, id) = (read_shared_key(call, faults), read_id(call, faults));
            let (t, body) = (
                read_time(call, "t", faults),
                read_text(call, "body", faults),
            );
            let signature = sign_body(&key?, id?, t?, body?.as_bytes());
            Some(Answer::Signature(signature))
        }
        Some("verify") => {
            let (key, data) = (
                read_shared_key(call, faults),
                read_text(call, "data", faults),
            );
            let signature = read_text(call, "signature", faults);
            Some(Answer::Verification(verify_data(
                &key?,
                data?.as_bytes(),
                signature?,
            )))
        }
        Some("verifyBody") => answer_about_body(call, faults),
        Some("verifyStandard") => answer_about_standard(call, faults),
        _ => {
            faults.add(
                op,
                "must be sign, signBody, verify, verifyBody or verifyStandard",
            );
            None
        }
    }
}

fn answer_about_body(call: Node<'_, '_>, faults: &mut Faults) -> Option<Answer> {
    let (key, id) = (read_shared_key(call, faults), read_id(call, faults));
    let (body, signature) = (
        read_text(call, "body", faults),
        read_text(call, "signature", faults),
    );
    let (now, tolerance_s) = read_times(call, faults);
    let body = body?.as_bytes();
    Some(Answer::Verification(verify_body(
        &key?,
        id?,
        body,
        signature?,
        now?,
        tolerance_s?,
    )))
}

fn answer_about_standard(call: Node<'_, '_>, faults: &mut Faults) -> Option<Answer> {
    let key = read_shared_key(call, faults);
    let [id, timestamp, body, signature] =
        ["id", "timestamp", "body", "signature"].map(|name| read_text(call, name, faults));
    let (now, tolerance_s) = read_times(call, faults);
    let headers = Headers {
        id: id?,
        timestamp: timestamp?,
        signature: signature?,
    };
    let body = body?.as_bytes();
    let verified = standard_webhooks::verify(&key?, &headers, body, now?, tolerance_s?);
    Some(Answer::Verification(verified))
}

fn read_shared_key(call: Node<'_, '_>, faults: &mut Faults) -> Option<SharedKey> {
    let node = faults.required(call, "sharedKey")?;
    let key = node.text().and_then(|text| SharedKey::parse(text));
    if key.is_none() {
        faults.add(node, "must be 16 to 128 printable characters");
    }
    key
}

fn read_id<'d>(call: Node<'d, '_>, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(call, "id")?;
    faults.name(node, MAX_ID)?;
    node.text().map(AsRef::as_ref)
}

fn read_text<'d>(call: Node<'d, '_>, member: &str, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(call, member)?;
    if node.text().is_none() {
        faults.add(node, "must be a string");
    }
    node.text().map(AsRef::as_ref)
}

/// Reads the current time, and how far from it a signature may be.
fn read_times(call: Node<'_, '_>, faults: &mut Faults) -> (Option<u64>, Option<u64>) {
    let now = read_time(call, "now", faults);
    let tolerance_s = match call.member("toleranceSeconds") {
        Some(node) if !node.is_null() => read_time(call, "toleranceSeconds", faults),
        _ => Some(TOLERANCE_S),
    };
    (now, tolerance_s)
}

fn read_time(call: Node<'_, '_>, member: &str, faults: &mut Faults) -> Option<u64> {
    let node = faults.required(call, member)?;
    let seconds = node
        .integer()
        .and_then(|seconds| u64::try_from(seconds).ok());
    if seconds.is_none() {
        faults.add(node, "must be a whole number of seconds, 0 or more");
    }
    seconds
}
