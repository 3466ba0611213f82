//! A histogram of durations: recording one takes two atomic operations, while the library's own takes a lock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// The bounds for operations that take microseconds.
const SHORT: &[Duration] = &[
    micros(1),
    Duration::from_nanos(2_500),
    micros(5),
    micros(10),
    micros(25),
    micros(100),
    micros(1_000),
    micros(10_000),
    micros(100_000),
];

/// The bounds for operations that may wait.
const LONG: &[Duration] = &[
    micros(100),
    micros(250),
    micros(500),
    micros(1_000),
    micros(2_500),
    micros(5_000),
    micros(10_000),
    micros(25_000),
    micros(50_000),
    micros(100_000),
    micros(250_000),
    micros(1_000_000),
    micros(2_500_000),
    micros(10_000_000),
];

/// A histogram of durations. A clone is the same histogram.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Recorded>);

#[derive(Debug)]
struct Recorded {
    bounds: &'static [Duration],
    /// The number of durations up to each bound and above the one before; the last counts those above all bounds.
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Histogram {
    /// Creates a histogram for operations that take microseconds.
    #[must_use]
    pub fn short() -> Self {
        Self::new(SHORT)
    }

    /// Creates a histogram for operations that may wait.
    #[must_use]
    pub fn long() -> Self {
        Self::new(LONG)
    }

    fn new(bounds: &'static [Duration]) -> Self {
        Self(Arc::new(Recorded {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
        }))
    }

    /// Records a duration.
    pub fn record(&self, took: Duration) {
        let Recorded {
            bounds,
            counts,
            sum_ns,
        } = &*self.0;
        let bucket = bounds.iter().take_while(|bound| **bound < took).count();
        if let Some(count) = counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        sum_ns.fetch_add(took_ns, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let bounds = self.0.bounds.iter().map(Duration::as_secs_f64);
        let bounds = bounds.chain([f64::INFINITY]);
        let counts = self.0.counts.iter();
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let sum = Duration::from_nanos(self.0.sum_ns.load(Ordering::Relaxed)).as_secs_f64();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
