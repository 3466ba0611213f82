//! A host from its configuration to its end: sockets, store, app, features, signals.
#![expect(
    clippy::print_stdout,
    reason = "the address is printed for those who start a host"
)]

mod credentials;
mod outage;
mod serving;
mod start;

use self::credentials::{operator_file_of, write_operator};
pub(crate) use self::credentials::{write_credentials, write_private};
pub use self::serving::Serving;
pub(crate) use self::start::{bind, explain, listening, open_store, start_on};
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
        Err(why) => outage::snapshot(&config, &url, why)?,
    };
    let is_away = store.snapshot_of().is_some();
    let mut start_config = config.clone();
    if is_away {
        // Imports are for when the store is there.
        start_config.reference_rates.clear();
    }
    let (app, features) = start_on(start_config, store).await?;
    if !is_away {
        write_operator(&app, &features, &operator_file).await?;
    }
    let serving = Serving::new(app, &features)?;
    let mending = async {
        if is_away {
            outage::end(&serving, &config, &url, &operator_file).await;
        }
    };
    serving.until_signal(listener, || (), mending).await
}
