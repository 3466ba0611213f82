//! Counts a tenant's webhooks and its consumers. The commits that add or remove one also change the count, so that no
//! two of them exceed the quota together, on whichever hosts they are made.

use serde::de::IgnoredAny;
use tillgate_base::data::quota::{self, exchange};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::Result;

use super::webhook::WEBHOOK;

/// A kind of record that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// The key of the count.
    pub(crate) count_key: &'static str,
    /// The records to count when the count is missing, because an earlier version did not keep one. `None`: a missing
    /// count means that there are none.
    uncounted: Option<&'static str>,
    name: &'static str,
}

/// Webhooks. A tenant whose webhooks have not changed since they are counted has no count.
pub(crate) const WEBHOOKS: Counted = Counted {
    count_key: "usage/webhooks",
    uncounted: Some(WEBHOOK),
    name: "webhooks",
};

/// Consumers. A tenant has some exactly while it has a count: commits check that (`events/log.rs`).
pub(crate) const CONSUMERS: Counted = Counted {
    count_key: "usage/event-consumers",
    uncounted: None,
    name: "event consumers",
};

impl Counted {
    /// Returns how many there are.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn used(self, records: &Records) -> Result<usize> {
        Ok(self.read(records).await?.1)
    }

    /// Adds one to the count, in a change.
    ///
    /// # Errors
    /// [`Error::Conflict`](tillgate_base::error::Error::Conflict) when there are `max` already; when the store is unavailable.
    pub(crate) async fn add_one(
        self,
        records: &Records,
        change: &mut Change,
        max: usize,
    ) -> Result<()> {
        let (counted, used) = self.read(records).await?;
        let used = exchange(self.name, quota::count(used), [0, 1], quota::count(max))?;
        change.expect(self.count_key, counted.as_ref());
        change.put(self.count_key, &used)
    }

    /// Takes one off the count, in a change.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn remove_one(self, records: &Records, change: &mut Change) -> Result<()> {
        let (counted, used) = self.read(records).await?;
        change.expect(self.count_key, counted.as_ref());
        match (used.saturating_sub(1), self.uncounted) {
            (0, None) => change.delete(self.count_key),
            // The count stays even at zero: if others counted the records again then, a commit that relies on their
            // result would not see that a count came and went.
            (left, _) => change.put(self.count_key, &left)?,
        }
        Ok(())
    }

    async fn read(self, records: &Records) -> Result<(Option<Versioned<usize>>, usize)> {
        let counted = records.get::<usize>(self.count_key).await?;
        let used = match (&counted, self.uncounted) {
            (Some(counted), _) => counted.record,
            (None, Some(prefix)) => records.all::<IgnoredAny>(prefix).await?.len(),
            (None, None) => 0,
        };
        Ok((counted, used))
    }
}
