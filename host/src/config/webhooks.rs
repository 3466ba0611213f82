//! The settings of webhooks, and what is required of them.

use serde::{Deserialize, Serialize};

use super::written::text;

/// Webhooks and their identity provider.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config.default.toml documents every setting")]
pub struct Webhooks {
    #[serde(deserialize_with = "text")]
    pub issuer: String,
    #[serde(deserialize_with = "text")]
    pub service_account_email: String,
    #[serde(deserialize_with = "text")]
    pub service_account_id: String,
}

impl Webhooks {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let issuer = self.issuer.parse::<http::Uri>();
        if !issuer.is_ok_and(|url| url.scheme().is_some() && url.host().is_some()) {
            return Err("issuer must be a URL such as https://identity.tillgate.example");
        }
        if !is_address(&self.service_account_email) {
            return Err(
                "service_account_email must be an address such as dispatcher@tillgate.example",
            );
        }
        Ok(())
    }
}

/// Whether a text has the form of an e-mail address. Nothing is ever sent to it: receivers compare it.
fn is_address(text: &str) -> bool {
    let is_clean = text.bytes().all(|byte| byte.is_ascii_graphic());
    let parts = text.split_once('@');
    is_clean && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}
