//! The body of a request that creates, replaces or tries out a webhook (`webhooks.md`, "Resource").
//!
//! A listener's webhook has some of the same members, read by the same functions.

use http::HeaderName;
use tillgate_engine::json::{Faults, Node};
use tillgate_engine::signature::SharedKey;
use uuid::Uuid;

use super::event_type::{ALL, TYPE_RULE, fault_of_type};
use super::filter::Filter;
use super::webhook::{Authentication, Secret, Settings};
use crate::body::{self, Body, Fields, boolean, object, or_fault, parsed, read, text, uuid};
use crate::error::Result;

const MAX_NAME: usize = 256;
const MAX_URL: usize = 2_048;
const MAX_HEADER_NAME: usize = 100;
const MAX_TYPES: usize = 100;

/// The most bytes of a text that becomes a part of a key in the store, or of a header.
const MAX_SHORT_TEXT: usize = 256;

/// The most deliveries a second that a webhook may ask for.
const MAX_RATE: u32 = 10_000;

/// What is wrong with a text that is not a short one ([`is_short_text`]).
pub(in crate::webhooks) const SHORT_TEXT_RULE: &str =
    "must be 1 to 256 bytes of UTF-8 without control characters";

const KEY_RULE: &str = "must be \"generate\" or 16 to 128 printable characters";

/// Headers that a signature cannot take the place of.
const RESERVED: [&str; 23] = [
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
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-service-body-signature",
];

/// What an answer says of a webhook beside what can be set: it may be sent back.
const ANSWERED: [&str; 9] = [
    "createdAt",
    "disabledAt",
    "disabledReason",
    "expiresAt",
    "hasSharedKey",
    "lastModified",
    "previousSharedKeyEndsAt",
    "standardWebhooksSecret",
    "temporary",
];

/// What a request says of a webhook.
#[derive(Debug)]
pub(in crate::webhooks) struct NewWebhook {
    /// All but the secrets that it keeps or has made.
    pub(in crate::webhooks) settings: Settings,
    pub(in crate::webhooks) key: SharedKeyChange,
    /// Whether the password is to be the one that is stored.
    pub(in crate::webhooks) keeps_password: bool,
    /// The webhook that a trial takes the secrets from that the request keeps.
    pub(in crate::webhooks) id: Option<Uuid>,
}

impl NewWebhook {
    /// Whether a shared key is made for it, which its answer then shows.
    pub(in crate::webhooks) fn makes_key(&self) -> bool {
        self.key == SharedKeyChange::Generate
    }
}

/// What a request does to the shared key.
#[derive(Debug, PartialEq)]
pub(in crate::webhooks) enum SharedKeyChange {
    Keep,
    Remove,
    Generate,
    Set(Secret),
}

/// Reads a webhook. `allows_http` says whether its URL may be of that kind.
pub(in crate::webhooks) fn webhook(body: &Body, allows_http: bool) -> Result<NewWebhook> {
    read(body, |fields| {
        fields.may_have(&ANSWERED);
        let name = fields.required("name", name);
        let url = fields.required("callbackUrl", |node, faults| {
            callback_url(node, allows_http, faults)
        });
        let types = fields.required("eventTypes", event_types);
        let filter = fields.optional("filter", Filter::read);
        let authentication = fields.required("authentication", authentication);
        let key = match fields.member("sharedKey") {
            None => Some(SharedKeyChange::Keep),
            Some(node) if node.is_null() => Some(SharedKeyChange::Remove),
            Some(node) => shared_key(node, fields.faults),
        };
        let header = fields.optional("signatureHeader", signature_header);
        let rate = fields.optional("maxPerSecond", max_per_second);
        let enabled = fields.optional("enabled", boolean);
        let id = fields.optional("id", uuid);
        let managed_by = fields.managed_by();
        let (authentication, keeps_password) = authentication?;
        Some(NewWebhook {
            settings: Settings {
                name: name?,
                callback_url: url?,
                event_types: types?,
                filter: filter?.filter(|filter| !filter.is_empty()),
                authentication,
                shared_key: None,
                previous_key: None,
                signature_header: header?,
                max_per_second: rate?,
                enabled: enabled?.unwrap_or(true),
                managed_by: managed_by?,
            },
            key: key?,
            keeps_password,
            id: id?,
        })
    })
}

