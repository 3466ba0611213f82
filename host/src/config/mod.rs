//! Configuration: the only reader of files and of the environment. `default.toml` is its manual.
//!
//! Durations and other values that are written as text are read in `as_text.rs`, the URL of a store in `store_url.rs`; what is
//! wrong with the settings is found out in `examine.rs`. Tables with more than a few settings, or with rules of their own, have
//! files of their own.

mod as_text;
mod config_file;
mod cors;
mod decisions;
mod examine;
mod page;
mod quotas;
mod reference_rates;
mod roles;
mod safe_url;
mod store_url;
mod tls;
mod trusted_issuers;
mod webhooks;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::as_text::{duration, text};
use self::config_file::ConfigFile;
use crate::egress::{shown, with_urls_shown};
use crate::identity::{STEP_RULE, is_name, is_step};
use crate::store::StoreUrl;

pub use self::cors::Cors;
pub use self::decisions::Decisions;
pub use self::examine::{Examined, Fault};
pub use self::page::{Page, SignIn};
pub use self::quotas::Quotas;
pub use self::reference_rates::{ReferenceRates, Source};
pub use self::roles::{Role, Roles};
pub use self::store_url::store_url;
pub use self::tls::{Tls, TlsFlags};
pub use self::trusted_issuers::TrustedIssuer;
pub use self::webhooks::{Deprecation, Webhooks};

/// The defaults, with what each means.
pub const DEFAULTS: &str = include_str!("default.toml");

/// With what the variables of the environment begin that are settings, and what stands in them for the dot of a setting.
const PREFIX: &str = "TILLGATE_";
const STEP: &str = "__";

/// Variables of the environment that are no settings: the commands that send requests to a running host use the first two,
/// `tillgate copy` the others.
const NO_SETTINGS: [&str; 4] = ["credentials", "ca_cert", "copy_from", "copy_to"];

/// Settings that are printed as one value: a table with keys of the operator's own, and one inside another table.
const MAPS: [&str; 2] = ["webhooks.deprecations", "page.sign_in"];

/// All settings. See `default.toml`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Config {
    pub listen: std::net::SocketAddr,
    pub store: String,
    pub require_durable_store: bool,
    pub roles: Roles,
    #[serde(with = "duration")]
    pub max_stale: Duration,
    #[serde(with = "duration")]
    pub max_stale_callers: Duration,
    #[serde(deserialize_with = "text")]
    pub snapshot: String,
    #[serde(deserialize_with = "text")]
    pub audience: String,
    #[serde(deserialize_with = "text")]
    pub public_url: String,
    #[serde(deserialize_with = "text")]
    pub issuer: String,
    #[serde(deserialize_with = "text")]
    pub platform_tenant: String,
    #[serde(deserialize_with = "text")]
    pub operator_file: String,
    pub tls: Tls,
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

/// What is logged, and how.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Log {
    pub level: String,
    pub format: String,
}

/// What is measured, and where it is served.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Metrics {
    #[serde(deserialize_with = "text")]
    pub listen: String,
    pub tenants: bool,
}

impl Metrics {
    /// The address of their own, if there is one.
    ///
    /// # Errors
    /// When it is not an address.
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

/// What bounds one client.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Limits {
    pub connections: NonZeroU32,
    pub connections_per_address: NonZeroU32,
    pub request_bytes: ByteSize,
    pub answer_bytes: ByteSize,
    pub cached_tenants: usize,
    pub cached_clients: usize,
}

impl Limits {
    /// One tenant has half of each: room for the largest body, and for the largest answer.
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
#[expect(missing_docs, reason = "default.toml documents every setting")]
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
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Tokens {
    pub registrations_per_minute: u32,
    pub pending_clients: u32,
    pub pending_clients_per_address: u32,
    #[serde(with = "duration")]
    pub pending_lifetime: Duration,
    #[serde(with = "duration")]
    pub secret_overlap: Duration,
}

/// Exchange rates, their history and their topic.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
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

/// What flags set; `None` leaves a setting to the others.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<std::net::SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_durable_store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<String>,
    pub tls: TlsFlags,
}

/// The settings in force, and where each comes from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    sources: Figment,
}

impl Loaded {
    /// Reads the defaults, a file, the environment and flags, each over the one before.
    ///
    /// # Errors
    /// What is wrong with which setting from where.
    pub fn read(file: Option<&std::path::Path>, flags: &Flags) -> Result<Self, String> {
        let sources = Self::sources(file, flags)?;
        // It repeats the value, or the line, that is wrong.
        let config = sources.extract();
        let mut config: Config =
            config.map_err(|cause: figment::Error| with_urls_shown(&cause.to_string()))?;
        config.store = store_url(&config.store)?;
        config.check()?;
        Ok(Self { config, sources })
    }

