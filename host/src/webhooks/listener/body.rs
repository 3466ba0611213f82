//! What requests of listeners say, read strictly.

use std::net::IpAddr;

use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ipnet::IpNet;
use reqwest::Url;
use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::value::or_fault;
use tillgate_api::values::text;
use tillgate_api::{Value, describe};

use super::report::{Answered, Receipt, Report};
use crate::webhooks::delivery::answer::MAX_PREFIX;
use crate::webhooks::events::delivery::FailureKind;
use crate::webhooks::registry::body::{
    SharedKeyChange, check_url, event_types, name, shared_key, url,
};
use crate::webhooks::registry::webhook::Secret;

/// What a listener is called unless it says otherwise.
const NAME: &str = "tillgate listen";

/// The most characters of why there was no answer.
const MAX_REASON: usize = 1_000;

/// The longest that an attempt may have taken, in milliseconds.
const MAX_DURATION_MS: u64 = 10 * 60 * 1_000;

const LOCAL_RULE: &str = "must be a URL of your own machine, such as \
    http://127.0.0.1:3000/hook, or of an address in a private network that \
    this service does not reach";

/// The headers of an answer that matter.
const HEADERS: [HeaderName; 2] = [LOCATION, RETRY_AFTER];

/// What a request says of a listener.
#[derive(Debug)]
pub(in crate::webhooks) struct NewListener {
    pub(super) name: String,
    pub(super) event_types: Vec<String>,
    pub(super) forward_to: String,
    /// One is made when there is none.
    pub(super) shared_key: Option<Secret>,
}

/// Reads `{ eventTypes, forwardTo, name?, sharedKey? }`. In some private networks this service has receivers itself.
pub(in crate::webhooks) fn listener(
    value: Value<'_, '_, '_>,
    reached: &[IpNet],
) -> Option<NewListener> {
    value.component("NewListener", |value| {
        value.object(|fields| {
            let types = fields.required(
                "eventTypes",
                "The types of the events that it gets; `*` stands for all.",
                event_types,
            );
            let about = "Where the listener forwards deliveries to: a URL of \
                its own machine, or of an address in a private network that \
                this service does not reach. It is the audience of the \
                tokens of these deliveries.";
            let url = fields.required("forwardTo", about, |value| {
                url(value, |text| {
                    check_url(text, true)?;
                    match is_local(text, reached) {
                        true => Ok(()),
                        false => Err(LOCAL_RULE),
                    }
                })
            });
            let name = fields.with_default("name", "What it is called.", NAME.to_owned(), name);
            let key = fields.optional(
                "sharedKey",
                "The key of the signatures; one is made when there is none.",
                shared_key,
            );
            Some(NewListener {
                name: name?,
                event_types: types?,
                forward_to: url?,
                shared_key: match key? {
                    Some(SharedKeyChange::Set(key)) => Some(key),
                    _ => None,
                },
            })
        })
    })
}

/// The body that creates a listener.
pub(in crate::webhooks) fn listener_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, |value| listener(value, &[]))
}

/// Whether a URL is of the developer's machine or network. One that this service may send deliveries to is not: a token for
/// it would deceive its receiver, except on the machine itself.
fn is_local(url: &str, reached: &[IpNet]) -> bool {
    let url = Url::parse(url).ok();
    let Some(host) = url.as_ref().and_then(Url::host_str) else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = bare.parse::<IpAddr>() else {
        return host == "localhost" || host.ends_with(".localhost");
    };
    let is_private = match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    };
    let is_reached = || reached.iter().any(|network| network.contains(&address));
    address.is_loopback() || is_private && !is_reached()
}

/// Reads `{ receipt, durationMs, answer: { status, headers?, body? } }`, or with `error: { kind, message }` in place of
/// an answer.
pub(in crate::webhooks) fn report(value: Value<'_, '_, '_>) -> Option<Report> {
    value.component("DeliveryOutcome", |value| {
        value.object(|fields| {
            let receipt = fields.required("receipt", "What came with the delivery.", |value| {
                let schema = |_: &mut _| {
                    json_schema!({
                        "type": "string", "pattern": "^[0-9]{1,20}-[0-9]{1,20}$"
                    })
                };
                let rule = "must be the receipt that came with the delivery";
                value.parsed(schema, Receipt::parse, rule)
            });
            let duration = fields.required(
                "durationMs",
                "How long the attempt has taken, in milliseconds.",
                |value| {
                    value.integer(
                        0..=MAX_DURATION_MS,
                        "must be a whole number from 0 to 600,000",
                    )
                },
            );
            let error = fields.not_null("error", "Why there was no answer.", error);
            let about = "What the receiver has answered: required, unless there \
            is an `error`, beside which it is refused.";
            let answer = match &error {
                Some(None) | None => fields.not_null("answer", about, answer),
                Some(Some(_)) => Some(None),
            };
            if let (Some(None), Some(None)) = (&error, &answer) {
                fields.refuse_member("answer", "is required");
            }
            Some(Report {
                receipt: receipt?,
                duration_ms: duration?,
                answered: error?.or(answer?)?,
            })
        })
    })
}

