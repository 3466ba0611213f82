//! What all features share: configuration, store, module, clock and background runner, put together once.
//!
//! Knows neither HTTP nor any feature: features are started on it (`routes.rs`).

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{EnginePool, MODULE};
use crate::error::{Error, Result};
use crate::outbox::Outbox;
use crate::records::Records;
use crate::runner::{Background, Runner};
use crate::snapshot::{Contents, Keeper};
use crate::store::{Partition, Store, StoreUrl};

/// The shared parts.
#[derive(Debug)]
pub struct App {
    /// The settings in force.
    pub config: Config,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The module.
    pub engine: EnginePool,
    /// The queues of background jobs.
    pub runner: Runner,
    /// The events of the features.
    pub outbox: Outbox,
    /// Keeps what decisions rest on in a folder, if one is configured.
    snapshot: Option<Arc<Keeper>>,
    /// The records of every partition are made from these, so that they share what writers of this host share.
    records: Records,
    stopping: watch::Sender<bool>,
    /// As many permits as there are processors, for work of requests that keeps one busy.
    blocking: Arc<Semaphore>,
    /// The same for work of background jobs: no request waits for these.
    background_blocking: Arc<Semaphore>,
    background: Background,
}

impl App {
    /// Puts the parts together on a store that is open. `config.listen` is the address that is really listened on.
    ///
    /// # Errors
    /// When the module cannot be compiled here.
    pub async fn start(
        config: Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let instances = 2 * threads.get() + 2;
        let engine = tokio::task::spawn_blocking(move || EnginePool::new(MODULE, instances));
        let engine = engine.await.map_err(|cause| bug(&cause))??;
        let background = Background::start(threads)?;
        let runner = Runner::new(Arc::clone(&store), Arc::clone(&clock), background.handle());
        let snapshot = snapshot(&config, store.as_ref(), &clock)?;
        let permits = || Arc::new(Semaphore::new(threads.get()));
        Ok(Arc::new(Self {
            config,
            engine,
            outbox: Outbox::default(),
            snapshot,
            runner,
            records: Records::new(Arc::clone(&store), Partition::named("app")),
            clock,
            store,
            stopping: watch::Sender::new(false),
            blocking: permits(),
            background_blocking: permits(),
            background,
        }))
    }

    /// The records of a partition.
    #[must_use]
    pub fn records(&self, partition: Partition) -> Records {
        self.records.in_partition(partition)
    }

    /// Has decisions rest on records of a partition: they are kept in the snapshot, if there is one.
    pub fn keep_in_snapshot(&self, partition: Partition, contents: Contents) {
        if let Some(snapshot) = &self.snapshot {
            snapshot.keep(self.records(partition), contents);
        }
    }

    /// The partitions that are in the snapshot of an earlier process.
    #[must_use]
    pub fn in_snapshot(&self) -> Vec<Partition> {
        let snapshot = self.snapshot.as_ref();
        snapshot
            .map(|snapshot| snapshot.saved())
            .unwrap_or_default()
    }

    /// Runs work that keeps a processor busy off the threads that serve, at most as many at once as there are
    /// processors. Work of a background job runs at low priority.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let permits = match Handle::current().id() == self.background.handle().id() {
            true => &self.background_blocking,
            false => &self.blocking,
        };
        let permit = Arc::clone(permits).acquire_owned().await;
        let permit = permit.map_err(|cause| bug(&cause))?;
        let app = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // Held to the end of the work, also when nobody waits for it any more.
            let _permit = permit;
            work(&app)
        });
        done.await.map_err(|cause| bug(&cause))
    }

    /// Becomes true when the host is stopping: streams without end must end then.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Announces that the host is stopping.
    pub fn begin_stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// The keeper of the snapshot. Memory is as new as a store of the same process: only one that is on other machines needs
/// it.
fn snapshot(
    config: &Config,
    store: &dyn Store,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<Keeper>>> {
    let is_remote = matches!(config.store.parse(), Ok(StoreUrl::Redis(_)));
    if config.snapshot.is_empty() || !is_remote || store.snapshot_of().is_some() {
        return Ok(None);
    }
    let folder = config.snapshot.clone().into();
    let keeper = Keeper::start(folder, config.store_name(), Arc::clone(clock));
    keeper.map(Some).map_err(|cause| {
        let folder = &config.snapshot;
        Error::Bug(format!(
            "the folder {folder} of the snapshot cannot be created: {cause}"
        ))
    })
}

fn bug(cause: &dyn std::fmt::Display) -> Error {
    Error::Bug(cause.to_string())
}
