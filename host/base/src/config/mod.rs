//! Configuration: reads the settings. `default.toml` is their manual.
//!
//! `sources.rs` merges the sources of settings, with the environment in `environment.rs`. `examine.rs` reads the
//! settings and finds everything that is wrong with them. `loaded.rs` prints them: durations and other values that are
//! written as text are in `as_text.rs`, the URL of a store in `store_url.rs`. `fault.rs` describes a fault. Tables with
//! more than a few settings, or with rules of their own, have their own files.

mod as_text;
mod config_file;
mod cors;
mod decisions;
mod environment;
mod examine;
mod fault;
mod loaded;
mod page;
mod quotas;
mod reference_rates;
mod roles;
mod safe_url;
mod sources;
mod store_url;
mod tls;
mod trusted_issuers;
mod webhooks;

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use tillgate_store::StoreUrl;

use self::as_text::duration;
use crate::identity::{STEP_RULE, is_name, is_step};

pub use self::cors::Cors;
pub use self::decisions::Decisions;
pub use self::examine::Examined;
pub use self::fault::Fault;
pub use self::loaded::Loaded;
pub use self::page::{Page, SignIn};
pub use self::quotas::Quotas;
pub use self::reference_rates::{ReferenceRates, Source};
pub use self::roles::{Role, Roles};
pub use self::sources::{DEFAULTS, Flags};
pub use self::store_url::{StoreIdentity, store_url};
pub use self::tls::{Tls, TlsFlags};
pub use self::trusted_issuers::TrustedIssuer;
pub use self::webhooks::{Deprecation, Webhooks};

/// All settings. See `default.toml`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub listen: std::net::SocketAddr,
    pub store: String,
    pub require_durable_store: bool,
    pub roles: Roles,
    #[serde(with = "duration")]
    pub max_stale: Duration,
    #[serde(with = "duration")]
    pub max_stale_callers: Duration,
    pub snapshot: String,
    pub audience: String,
    pub public_url: String,
    pub issuer: String,
    pub platform_tenant: String,
    pub operator_file: String,
    pub tls: Tls,
    pub http: Http,
    pub cors: Cors,
    pub log: Log,
    pub metrics: Metrics,
    pub limits: Limits,
    pub quotas: Quotas,
    pub conditions: Conditions,
    pub decisions: Decisions,
    pub tokens: Tokens,
    pub rates: Rates,
    pub webhooks: Webhooks,
    pub page: Page,
    pub trusted_proxies: Vec<ipnet::IpNet>,
    pub trusted_issuers: Vec<TrustedIssuer>,
    pub reference_rates: Vec<ReferenceRates>,
}

/// The level and the format of the log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub level: String,
    pub format: String,
}

/// The metrics, and the address that serves them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    pub listen: String,
    pub tenants: bool,
}

impl Metrics {
    /// Returns the metrics' own address, if there is one.
    ///
    /// # Errors
    /// When the setting is not an address.
    pub fn address(&self) -> Result<Option<std::net::SocketAddr>, String> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let address = self.listen.parse().map(Some);
        address.map_err(|_| {
            "metrics.listen must be empty or an address such as 127.0.0.1:9090".to_owned()
        })
    }
}

/// Settings for reading requests.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    pub unknown_members: UnknownMembers,
}

/// The treatment of members and parameters that nothing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownMembers {
    /// They are faults.
    Refuse,
    /// They are ignored.
    Ignore,
}

/// Limits on connections, memory and caches.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub connections: NonZeroU32,
    pub connections_per_address: NonZeroU32,
    pub request_bytes: ByteSize,
    pub answer_bytes: ByteSize,
    pub cached_tenants: usize,
    pub cached_clients: usize,
}

impl Limits {
    /// One tenant gets half of each, which must hold the largest body and the largest answer.
    fn check(&self) -> Result<(), &'static str> {
        if self.request_bytes < ByteSize::mib(64) {
            return Err("limits.request_bytes must be at least 64 MiB");
        }
        if self.answer_bytes < ByteSize::mib(32) {
            return Err("limits.answer_bytes must be at least 32 MiB");
        }
        if self.cached_tenants < 100 {
            return Err("limits.cached_tenants must be at least 100");
        }
        if self.cached_clients < 1_000 {
            return Err("limits.cached_clients must be at least 1000");
        }
        Ok(())
    }
}

/// Conditions and projects.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    #[serde(with = "duration")]
    pub history_retention: Duration,
}

