//! The metrics of this host, for Prometheus: the registry of all families, and the ways into it.
//!
//! Frequent events are recorded on a handle that was resolved before, once for a route or a rule: a few atomic
//! operations, no lock and no look-up. Values that are known elsewhere, such as how much is in memory, are collected at
//! each scrape ([`Metrics::collect`], [`Metrics::collect_memory`]). Labels are bounded by the program's own routes,
//! rules, verbs and queues, never by the content of a request; tenants are named only when that is switched on. This
//! module knows no feature: each feature registers its own metrics. Nothing outside this folder knows the library.

mod collector;
mod engine;
mod histogram;
mod memory;
mod process;
mod requests;
mod store;
mod tenants;
mod text;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::encoding::text as open_metrics;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};

use self::collector::Collectors;
pub use self::collector::{MetricFamily, Sample};
pub use self::histogram::Histogram;
use self::memory::Memory;
pub use self::memory::{AGE_OF_MEMORY, MemoryUse};
pub use self::requests::{Recorder, Requests};
pub use self::store::MeasuredStore;
pub use self::tenants::{MAX_TENANTS, Tenants};
use crate::error::{Error, Result};

/// A number that only increases; recording is an atomic operation that no other thread waits for.
pub type Counter = prometheus_client::metrics::counter::Counter;

/// The media type of OpenMetrics, which Prometheus asks for.
pub const OPEN_METRICS: &str = "application/openmetrics-text";

/// The media type of the text format of Prometheus, which others ask for.
pub const TEXT: &str = "text/plain";

/// A scrape, in both formats.
#[derive(Clone, Debug)]
pub struct Exposition {
    /// OpenMetrics 1.0.
    pub open_metrics: Bytes,
    /// The text format 0.0.4.
    pub text: Bytes,
}

/// Scraping needs no token: a text is reused for this many times as long as it took to write, so that scraping takes at
/// most a twentieth of a processor.
const REUSED: u32 = 20;

/// The name of a label and its value.
type Label = (&'static str, Cow<'static, str>);

/// A family of counters, by the values of its labels.
#[derive(Clone, Debug)]
pub struct Counters<const N: usize> {
    names: [&'static str; N],
    family: Family<[Label; N], Counter>,
}

impl<const N: usize> Counters<N> {
    /// Returns the counter with these labels, which exists from then on.
    pub fn with<V: Into<Cow<'static, str>>>(&self, values: [V; N]) -> Counter {
        self.family.get_or_create_owned(&labels(self.names, values))
    }
}

/// A family of histograms of durations, by the values of its labels.
#[derive(Clone, Debug)]
pub struct Histograms<const N: usize> {
    names: [&'static str; N],
    family: Family<[Label; N], Histogram>,
}

impl<const N: usize> Histograms<N> {
    /// Returns the histogram with these labels, which exists from then on.
    pub fn with<V: Into<Cow<'static, str>>>(&self, values: [V; N]) -> Histogram {
        self.family.get_or_create_owned(&labels(self.names, values))
    }
}

fn labels<V: Into<Cow<'static, str>>, const N: usize>(
    names: [&'static str; N],
    values: [V; N],
) -> [Label; N] {
    let mut values = values.into_iter().map(Into::into);
    names.map(|name| (name, values.next().unwrap_or_default()))
}

/// The registry of a host's metric families.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    asked: Arc<Collectors>,
    memory: Arc<Memory>,
    requests: Requests,
    tenants: Option<Arc<Tenants>>,
    /// The last scrape, and the time until which it is reused.
    last: tokio::sync::Mutex<Option<(Instant, Exposition)>>,
}

