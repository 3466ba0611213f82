//! A partition, identified by its name.

use std::fmt;
use std::sync::Arc;

/// The longest name of a partition, key, log, queue or job, in bytes.
pub const MAX_NAME_BYTES: usize = 512;

/// The unit of atomicity: one tenant, or the platform. Its name has 1 to [`MAX_NAME_BYTES`] bytes without control
/// characters and without braces, which a Redis hash tag cannot contain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(Arc<str>);

impl Partition {
    /// Returns the partition with this name; `None` when the name is malformed.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        let clean = !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '{' | '}'));
        (fits && clean).then(|| Self(Arc::from(name)))
    }

    /// Returns the partition with a name that is known to be well-formed.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
