//! The body of a request that publishes an event (`webhooks.md`, "Events").
//!
//! It is parsed once. JSON data reaches receivers as it was written, so its text is cut out of the body: the parsed
//! body knows where the names of its members are.

use std::borrow::Cow;

use bytes::Bytes;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_api::value::or_fault;
use tillgate_api::{Body, Value, describe, read};
use tillgate_base::body::{tenant, time};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::json::Node;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::event::NewEvent;
use super::media_type::{is_json, is_media_type};
use crate::registry::body::{SHORT_TEXT_RULE, short_text};
use crate::registry::event_type;
use crate::registry::event_type::fault_of_type;

/// The most bytes of an event's data.
const MAX_DATA: usize = 256 << 10;

/// The most bytes of the data's media type.
const MAX_TYPE: usize = 255;

#[derive(Debug)]
pub(crate) struct PublishRequest {
    pub(crate) event: NewEvent,
    /// The tenant that the event is for, if the request names one.
    pub(crate) tenant: Option<TenantId>,
}

/// Reads `{ type, data, id?, time?, tenantId?, datacontenttype? }`.
pub(crate) fn publish_request(
    body: &Body,
    now: Timestamp,
    correlation: Uuid,
) -> Result<PublishRequest> {
    let request = read(body, |value| event(value, body, now, correlation))?;
    if request.event.data.len() > MAX_DATA {
        return Err(Error::invalid("$.data", "must have at most 256 KiB"));
    }
    Ok(request)
}

/// Returns the schema of the body that publishes an event.
pub(crate) fn event_schema(generator: &mut SchemaGenerator) -> Schema {
    let body = Body::default();
    describe(generator, |value| {
        event(value, &body, Timestamp(0), Uuid::nil())
    })
}

fn event(
    value: Value<'_, '_, '_>,
    body: &[u8],
    now: Timestamp,
    correlation: Uuid,
) -> Option<PublishRequest> {
    value.component("NewEvent", |value| {
        value.object(|fields| {
            let event_type = fields.required("type", "", |value| {
                value.of(type_schema, |node, faults| {
                    let text = node.text().map_or("", |text| text.as_ref());
                    let rule = fault_of_type(text);
                    let found = rule.is_none().then(|| text.to_owned());
                    or_fault(faults, node, found, rule.unwrap_or_default())
                })
            });
            let about = "Any JSON, which receivers get as it is written, or \
                a string if `datacontenttype` is not JSON. At most 256 KiB.";
            let data = fields.required("data", about, |value| {
                value.of(|_| Schema::default(), |_, _| Some(()))
            });
            let about = "The id. An event with an id \
                that was accepted in the last 24 hours is not delivered \
                again. Without an id, the event gets a UUID.";
            let id = fields.optional("id", about, |value| {
                short_text(value, |_| true, SHORT_TEXT_RULE)
            });
            let time = fields.optional(
                "time",
                "The time of the event, not before 1970. Default: now.",
                time,
            );
            let about = "The tenant of the event: the caller's own, or any \
                tenant if the caller belongs to the platform.";
            let tenant = fields.optional("tenantId", about, tenant);
            let json = "application/json".to_owned();
            let content_type = fields.with_default(
                "datacontenttype",
                "The media type of the data.",
                json,
                |value| {
                    let fits = |text: &str| text.len() <= MAX_TYPE && is_media_type(text);
                    let rule = "must be a media type of at most 255 bytes, such as \
                            application/json";
                    value.text_that(media_type_schema, fits, rule)
                },
            );
            let (content_type, node) = (content_type?, fields.node()?);
            let data = if is_json(&content_type) {
                data.and_then(|()| json_data(body, node))
            } else {
                data.and_then(|()| {
                    let text = node.member("data").and_then(Node::text);
                    if text.is_none() {
                        fields
                            .refuse_member("data", "must be a string: datacontenttype is not JSON");
                    }
                    text.map(|text| Bytes::from(text.clone().into_owned()))
                })
            };
            let event = NewEvent {
                id: id?,
                event_type: event_type?,
                time: time?.unwrap_or(now),
                datacontenttype: content_type,
                data: data?,
                correlation,
            };
            let tenant = tenant?;
            Some(PublishRequest { event, tenant })
        })
    })
}

