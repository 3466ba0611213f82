//! The file with the operator's credentials: readable only by its owner, and written before the client is stored.

use std::path::{Path, PathBuf};

use tillgate_base::app::App;
use tillgate_base::config::Config;
use tillgate_store::StoreUrl;
use tillgate_tokens::Credentials;

use tillgate_client::private_file::write_private;

use super::start::error_text;
use crate::routes::Features;

/// Returns the file for the operator's credentials: by default in the store's folder, if it has one.
pub(crate) fn operator_file_of(config: &Config, url: &StoreUrl) -> Result<PathBuf, String> {
    if !config.operator_file.is_empty() {
        return Ok(config.operator_file.clone().into());
    }
    match url {
        StoreUrl::Embedded { folder, .. } => Ok(folder.join("operator.json")),
        StoreUrl::Memory | StoreUrl::Redis(_) => {
            Err(format!("{url} has no folder: use --operator-file FILE"))
        }
    }
}

/// Creates the operator's client on an empty store. Its credentials are on disk before the client is stored: after a
/// crash in between, the next start creates another. An existing file, possibly of another store, is kept beside it.
pub(crate) async fn write_operator(
    app: &App,
    features: &Features,
    file: &Path,
) -> Result<(), String> {
    let write = |credentials: &Credentials| {
        if file.exists() {
            let kept = format!("{}.{}", file.display(), app.clock.now().seconds());
            std::fs::rename(file, &kept)?;
            tracing::warn!(
                kept,
                "the store has no operator yet: the earlier credentials in the file are kept"
            );
        }
        write_credentials(&app.config, credentials, file)
    };
    let made = features.tokens.ensure_operator(write).await;
    if made.map_err(|cause| {
        format!(
            "the operator's client could not be created: {}",
            error_text(cause)
        )
    })? {
        tracing::info!(file = %file.display(), "the operator's credentials were written");
    }
    Ok(())
}

pub(crate) fn write_credentials(
    config: &Config,
    credentials: &Credentials,
    file: &Path,
) -> std::io::Result<()> {
    let content = serde_json::json!({
        "clientId": credentials.client_id,
        "clientSecret": credentials.client_secret,
        "tokenUrl": config.public_url() + "/oauth2/token",
        "audience": config.audience,
    });
    write_private(file, &format!("{content:#}\n"))
}
