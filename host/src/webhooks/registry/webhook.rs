//! Webhooks as they are stored and answered (`webhooks.md`, "Resource"). Secrets are stored, for they sign; they are
//! neither answered nor shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::event_type::ALL;
use super::filter::Filter;
use super::slot::Slot;
use crate::clock::Timestamp;
use crate::data::etag::{self, Etag};
use crate::data::managed_by::ManagedBy;
use crate::error::{Error, Result};

/// The records of a tenant's webhooks.
pub(in crate::webhooks) const WEBHOOK: &str = "webhook/";

/// The key of a webhook's record.
pub(in crate::webhooks) fn webhook_key(id: Uuid) -> String {
    format!("{WEBHOOK}{id}")
}

/// A webhook, as it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Webhook {
    /// Its id.
    pub id: Uuid,
    /// What its owner has set.
    #[serde(flatten)]
    pub settings: Settings,
    /// Why and when the service has disabled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// The slot of the listener that it is for, which makes it temporary.
    #[serde(rename = "seat", default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub last_modified: Timestamp,
    /// Since when its keys have signed as they do now; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_changed_at: Option<Timestamp>,
    /// When it was last resumed: a host that had paused it before then sends again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
}

/// What the owner of a webhook sets.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Settings {
    /// What its owner calls it.
    pub name: String,
    /// Where events are sent.
    pub callback_url: String,
    /// The types of the events that it wants.
    pub event_types: Vec<String>,
    /// Which of these events it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// How deliveries prove where they come from.
    pub authentication: Authentication,
    /// The key of its signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_key: Option<Secret>,
    /// The key that the present one replaces, while both are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_key: Option<PreviousKey>,
    /// The header that carries the signature of the data, in place of those that are configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_header: Option<String>,
    /// How many deliveries it takes in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_second: Option<u32>,
    /// Whether events are sent.
    pub enabled: bool,
    /// Which program manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
}

/// How a delivery proves where it comes from (`given.md`, 5.2).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
pub(in crate::webhooks) enum Authentication {
    /// A token of the service's identity provider.
    Bearer,
    /// A name and a password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: Secret,
    },
}

/// A shared key that is being replaced.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct PreviousKey {
    /// The key.
    pub key: Secret,
    /// When it is used no more.
    pub ends_at: Timestamp,
}

/// A text that is never shown.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub(in crate::webhooks) struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Why and when the service has disabled a webhook.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(in crate::webhooks) struct Disabled {
    /// Why.
    pub reason: DisabledReason,
    /// When.
    pub at: Timestamp,
}

/// Why the service disables a webhook.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::webhooks) enum DisabledReason {
    /// It has answered 410.
    Gone,
    /// Every attempt of several days has failed.
    Failing,
}

impl Webhook {
    /// Whether events are sent now.
    pub(in crate::webhooks) const fn is_enabled(&self) -> bool {
        self.settings.enabled && self.disabled.is_none()
    }

    /// Whether it wants events of a type.
    pub(in crate::webhooks) fn wants(&self, event_type: &str) -> bool {
        let mut types = self.settings.event_types.iter();
        types.any(|wanted| wanted == ALL || wanted == event_type)
    }

    /// The entity tag of the webhook as it is answered.
    pub(in crate::webhooks) fn etag(&self) -> Result<Etag> {
        etag::of_json(&self.answer())
    }

    /// The webhook as it is answered.
    pub(in crate::webhooks) fn answer(&self) -> Answer<'_> {
        let settings = &self.settings;
        Answer {
            id: self.id,
            name: &settings.name,
            callback_url: &settings.callback_url,
            event_types: &settings.event_types,
            filter: settings.filter.as_ref().map(Filter::json),
            authentication: match &settings.authentication {
                Authentication::Bearer => AuthenticationAnswer::Bearer,
                Authentication::Basic { username, .. } => AuthenticationAnswer::Basic { username },
            },
            has_shared_key: settings.shared_key.is_some(),
            shared_key: None,
            standard_webhooks_secret: None,
            previous_shared_key_ends_at: settings
                .previous_key
                .as_ref()
                .map(|previous| previous.ends_at.to_millis_text()),
            signature_header: settings.signature_header.as_deref(),
            max_per_second: settings.max_per_second,
            temporary: self.slot.is_some(),
            expires_at: None,
            enabled: self.is_enabled(),
            disabled_reason: self.disabled.as_ref().map(|disabled| disabled.reason),
            disabled_at: self
                .disabled
                .as_ref()
                .map(|disabled| disabled.at.to_millis_text()),
            created_at: self.created_at.to_millis_text(),
            last_modified: self.last_modified.to_millis_text(),
            managed_by: settings.managed_by.as_ref(),
        }
    }
}

impl Settings {
    /// The receiver: scheme, host and port of the URL, without its path and query, which may contain a secret.
    pub(in crate::webhooks) fn receiver(&self) -> Option<String> {
        let url = reqwest::Url::parse(&self.callback_url).ok()?;
        Some(url.origin().ascii_serialization())
    }
}

impl DisabledReason {
    /// Its name.
    pub(in crate::webhooks) const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }
}

pub(in crate::webhooks) fn no_webhook() -> Error {
    Error::NotFound("there is no webhook with this id".to_owned())
}

/// A webhook as it is answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Answer<'a> {
    id: Uuid,
    name: &'a str,
    callback_url: &'a str,
    event_types: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a RawValue>,
    authentication: AuthenticationAnswer<'a>,
    has_shared_key: bool,
    /// Only in the answer to the request that had it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) shared_key: Option<&'a str>,
    /// The same key as libraries of Standard Webhooks take it, where it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) standard_webhooks_secret: Option<String>,
    /// Until when the key before signs as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) previous_shared_key_ends_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_header: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_second: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    temporary: bool,
    /// Only in the answer to the request that created it: when it is removed unless its listener is connected by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) expires_at: Option<String>,
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_reason: Option<DisabledReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<String>,
    created_at: String,
    last_modified: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'a ManagedBy>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum AuthenticationAnswer<'a> {
    Bearer,
    Basic { username: &'a str },
}
