//! Request bodies and queries, read strictly: every fault is named by its path. Unknown members are ignored.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::HeaderName;
use serde::Deserialize;
use serde_json::value::RawValue;
use tillgate_engine::json::{Document, Faults, Node};
use tillgate_engine::signature::SharedKey;
use uuid::Uuid;

use super::events::delivery::Status;
use super::events::event::NewEvent;
use super::journal::Filter;
use super::registry::webhook::{Authentication, Secret, Settings, is_event_type, is_wanted_type};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::identity::{TENANT_RULE, TenantId};

pub(super) const MAX_NAME: usize = 256;
const MAX_URL: usize = 2_048;
const MAX_TYPES: usize = 100;
const MAX_CREDENTIAL: usize = 256;
const MAX_EVENT_ID: usize = 256;
const MAX_RATE: u32 = 10_000;

/// The most bytes of an event's data.
const MAX_DATA: usize = 256 << 10;

const TYPE_RULE: &str = "must be an event type such as x.order-updates.v1";
const KEY_RULE: &str = "must be \"generate\" or 16 to 128 printable characters";
const TIME_RULE: &str = "must be a time such as 2026-11-20T17:40:00Z";

/// Headers that a signature cannot take the place of.
const RESERVED: [&str; 20] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "correlation-id",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-service-body-signature",
];

/// What a request says of a webhook.
#[derive(Debug)]
pub(super) struct NewWebhook {
    /// With `enabled`, whatever it says.
    pub(super) settings: Settings,
    pub(super) key: KeyWish,
    /// Whether the password is to be the one that is stored.
    pub(super) keeps_password: bool,
    /// The webhook whose secrets are meant where there are none.
    pub(super) id: Option<Uuid>,
}

/// What is to become of a shared key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyWish {
    Keep,
    Remove,
    Generate,
    Set(Secret),
}

/// Reads a webhook. `allows_http` says whether its URL may be of that kind.
pub(super) fn webhook(body: &[u8], allows_http: bool) -> Result<NewWebhook> {
    read(body, |root, faults| {
        let name = faults.required(root, "name");
        let name = name.and_then(|node| faults.name(node, MAX_NAME));
        let url = faults.required(root, "callbackUrl");
        let url = url.and_then(|node| callback_url(node, allows_http, faults));
        let types = faults.required(root, "eventTypes");
        let types = types.and_then(|node| event_types(node, faults));
        let authentication = faults.required(root, "authentication");
        let authentication = authentication.and_then(|node| self::authentication(node, faults));
        let key = match root.member("sharedKey") {
            None => Some(KeyWish::Keep),
            Some(node) if node.is_null() => Some(KeyWish::Remove),
            Some(node) => shared_key(node, faults),
        };
        let header = optional(root, "signatureHeader", faults, signature_header);
        let rate = optional(root, "maxPerSecond", faults, max_per_second);
        let enabled = optional(root, "enabled", faults, |node, faults| faults.boolean(node));
        let id = optional(root, "id", faults, uuid);
        let (authentication, keeps_password) = authentication?;
        Some(NewWebhook {
            settings: Settings {
                name: name?.into_owned(),
                callback_url: url?,
                event_types: types?,
                authentication,
                shared_key: None,
                signature_header: header?,
                max_per_second: rate?,
                enabled: enabled?.unwrap_or(true),
            },
            key: key?,
            keeps_password,
            id: id?,
        })
    })
}

fn callback_url(node: Node<'_, '_>, allows_http: bool, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    match check_url(&text, allows_http) {
        Ok(()) => Some(text),
        Err(rule) => {
            faults.add(node, rule);
            None
        }
    }
}

pub(super) fn check_url(text: &str, allows_http: bool) -> Result<(), &'static str> {
    if text.len() > MAX_URL {
        return Err("must have at most 2,048 characters");
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("must not contain white space");
    }
    let url = reqwest::Url::parse(text).map_err(|_| "must be an absolute URL")?;
    match url.scheme() {
        "https" => {}
        "http" if allows_http => {}
        "http" => return Err("must be an https URL"),
        _ if allows_http => return Err("must be an https or http URL"),
        _ => return Err("must be an https URL"),
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("must name a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password: use authentication BASIC");
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment");
    }
    Ok(())
}

