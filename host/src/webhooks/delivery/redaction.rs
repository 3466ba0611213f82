//! What a receiver must not find its way back into the journal: it may answer with the secrets that it was sent.

use http::HeaderValue;

use crate::webhooks::registry::webhook::{Authentication, Settings};

/// The secrets of a request.
#[derive(Debug)]
pub(in crate::webhooks) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of a request to a webhook, with the value of its `Authorization`.
    pub(super) fn new(settings: &Settings, authorization: &HeaderValue) -> Self {
        let credentials = authorization.to_str().unwrap_or_default();
        let credentials = credentials.split_once(' ').map(|(_, rest)| rest.to_owned());
        let password = match &settings.authentication {
            Authentication::Basic { password, .. } => Some(password.0.clone()),
            Authentication::Bearer => None,
        };
        let key = settings.shared_key.as_ref().map(|key| key.0.clone());
        let all = credentials.into_iter().chain(password).chain(key);
        Self(all.collect())
    }

    /// A text without them.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), "…");
        }
        text
    }
}
