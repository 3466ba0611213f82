//! Counts the deliveries that wait for a webhook that is disabled or failing.
//!
//! They are counted, up to a bound, when the health of webhooks is read: otherwise every commit would have to change a
//! count. Hardly any wait for a webhook that works.

use std::collections::HashMap;
use std::time::Duration;

use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::Result;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::hold::waiting_prefix;
use crate::events::delivery_id::DELIVERY;
use crate::events::delivery_record::Delivery;

/// The most deliveries counted for disabled webhooks: for one webhook, and for all.
const MAX_HELD: usize = 1_000;
const MAX_ALL_HELD: usize = 10_000;

/// The most deliveries examined for failing webhooks.
const MAX_EXAMINED: usize = 2_000;

/// The most deliveries read at once.
const PAGE: usize = 200;

/// The deliveries that wait for a webhook, as far as they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backlog {
    pub(super) waiting: usize,
    /// `true` if there may be more.
    pub(super) is_cut: bool,
}

/// Counts the deliveries that wait for disabled webhooks: those that are held, or will be once they are due.
///
/// # Errors
/// When the store is unavailable.
pub(super) async fn held(records: &Records, disabled: &[Uuid]) -> Result<HashMap<Uuid, Backlog>> {
    let (mut backlogs, mut left) = (HashMap::new(), MAX_ALL_HELD);
    for webhook in disabled {
        let backlog = held_of(records, *webhook, left.min(MAX_HELD)).await?;
        left = left.saturating_sub(backlog.waiting);
        backlogs.insert(*webhook, backlog);
    }
    Ok(backlogs)
}

async fn held_of(records: &Records, webhook: Uuid, max: usize) -> Result<Backlog> {
    let (prefix, mut after) = (waiting_prefix(webhook), None::<String>);
    let mut backlog = Backlog::default();
    while backlog.waiting < max {
        let page = PAGE.min(max - backlog.waiting);
        let read = records.scan(&prefix, after.as_deref(), page).await?;
        backlog.waiting += read.entries.len();
        after = read.entries.last().map(|(key, _)| key.clone());
        if !read.more || after.is_none() {
            return Ok(backlog);
        }
    }
    backlog.is_cut = true;
    Ok(backlog)
}

/// Counts the deliveries that wait for failing webhooks, each failing since a time. They were accepted since then, or
/// up to `span` before, which is how long a delivery is tried.
///
/// # Errors
/// When the store is unavailable.
pub(super) async fn unsettled(
    records: &Records,
    failing: &[(Uuid, Timestamp)],
    span: Duration,
) -> Result<HashMap<Uuid, Backlog>> {
    let none = |(webhook, _): &(Uuid, Timestamp)| (*webhook, Backlog::default());
    let mut backlogs: HashMap<Uuid, Backlog> = failing.iter().map(none).collect();
    let Some(begin) = failing.iter().map(|(_, since)| since.minus(span)).min() else {
        return Ok(backlogs);
    };
    let (mut after, mut examined) = (None::<String>, 0);
    while examined < MAX_EXAMINED {
        let read = records.scan(DELIVERY, after.as_deref(), PAGE).await?;
        for (key, entry) in &read.entries {
            let delivery = decode_entry::<Delivery>(key, entry)?.record;
            if delivery.created_at < begin {
                return Ok(backlogs);
            }
            if let Some(backlog) = backlogs.get_mut(&delivery.webhook_id) {
                backlog.waiting += usize::from(!delivery.status.is_final());
            }
        }
        examined += read.entries.len();
        after = read.entries.last().map(|(key, _)| key.clone());
        if !read.more || after.is_none() {
            return Ok(backlogs);
        }
    }
    backlogs.values_mut().for_each(|it| it.is_cut = true);
    Ok(backlogs)
}