pub(super) fn event_types(list: Node<'_, '_>, faults: &mut Faults) -> Option<Vec<String>> {
    let list = faults.array(list)?;
    if !(1..=MAX_TYPES).contains(&list.children().count()) {
        faults.add(list, "must have 1 to 100 event types");
        return None;
    }
    let mut types: Vec<String> = Vec::new();
    for node in list.children() {
        let found = node.text().filter(|text| is_wanted_type(text));
        match found {
            Some(text) if types.iter().any(|known| known == text) => {
                faults.add(node, "is a duplicate");
            }
            Some(text) => types.push(text.clone().into_owned()),
            None => faults.add(
                node,
                "must be an event type such as x.order-updates.v1, or * for all",
            ),
        }
    }
    Some(types)
}

/// Reads `{ type, username?, password? }`; whether the password is to be kept.
fn authentication(node: Node<'_, '_>, faults: &mut Faults) -> Option<(Authentication, bool)> {
    let object = faults.object(node)?;
    let kind = faults.required(object, "type")?;
    match kind.text().map(|text| text.as_ref()) {
        Some("BEARER") => Some((Authentication::Bearer, false)),
        Some("BASIC") => {
            let username = faults.required(object, "username");
            let username = username.and_then(|node| credential(node, faults));
            if let (Some(node), Some(name)) = (object.member("username"), &username)
                && name.contains(':')
            {
                faults.add(node, "must not contain a colon");
            }
            let password = match object.member("password") {
                None => Some(None),
                Some(node) => credential(node, faults).map(Some),
            };
            let (username, password) = (username?, password?);
            let keeps = password.is_none();
            let password = Secret(password.unwrap_or_default());
            Some((Authentication::Basic { username, password }, keeps))
        }
        _ => {
            faults.add(kind, "must be BEARER or BASIC");
            None
        }
    }
}

fn credential(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    let fits = (1..=MAX_CREDENTIAL).contains(&text.chars().count());
    if !fits || text.chars().any(char::is_control) {
        faults.add(
            node,
            "must have 1 to 256 characters, none of them a control character",
        );
        return None;
    }
    Some(text)
}

pub(super) fn shared_key(node: Node<'_, '_>, faults: &mut Faults) -> Option<KeyWish> {
    let text = node.text().map(|text| text.as_ref());
    match text {
        Some("generate") => Some(KeyWish::Generate),
        Some(text) if SharedKey::parse(text).is_some() => {
            Some(KeyWish::Set(Secret(text.to_owned())))
        }
        _ => {
            faults.add(node, KEY_RULE);
            None
        }
    }
}

fn signature_header(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    let is_name = text.len() <= 100 && text.parse::<HeaderName>().is_ok();
    let is_free = !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if !is_name || !is_free {
        faults.add(
            node,
            "must be the name of a header that has no other meaning in a delivery",
        );
        return None;
    }
    Some(text)
}

fn max_per_second(node: Node<'_, '_>, faults: &mut Faults) -> Option<u32> {
    let number = node.number().and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=MAX_RATE).contains(number));
    if number.is_none() {
        faults.add(node, "must be a whole number from 1 to 10,000");
    }
    number
}

/// An event, and the tenant that it is for.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) event: NewEvent,
    pub(super) tenant: Option<TenantId>,
}

/// Reads `{ type, data, id?, time?, tenantId?, datacontenttype? }`.
pub(super) fn event(body: &[u8], now: Timestamp, correlation: Uuid) -> Result<Published> {
    let read = read(body, |root, faults| {
        let event_type = faults.required(root, "type").and_then(|node| {
            let found = node.text().filter(|text| is_event_type(text));
            or_fault(
                faults,
                node,
                found.map(|text| text.clone().into_owned()),
                TYPE_RULE,
            )
        });
        let data = faults.required(root, "data");
        let id = optional(root, "id", faults, |node, faults| {
            let text = text(node, faults)?;
            let fits = (1..=MAX_EVENT_ID).contains(&text.chars().count());
            let found = (fits && !text.chars().any(char::is_control)).then_some(text);
            or_fault(
                faults,
                node,
                found,
                "must have 1 to 256 characters, none of them a control character",
            )
        });
        let time = optional(root, "time", faults, |node, faults| {
            let found = node.text().and_then(|text| self::time(text));
            or_fault(faults, node, found, TIME_RULE)
        });
        let tenant = optional(root, "tenantId", faults, |node, faults| {
            let found = node.text().and_then(|text| TenantId::new(text));
            or_fault(faults, node, found, TENANT_RULE)
        });
        let kind = optional(root, "datacontenttype", faults, |node, faults| {
            let found = node
                .text()
                .filter(|text| text.parse::<mime::Mime>().is_ok());
            let found = found.map(|text| text.clone().into_owned());
            or_fault(
                faults,
                node,
                found,
                "must be a media type such as application/json",
            )
        });
        let kind = kind?.unwrap_or_else(|| "application/json".to_owned());
        let own_text = match (is_json(&kind), data) {
            (false, Some(node)) if node.text().is_none() => {
                faults.add(node, "must be a string: datacontenttype is not JSON");
                None
            }
            (false, Some(node)) => node.text().map(|text| text.clone().into_owned()),
            (true, _) | (false, None) => None,
        };
        data?;
        let event = NewEvent {
            id: id?,
            event_type: event_type?,
            time: time?.unwrap_or(now),
            datacontenttype: kind,
            data: own_text.map(Bytes::from).unwrap_or_default(),
            correlation,
        };
        Some((event, tenant?))
    });
    let (mut event, tenant) = read?;
    if is_json(&event.datacontenttype) {
        event.data = raw_data(body)?;
    }
    if event.data.len() > MAX_DATA {
        return Err(Error::invalid("$.data", "must have at most 256 KiB"));
    }
    Ok(Published { event, tenant })
}

