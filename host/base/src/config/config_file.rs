//! The file that `--config` names. It is read once, so it may be a pipe, and one that cannot be read is named.

use std::io::ErrorKind;
use std::path::Path;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map};
use figment::{Error, Metadata, Profile, Provider};

/// A file of settings.
pub(super) struct ConfigFile<'p> {
    path: &'p Path,
    text: String,
}

impl<'p> ConfigFile<'p> {
    /// Reads a file.
    ///
    /// # Errors
    /// Why it cannot be read, and what to do.
    pub(super) fn read(path: &'p Path) -> Result<Self, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => format!(
                "there is no configuration file {name}: name another one with --config, or leave --config out for the \
                 defaults"
            ),
            _ => format!("the configuration file {name} cannot be read: {cause}"),
        })?;
        Ok(Self { path, text })
    }
}

impl Provider for ConfigFile<'_> {
    fn metadata(&self) -> Metadata {
        Toml::file_exact(self.path).metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Toml::string(&self.text).data()
    }
}
