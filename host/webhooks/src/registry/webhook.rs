//! Webhooks as they are stored and answered (`webhooks.md`, "Resource"). Secrets are stored, for they sign; they are
//! neither answered nor shown.

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

/// The records of a tenant's webhooks.
pub(crate) const WEBHOOK: &str = "webhook/";

/// The key of a webhook's record.
pub(crate) fn webhook_key(id: Uuid) -> String {
    format!("{WEBHOOK}{id}")
}

/// A webhook, as it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Webhook {
    /// Its id.
    pub id: Uuid,
    /// What its owner has set.
    #[serde(flatten)]
    pub settings: Settings,
    /// Why and when the service has disabled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub last_modified: Timestamp,
    /// Who last changed it; `None` if the service did. Records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified_by: Option<By>,
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
pub(crate) struct Settings {
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
pub(crate) enum Authentication {
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
pub(crate) struct PreviousKey {
    /// The key.
    pub key: Secret,
    /// When it is used no more.
    pub ends_at: Timestamp,
}

/// Why and when the service has disabled a webhook.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Disabled {
    /// Why.
    pub reason: DisabledReason,
    /// When.
    pub at: Timestamp,
}

/// Why the service disables a webhook.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum DisabledReason {
    /// It has answered 410.
    Gone,
    /// Every attempt of several days has failed.
    Failing,
}

impl Webhook {
    /// Whether events are sent now.
    pub(crate) const fn is_enabled(&self) -> bool {
        self.settings.enabled && self.disabled.is_none()
    }

    /// Whether it wants events of a type.
    pub(crate) fn wants(&self, event_type: &str) -> bool {
        let mut types = self.settings.event_types.iter();
        types.any(|wanted| wanted == ALL || wanted == event_type)
    }
}

impl Settings {
    /// Those of a receiver that gets every event, with a token of the service.
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

    /// The receiver: scheme, host and port of the URL, without its path and query, which may contain a secret.
    pub(crate) fn receiver(&self) -> Option<String> {
        let url = reqwest::Url::parse(&self.callback_url).ok()?;
        Some(url.origin().ascii_serialization())
    }
}

impl DisabledReason {
    /// Its name.
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