/// The report of a listener.
pub(in crate::webhooks) fn report_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, report)
}

fn answer(value: Value<'_, '_, '_>) -> Option<Answered> {
    value.component("ReceiverAnswer", |value| {
        value.object(|fields| {
            let status = fields.required("status", "", |value| {
                let schema = |_: &mut _| {
                    json_schema!({
                        "type": "integer", "minimum": 100, "maximum": 999
                    })
                };
                value.of(schema, |node, faults| {
                    let number = node.number().and_then(|number| number.parse().ok());
                    let found = number.and_then(|number| StatusCode::from_u16(number).ok());
                    or_fault(faults, node, found, "must be a status such as 204")
                })
            });
            let headers = fields.optional("headers", "Those that matter.", headers);
            let body = fields.optional("body", "Its beginning is looked at.", text);
            Some(Answered::Answer {
                status: status?,
                headers: headers?.unwrap_or_default(),
                beginning: beginning(body?.unwrap_or_default(), MAX_PREFIX).into(),
            })
        })
    })
}

/// The headers of an answer that matter. Others are ignored.
fn headers(value: Value<'_, '_, '_>) -> Option<HeaderMap> {
    let schema = |_: &mut _| {
        let header = json_schema!({ "type": "string", "pattern": r"^[^\x00-\x08\x0a-\x1f\x7f]*$" });
        json_schema!({ "type": "object", "properties": { "location": header.clone(), "retry-after": header } })
    };
    value.of(schema, |node, faults| {
        let object = faults.object(node)?;
        let mut headers = HeaderMap::new();
        for name in HEADERS {
            let Some(node) = object.member(name.as_str()) else {
                continue;
            };
            let value = node
                .text()
                .and_then(|text| HeaderValue::from_str(text).ok());
            let value = or_fault(faults, node, value, "must be the value of a header")?;
            headers.insert(name, value);
        }
        Some(headers)
    })
}

fn error(value: Value<'_, '_, '_>) -> Option<Answered> {
    value.component("ListenerError", |value| {
        value.object(|fields| {
            let kind = fields.required("kind", "", |value| {
                let names = ["DEADLINE", "UNREACHABLE", "REFUSED_ADDRESS", "BROKEN"];
                let kind = |text: &str| match text {
                    "DEADLINE" => Some(FailureKind::Deadline),
                    "UNREACHABLE" => Some(FailureKind::Unreachable),
                    "REFUSED_ADDRESS" => Some(FailureKind::RefusedAddress),
                    "BROKEN" => Some(FailureKind::Broken),
                    _ => None,
                };
                value.name_of(
                    &names,
                    kind,
                    "must be DEADLINE, UNREACHABLE, REFUSED_ADDRESS or BROKEN",
                )
            });
            let message = fields.required("message", "The first 1,000 characters are kept.", text);
            Some(Answered::Nothing {
                kind: kind?,
                message: message?.chars().take(MAX_REASON).collect(),
            })
        })
    })
}

/// The beginning of a text, of at most so many bytes.
fn beginning(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_urls_that_no_receiver_has_are_local() {
        let reached = ["10.1.0.0/16", "127.0.0.0/8"].map(|net| net.parse());
        let reached: Vec<_> = reached.into_iter().flatten().collect();
        for url in [
            "http://127.0.0.1:3000/hook",
            "https://localhost/",
            "http://shop.localhost:3000/",
            "http://[::1]:3000/",
            "http://192.168.1.7/",
            "http://10.2.0.1/",
            "http://[fd00::1]/",
        ] {
            assert!(is_local(url, &reached), "{url}");
        }
        for url in [
            "https://erp.example/hook",
            "http://localhost.example/",
            "http://notlocalhost/",
            "http://8.8.8.8/",
            "http://0.0.0.0/",
            "http://169.254.169.254/",
            "http://10.1.2.3/",
            "http://[::ffff:10.1.2.3]/",
            "http://[2a00::1]/",
        ] {
            assert!(!is_local(url, &reached), "{url}");
        }
    }
}
