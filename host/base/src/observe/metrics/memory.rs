//! Metrics of the contents of memory, by kind, and of their age.

use std::fmt;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::collector::{MetricFamily, Sample, encode};

/// The age of the memory that requests are answered from, by kind.
pub const AGE_OF_MEMORY: MetricFamily = MetricFamily::gauge(
    "tillgate_memory_age",
    "The age of the oldest data that requests are answered from, by kind; at most a second while the store answers",
)
.seconds();

const OBJECTS: MetricFamily = MetricFamily::gauge(
    "tillgate_memory_objects",
    "The number of entries in memory, by kind",
);

const BYTES: MetricFamily = MetricFamily::gauge(
    "tillgate_memory_content",
    "The size of the contents of these entries, by kind, without the overhead of keeping them",
)
.bytes();

/// The amount of a kind that is held in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    /// The kind.
    pub kind: &'static str,
    /// The number of objects.
    pub count: usize,
    /// The bytes of their contents, if known.
    pub bytes: Option<usize>,
}

pub(super) type MemorySource = Box<dyn Fn() -> Vec<MemoryUse> + Send + Sync>;

#[derive(Default)]
pub(super) struct Memory(Mutex<Vec<MemorySource>>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    pub(super) fn add(&self, source: MemorySource) {
        let mut sources = self.0.lock();
        sources.push(source);
    }
}

impl Collector for Memory {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let sources = self.0.lock();
        let held: Vec<MemoryUse> = sources.iter().flat_map(|source| source()).collect();
        let sample = |kind, number| Sample::count([("kind", kind)], number);
        let counts = held.iter().map(|held| sample(held.kind, held.count));
        encode(&mut encoder, &OBJECTS, &counts.collect::<Vec<_>>())?;
        let sizes = held.iter();
        let sizes = sizes.filter_map(|held| held.bytes.map(|bytes| sample(held.kind, bytes)));
        encode(&mut encoder, &BYTES, &sizes.collect::<Vec<_>>())
    }
}