    /// The defaults, a file, the environment and flags, each over the one before.
    fn sources(file: Option<&std::path::Path>, flags: &Flags) -> Result<Figment, String> {
        let mut sources = Figment::from(Toml::string(DEFAULTS));
        if let Some(file) = file {
            sources = sources.merge(ConfigFile::read(file)?);
        }
        let environment = Env::prefixed(PREFIX).ignore(&NO_SETTINGS);
        Ok(sources
            .merge(environment.split(STEP))
            .merge(Serialized::defaults(flags)))
    }

    /// The settings as TOML, each with where it comes from. Their URLs are without what may be a secret.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let mut json = serde_json::to_value(&self.config).unwrap_or_default();
        hide_secrets(&mut json);
        if let Some(store) = json.get_mut("store") {
            *store = self.config.store_name().into();
        }
        self.describe_table("", &json, &mut text);
        text
    }

    fn describe_table(&self, prefix: &str, table: &Value, text: &mut String) {
        let members = table.as_object().into_iter().flatten();
        let is_table = |key: &str| !MAPS.contains(&format!("{prefix}{key}").as_str());
        let (tables, settings): (Vec<_>, Vec<_>) =
            members.partition(|(key, value)| value.is_object() && is_table(key));
        for (key, value) in settings {
            let path = format!("{prefix}{key}");
            let source = self
                .sources
                .find_metadata(&path)
                .map_or("unknown", |from| &from.name);
            let source = if source == "TOML source string" {
                "default"
            } else {
                source
            };
            text.push_str(&format!("{key} = {value}  # {source}\n"));
        }
        for (key, value) in tables {
            text.push_str(&format!("\n[{prefix}{key}]\n"));
            self.describe_table(&format!("{prefix}{key}."), value, text);
        }
    }
}

/// Takes out of all URLs what may be a secret.
fn hide_secrets(settings: &mut Value) {
    match settings {
        Value::String(text) => *text = shown(text),
        Value::Array(values) => values.iter_mut().for_each(hide_secrets),
        Value::Object(members) => members.values_mut().for_each(hide_secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        self.store.parse::<StoreUrl>()?;
        if self.audience.is_empty() {
            return Err("audience must not be empty".to_owned());
        }
        for (name, url) in [("public_url", &self.public_url), ("issuer", &self.issuer)] {
            let absolute = |uri: &http::Uri| uri.scheme().is_some() && uri.host().is_some();
            let fits = url.parse().is_ok_and(|uri| absolute(&uri));
            if !url.is_empty() && !fits {
                return Err(format!(
                    "{name} must be a URL such as https://tillgate.example"
                ));
            }
        }
        if !is_name(&self.platform_tenant) {
            return Err("platform_tenant must be 1 to 64 of A-Z a-z 0-9 . _ -".to_owned());
        }
        if is_step(&self.platform_tenant) {
            return Err(format!("platform_tenant {STEP_RULE}"));
        }
        if !matches!(self.log.format.as_str(), "text" | "json") {
            return Err("log.format must be text or json".to_owned());
        }
        self.tls.check()?;
        let cors = self.cors.check();
        cors.map_err(|fault| format!("cors.{fault}"))?;
        self.metrics.address()?;
        self.limits.check()?;
        let quotas = self.quotas.check();
        quotas.map_err(|fault| format!("quotas.{fault}"))?;
        let conditions = self.conditions.check();
        conditions.map_err(|fault| format!("conditions.{fault}"))?;
        let decisions = self.decisions.check();
        decisions.map_err(|fault| format!("decisions.{fault}"))?;
        let rates = self.rates.check();
        rates.map_err(|fault| format!("rates.{fault}"))?;
        let webhooks = self.webhooks.check();
        webhooks.map_err(|fault| format!("webhooks.{fault}"))?;
        ReferenceRates::check_all(&self.reference_rates)?;
        TrustedIssuer::check_all(&self.trusted_issuers, &self.issuer())?;
        let page = self.page.check(&self.trusted_issuers);
        page.map_err(|fault| format!("page.{fault}"))
    }

    /// How what listens here is reached: `https` where TLS ends here.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        match self.tls.files() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// How this service is reached from outside, without a slash at its end.
    #[must_use]
    pub fn public_url(&self) -> String {
        if self.public_url.is_empty() {
            return format!("{}://{}", self.scheme(), self.listen);
        }
        self.public_url.trim_end_matches('/').to_owned()
    }

    /// The store, named without its login.
    #[must_use]
    pub fn store_name(&self) -> String {
        let url = self.store.parse::<StoreUrl>();
        url.map_or_else(|fault| fault, |url| url.to_string())
    }

    /// Who issues tokens.
    #[must_use]
    pub fn issuer(&self) -> String {
        if self.issuer.is_empty() {
            return self.public_url() + "/";
        }
        self.issuer.clone()
    }
}
