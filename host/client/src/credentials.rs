//! The credentials with which a command gets its tokens, in a file such as `tillgate serve` writes. The content of a
//! file is never printed.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tillgate_base::identity::Secret;

use super::output::shown_path;

/// A credentials file (`platform.md`, "Command line").
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    pub client_id: String,
    pub client_secret: Secret,
    pub token_url: String,
    pub audience: String,
}

impl Credentials {
    /// Returns the content of a credentials file.
    pub fn to_text(&self) -> Result<String, String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|cause| cause.to_string())
    }

    pub fn read(file: &Path) -> Result<Self, String> {
        let name = shown_path(file);
        let content = std::fs::read(file).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => format!(
                "there are no credentials at {name}: use --credentials FILE (the first `tillgate serve` on a store \
                 writes operator.json)"
            ),
            _ => format!("the credentials at {name} cannot be read: {cause}"),
        })?;
        // serde's message may contain a secret.
        serde_json::from_slice(&content).map_err(|_| {
            format!("{name} must contain clientId, clientSecret, tokenUrl and audience")
        })
    }
}
