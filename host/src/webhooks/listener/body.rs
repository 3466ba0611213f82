//! What requests of listeners say, read strictly.

use std::net::IpAddr;

use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ipnet::IpNet;
use reqwest::Url;
use tillgate_engine::json::{Faults, Node};

use super::report::{Answered, Receipt, Report};
use crate::body::{Body, object, or_fault, parsed, read, text};
use crate::error::Result;
use crate::webhooks::delivery::answer::MAX_PREFIX;
use crate::webhooks::events::delivery::FailureKind;
use crate::webhooks::registry::body::{SharedKeyChange, check_url, event_types, name, shared_key};
use crate::webhooks::registry::webhook::Secret;

/// What a listener is called unless it says otherwise.
const NAME: &str = "tillgate listen";

/// The most characters of why there was no answer.
const MAX_REASON: usize = 1_000;

/// The longest that an attempt may have taken, in milliseconds.
const MAX_DURATION_MS: u64 = 10 * 60 * 1_000;

const LOCAL_RULE: &str = "must be a URL of your own machine, such as http://127.0.0.1:3000/hook, or of an address in a \
                          private network that this service does not reach";

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
pub(in crate::webhooks) fn listener(body: &Body, reached: &[IpNet]) -> Result<NewListener> {
    read(body, |fields| {
        let types = fields.required("eventTypes", event_types);
        let url = fields.required("forwardTo", |node, faults| local_url(node, reached, faults));
        let name = fields.optional("name", name);
        let key = fields.optional("sharedKey", shared_key);
        Some(NewListener {
            name: name?.unwrap_or_else(|| NAME.to_owned()),
            event_types: types?,
            forward_to: url?,
            shared_key: match key? {
                Some(SharedKeyChange::Set(key)) => Some(key),
                _ => None,
            },
        })
    })
}

fn local_url(node: Node<'_, '_>, reached: &[IpNet], faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    let checked = check_url(&text, true);
    let local = checked.and_then(|()| match is_local(&text, reached) {
        true => Ok(text),
        false => Err(LOCAL_RULE),
    });
    local.map_err(|rule| faults.add(node, rule)).ok()
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
pub(in crate::webhooks) fn report(body: &Body) -> Result<Report> {
    read(body, |fields| {
        let receipt = fields.required("receipt", |node, faults| {
            let rule = "must be the receipt that came with the delivery";
            parsed(node, faults, Receipt::parse, rule)
        });
        let duration = fields.required("durationMs", |node, faults| {
            let found = node.number().and_then(|number| number.parse().ok());
            let found = found.filter(|millis| *millis <= MAX_DURATION_MS);
            let rule = "must be a whole number from 0 to 600,000";
            or_fault(faults, node, found, rule)
        });
        let answered = match fields.member("error") {
            Some(node) => error(node, fields.faults),
            None => fields.required("answer", answer),
        };
        Some(Report {
            receipt: receipt?,
            duration_ms: duration?,
            answered: answered?,
        })
    })
}

fn answer(node: Node<'_, '_>, faults: &mut Faults) -> Option<Answered> {
    object(node, faults, |fields| {
        let status = fields.required("status", |node, faults| {
            let number = node.number().and_then(|number| number.parse().ok());
            let found = number.and_then(|number| StatusCode::from_u16(number).ok());
            or_fault(faults, node, found, "must be a status such as 204")
        });
        let headers = fields.optional("headers", headers);
        let body = fields.optional("body", text);
        Some(Answered::Answer {
            status: status?,
            headers: headers?.unwrap_or_default(),
            beginning: beginning(body?.unwrap_or_default(), MAX_PREFIX).into(),
        })
    })
}

fn headers(node: Node<'_, '_>, faults: &mut Faults) -> Option<HeaderMap> {
    let object = faults.object(node)?;
    let mut headers = HeaderMap::new();
    for name in HEADERS {
        let Some(node) = object.member(name.as_str()) else {
            continue;
        };
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let value = parsed(node, faults, value, "must be the value of a header")?;
        headers.insert(name, value);
    }
    Some(headers)
}

fn error(node: Node<'_, '_>, faults: &mut Faults) -> Option<Answered> {
    object(node, faults, |fields| {
        let kind = fields.required("kind", |node, faults| {
            let kind = |text: &str| match text {
                "DEADLINE" => Some(FailureKind::Deadline),
                "UNREACHABLE" => Some(FailureKind::Unreachable),
                "REFUSED_ADDRESS" => Some(FailureKind::RefusedAddress),
                "BROKEN" => Some(FailureKind::Broken),
                _ => None,
            };
            let rule = "must be DEADLINE, UNREACHABLE, REFUSED_ADDRESS or BROKEN";
            parsed(node, faults, kind, rule)
        });
        let message = fields.required("message", text);
        Some(Answered::Nothing {
            kind: kind?,
            message: message?.chars().take(MAX_REASON).collect(),
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
