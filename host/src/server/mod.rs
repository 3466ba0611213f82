//! Runs a host from its configuration to its end: `start.rs` (socket, store, app), `credentials.rs` (the operator's
//! first credentials), `certificate.rs` (for a host that terminates TLS), `serving.rs` (until a signal arrives),
//! `outage.rs` (a start while the store is unavailable).

mod certificate;
mod credentials;
mod outage;
mod serving;
mod start;

use std::sync::Arc;

use tillgate_base::config::{Config, Role};
use tillgate_store::StoreUrl;
use tillgate_store::clock::SystemClock;

pub use self::certificate::CertificateFiles;
use self::credentials::write_operator;
pub(crate) use self::credentials::{operator_file_of, write_credentials};
pub use self::serving::Serving;
pub(crate) use self::start::{
    bind, error_text, listening, open_decision_log, open_store, start_on,
};

/// Runs a host until a signal ends it.
///
/// # Errors
/// The reason why it could not start, in words for its operator.
pub async fn serve(config: Config) -> Result<(), String> {
    let url: StoreUrl = config.store.parse()?;
    let operator_file = operator_file_of(&config, &url)?;
    let certificate = CertificateFiles::read(&config, Arc::new(SystemClock))?;
    let tls = certificate.as_ref().map(|files| files.tls());
    let listener = bind(config.listen).await?.secured(tls);
    let mut config = listening(config, &listener)?;
    let (version, roles) = (env!("CARGO_PKG_VERSION"), config.roles.listed());
    tracing::info!(version, store = %url, roles, address = %config.listen, "starting");
    if !config.roles.has(Role::Workers) {
        // Imports are left to the hosts that run jobs.
        config.reference_rates.clear();
    }
    if !matches!(url, StoreUrl::Redis(_)) && !config.roles.missing().is_empty() {
        let roles = config.roles.missing();
        tracing::warn!(store = %url, roles, "no other host can have the remaining roles: this store is for one host");
    }
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
    let decision_log = open_decision_log(&config)?;
    let (app, features) = start_on(start_config, store, decision_log).await?;
    if !is_snapshot {
        write_operator(&app, &features, &operator_file).await?;
    }
    let serving = Serving::new(app, &features, certificate)?;
    let recovery = async {
        if is_snapshot {
            outage::recover(&serving, &config, &url, &operator_file).await;
        }
    };
    serving.until_signal(listener, || (), recovery).await
}
