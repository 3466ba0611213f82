//! The product, put together once: store, module, clock, keys, and what is kept of them in memory.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use crate::clock::Clock;
use crate::conditions::Conditions;
use crate::config::Config;
use crate::engine::{Decider, MODULE};
use crate::error::{Error, Result};
use crate::http::{Route, Table};
use crate::store::Store;
use crate::tokens::Tokens;

/// Everything a request may need.
#[derive(Debug)]
pub struct App {
    /// The settings in force.
    pub config: Config,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// The module.
    pub decider: Decider,
    /// Conditions and projects.
    pub conditions: Conditions,
    /// Clients, keys, tokens.
    pub tokens: Tokens,
    ending: watch::Sender<bool>,
    /// As many turns as there are threads: what takes long waits for its turn.
    turns: Arc<Semaphore>,
}

impl App {
    /// Puts the product together on a store that is open. `config.listen` is where it really listens.
    ///
    /// # Errors
    /// When the store is away, or the module cannot be compiled here.
    pub async fn start(
        config: Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let decider = tokio::task::spawn_blocking(move || Decider::new(MODULE, threads + 2));
        let tokens = Tokens::start(&config, Arc::clone(&store), Arc::clone(&clock)).await?;
        let conditions = Conditions::start(Arc::clone(&store), Arc::clone(&clock)).await?;
        let decider = decider
            .await
            .map_err(|cause| Error::Bug(cause.to_string()))??;
        Ok(Arc::new(Self {
            config,
            clock,
            store,
            decider,
            conditions,
            tokens,
            ending: watch::Sender::new(false),
            turns: Arc::new(Semaphore::new(threads)),
        }))
    }

    /// Does something that takes long off the threads that serve, at most as many at once as there are processors.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn aside<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let bug = |cause: &dyn std::fmt::Display| Error::Bug(cause.to_string());
        let turn = Arc::clone(&self.turns)
            .acquire_owned()
            .await
            .map_err(|cause| bug(&cause))?;
        let app = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // Kept to the end of the work, also when nobody waits for it any more.
            let _turn = turn;
            work(&app)
        });
        done.await.map_err(|cause| bug(&cause))
    }

    /// Becomes true when streams without end must end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    /// Ends streams without end, so that connections can.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Every route there is. Those that are asked most come first.
    #[must_use]
    pub fn routes() -> Vec<Route> {
        let mut routes = crate::conditions::http::routes();
        routes.extend(crate::tokens::http::routes());
        routes.extend(crate::page::routes());
        routes
    }

    /// The table of all routes.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn table() -> Result<Arc<Table>> {
        Table::new(Self::routes()).map(Arc::new)
    }
}