fn type_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = event_type::schema(generator);
    let topic = json!({ "const": "cer.public.event.rates-changed.v1" });
    schema.insert("not".to_owned(), topic);
    schema
}

fn media_type_schema(_: &mut SchemaGenerator) -> Schema {
    let token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
    json_schema!({ "type": "string", "maxLength": MAX_TYPE, "pattern": format!("^{token}/{token}(;.*)?$") })
}

/// Returns JSON data: the text of the member `data`, as it is written.
fn json_data(body: &[u8], root: Node<'_, '_>) -> Option<Bytes> {
    let mut members = root.children().skip_while(|member| member.key() != "data");
    let (data, next) = (members.next()?, members.next());
    let text = value_text(body, data, next).or_else(|| reread(body));
    text.map(Bytes::copy_from_slice)
}

/// Returns the text of a member's value: what is between its name and the name of the next member, or the end of the
/// body. Returns `None` if one of the names is written with escapes, which hides where it is.
fn value_text<'b>(
    body: &'b [u8],
    member: Node<'_, '_>,
    next: Option<Node<'_, '_>>,
) -> Option<&'b [u8]> {
    let begin = offset(body, member)? + member.key().len() + 1;
    let (end, delimiter): (_, &[u8]) = match next {
        Some(next) => (offset(body, next)? - 1, b","),
        None => (body.len(), b"}"),
    };
    let text = body.get(begin..end)?.trim_ascii().strip_prefix(b":")?;
    Some(text.strip_suffix(delimiter)?.trim_ascii())
}

/// Returns where the name of a member is in the body: after its quotation mark.
fn offset(body: &[u8], member: Node<'_, '_>) -> Option<usize> {
    match member.key() {
        Cow::Borrowed(name) => name.as_ptr().addr().checked_sub(body.as_ptr().addr()),
        Cow::Owned(_) => None,
    }
}

/// Returns the text of the member `data` by reading the body again.
fn reread(body: &[u8]) -> Option<&[u8]> {
    #[derive(Deserialize)]
    struct Body<'b> {
        #[serde(borrow)]
        data: &'b RawValue,
    }
    let read: Body<'_> = serde_json::from_slice(body).ok()?;
    Some(read.data.get().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_data_is_what_stands_in_the_body() {
        let long = format!(
            r#"{{ "a" : [ "}}\",", {{}} ] , "b":"{}" }}"#,
            "é".repeat(100)
        );
        for data in [
            "1",
            "-1.50e3",
            "null",
            r#""a\u0041\"}""#,
            "[ ]",
            "{\n}",
            &long,
        ] {
            for body in [
                format!(r#"{{"type":"a.v1","data":{data}}}"#),
                format!(" {{\t\"type\" : \"a.v1\" , \"data\" :\r\n{data}\n}} \n"),
                format!(r#"{{"data":{data} , "type":"a.v1"}}"#),
                format!(r#"{{"da":{{"data":0}},"data": {data},"":0,"type":"a.v1"}}"#),
                format!(r#"{{"\u0064ata":{data},"type":"a.v1"}}"#),
                format!(r#"{{"data":{data},"\u0074ype":"a.v1"}}"#),
            ] {
                let sent = Body {
                    bytes: body.clone().into(),
                    lenient: true,
                };
                let read = publish_request(&sent, Timestamp(0), Uuid::nil());
                let read = read.map(|read| read.event.data);
                assert!(read.is_ok_and(|it| it == data), "{body}");
            }
        }
    }

    #[test]
    fn a_body_is_read_again_only_for_names_with_escapes() {
        let found = |body: &str| {
            let document = tillgate_engine::json::Document::parse(body.as_bytes()).ok()?;
            let mut members = document.root().children();
            let (data, next) = (members.next()?, members.next());
            value_text(body.as_bytes(), data, next).map(<[u8]>::to_vec)
        };
        assert_eq!(found(r#"{"data": 1 , "x":2}"#), Some(b"1".to_vec()));
        assert_eq!(found(r#"{"data":{}}"#), Some(b"{}".to_vec()));
        assert_eq!(found(r#"{"d\u0061ta":1}"#), None);
        assert_eq!(found(r#"{"data":1,"\n":2}"#), None);
    }
}
