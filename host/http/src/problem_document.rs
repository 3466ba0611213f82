//! Problem documents: the bodies of errors.
//!
//! They satisfy RFC 9457, and have a `code` for programs and what existing clients of such a platform read: `statusCode`,
//! `error`, and `message`, an array for 400 and for failing tests, otherwise a string (`platform.md`, "HTTP conventions").

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_api::Code;
use tillgate_engine::Fault;
use uuid::Uuid;

/// The media type of a problem document.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// The most bytes of one message of an error, and of all its messages together. They are sent twice.
const MAX_MESSAGE: usize = 1 << 10;
const MAX_MESSAGES: usize = 24 << 10;

/// Writes a problem document; `more` is one more member.
pub(super) fn document(
    code: Code,
    detail: &str,
    messages: Option<Vec<String>>,
    more: Option<(&str, &RawValue)>,
    correlation: Uuid,
) -> Bytes {
    let phrase = phrase(code);
    let message = messages.map_or_else(|| json!(detail), |messages| json!(messages));
    let body = json!({
        "type": "about:blank",
        "title": phrase,
        "status": code.status,
        "code": code.name,
        "detail": detail,
        "instance": correlation.urn().to_string(),
        "statusCode": code.status,
        "error": phrase,
        "message": message,
    });
    let mut body = body.to_string();
    if let Some((name, value)) = more {
        // Added as it stands, so that its numbers stay exact.
        body.pop();
        body.push_str(&format!(",{}:{value}}}", json!(name)));
    }
    body.into()
}

/// Returns the status of a code in words.
pub(crate) fn phrase(code: Code) -> &'static str {
    let status = http::StatusCode::from_u16(code.status).ok();
    let phrase = status.and_then(|status| status.canonical_reason());
    phrase.unwrap_or("Error")
}

/// Returns the messages of faults, as many as fit: names that the caller chose may be long.
pub(super) fn messages(faults: &[Fault]) -> Vec<String> {
    let (mut messages, mut left) = (Vec::new(), MAX_MESSAGES);
    for (index, fault) in faults.iter().enumerate() {
        let message = shortened(fault.to_string());
        // The size once it is escaped.
        let size = serde_json::to_string(&message).map_or(usize::MAX, |json| json.len());
        let Some(rest) = left.checked_sub(size) else {
            messages.push(format!("{} more are not listed", faults.len() - index));
            break;
        };
        left = rest;
        messages.push(message);
    }
    messages
}

fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}
