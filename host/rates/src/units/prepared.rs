//! A cache of values that are prepared for answers, shared by all requests. It has one value for each version of the
//! source.
//!
//! A version is the key and the revision of a record, or a key that names the content. A value is therefore never out
//! of date and needs no invalidation. Unused values make room for others. A missing value is made once, however many
//! requests wait for it.

use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tillgate_base::error::{Error, Result};
use tillgate_store::Partition;

/// The most bytes of all values: 24 MiB.
const CAPACITY: u64 = 24 << 20;

/// The expected number of values.
const EXPECTED: usize = 4096;

/// The number of parts of the cache. A value that is larger than a part is made again each time.
const PARTS: usize = 2;

/// The memory that a value takes besides its content, in bytes.
const OVERHEAD: usize = 256;

/// A tenant's partition and the version of something in it.
type Version = (Partition, String);

#[derive(Debug)]
pub(crate) struct Prepared<V: Weighed>(Cache<Version, Arc<V>, BySize>);

/// A value that knows how many bytes of memory it takes.
pub(crate) trait Weighed {
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

    /// Returns the value of a version; `make` makes it if it is missing.
    ///
    /// # Errors
    /// Any error of `make`.
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
