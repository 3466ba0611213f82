//! The parts that all features share: configuration, store, module, clock, background runner and metrics, assembled
//! once.
//!
//! It knows neither HTTP nor any feature: features are started on it (`host/src/routes/mod.rs`).

use std::num::NonZeroUsize;
use std::sync::Arc;

use tillgate_store::clock::Clock;
use tillgate_store::{Partition, Store, StoreUrl};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::config::{Config, Role, StoreIdentity};
use crate::data::outbox::Outbox;
use crate::data::records::Records;
use crate::data::snapshot::{Contents, SnapshotWriter};
use crate::engine::{CompiledModule, EnginePool, ROUND};
use crate::error::{Error, Result};
use crate::jobs::Runner;
use crate::load::Workers;
use crate::observe::metrics::{MeasuredStore, MetricFamily, Metrics, Sample};
use crate::observe::readiness::{Readiness, State, Status};

/// The parts that all features share.
#[derive(Debug)]
pub struct App {
    /// The settings in force.
    pub config: Config,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The store, measured.
    pub store: Arc<dyn Store>,
    /// The identity of the store.
    pub store_identity: StoreIdentity,
    /// The module.
    pub engine: Arc<EnginePool>,
    /// The queues of background jobs.
    pub runner: Arc<Runner>,
    /// The outbox of the features' events.
    pub outbox: Outbox,
    /// The metrics.
    pub metrics: Metrics,
    /// The readiness of this host.
    pub readiness: Arc<Readiness>,
    /// Keeps the records that decisions rest on in a folder, if one is configured.
    snapshot: Option<Arc<SnapshotWriter>>,
    /// The records of every partition are made from these, so that all writers of this host share their state.
    records: Records,
    stopping: watch::Sender<bool>,
    /// The threads of lower priority.
    pub workers: Arc<Workers>,
}

