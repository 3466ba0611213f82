//! The steps of a start: a socket, the store, the app and its features. Errors are texts for the operator.

use std::net::SocketAddr;
use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_base::config::Config;
use tillgate_base::error::Error;
use tillgate_http::Listener;
use tillgate_rules::decision_log::DecisionLog;
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{self as store, Store, StoreUrl};

use crate::routes::Features;

/// Returns an error with its cause, for the operator. Callers of the API must not see it.
pub(crate) fn error_text(error: Error) -> String {
    match error {
        Error::Bug(cause) => cause,
        Error::Unavailable(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

pub(crate) async fn bind(address: SocketAddr) -> Result<Listener, String> {
    let bound = Listener::bind(address).await;
    bound.map_err(|cause| format!("cannot listen on {address}: {cause}"))
}

/// Returns the configuration of a host that listens on a socket.
pub(crate) fn listening(mut config: Config, listener: &Listener) -> Result<Config, String> {
    config.listen = listener.address().map_err(|cause| cause.to_string())?;
    Ok(config)
}

pub(crate) async fn open_store(config: &Config, url: &StoreUrl) -> Result<Arc<dyn Store>, String> {
    store::open(url, Arc::new(SystemClock), config.require_durable_store).await
}

/// Opens the decision log, if this host writes one.
pub(crate) fn open_decision_log(config: &Config) -> Result<Option<Arc<DecisionLog>>, String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    DecisionLog::open(&config.decisions, &clock).map_err(error_text)
}

/// Starts the app and its features on a store.
pub(crate) async fn start_on(
    config: Config,
    store: Arc<dyn Store>,
    decision_log: Option<Arc<DecisionLog>>,
) -> Result<(Arc<App>, Features), String> {
    let app = App::start(config, store, Arc::new(SystemClock)).await;
    let app = app.map_err(error_text)?;
    let features = Features::start(&app, decision_log)
        .await
        .map_err(error_text)?;
    Ok((app, features))
}
