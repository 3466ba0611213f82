//! A host that starts while its store is away: it decides with its snapshot until the store can be opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use super::credentials::write_operator;
use super::{Serving, open_store, start_on};
use crate::config::Config;
use crate::data::snapshot::SnapshotStore;
use crate::store::{Store, StoreUrl};

/// The store to start on when the one of the configuration could not be opened: the snapshot, if there is one.
///
/// # Errors
/// Why the store could not be opened.
pub(super) fn snapshot(
    config: &Config,
    url: &StoreUrl,
    why: String,
) -> Result<Arc<dyn Store>, String> {
    // What is wrong with a folder of this machine does not mend itself.
    if config.snapshot.is_empty() || !matches!(url, StoreUrl::Redis(_)) {
        return Err(why);
    }
    let folder = Path::new(&config.snapshot);
    let snapshot = SnapshotStore::read(folder, &config.store_name(), why.clone());
    let snapshot = snapshot.map_err(|cannot| format!("{why}; {cannot}"))?;
    tracing::warn!(store = %url, why, "the store cannot be opened: deciding with the snapshot");
    Ok(Arc::new(snapshot))
}

/// Opens the store as soon as it is there, and has it take the place of the snapshot.
pub(super) async fn end(serving: &Serving, config: &Config, url: &StoreUrl, operator_file: &Path) {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(5))
        .with_jitter()
        .without_max_times();
    let mut told = String::new();
    for pause in pauses.build() {
        tokio::time::sleep(pause).await;
        let started = async {
            let store = open_store(config, url).await?;
            let (app, features) = start_on(config.clone(), store).await?;
            write_operator(&app, &features, operator_file).await?;
            serving.replace(app, &features).await
        };
        match started.await {
            Ok(()) => {
                tracing::warn!(store = %url, "the store is there: the snapshot is not needed any more");
                return;
            }
            // Each reason once: one that comes after another may need somebody, such as a store that is not durable.
            Err(why) if why != told => {
                tracing::warn!(store = %url, why, "the store still cannot be opened");
                told = why;
            }
            Err(_) => {}
        }
    }
}
