//! The body of a request that creates, replaces or tries out a webhook (`webhooks.md`, "Resource").

use http::HeaderName;
use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::NO_CONTROLS;
use tillgate_api::values::{boolean, title, uuid};
use tillgate_api::{Kind, Member, Value, describe};
use tillgate_base::data::managed_by::managed_by;
use tillgate_base::identity::Secret;
use tillgate_engine::signature::SharedKey;
use uuid::Uuid;

use super::event_type::{ALL, TYPE_RULE, fault_of_type};
use super::filter::Filter;
use super::webhook::{Authentication, Settings};

const MAX_NAME: usize = 256;
const MAX_URL: usize = 2_048;
const MAX_HEADER_NAME: usize = 100;
const MAX_TYPES: usize = 100;

/// The most bytes of a text that becomes part of a key in the store, or of a header.
const MAX_SHORT_TEXT: usize = 256;

/// The most deliveries a second that a webhook may ask for.
const MAX_RATE: u64 = 10_000;

/// The rule for a short text ([`is_short_text`]).
pub(crate) const SHORT_TEXT_RULE: &str =
    "must be 1 to 256 bytes of UTF-8 without control characters";

const KEY_RULE: &str = "must be \"generate\" or 16 to 128 printable characters";

/// The headers that a signature must not replace.
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

/// The members of an answer that are not settings: a request may send them back.
const ANSWERED: [&str; 8] = [
    "createdAt",
    "disabledAt",
    "disabledReason",
    "hasSharedKey",
    "lastModified",
    "lastModifiedBy",
    "previousSharedKeyEndsAt",
    "standardWebhooksSecret",
];

/// A webhook in a request.
#[derive(Debug)]
pub(crate) struct NewWebhook {
    /// All settings but the secrets that the request keeps or has generated.
    pub(crate) settings: Settings,
    pub(crate) key: SharedKeyChange,
    /// `true` if the stored password stays.
    pub(crate) keeps_password: bool,
    /// The webhook from which a trial takes the secrets that the request keeps.
    pub(crate) id: Option<Uuid>,
}

impl NewWebhook {
    /// Returns whether a shared key is generated for it, which the answer then shows.
    pub(crate) fn makes_key(&self) -> bool {
        self.key == SharedKeyChange::Generate
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum SharedKeyChange {
    Keep,
    Remove,
    Generate,
    Set(Secret),
}

/// Returns the schema of the body that creates or replaces a webhook.
pub(crate) fn settings_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, |value| {
        value.component("WebhookSettings", |value| {
            webhook(value, true, "The id of the webhook. It has no effect.")
        })
    })
}

/// Returns the schema of the body that tries out a webhook.
pub(crate) fn trial_schema(generator: &mut SchemaGenerator) -> Schema {
    let id = "The webhook whose stored secrets are used if the body leaves them out.";
    describe(generator, |value| {
        value.component("WebhookTrial", |value| webhook(value, true, id))
    })
}

/// Reads a webhook. `allows_http` permits a URL of `http`, and `about_id` describes the id.
pub(crate) fn webhook(
    value: Value<'_, '_, '_>,
    allows_http: bool,
    about_id: &str,
) -> Option<NewWebhook> {
    value.object(|fields| {
        fields.may_have(&ANSWERED);
        let name = fields.required("name", "The name that its owner gives it.", name);
        let about = "The URL of the receiver: an https URL, or an http URL if \
            the configuration allows it, of at most 2,048 bytes, \
            without a user name, password or fragment.";
        let url = fields.required("callbackUrl", about, |value| {
            url(value, |text| check_url(text, allows_http))
        });
        let about = "The types of the events that it gets; `*` stands for \
            all. The topic of rate changes, `cer.public.event.rates-changed.v1`, \
            is not an event type: its messages are not events.";
        let types = fields.required("eventTypes", about, event_types);
        let about = "Conditions that must all hold when an event is \
            accepted: at most 16 KiB of JSON.";
        let filter = fields.optional("filter", about, Filter::read);
        let about = "The authentication of deliveries: a token of the \
            service's identity provider, or a user name and a password.";
        let authentication = fields.required("authentication", about, authentication);
        let about = "The key of the signatures: 16 to 128 printable \
            characters, or `generate` for a new key, which the answer \
            shows once. If it is left out, the stored key is kept; null removes it.";
        let key = fields.nullable("sharedKey", about, shared_key);
        let about = "The header for the signature of the data, instead of \
            the configured ones. It must have no other meaning in a delivery.";
        let header = fields.optional("signatureHeader", about, signature_header);
        let about = "The largest number of deliveries per second.";
        let rate = fields.optional("maxPerSecond", about, |value| {
            value.integer(1..=MAX_RATE, "must be a whole number from 1 to 10,000")
        });
        let about = "`true` to send deliveries. While it is `false`, they are held for a week.";
        let enabled = fields.with_default("enabled", about, true, boolean);
        let id = fields.optional("id", about_id, uuid);
        let managed_by = managed_by(fields);
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
                max_per_second: rate?.and_then(|rate| u32::try_from(rate).ok()),
                enabled: enabled?,
                managed_by: managed_by?,
            },
            key: match key? {
                Member::Absent => SharedKeyChange::Keep,
                Member::Null => SharedKeyChange::Remove,
                Member::Value(key) => key,
            },
            keeps_password,
            id: id?,
        })
    })
}

