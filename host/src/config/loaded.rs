//! Reading the settings: the defaults, a file, the environment and flags, each over the one before.

use std::path::PathBuf;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use serde::Serialize;
use serde_json::Value;

use super::config_file::ConfigFile;
use super::{Config, TlsFlags, store_url};
use crate::egress::{shown, with_urls_shown};

/// The defaults, with what each means.
pub const DEFAULTS: &str = include_str!("default.toml");

/// With what the variables of the environment begin that are settings, and what stands in them for the dot of a setting.
pub(super) const PREFIX: &str = "TILLGATE_";
pub(super) const STEP: &str = "__";

/// Variables of the environment that are no settings: the commands that send requests to a running host use the first two,
/// `tillgate copy` the others.
const NO_SETTINGS: [&str; 4] = ["credentials", "ca_cert", "copy_from", "copy_to"];

/// Settings that are printed as one value: a table with keys of the operator's own, and one inside another table.
const MAPS: [&str; 2] = ["webhooks.deprecations", "page.sign_in"];

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
    pub(super) sources: Figment,
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
    pub(super) fn sources(
        file: Option<&std::path::Path>,
        flags: &Flags,
    ) -> Result<Figment, String> {
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
