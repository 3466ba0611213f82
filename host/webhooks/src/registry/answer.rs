//! Webhooks as the API returns them (`webhooks.md`, "Resource"): without passwords, and with a shared key only once.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_api::schema::{made_by, time, uuid};
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::Result;
use tillgate_base::identity::By;
use uuid::Uuid;

use super::body::authentication_schema;
use super::filter::{Filter, filter_schema};
use super::webhook::{Authentication, DisabledReason, Webhook};

impl Webhook {
    /// Returns the entity tag of the webhook as the API returns it.
    pub(crate) fn etag(&self) -> Result<Etag> {
        etag::of_json(&self.answer())
    }

    /// Returns the webhook as the API does, without its shared key.
    pub(crate) fn answer(&self) -> Answer<'_> {
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
            enabled: self.is_enabled(),
            disabled_reason: self.disabled.as_ref().map(|disabled| disabled.reason),
            disabled_at: self
                .disabled
                .as_ref()
                .map(|disabled| disabled.at.to_millis_text()),
            created_at: self.created_at.to_millis_text(),
            last_modified: self.last_modified.to_millis_text(),
            last_modified_by: self.last_modified_by.as_ref(),
            managed_by: settings.managed_by.as_ref(),
        }
    }
}

/// A webhook.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Webhook")]
pub(crate) struct Answer<'a> {
    #[schemars(schema_with = "uuid")]
    id: Uuid,
    name: &'a str,
    callback_url: &'a str,
    /// The types of the events that it gets; `*` stands for all.
    event_types: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "filter_schema")]
    filter: Option<&'a RawValue>,
    /// The authentication, without the password.
    #[schemars(schema_with = "authentication_schema")]
    authentication: AuthenticationAnswer<'a>,
    has_shared_key: bool,
    /// The shared key, only in the answer to the request that generated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shared_key: Option<&'a str>,
    /// The key in the form that Standard Webhooks libraries take, if it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^whsec_"))]
    pub(crate) standard_webhooks_secret: Option<String>,
    /// The time until which the previous key also signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    pub(crate) previous_shared_key_ends_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_header: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    max_per_second: Option<u32>,
    enabled: bool,
    /// The reason why the service disabled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_reason: Option<DisabledReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    disabled_at: Option<String>,
    #[schemars(schema_with = "time")]
    created_at: String,
    #[schemars(schema_with = "time")]
    last_modified: String,
    /// The author of the last change; absent if it was the service itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "made_by")]
    last_modified_by: Option<&'a By>,
    /// The program that manages it, if that is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'a ManagedBy>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum AuthenticationAnswer<'a> {
    Bearer,
    Basic { username: &'a str },
}
