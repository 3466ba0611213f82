//! A host that starts while its store is unavailable: it decides with its snapshot until the store can be opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use tillgate_base::config::Config;
use tillgate_base::data::snapshot::SnapshotStore;
use tillgate_store::{Store, StoreUrl};

use super::credentials::write_operator;
use super::{Serving, open_store, start_on};

/// The first and the longest pause between attempts to open the store.
const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Returns the snapshot of a store that could not be opened, if there is one.
///
/// # Errors
/// The reason why the store could not be opened.
pub(super) fn snapshot_of(
    config: &Config,
    url: &StoreUrl,
    why: String,
) -> Result<Arc<dyn Store>, String> {
    // A fault of a local folder does not go away by itself.
    if config.snapshot.is_empty() || !matches!(url, StoreUrl::Redis(_)) {
        return Err(why);
    }
    let folder = Path::new(&config.snapshot);
    let snapshot = SnapshotStore::read(folder, &config.store_name(), why.clone());
    let snapshot = snapshot.map_err(|cannot| format!("{why}; {cannot}"))?;
    tracing::warn!(store = %url, why, "the store cannot be opened: deciding with the snapshot");
    Ok(Arc::new(snapshot))
}

/// Opens the store as soon as it is available, and replaces the snapshot with it.
pub(super) async fn recover(
    serving: &Serving,
    config: &Config,
    url: &StoreUrl,
    operator_file: &Path,
) {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(MIN_PAUSE)
        .with_max_delay(MAX_PAUSE)
        .with_jitter()
        .without_max_times()
        .build();
    let start = || async {
        let store = open_store(config, url).await?;
        let (app, features) = start_on(config.clone(), store, serving.decision_log.clone()).await?;
        write_operator(&app, &features, operator_file).await?;
        serving.replace(app, &features).await
    };
    // Logs a reason only when it changes. A new one may need the operator, such as a store that is not durable.
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
        tracing::warn!(store = %url, "the store is available: the snapshot is no longer needed");
    }
}
