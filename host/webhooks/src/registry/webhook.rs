//! Webhooks as they are stored (`webhooks.md`, "Resource"), with the secrets that deliveries need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::problem::WEBHOOK_NOT_FOUND;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::Error;
use tillgate_base::identity::{By, Secret};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::event_type::ALL;
use super::filter::Filter;

/// The key prefix of a tenant's webhooks.
pub(crate) const WEBHOOK: &str = "webhook/";

pub(crate) fn webhook_key(id: Uuid) -> String {
    format!("{WEBHOOK}{id}")
}

/// A webhook, as it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Webhook {
    /// Its id.
    pub id: Uuid,
    /// The settings of its owner.
    #[serde(flatten)]
    pub settings: Settings,
    /// The reason and the time, if the service has disabled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its last change.
    pub last_modified: Timestamp,
    /// The author of the last change; `None` if the service made it. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified_by: Option<By>,
    /// The time since which its keys sign as they do now; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_changed_at: Option<Timestamp>,
    /// The time at which it was last resumed: a host that paused it before then sends again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
}

/// The settings of a webhook, made by its owner.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    /// The name that its owner gave it.
    pub name: String,
    /// The URL that events are sent to.
    pub callback_url: String,
    /// The types of the events that it wants.
    pub event_types: Vec<String>,
    /// The filter on these events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// The proof of where deliveries come from.
    pub authentication: Authentication,
    /// The key of its signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_key: Option<Secret>,
    /// The key that the current one replaces, while both are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_key: Option<PreviousKey>,
    /// The header with the signature of the data, in place of those that are configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_header: Option<String>,
    /// The most deliveries that it takes in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_second: Option<u32>,
    /// `true` if events are sent.
    pub enabled: bool,
    /// The program that manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
}

/// The proof of where a delivery comes from (`given.md`, 5.2).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
pub(crate) enum Authentication {
    /// A token of the service's identity provider.
    Bearer,
    /// A name and a password.
    Basic { username: String, password: Secret },
}

/// A shared key that is being replaced.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviousKey {
    /// The key.
    pub key: Secret,
    /// The time from which it is no longer used.
    pub ends_at: Timestamp,
}

/// The reason and the time at which the service disabled a webhook.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Disabled {
    /// The reason.
    pub reason: DisabledReason,
    /// The time.
    pub at: Timestamp,
}

/// The reason why the service disables a webhook.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum DisabledReason {
    /// The receiver answered 410.
    Gone,
    /// Every attempt has failed for several days.
    Failing,
}

impl Webhook {
    /// Returns whether events are sent now.
    pub(crate) const fn is_enabled(&self) -> bool {
        self.settings.enabled && self.disabled.is_none()
    }

    /// Returns whether it wants events of a type.
    pub(crate) fn wants(&self, event_type: &str) -> bool {
        let mut types = self.settings.event_types.iter();
        types.any(|wanted| wanted == ALL || wanted == event_type)
    }
}

impl Settings {
    /// Returns settings for signing alone: a URL, a token of the service, and a key if there is one.
    pub(crate) const fn of_receiver(callback_url: String, shared_key: Option<Secret>) -> Self {
        Self {
            name: String::new(),
            callback_url,
            event_types: Vec::new(),
            filter: None,
            authentication: Authentication::Bearer,
            shared_key,
            previous_key: None,
            signature_header: None,
            max_per_second: None,
            enabled: true,
            managed_by: None,
        }
    }

    /// Returns the receiver: scheme, host and port of the URL, without its path and query, which may contain a secret.
    pub(crate) fn receiver(&self) -> Option<String> {
        let url = reqwest::Url::parse(&self.callback_url).ok()?;
        Some(url.origin().ascii_serialization())
    }
}

impl DisabledReason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }
}

pub(crate) fn no_webhook(id: impl std::fmt::Display) -> Error {
    Error::missing(WEBHOOK_NOT_FOUND, id)
}
