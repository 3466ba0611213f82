//! How many webhooks a tenant has, temporary ones included. It is counted in the commits that add or remove one, so that no
//! two of them pass the quota together, on whichever hosts they are made.

use serde::de::IgnoredAny;

use super::webhook::WEBHOOK;
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};

/// The record of how many there are; without one there are as many as there are records of webhooks.
const USED: &str = "usage/webhooks";

/// How many there are.
///
/// # Errors
/// When the store is unavailable.
pub(in crate::webhooks) async fn used(records: &Records) -> Result<usize> {
    Ok(read(records).await?.1)
}

/// Adds to a change that there is one more.
///
/// # Errors
/// [`Error::Conflict`] when there are `max` already; when the store is unavailable.
pub(in crate::webhooks) async fn add_one(
    records: &Records,
    change: &mut Change,
    max: usize,
) -> Result<()> {
    let (counted, used) = read(records).await?;
    if used >= max {
        return Err(Error::quota("webhooks", max));
    }
    change.expect(USED, counted.as_ref());
    change.put(USED, &(used + 1))
}

/// Adds to a change that there is one fewer.
///
/// # Errors
/// When the store is unavailable.
pub(in crate::webhooks) async fn remove_one(records: &Records, change: &mut Change) -> Result<()> {
    let (counted, used) = read(records).await?;
    change.expect(USED, counted.as_ref());
    match used.saturating_sub(1) {
        0 => change.delete(USED),
        left => change.put(USED, &left)?,
    }
    Ok(())
}

async fn read(records: &Records) -> Result<(Option<Versioned<usize>>, usize)> {
    let counted = records.get::<usize>(USED).await?;
    let used = match &counted {
        Some(counted) => counted.record,
        None => records.all::<IgnoredAny>(WEBHOOK).await?.len(),
    };
    Ok((counted, used))
}
