//! A host from its configuration to its end: `start.rs` (socket, store, app), `credentials.rs` (the operator's first
//! credentials), `serving.rs` (until a signal comes), `outage.rs` (a start while the store is unavailable).

mod credentials;
mod outage;
mod serving;
mod start;

use self::credentials::write_operator;
pub(crate) use self::credentials::{operator_file_of, write_credentials, write_private};
pub use self::serving::Serving;
pub(crate) use self::start::{bind, error_text, listening, open_store, start_on};
use crate::config::Config;
use crate::store::StoreUrl;

/// Runs a host until a signal ends it.
///
/// # Errors
/// Why it could not start, in words for its operator.
pub async fn serve(config: Config) -> Result<(), String> {
    let url: StoreUrl = config.store.parse()?;
    let operator_file = operator_file_of(&config, &url)?;
    let listener = bind(config.listen).await?;
    let config = listening(config, &listener)?;
    let store = match open_store(&config, &url).await {
        Ok(store) => store,
        Err(why) => outage::snapshot_of(&config, &url, why)?,
    };
    let is_snapshot = store.snapshot_of().is_some();
    let mut start_config = config.clone();
    if is_snapshot {
        // Imports wait until the store is available.
        start_config.reference_rates.clear();
    }
    let (app, features) = start_on(start_config, store).await?;
    if !is_snapshot {
        write_operator(&app, &features, &operator_file).await?;
    }
    let serving = Serving::new(app, &features)?;
    let recovery = async {
        if is_snapshot {
            outage::recover(&serving, &config, &url, &operator_file).await;
        }
    };
    serving.until_signal(listener, || (), recovery).await
}