impl App {
    /// Assembles the parts on an open store. `config.listen` is the address that is really listened on.
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
        let engine = tokio::task::spawn_blocking(move || {
            EnginePool::new(CompiledModule::of_this_program()?, instances)
        });
        let engine = engine.await.map_err(|cause| bug(&cause))??;
        let workers = Workers::start("worker", threads)?;
        let metrics = Metrics::new(config.metrics.tenants);
        let store: Arc<dyn Store> = MeasuredStore::new(store, &metrics);
        let readiness = Readiness::new(Arc::clone(&store), Arc::clone(&clock));
        let runner = Runner::new(Arc::clone(&store), Arc::clone(&clock), workers.handle());
        let runner = if config.roles.has(Role::Workers) {
            runner
        } else {
            runner.idle()
        };
        let snapshot = snapshot(&config, store.as_ref(), &clock)?;
        let url = config.store.parse::<StoreUrl>().map_err(Error::Bug)?;
        let app = Arc::new(Self {
            store_identity: StoreIdentity::of(&url),
            config,
            engine: Arc::new(engine),
            outbox: Outbox::default(),
            metrics,
            readiness,
            snapshot,
            runner: Arc::new(runner),
            records: Records::new(Arc::clone(&store), Partition::named("app")),
            clock,
            store,
            stopping: watch::Sender::new(false),
            workers: Arc::new(workers),
        });
        app.measure();
        app.count_dead_letters();
        app.readiness.watch();
        app.release_unused();
        Ok(app)
    }

    /// Makes the module's instances release what is not used, for as long as the app exists.
    fn release_unused(self: &Arc<Self>) {
        let app = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut rounds = tokio::time::interval(ROUND);
            rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                rounds.tick().await;
                let Some(app) = app.upgrade() else { return };
                app.engine.release_unused();
            }
        });
    }

    /// Counts the dead letters in the background until the app is dropped.
    fn count_dead_letters(self: &Arc<Self>) {
        let app = Arc::downgrade(self);
        self.workers.handle().spawn(async move {
            while let Some(app) = app.upgrade() {
                let pause = app.runner.count_dead_letters().await;
                drop(app);
                let Some(pause) = pause else { return };
                tokio::time::sleep(pause).await;
            }
        });
    }

    /// Registers the metrics and the check of the shared parts.
    fn measure(self: &Arc<Self>) {
        let engine = Arc::downgrade(&self.engine);
        self.readiness.check("module", move || {
            let can_decide = engine.upgrade().is_some_and(|engine| engine.can_decide());
            (!can_decide).then_some((State::Away, "the module does not run".into()))
        });
        self.metrics.measure_engine(&self.engine);
        self.runner.measure(&self.metrics);
        let begin = self.clock.now().seconds();
        let start = MetricFamily::gauge(
            "process_start_time",
            "The start time of the program, in seconds since 1970",
        );
        let samples = move || vec![Sample::count([], begin)];
        self.metrics.collect(start.seconds(), samples);
        let roles = MetricFamily::gauge(
            "tillgate_role",
            "1 for each role of this host, 0 for others",
        );
        self.collect(roles, |app| {
            let roles = Role::ALL.into_iter();
            let samples = roles.map(|role| {
                let has = usize::from(app.config.roles.has(role));
                Sample::count([("role", role.as_str())], has)
            });
            samples.collect()
        });
        let statuses = MetricFamily::gauge(
            "tillgate_status",
            "1 for the status of this host: ready, degraded (it decides, but something does not work) or unavailable",
        );
        self.collect(statuses, |app| {
            let now = app.readiness.report().status;
            let sample = |status: Status| {
                Sample::count([("status", status.as_str())], usize::from(status == now))
            };
            Status::ALL.map(sample).into()
        });
        let states =
            MetricFamily::gauge("tillgate_check", "1 for the state of each check of /readyz");
        self.collect(states, |app| {
            let checks = app.readiness.report().checks.into_iter();
            let samples = checks.flat_map(|(check, found)| {
                State::ALL.map(|state| {
                    let labels = [("check", check), ("state", state.as_str())];
                    Sample::count(labels, usize::from(state == found.state))
                })
            });
            samples.collect()
        });
    }

    /// Collects samples of a family at each scrape, for as long as the app exists.
    fn collect(self: &Arc<Self>, family: MetricFamily, source: fn(&Self) -> Vec<Sample>) {
        let app = Arc::downgrade(self);
        let ask = move || app.upgrade().map(|app| source(&app)).unwrap_or_default();
        self.metrics.collect(family, ask);
    }

    /// Returns the records of a partition.
    #[must_use]
    pub fn records(&self, partition: Partition) -> Records {
        self.records.in_partition(partition)
    }

    /// Keeps the records of a partition, on which decisions rest, in the snapshot, if there is one.
    pub fn keep_in_snapshot(&self, partition: Partition, contents: Contents) {
        if let Some(snapshot) = &self.snapshot {
            snapshot.keep(self.records(partition), contents);
        }
    }

    /// Removes the records of a partition, on which decisions no longer rest, from the snapshot.
    pub fn drop_from_snapshot(&self, partition: &Partition) {
        if let Some(snapshot) = &self.snapshot {
            snapshot.remove(partition);
        }
    }

    /// Returns the partitions that an earlier process kept in the snapshot and this one does not yet.
    #[must_use]
    pub fn in_snapshot(&self) -> Vec<Partition> {
        let snapshot = self.snapshot.as_ref();
        snapshot
            .map(|snapshot| snapshot.awaited())
            .unwrap_or_default()
    }

    /// Runs work that keeps a processor busy off the serving threads, once its client has a permit.
    ///
    /// # Errors
    /// Those of [`Workers::run`].
    pub async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        self.workers.run(move || work(&app)).await
    }

    /// Decides in the same way, with a permit for decisions.
    ///
    /// # Errors
    /// Those of [`Workers::run`].
    pub async fn decide_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        decide: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        self.workers.decide(move || decide(&app)).await
    }

    /// Returns a flag that becomes true when the host is stopping: streams without end must end then.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Announces that the host is stopping.
    pub fn begin_stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// Starts the writer of the snapshot, if it is needed. Memory is as recent as a store in the same process, so only a
/// store on other machines needs one.
fn snapshot(
    config: &Config,
    store: &dyn Store,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<SnapshotWriter>>> {
    let is_remote = matches!(config.store.parse(), Ok(StoreUrl::Redis(_)));
    if config.snapshot.is_empty() || !is_remote || store.snapshot_of().is_some() {
        return Ok(None);
    }
    let folder = config.snapshot.clone().into();
    let writer = SnapshotWriter::start(folder, config.store_name(), Arc::clone(clock));
    writer.map(Some).map_err(|cause| {
        let folder = &config.snapshot;
        Error::Bug(format!(
            "the folder {folder} of the snapshot cannot be created: {cause}"
        ))
    })
}

fn bug(cause: &dyn std::fmt::Display) -> Error {
    Error::Bug(cause.to_string())
}