fn name(value: Value<'_, '_, '_>) -> Option<String> {
    title(value, MAX_NAME)
}

/// Reads the URL of a receiver; `check` says what is wrong with it.
pub(crate) fn url(
    value: Value<'_, '_, '_>,
    check: impl FnOnce(&str) -> Result<(), &'static str>,
) -> Option<String> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "maxLength": MAX_URL, "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?:[^\s#]+$"
        })
    };
    value.checked(schema, |text| check(text).map(|()| text.to_owned()))
}

/// Checks the URL of a receiver; returns what is wrong with it.
pub(crate) fn check_url(text: &str, allows_http: bool) -> Result<(), &'static str> {
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

/// Reads the event types that a webhook wants.
fn event_types(value: Value<'_, '_, '_>) -> Option<Vec<String>> {
    let (count, rule) = (1..=MAX_TYPES, "must have 1 to 100 event types");
    value.set(count, rule, "is a duplicate", |value| {
        value.of(event_type_or_all, |node, faults| {
            let text = node.text().map_or("", |text| text.as_ref());
            match fault_of_type(text).filter(|_| text != ALL) {
                None => return Some(text.to_owned()),
                Some(TYPE_RULE) => faults.add(node, format!("{TYPE_RULE}, or * for all")),
                Some(rule) => faults.add(node, rule),
            }
            None
        })
    })
}

fn event_type_or_all(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "maxLength": 256, "pattern": r"^(\*|[a-z0-9-]+(\.[a-z0-9-]+)*\.v[0-9]+)$",
        "not": { "const": "cer.public.event.rates-changed.v1" }, "examples": ["x.order-updates.v1"],
    })
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "BEARER",
        component: "BearerAuthentication",
    },
    Kind {
        name: "BASIC",
        component: "BasicAuthentication",
    },
];

/// Reads the authentication of deliveries, and whether the stored password stays.
fn authentication(value: Value<'_, '_, '_>) -> Option<(Authentication, bool)> {
    value.one_of("type", &KINDS, "must be BEARER or BASIC", |kind, fields| {
        if kind == "BEARER" {
            return Some((Authentication::Bearer, false));
        }
        let username = fields.required(
            "username",
            "The user name, without a colon (`:`).",
            |value| {
                let has_none = |text: &str| !text.contains(':');
                short_text(value, has_none, "must not contain a colon")
            },
        );
        let about = "The password, which is never returned. It may be left \
            out if one is stored for the same scheme, host and port.";
        let password = fields.not_null("password", about, password);
        let (username, password) = (username?, password?);
        let keeps = password.is_none();
        let password = Secret::new(password.unwrap_or_default());
        Some((Authentication::Basic { username, password }, keeps))
    })
}

/// Reads a password, which no answer contains.
fn password(value: Value<'_, '_, '_>) -> Option<String> {
    let schema = |generator: &mut _| {
        let mut schema = short_text_schema(generator);
        schema.insert("writeOnly".to_owned(), true.into());
        schema
    };
    value.text_that(schema, is_short_text, SHORT_TEXT_RULE)
}

/// Returns the schema of the authentication of deliveries, in requests and in answers.
pub(super) fn authentication_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, authentication)
}

/// Reads a text that becomes part of a key in the store, or of a header.
pub(crate) fn short_text(
    value: Value<'_, '_, '_>,
    holds: impl FnOnce(&str) -> bool,
    rule: &'static str,
) -> Option<String> {
    let parse = |text: &str| match text {
        text if !is_short_text(text) => Err(SHORT_TEXT_RULE),
        text if holds(text) => Ok(text.to_owned()),
        _ => Err(rule),
    };
    value.checked(short_text_schema, parse)
}

pub(crate) fn short_text_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_SHORT_TEXT, "pattern": NO_CONTROLS, "description": "At most 256 bytes of UTF-8." })
}

/// Returns whether a text has 1 to 256 bytes, and no control character.
pub(crate) fn is_short_text(text: &str) -> bool {
    (1..=MAX_SHORT_TEXT).contains(&text.len()) && !text.contains(char::is_control)
}

fn shared_key(value: Value<'_, '_, '_>) -> Option<SharedKeyChange> {
    let found = |text: &str| match text {
        "generate" => Some(SharedKeyChange::Generate),
        key => parse_key(key).map(SharedKeyChange::Set),
    };
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "pattern": r"^(generate|([^\s\x00-\x1f\x7f-\x9f]| ){16,128})$",
            "writeOnly": true,
        })
    };
    value.parsed(schema, found, KEY_RULE)
}

/// Reads a shared key that is given, not generated.
pub(crate) fn signing_key(value: Value<'_, '_, '_>) -> Option<Secret> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "pattern": r"^([^\s\x00-\x1f\x7f-\x9f]| ){16,128}$"
        })
    };
    value.parsed(schema, parse_key, "must be 16 to 128 printable characters")
}

fn parse_key(text: &str) -> Option<Secret> {
    SharedKey::parse(text).map(|_| Secret::new(text.to_owned()))
}

fn signature_header(value: Value<'_, '_, '_>) -> Option<String> {
    let fits = |text: &str| {
        let is_name = text.len() <= MAX_HEADER_NAME && text.parse::<HeaderName>().is_ok();
        is_name && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
    };
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$"
        })
    };
    let rule = "must be the name of a header that has no other meaning in a delivery";
    value.text_that(schema, fits, rule)
}
