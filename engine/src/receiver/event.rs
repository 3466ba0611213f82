//! Reads the event in the body of a delivery (`given.md` 2.8).
//!
//! The signature covers the text of `data`, so no member may be in the envelope twice and `data` must be plain base64:
//! then every parser reads the same.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::refusal::Refusal;
use crate::json::{Document, Node};

const MAX_ID: usize = 256;

/// An event that was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id, which stays the same when the event is delivered again: handle each once.
    pub id: String,
    /// The time when it happened, in UTC with milliseconds.
    pub time: String,
    /// Its type, such as `entity-conditions.events.v1`.
    pub event_type: String,
    /// The media type of the data.
    pub data_content_type: Option<String>,
    /// The data.
    pub data: Vec<u8>,
    /// The host name of the sender's dispatcher.
    pub source: Option<String>,
    /// The version of the envelope, `1.0`.
    pub spec_version: Option<String>,
    /// The date after which the type is no longer sent, `YYYY-MM-DD`: the `removedAfter` of its `deprecationNotice`.
    pub removed_after: Option<String>,
}

/// An event, and the text that the signature of its data covers.
pub(super) struct ReadEvent<'a> {
    pub(super) event: Event,
    /// The base64 text of the data, as it was sent.
    pub(super) data: &'a str,
}

/// Reads an envelope.
pub(super) fn read(body: &[u8]) -> Result<ReadEvent<'_>, Refusal> {
    let document = Document::parse(body).map_err(|_| Refusal::MalformedBody)?;
    let envelope = document.root();
    envelope
        .is_object()
        .then(|| read_members(envelope))
        .flatten()
        .ok_or(Refusal::MalformedBody)
}

fn read_members<'a>(envelope: Node<'_, 'a>) -> Option<ReadEvent<'a>> {
    let id = text(envelope, "id").filter(|id| id.chars().count() <= MAX_ID)?;
    if text(envelope, "dataencoding")? != "base64" {
        return None;
    }
    // A borrowed text was written without escapes.
    let Cow::Borrowed(data) = envelope.member("data")?.text()? else {
        return None;
    };
    let meta = envelope.member("meta");
    let notice = meta.and_then(|meta| meta.member("deprecationNotice"));
    let event = Event {
        id,
        time: text(envelope, "time")?,
        event_type: text(envelope, "type")?,
        data_content_type: text(envelope, "datacontenttype"),
        data: BASE64_STANDARD.decode(data).ok()?,
        source: text(envelope, "source"),
        spec_version: text(envelope, "specversion"),
        removed_after: notice.and_then(|notice| text(notice, "removedAfter")),
    };
    Some(ReadEvent { event, data })
}

/// Returns a member that is a text and not empty.
fn text(object: Node<'_, '_>, name: &str) -> Option<String> {
    let text = object.member(name)?.text()?;
    (!text.is_empty()).then(|| text.clone().into_owned())
}