/// The name of a webhook.
pub(in crate::webhooks) fn name(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    body::name(node, faults, MAX_NAME)
}

fn callback_url(node: Node<'_, '_>, allows_http: bool, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    match check_url(&text, allows_http) {
        Ok(()) => Some(text),
        Err(rule) => or_fault(faults, node, None, rule),
    }
}

/// Checks the URL of a receiver; says what is wrong with it.
pub(in crate::webhooks) fn check_url(text: &str, allows_http: bool) -> Result<(), &'static str> {
    if text.len() > MAX_URL {
        return Err("must have at most 2,048 bytes");
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

pub(in crate::webhooks) fn event_types(
    list: Node<'_, '_>,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    let list = faults.array(list)?;
    if !(1..=MAX_TYPES).contains(&list.children().count()) {
        faults.add(list, "must have 1 to 100 event types");
        return None;
    }
    let mut types: Vec<String> = Vec::new();
    for node in list.children() {
        let text = node.text().map_or("", |text| text.as_ref());
        match fault_of_type(text).filter(|_| text != ALL) {
            None if types.iter().any(|known| known == text) => faults.add(node, "is a duplicate"),
            None => types.push(text.to_owned()),
            Some(TYPE_RULE) => faults.add(node, format!("{TYPE_RULE}, or * for all")),
            Some(rule) => faults.add(node, rule),
        }
    }
    Some(types)
}

/// Reads `{ type, username?, password? }`; whether the password is to stay the one that is stored.
fn authentication(node: Node<'_, '_>, faults: &mut Faults) -> Option<(Authentication, bool)> {
    object(node, faults, |fields| authentication_of(fields))
}

fn authentication_of(fields: &mut Fields<'_, '_, '_>) -> Option<(Authentication, bool)> {
    let kind = fields.required("type", |node, _| Some(node))?;
    match kind.text().map(|text| text.as_ref()) {
        Some("BEARER") => Some((Authentication::Bearer, false)),
        Some("BASIC") => {
            let username = fields.required("username", username);
            let password = fields.not_null("password", credential);
            let (username, password) = (username?, password?);
            let keeps = password.is_none();
            let password = Secret(password.unwrap_or_default());
            Some((Authentication::Basic { username, password }, keeps))
        }
        _ => {
            fields.may_have(&["username", "password"]);
            or_fault(fields.faults, kind, None, "must be BEARER or BASIC")
        }
    }
}

fn username(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let name = credential(node, faults)?;
    let found = Some(name).filter(|name| !name.contains(':'));
    or_fault(faults, node, found, "must not contain a colon")
}

fn credential(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    or_fault(
        faults,
        node,
        Some(text).filter(|text| is_short_text(text)),
        SHORT_TEXT_RULE,
    )
}

/// Whether a text has 1 to 256 bytes, and no control character.
pub(in crate::webhooks) fn is_short_text(text: &str) -> bool {
    (1..=MAX_SHORT_TEXT).contains(&text.len()) && !text.contains(char::is_control)
}

pub(in crate::webhooks) fn shared_key(
    node: Node<'_, '_>,
    faults: &mut Faults,
) -> Option<SharedKeyChange> {
    let found = |text: &str| match text {
        "generate" => Some(SharedKeyChange::Generate),
        key => SharedKey::parse(key).map(|_| SharedKeyChange::Set(Secret(key.to_owned()))),
    };
    parsed(node, faults, found, KEY_RULE)
}

fn signature_header(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = text(node, faults)?;
    let is_name = text.len() <= MAX_HEADER_NAME && text.parse::<HeaderName>().is_ok();
    let is_free = !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    or_fault(
        faults,
        node,
        Some(text).filter(|_| is_name && is_free),
        "must be the name of a header that has no other meaning in a delivery",
    )
}

fn max_per_second(node: Node<'_, '_>, faults: &mut Faults) -> Option<u32> {
    let number = node.number().and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=MAX_RATE).contains(number));
    let rule = "must be a whole number from 1 to 10,000";
    or_fault(faults, node, number, rule)
}