impl Conditions {
    fn check(&self) -> Result<(), &'static str> {
        if self.history_retention.is_zero() {
            return Err("history_retention must be longer than 0s");
        }
        Ok(())
    }
}

/// The token service.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    pub registrations_per_minute: u32,
    pub pending_clients: u32,
    pub pending_clients_per_address: u32,
    #[serde(with = "duration")]
    pub pending_lifetime: Duration,
    #[serde(with = "duration")]
    pub secret_overlap: Duration,
    pub client_secret_post: bool,
}

/// Exchange rates, their history and their topic.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    #[serde(with = "duration")]
    pub message_retention: Duration,
    pub max_messages: u64,
    #[serde(with = "duration")]
    pub history_retention: Duration,
    pub tolerance_percent: u8,
}

impl Rates {
    fn check(&self) -> Result<(), &'static str> {
        if self.message_retention.is_zero() {
            return Err("message_retention must be longer than 0s");
        }
        if self.max_messages == 0 {
            return Err("max_messages must be at least 1");
        }
        if self.history_retention.is_zero() {
            return Err("history_retention must be longer than 0s");
        }
        if self.tolerance_percent >= 100 {
            return Err("tolerance_percent must be less than 100");
        }
        Ok(())
    }
}

impl Config {
    /// Returns the faults of settings that are understood, at most one for each table.
    fn faults(&self) -> Vec<String> {
        let of_tables = [
            self.store.parse::<StoreUrl>().map(drop),
            self.tls.check().map_err(str::to_owned),
            within("cors", self.cors.check()),
            self.metrics.address().map(drop),
            self.limits.check().map_err(str::to_owned),
            within("quotas", self.quotas.check()),
            within("conditions", self.conditions.check()),
            within("decisions", self.decisions.check()),
            within("rates", self.rates.check()),
            within("webhooks", self.webhooks.check()),
            ReferenceRates::check_all(&self.reference_rates),
            TrustedIssuer::check_all(&self.trusted_issuers, &self.issuer()),
            within("page", self.page.check(&self.trusted_issuers)),
        ];
        let of_tables = of_tables.into_iter().filter_map(Result::err);
        self.text_faults().into_iter().chain(of_tables).collect()
    }

    /// Returns the faults of settings that are strings.
    fn text_faults(&self) -> Vec<String> {
        let is_url = |url: &str| {
            let absolute = |uri: http::Uri| uri.scheme().is_some() && uri.host().is_some();
            url.is_empty() || url.parse().is_ok_and(absolute)
        };
        let url_rule = "must be a URL such as https://tillgate.example";
        let is_format = matches!(self.log.format.as_str(), "text" | "json");
        let rules = [
            (!self.audience.is_empty(), "audience", "must not be empty"),
            (is_url(&self.public_url), "public_url", url_rule),
            (is_url(&self.issuer), "issuer", url_rule),
            (
                is_name(&self.platform_tenant),
                "platform_tenant",
                "must be 1 to 64 of A-Z a-z 0-9 . _ -",
            ),
            (
                !is_step(&self.platform_tenant),
                "platform_tenant",
                STEP_RULE,
            ),
            (is_format, "log.format", "must be text or json"),
        ];
        let broken = rules.into_iter().filter(|(holds, ..)| !holds);
        broken
            .map(|(_, name, rule)| format!("{name} {rule}"))
            .collect()
    }

    /// Returns the scheme of this host's own URL: `https` if it terminates TLS.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        match self.tls.files() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Returns the URL at which this service is reached from outside, without a trailing slash.
    #[must_use]
    pub fn public_url(&self) -> String {
        if self.public_url.is_empty() {
            return format!("{}://{}", self.scheme(), self.listen);
        }
        self.public_url.trim_end_matches('/').to_owned()
    }

    /// Returns the URL of the store, without its login.
    #[must_use]
    pub fn store_name(&self) -> String {
        let url = self.store.parse::<StoreUrl>();
        url.map_or_else(|fault| fault, |url| url.to_string())
    }

    /// Returns the issuer of tokens.
    #[must_use]
    pub fn issuer(&self) -> String {
        if self.issuer.is_empty() {
            return self.public_url() + "/";
        }
        self.issuer.clone()
    }
}

/// Puts the name of its table before a fault.
fn within(table: &str, checked: Result<(), impl Display>) -> Result<(), String> {
    checked.map_err(|fault| format!("{table}.{fault}"))
}
