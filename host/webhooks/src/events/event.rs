//! An event as it is published, stored and sent.
//!
//! An event is stored once, with its envelope (`given.md`, 2.8) as every attempt sends it, byte for byte. The position
//! of the data in the envelope is stored beside it: signatures cover that text, and no attempt has to look for it.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tillgate_base::config;
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::media_type::is_json;
use crate::registry::filter::Filterable;

/// The key prefix of events, by the time at which they were accepted.
pub(crate) const EVENT: &str = "webhook-event/";

/// An event that is published.
#[derive(Clone, Debug)]
pub(crate) struct NewEvent {
    /// Its id; generated when absent.
    pub(crate) id: Option<String>,
    pub(crate) event_type: String,
    /// The time at which it happened.
    pub(crate) time: Timestamp,
    /// The media type of its data.
    pub(crate) datacontenttype: String,
    pub(crate) data: Bytes,
    /// The correlation id of what caused it.
    pub(crate) correlation: Uuid,
}

/// An event, as it is stored.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) event_type: String,
    pub(crate) correlation: Uuid,
    /// The text that is sent.
    envelope: Box<RawValue>,
    /// Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Span>,
}

/// The place of a part of a text, in bytes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Span {
    offset: usize,
    length: usize,
}

/// The envelope (`given.md`, 2.8), with its members in the order in which they are sent.
#[derive(Serialize)]
struct Envelope<'e> {
    id: &'e str,
    time: &'e str,
    #[serde(rename = "type")]
    event_type: &'e str,
    datacontenttype: &'e str,
    data: &'e str,
    dataencoding: &'e str,
    meta: Value,
    source: &'e str,
    specversion: &'e str,
}

pub(crate) fn event_key(event: Uuid) -> String {
    format!("{EVENT}{event}")
}

impl NewEvent {
    /// Creates an event of this service itself.
    pub(crate) fn own(event_type: &str, data: &Value, now: Timestamp, correlation: Uuid) -> Self {
        Self {
            id: None,
            event_type: event_type.to_owned(),
            time: now,
            datacontenttype: "application/json".to_owned(),
            data: data.to_string().into(),
            correlation,
        }
    }

    /// Returns the event with its envelope. It gets `id` if it has none of its own.
    pub(crate) fn to_event(&self, id: Uuid, settings: &config::Webhooks) -> Result<Event> {
        let id = self.id.clone().unwrap_or_else(|| id.to_string());
        let data = BASE64_STANDARD.encode(&self.data);
        let deprecation = settings.deprecations.get(&self.event_type);
        let meta = deprecation.map_or_else(
            || json!({}),
            |it| json!({ "deprecationNotice": { "removedAfter": it.removed_after.to_string() } }),
        );
        let envelope = to_raw_value(&Envelope {
            id: &id,
            time: &self.time.to_millis_text(),
            event_type: &self.event_type,
            datacontenttype: &self.datacontenttype,
            data: &data,
            dataencoding: "base64",
            meta,
            source: &settings.source,
            specversion: "1.0",
        });
        let envelope = envelope.map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(Event {
            id,
            event_type: self.event_type.clone(),
            correlation: self.correlation,
            data: Span::of_data(envelope.get(), data.len()),
            envelope,
        })
    }
}

impl Filterable for NewEvent {
    fn event_type(&self) -> &str {
        &self.event_type
    }

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn json(&self) -> Option<Cow<'_, [u8]>> {
        is_json(&self.datacontenttype).then_some(Cow::Borrowed(&self.data))
    }
}

impl Filterable for Event {
    fn event_type(&self) -> &str {
        &self.event_type
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn json(&self) -> Option<Cow<'_, [u8]>> {
        #[derive(Deserialize)]
        struct Kind {
            datacontenttype: String,
        }
        let read: Kind = serde_json::from_str(self.envelope()).ok()?;
        let data = is_json(&read.datacontenttype).then(|| self.data())?;
        let data = BASE64_STANDARD.decode(data.ok()?);
        data.ok().map(Cow::Owned)
    }
}

impl Span {
    /// Finds the text of the member `data`, which has no escapes, in an envelope.
    fn of_data(envelope: &str, length: usize) -> Option<Self> {
        const NAME: &str = r#""data":""#;
        // No text before it contains this: within a string, a backslash precedes each quotation mark.
        let offset = envelope.find(NAME)? + NAME.len();
        Some(Self { offset, length })
    }

    fn cut(self, text: &str) -> Option<&str> {
        text.get(self.offset..self.offset.checked_add(self.length)?)
    }
}

impl Event {
    /// Returns the text that is sent.
    pub(crate) fn envelope(&self) -> &str {
        self.envelope.get()
    }

    /// Takes the text that is sent, for an answer that has many.
    pub(crate) fn into_envelope(self) -> Box<RawValue> {
        self.envelope
    }

    /// Returns the text of the envelope's member `data`, as it is sent.
    ///
    /// # Errors
    /// [`Error::Bug`] when the record is damaged.
    pub(crate) fn data(&self) -> Result<&str> {
        #[derive(Deserialize)]
        struct Data<'e> {
            data: &'e str,
        }
        if let Some(data) = self.data.and_then(|span| span.cut(self.envelope())) {
            return Ok(data);
        }
        let read: Result<Data<'_>, _> = serde_json::from_str(self.envelope());
        let damaged = |cause| Error::Bug(format!("a stored envelope is damaged: {cause}"));
        read.map(|read| read.data).map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tillgate_base::config::{Flags, Loaded};

    fn event() -> Event {
        let new = NewEvent {
            id: Some(r#"a","data":"b"#.to_owned()),
            event_type: "x.order-updates.v1".to_owned(),
            time: Timestamp(1_767_225_600_123_456),
            datacontenttype: r#"text/csv; a="data""#.to_owned(),
            data: Bytes::from_static(b"a;b\n1;2"),
            correlation: Uuid::nil(),
        };
        let loaded = Loaded::read(None, &Flags::default()).unwrap_or_else(|_| unreachable!());
        let mut settings = loaded.config.webhooks;
        settings.source = "tillgate.example".to_owned();
        new.to_event(Uuid::nil(), &settings)
            .unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn an_envelope_has_its_members_in_order_without_white_space() {
        let expected = r#"{"id":"a\",\"data\":\"b","time":"2026-01-01T00:00:00.123Z","type":"x.order-updates.v1","datacontenttype":"text/csv; a=\"data\"","data":"YTtiCjE7Mg==","dataencoding":"base64","meta":{},"source":"tillgate.example","specversion":"1.0"}"#;
        assert_eq!(event().envelope(), expected);
    }

    #[test]
    fn the_data_is_found_by_its_place_and_in_records_without_one_by_reading_the_envelope() {
        let stored = event();
        assert!(stored.data.is_some());
        assert!(stored.data().is_ok_and(|data| data == "YTtiCjE7Mg=="));
        let earlier = Event {
            data: None,
            ..event()
        };
        assert!(earlier.data().is_ok_and(|data| data == "YTtiCjE7Mg=="));
        let record = serde_json::to_string(&earlier).unwrap_or_default();
        assert!(!record.contains("offset"), "{record}");
        let read: Result<Event, _> = serde_json::from_str(&record);
        assert!(read.is_ok_and(|read| read.envelope() == stored.envelope()));
    }
}
