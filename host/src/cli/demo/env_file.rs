//! The file that tells a shell the demo's address and its client's credentials, as lines that the shell can read. It
//! exists as long as the demo runs.

use std::path::{Path, PathBuf};

use tillgate_base::config::Config;
use tillgate_tokens::Credentials;

use crate::server::write_credentials;
use tillgate_client::output::shown_path;
use tillgate_client::private_file::write_private;

/// Text that only a demo's file contains.
const CREDENTIALS: &str = "export TILLGATE_CREDENTIALS";

/// The file. Dropping this removes it.
pub(super) struct EnvFile {
    file: PathBuf,
    /// The file's path until it is complete.
    beside: PathBuf,
}

impl EnvFile {
    /// Writes the credentials for this program's other commands beside the store, and prepares the file.
    pub(super) fn prepare(
        file: PathBuf,
        config: &Config,
        credentials: &Credentials,
        receivers_url: &str,
        credentials_file: &Path,
    ) -> Result<Self, String> {
        // A file that an earlier demo had no time to remove is replaced.
        let is_foreign = |text: Vec<u8>| !String::from_utf8_lossy(&text).contains(CREDENTIALS);
        if std::fs::read(&file).is_ok_and(is_foreign) {
            let file = shown_path(&file);
            return Err(format!(
                "{file} exists and was not written by a demo: it is not overwritten"
            ));
        }
        write_credentials(config, credentials, credentials_file)
            .map_err(|cause| cannot(credentials_file, &cause))?;
        let lines = [
            ("URL", config.public_url()),
            ("CLIENT_ID", credentials.client_id.clone()),
            (
                "CLIENT_SECRET",
                credentials.client_secret.reveal().to_owned(),
            ),
            ("AUDIENCE", config.audience.clone()),
            ("RECEIVER", format!("{receivers_url}/erp")),
            (CREDENTIALS, credentials_file.display().to_string()),
        ];
        let lines = lines.map(|(name, value)| format!("{name}={}\n", quoted(&value)));
        // Beside its place, so that a folder that cannot be written is reported before anything is served.
        let mut beside = file.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        write_private(&beside, &lines.concat()).map_err(|cause| cannot(&file, &cause))?;
        Ok(Self { file, beside })
    }

    /// Puts the file in its place, so that a shell that waits for it continues.
    pub(super) fn write(&self) -> Result<(), String> {
        std::fs::rename(&self.beside, &self.file).map_err(|cause| cannot(&self.file, &cause))
    }
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        for file in [&self.file, &self.beside] {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn cannot(file: &Path, cause: &std::io::Error) -> String {
    format!("{} cannot be written: {cause}", shown_path(file))
}

/// Returns a text as a single word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