fn is_json(media_type: &str) -> bool {
    let parsed: Option<mime::Mime> = media_type.parse().ok();
    parsed.is_some_and(|it| it.subtype() == mime::JSON || it.suffix() == Some(mime::JSON))
}

/// The data of an event, the text as it was sent.
fn raw_data(body: &[u8]) -> Result<Bytes> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let read: Result<Body<'_>, _> = serde_json::from_slice(body);
    let read = read.map_err(|cause| Error::invalid("$", cause.to_string()))?;
    Ok(Bytes::copy_from_slice(read.data.get().as_bytes()))
}

/// Reads the filter of a replay.
pub(super) fn filter(body: &[u8]) -> Result<Filter> {
    read(body, |root, faults| {
        let webhook = optional(root, "webhookId", faults, uuid);
        let status = optional(root, "status", faults, |node, faults| {
            let found = node.text().and_then(|text| Status::parse(text));
            or_fault(faults, node, found, STATUS_RULE)
        });
        let event_type = optional(root, "eventType", faults, |node, faults| {
            let found = node.text().filter(|text| is_event_type(text));
            or_fault(
                faults,
                node,
                found.map(|text| text.clone().into_owned()),
                TYPE_RULE,
            )
        });
        let mut at = |name| {
            optional(root, name, faults, |node, faults| {
                let found = node.text().and_then(|text| time(text));
                or_fault(faults, node, found, TIME_RULE)
            })
        };
        let (since, until) = (at("since"), at("until"));
        Some(Filter {
            webhook: webhook?,
            status: status?,
            event_type: event_type?,
            since: since?,
            until: until?,
        })
    })
}

pub(super) const STATUS_RULE: &str = "must be PENDING, DELIVERED, RETRYING, FAILED or HELD";

/// A time.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    let micros = u64::try_from(at.as_microsecond()).ok()?;
    Some(Timestamp(micros))
}

/// A key of 256 random bits, as text.
pub(super) fn generate_key() -> Result<Secret> {
    let mut bytes = [0; 32];
    let no_numbers = |_| Error::Bug("the system has no random numbers".to_owned());
    aws_lc_rs::rand::fill(&mut bytes).map_err(no_numbers)?;
    Ok(Secret(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

fn uuid(node: Node<'_, '_>, faults: &mut Faults) -> Option<Uuid> {
    let found = node.text().and_then(|text| Uuid::try_parse(text).ok());
    or_fault(faults, node, found, "must be a UUID")
}

pub(super) fn text(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let found = node.text().map(|text| text.clone().into_owned());
    or_fault(faults, node, found, "must be a string")
}

pub(super) fn or_fault<T>(
    faults: &mut Faults,
    node: Node<'_, '_>,
    found: Option<T>,
    rule: &'static str,
) -> Option<T> {
    if found.is_none() {
        faults.add(node, rule);
    }
    found
}

/// A member that may be absent or null: the outer `None` when it has a fault.
pub(super) fn optional<'d, 'a, T>(
    object: Node<'d, 'a>,
    name: &str,
    faults: &mut Faults,
    read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
) -> Option<Option<T>> {
    match object.member(name).filter(|node| !node.is_null()) {
        None => Some(None),
        Some(node) => read(node, faults).map(Some),
    }
}

/// Reads a body, an object.
pub(super) fn read<T>(
    body: &[u8],
    read: impl FnOnce(Node<'_, '_>, &mut Faults) -> Option<T>,
) -> Result<T> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let read = match faults.object(document.root()) {
        Some(root) => read(root, &mut faults),
        None => None,
    };
    faults.none_or_error()?;
    read.ok_or_else(|| Error::Bug("a body was refused without a fault".to_owned()))
}
