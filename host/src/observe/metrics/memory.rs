//! What is held in memory, by kind, and how old it is.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::asked::{Asked, Sample, encode};

/// How old memory is that requests are answered from, by what it holds.
pub const AGE_OF_MEMORY: Asked = Asked::gauge(
    "tillgate_memory_age",
    "How old the oldest is that requests are answered from, by kind; at most a second while the store answers",
)
.seconds();

const OBJECTS: Asked = Asked::gauge(
    "tillgate_memory_objects",
    "How many there are in memory, by kind",
);

const BYTES: Asked = Asked::gauge(
    "tillgate_memory_content",
    "How large the contents are of what is in memory, by kind, without what it takes to hold them",
)
.bytes();

/// What is held of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// What they are.
    pub kind: &'static str,
    /// How many there are.
    pub count: usize,
    /// The bytes of their contents, where these are known.
    pub bytes: Option<usize>,
}

pub(crate) type Holder = Box<dyn Fn() -> Vec<Held> + Send + Sync>;

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Vec<Holder>>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    pub(crate) fn add(&self, holder: Holder) {
        let mut holders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        holders.push(holder);
    }
}

impl Collector for Memory {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let holders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held: Vec<Held> = holders.iter().flat_map(|holder| holder()).collect();
        let sample = |kind, number| Sample::count([("kind", kind)], number);
        let counts = held.iter().map(|held| sample(held.kind, held.count));
        encode(&mut encoder, &OBJECTS, &counts.collect::<Vec<_>>())?;
        let sizes = held.iter();
        let sizes = sizes.filter_map(|held| held.bytes.map(|bytes| sample(held.kind, bytes)));
        encode(&mut encoder, &BYTES, &sizes.collect::<Vec<_>>())
    }
}