impl Metrics {
    /// Creates the families that every host has. With `names_tenants`, requests and decisions are also counted by
    /// tenant.
    #[must_use]
    pub fn new(names_tenants: bool) -> Self {
        let mut registry = Registry::default();
        let asked: Arc<Collectors> = Arc::default();
        let memory: Arc<Memory> = Arc::default();
        registry.register_collector(Box::new(Arc::clone(&asked)));
        registry.register_collector(Box::new(Arc::clone(&memory)));
        let registry = Mutex::new(registry);
        let requests = Requests::new(&registry);
        let tenants = names_tenants.then(|| Arc::new(Tenants::new(&registry)));
        let metrics = Self {
            registry,
            asked,
            memory,
            requests,
            tenants,
            last: tokio::sync::Mutex::default(),
        };
        process::register(&metrics);
        metrics
    }

    /// Returns the metrics of requests.
    #[must_use]
    pub const fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the metrics by tenant; `None` unless they are switched on.
    #[must_use]
    pub const fn tenants(&self) -> Option<&Arc<Tenants>> {
        self.tenants.as_ref()
    }

    /// Registers a single counter.
    pub fn counter(&self, name: &'static str, help: &'static str) -> Counter {
        let counter = Counter::default();
        lock(&self.registry).register(name, help, counter.clone());
        counter
    }

    /// Registers a family of counters. `name` is without its `_total`.
    pub fn counters<const N: usize>(
        &self,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
    ) -> Counters<N> {
        counters(&self.registry, name, help, labels)
    }

    /// Registers a family of histograms of durations. `name` is without its `_seconds`; `new` makes one.
    pub fn histograms<const N: usize>(
        &self,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        new: fn() -> Histogram,
    ) -> Histograms<N> {
        histograms(&self.registry, name, help, labels, new)
    }

    /// Collects samples of a family at each scrape. Several sources may have samples of the same family.
    pub fn collect(
        &self,
        family: MetricFamily,
        source: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) {
        self.asked.add(family, Box::new(source));
    }

    /// Collects the contents of memory at each scrape.
    pub fn collect_memory(&self, source: impl Fn() -> Vec<MemoryUse> + Send + Sync + 'static) {
        self.memory.add(Box::new(source));
    }

    /// Writes all families in OpenMetrics. Asking all sources may take milliseconds.
    ///
    /// # Errors
    /// [`Error::Bug`] when a family cannot be written.
    pub fn encode(&self) -> Result<String> {
        let mut text = String::new();
        open_metrics::encode(&mut text, &lock(&self.registry))
            .map_err(|_| Error::Bug("the metrics cannot be written".to_owned()))?;
        Ok(text)
    }

    /// Writes all families in both formats.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub fn expose(&self) -> Result<Exposition> {
        let encoded = self.encode()?;
        Ok(Exposition {
            text: text::from_open_metrics(&encoded).into(),
            open_metrics: encoded.into(),
        })
    }

    /// Returns the last scrape while it is recent, or else a new one, written by `expose`. Concurrent callers share it.
    ///
    /// # Errors
    /// Those of `expose`.
    pub async fn scrape(
        &self,
        expose: impl Future<Output = Result<Exposition>>,
    ) -> Result<Exposition> {
        let mut last = self.last.lock().await;
        let begin = Instant::now();
        if let Some((until, exposition)) = &*last
            && begin < *until
        {
            return Ok(exposition.clone());
        }
        let exposition = expose.await?;
        let now = Instant::now();
        let reused: Duration = REUSED * now.duration_since(begin);
        *last = Some((now + reused, exposition.clone()));
        Ok(exposition)
    }
}

fn counters<const N: usize>(
    registry: &Mutex<Registry>,
    name: &'static str,
    help: &'static str,
    names: [&'static str; N],
) -> Counters<N> {
    let family = Family::default();
    lock(registry).register(name, help, family.clone());
    Counters { names, family }
}

fn histograms<const N: usize>(
    registry: &Mutex<Registry>,
    name: &'static str,
    help: &'static str,
    names: [&'static str; N],
    new: fn() -> Histogram,
) -> Histograms<N> {
    let family = Family::new_with_constructor(new);
    lock(registry).register_with_unit(name, help, Unit::Seconds, family.clone());
    Histograms { names, family }
}

fn lock(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock()
}
