//! Configuration: the only reader of files and of the environment. `config.default.toml` is its manual.

use std::path::PathBuf;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use serde::{Deserialize, Serialize};

use crate::store::StoreUrl;

/// The defaults, with what each means.
pub const DEFAULTS: &str = include_str!("config.default.toml");

/// All settings. See `config.default.toml`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config.default.toml documents every setting")]
pub struct Config {
    pub listen: std::net::SocketAddr,
    pub store: String,
    pub require_durable_store: bool,
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
    pub log: Log,
    pub tokens: Tokens,
}

/// A text; the environment gives one that looks like a number as a number.
fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Integer(i64),
        Bool(bool),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Integer(number) => number.to_string(),
        Written::Bool(value) => value.to_string(),
    })
}

/// What is logged, and how.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config.default.toml documents every setting")]
pub struct Log {
    pub level: String,
    pub format: String,
}

/// The token service.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config.default.toml documents every setting")]
pub struct Tokens {
    pub registrations_per_minute: u32,
    pub pending_clients: u32,
    pub pending_days: u32,
    pub secret_overlap_seconds: u32,
}

/// What flags set; `None` leaves a setting to the others.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "config.default.toml documents every setting")]
pub struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<std::net::SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_durable_store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_file: Option<PathBuf>,
}

/// The settings in force, and where each came from.
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
        let mut sources = Figment::from(Toml::string(DEFAULTS));
        if let Some(file) = file {
            sources = sources.merge(Toml::file_exact(file));
        }
        let sources = sources
            .merge(Env::prefixed("TILLGATE_").split("__"))
            .merge(Serialized::defaults(flags));
        let config: Config = sources.extract().map_err(|cause| cause.to_string())?;
        config.check()?;
        Ok(Self { config, sources })
    }

    /// The settings as TOML, each with where it came from.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let mut config = self.config.clone();
        // A store's URL may hold a password, which a store that was read is shown without.
        if let Ok(store) = config.store.parse::<StoreUrl>() {
            config.store = store.to_string();
        }
        let json = serde_json::to_value(&config).unwrap_or_default();
        self.describe_table("", &json, &mut text);
        text
    }

    fn describe_table(&self, prefix: &str, table: &serde_json::Value, text: &mut String) {
        let members = table.as_object().into_iter().flatten();
        let (tables, settings): (Vec<_>, Vec<_>) =
            members.partition(|(_, value)| value.is_object());
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
        if !crate::tokens::tenant::is_name(&self.platform_tenant) {
            return Err("platform_tenant must be 1 to 64 of A-Z a-z 0-9 . _ -".to_owned());
        }
        if !matches!(self.log.format.as_str(), "text" | "json") {
            return Err("log.format must be text or json".to_owned());
        }
        Ok(())
    }

    /// How this service is reached from outside, without a slash at its end.
    #[must_use]
    pub fn public_url(&self) -> String {
        if self.public_url.is_empty() {
            return format!("http://{}", self.listen);
        }
        self.public_url.trim_end_matches('/').to_owned()
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
