//! Webhooks: events that a customer's endpoint has asked for, delivered with proof of who sent them, and never lost
//! once they are accepted (`webhooks.md`).
//!
//! Read the modules in this order; each imports only those before it. `registry/` is what tenants configure. `events/`
//! accepts an event in one commit with its deliveries and their jobs. `delivery/` runs these jobs: a job is one
//! attempt, and one commit writes its result. `journal/` lists deliveries, replays them, and removes old ones. `pull/`
//! gives events to the consumers that ask for them. On top of these, `webhook_changes.rs` creates, changes and removes
//! webhooks, `listen_headers.rs` signs for a developer's own machine, `usage.rs` reports how much of its quotas a
//! tenant uses, `document.rs` serves the rest of this program, and `http/` the network.

mod delivery;
mod document;
mod events;
pub mod http;
mod journal;
mod listen_headers;
mod pull;
mod registry;
mod usage;
mod webhook_changes;

use std::sync::Arc;
use std::time::Duration;

use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::egress::Names;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::{Queue, Scope, Work, Yielding};

use self::delivery::event_cache::EventCache;
use self::delivery::hold::RELEASES;
pub use self::delivery::identity_provider::IdentityProvider;
use self::delivery::job;
use self::delivery::limiter::{Limiters, Targets};
use self::delivery::metrics::{DeliveryMetrics, collect};
use self::delivery::recorder::Recorder;
use self::delivery::sender::Sender;
use self::delivery::trial::Trials;
pub use self::document::{check_settings, settings_schemas};
use self::events::accept::FAN_OUT;
use self::events::admission::Admission;
use self::events::delivery_record::{FIRST, LATER};
pub use self::events::log::EVENT_LOG;
use self::events::{fan_out, publish};
use self::journal::{release, replay, retention};
use self::pull::{Waiters, waiters};
use self::registry::cache::Caches;
pub use self::usage::Sending;

/// The most first and later attempts that start at once: on this host, and for one tenant.
const FIRST_AT_ONCE: (usize, usize) = (256, 128);
const LATER_AT_ONCE: (usize, usize) = (128, 64);

/// The additional attempts that may wait for their answers: silent receivers must not keep others waiting.
const WAITING: Yielding = Yielding {
    after: Duration::from_millis(25),
    concurrency: 4_096,
    per_partition: 2_048,
};

/// The longest that an attempt may take, including the write of its result.
const LEASE: Duration = Duration::from_secs(30);

/// The webhooks of every tenant.
#[derive(Debug)]
pub struct Webhooks {
    app: Arc<App>,
    identity: IdentityProvider,
    caches: Caches,
    admission: Admission,
    limiters: Limiters,
    targets: Targets,
    sender: Sender,
    events: EventCache,
    recorder: Recorder,
    metrics: DeliveryMetrics,
    waiters: Waiters,
    trials: Trials,
}

impl Webhooks {
    /// Starts the queues of the feature. `names` finds the addresses of receivers.
    ///
    /// # Errors
    /// When the store is unavailable, or a setting is wrong.
    pub async fn start(app: &Arc<App>, names: Arc<dyn Names>) -> Result<Arc<Self>> {
        let (settings, quotas) = (&app.config.webhooks, &app.config.quotas);
        let webhooks = Arc::new(Self {
            identity: IdentityProvider::start(app).await?,
            caches: Caches::new(app.config.limits.cached_tenants),
            admission: Admission::new(quotas.events_per_second, quotas.waiting_deliveries),
            limiters: Limiters::new(settings.max_in_flight),
            targets: Targets::new(quotas.deliveries_per_target),
            sender: Sender::new(settings, names)?,
            events: EventCache::default(),
            recorder: Recorder::new(),
            metrics: DeliveryMetrics::new(&app.metrics),
            waiters: waiters(quotas.event_consumers),
            trials: Trials::default(),
            app: Arc::clone(app),
        });
        webhooks.register(attempts(FIRST, FIRST_AT_ONCE), job::run);
        webhooks.register(attempts(LATER, LATER_AT_ONCE), job::run);
        let queue = |name| Queue {
            per_partition: 1,
            ..Queue::new(name, Scope::AllPartitions)
        };
        webhooks.register(queue(FAN_OUT), fan_out::run);
        webhooks.register(queue(replay::QUEUE), replay::run);
        webhooks.register(queue(RELEASES), release::run);
        webhooks.register(queue(retention::QUEUE), retention::run);
        publish::follow_outbox(app);
        collect(&webhooks);
        Ok(webhooks)
    }

    /// Makes the runner run the jobs of a queue for as long as the feature exists.
    fn register<A>(self: &Arc<Self>, queue: Queue, run: fn(Arc<Self>, Work) -> A)
    where
        A: Future<Output = Result<()>> + Send + 'static,
    {
        let weak = Arc::downgrade(self);
        self.app.runner.register(queue, move |work| {
            let running = weak.upgrade().map(|webhooks| run(webhooks, work));
            async move {
                match running {
                    Some(running) => running.await,
                    None => Ok(()),
                }
            }
        });
    }

    /// Returns the identity of this service to receivers.
    #[must_use]
    pub const fn identity(&self) -> &IdentityProvider {
        &self.identity
    }

    fn records(&self, tenant: &TenantId) -> Records {
        self.app.records(tenant.partition())
    }
}

fn attempts(name: &'static str, (concurrency, per_partition): (usize, usize)) -> Queue {
    Queue {
        concurrency,
        per_partition,
        yielding: Some(WAITING),
        lease: LEASE,
        // The delivery schedules its own retries; a job fails only through a fault on this side.
        ..Queue::new(name, Scope::AllPartitions)
    }
}
