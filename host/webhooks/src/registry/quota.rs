//! How many webhooks a tenant has, and how many consumers. They are counted in the commits that
//! add or remove one, so that no two of them pass the quota together, on whichever hosts they are made.

use serde::de::IgnoredAny;
use tillgate_base::data::quota::{self, exchange};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::Result;

use super::webhook::WEBHOOK;

/// A kind of record that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// The record of how many there are.
    pub(crate) count_key: &'static str,
    /// The records that are counted where the count is missing, since an earlier version has not counted them. `None`: a
    /// missing count says that there are none.
    uncounted: Option<&'static str>,
    /// What they are called.
    name: &'static str,
}

/// Webhooks. Those of a tenant that has had no change of them since they are counted have no record of how many there are.
pub(crate) const WEBHOOKS: Counted = Counted {
    count_key: "usage/webhooks",
    uncounted: Some(WEBHOOK),
    name: "webhooks",
};

/// Consumers. A tenant has some exactly while there is the record of how many: commits check that (`events/log.rs`).
pub(crate) const CONSUMERS: Counted = Counted {
    count_key: "usage/event-consumers",
    uncounted: None,
    name: "event consumers",
};

impl Counted {
    /// How many there are.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn used(self, records: &Records) -> Result<usize> {
        Ok(self.read(records).await?.1)
    }

    /// Adds to a change that there is one more.
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

    /// Adds to a change that there is one fewer.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn remove_one(self, records: &Records, change: &mut Change) -> Result<()> {
        let (counted, used) = self.read(records).await?;
        change.expect(self.count_key, counted.as_ref());
        match (used.saturating_sub(1), self.uncounted) {
            (0, None) => change.delete(self.count_key),
            // Also when none is left: if others counted anew then, a commit that rests on what they have found would not see
            // that a count came and went.
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
