//! A host that starts while its store is away: it decides with its snapshot until the store can be opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};

use super::credentials::write_operator;
use super::{Serving, open_store, start_on};
use crate::config::Config;
use crate::data::snapshot::SnapshotStore;
use crate::store::{Store, StoreUrl};

/// The pauses between attempts to open the store: the first, and the longest.
const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

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
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(MIN_PAUSE)
        .with_max_delay(MAX_PAUSE)
        .with_jitter()
        .without_max_times()
        .build();
    let start = || async {
        let store = open_store(config, url).await?;
        let (app, features) = start_on(config.clone(), store).await?;
        write_operator(&app, &features, operator_file).await?;
        serving.replace(app, &features).await
    };
    // Each reason once: one that comes after another may need the operator, such as a store that is not durable.
    let mut logged = String::new();
    let log = |why: &String, _| {
        if *why != logged {
            tracing::warn!(store = %url, why, "the store still cannot be opened");
            logged.clone_from(why);
        }
    };
    tokio::time::sleep(pauses.next().unwrap_or(MIN_PAUSE)).await;
    let started = start.retry(pauses).sleep(tokio::time::sleep).notify(log);
    if started.await.is_ok() {
        tracing::warn!(store = %url, "the store is there: the snapshot is not needed any more");
    }
}
