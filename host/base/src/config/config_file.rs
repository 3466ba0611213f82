//! The file that `--config` names. It is read only once, so it may be a pipe. A read error names the file.

use std::io::ErrorKind;
use std::path::Path;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map};
use figment::{Error, Metadata, Profile, Provider};

pub(super) struct ConfigFile<'p> {
    path: &'p Path,
    text: String,
}

impl<'p> ConfigFile<'p> {
    /// Reads the file. The error says why it cannot be read, and what to do if it does not exist.
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
