//! The sources of settings: the defaults, a file, the environment and flags; each overrides the one before.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use serde::Serialize;

use super::TlsFlags;
use super::config_file::ConfigFile;
use super::environment::{Environment, PREFIX, STEP};

/// The defaults, with an explanation of each setting.
pub const DEFAULTS: &str = include_str!("default.toml");

/// Settings from flags; `None` leaves a setting to the other sources.
#[derive(Clone, Debug, Default, Serialize)]
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

/// Merges all sources; each overrides the one before. The error says why the file cannot be read.
pub(super) fn sources(file: Option<&Path>, flags: &Flags) -> Result<Figment, String> {
    let mut sources = Figment::from(Toml::string(DEFAULTS));
    let environment = Environment::read(&sources);
    if let Some(file) = file {
        sources = sources.merge(ConfigFile::read(file)?);
    }
    Ok(sources
        .merge(environment)
        .merge(Serialized::defaults(flags)))
}

/// The place where a setting was set.
pub(super) enum Origin {
    Default,
    File(PathBuf),
    Environment,
    Flag,
}

impl Origin {
    pub(super) fn of(path: &[String], sources: &Figment) -> Self {
        // Metadata is found for tables and their settings, but not within lists.
        let within = path
            .iter()
            .take_while(|step| step.parse::<usize>().is_err());
        let within: Vec<&str> = within.map(String::as_str).collect();
        let Some(metadata) = sources.find_metadata(&within.join(".")) else {
            return Self::Default;
        };
        match metadata.source.as_ref() {
            Some(source) => match source.file_path() {
                Some(file) => Self::File(file.to_owned()),
                None => Self::Flag,
            },
            None if metadata.name.contains(PREFIX) => Self::Environment,
            None => Self::Default,
        }
    }

    /// Returns the name of a setting as it is written there.
    pub(super) fn name(&self, path: &[String]) -> String {
        match self {
            Self::Environment => format!("{PREFIX}{}", joined(path, STEP).to_uppercase()),
            Self::Flag => format!("--{}", path.join("-").replace('_', "-")),
            Self::Default | Self::File(_) => joined(path, "."),
        }
    }

    /// Returns the name of the setting at a path, and the place where it was set.
    pub(super) fn place(&self, path: &[String]) -> String {
        let name = self.name(path);
        match self {
            Self::Default | Self::Flag => name,
            Self::File(file) => format!("{name} in {}", file.display()),
            Self::Environment => format!("{name} in the environment"),
        }
    }
}

/// Joins the steps of a path, with the indexes of items in brackets.
fn joined(path: &[String], between: &str) -> String {
    let mut name = String::new();
    for step in path {
        match step.parse::<usize>() {
            Ok(index) => name += &format!("[{index}]"),
            Err(_) if name.is_empty() => name.clone_from(step),
            Err(_) => name += &format!("{between}{step}"),
        }
    }
    name
}
