//! The settings of webhooks, and their rules.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use tillgate_engine::signature::standard_webhooks;

use super::as_text::{duration, durations};

/// Webhooks and their identity provider.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub allow_http: bool,
    pub allow_private: Vec<ipnet::IpNet>,
    #[serde(with = "durations")]
    pub retry_delays: Vec<Duration>,
    #[serde(with = "duration")]
    pub deadline: Duration,
    pub max_in_flight: usize,
    #[serde(with = "duration")]
    pub disable_after: Duration,
    #[serde(with = "duration")]
    pub hold: Duration,
    #[serde(with = "duration")]
    pub journal_retention: Duration,
    pub signature_headers: Vec<String>,
    pub user_agent: String,
    pub source: String,
    pub deprecations: BTreeMap<String, Deprecation>,
    pub issuer: String,
    pub service_account_email: String,
    pub service_account_id: String,
}

/// An event type that will be removed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// The day after which it will be removed.
    pub removed_after: jiff::civil::Date,
}

/// The most retries, so that the stored form of a delivery stays small.
const MAX_RETRIES: usize = 20;

/// The longest time for an attempt, which must end before its lease does.
const MAX_DEADLINE: Duration = Duration::from_secs(15);

impl Webhooks {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.retry_delays.len() > MAX_RETRIES {
            return Err("retry_delays must have at most 20 delays");
        }
        if self.deadline.is_zero() || self.deadline > MAX_DEADLINE {
            return Err("deadline must be longer than 0s and at most 15s");
        }
        if !(1..=256).contains(&self.max_in_flight) {
            return Err("max_in_flight must be 1 to 256");
        }
        if self.disable_after.is_zero() || self.hold.is_zero() || self.journal_retention < self.hold
        {
            return Err(
                "disable_after and hold must be longer than 0s, and journal_retention at least as long as hold",
            );
        }
        let is_name = |name: &String| name.parse::<HeaderName>().is_ok();
        if self.signature_headers.is_empty() || !self.signature_headers.iter().all(is_name) {
            return Err("signature_headers must name at least one header");
        }
        let is_standard = |name: &String| {
            let mut headers = standard_webhooks::HEADERS.into_iter();
            headers.any(|header| name.eq_ignore_ascii_case(header))
        };
        if self.signature_headers.iter().any(is_standard) {
            return Err(
                "signature_headers must not name webhook-id, webhook-timestamp or webhook-signature: \
                 each delivery has these of its own",
            );
        }
        if HeaderValue::from_str(&self.user_agent).is_err() {
            return Err("user_agent must be the value of a header");
        }
        if self.source.is_empty() {
            return Err("source must not be empty");
        }
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

/// Returns whether a text has the form of an e-mail address. Nothing is ever sent to it: receivers compare it.
fn is_address(text: &str) -> bool {
    let is_clean = text.bytes().all(|byte| byte.is_ascii_graphic());
    let parts = text.split_once('@');
    is_clean && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}
