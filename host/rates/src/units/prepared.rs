//! What was made for answering, shared by all requests: one value for each version of what it was made from.
//!
//! A version is named by the key of a record and its revision, or by a key that names the content, so a value is never out
//! of date and needs no notice of changes. Those that are not used make room for others. A value that is missing is made
//! once, however many requests wait for it.

use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tillgate_base::error::{Error, Result};
use tillgate_store::Partition;

/// How many bytes all values may take: 24 MiB.
const CAPACITY: u64 = 24 << 20;

/// How many values are expected.
const EXPECTED: usize = 4096;

/// Into how many parts the cache is divided: a value that is larger than one is made again each time.
const PARTS: usize = 2;

/// What a value takes besides its content, in bytes.
const OVERHEAD: usize = 256;

/// A tenant's partition, and the version of something there.
type Version = (Partition, String);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Prepared<V: Weighed>(Cache<Version, Arc<V>, BySize>);

/// Something that knows how much memory it takes.
pub(crate) trait Weighed {
    /// In bytes.
    fn bytes(&self) -> usize;
}

#[derive(Clone, Copy, Debug)]
struct BySize;

impl<V: Weighed> Weighter<Version, Arc<V>> for BySize {
    fn weight(&self, (_, version): &Version, value: &Arc<V>) -> u64 {
        u64::try_from(OVERHEAD + version.len() + value.bytes()).unwrap_or(u64::MAX)
    }
}

impl<V: Weighed> Prepared<V> {
    pub(crate) fn new() -> Result<Self> {
        let options = OptionsBuilder::new()
            .shards(PARTS)
            .estimated_items_capacity(EXPECTED)
            .weight_capacity(CAPACITY)
            .build();
        let options = options.map_err(|cause| Error::Bug(cause.to_string()))?;
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Ok(Self(Cache::with_options(
            options, BySize, hasher, lifecycle,
        )))
    }

    /// The value of a version; `make` makes it where it is missing.
    ///
    /// # Errors
    /// What `make` fails with.
    pub(crate) async fn get(
        &self,
        partition: &Partition,
        version: String,
        make: impl Future<Output = Result<V>>,
    ) -> Result<Arc<V>> {
        let version = (partition.clone(), version);
        let make = async { make.await.map(Arc::new) };
        self.0.get_or_insert_async(&version, make).await
    }
}
