//! Initial states: all rates that shops use, sent again (`given.md`, 4.3). A few at a time for each tenant: each has a message
//! for every shop.

use std::time::Duration;

use uuid::Uuid;

use super::progress::{self, Progress, Reach, change_key};
use crate::app::App;
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};
use crate::rates::units::tree::Tree;
use crate::rates::units::unit::{UnitId, children_prefix, no_unit};
use crate::rates::units::walk::Walk;

/// The initial states of a tenant that are being sent.
const INITIAL_STATES: &str = "rates-initial-states";

/// How many there may be.
const MAX_INITIAL_STATES: usize = 16;

/// When a caller may try again that has found as many.
const RETRY: Duration = Duration::from_secs(5);

/// Sends all rates again that shops use, those at or below a unit or all of the tenant's. `is_own` says that the tenant is
/// the caller's: another that has no units is unknown.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit or tenant; [`Error::TooMany`] when as many are being sent as may be;
/// [`Error::Unavailable`].
pub(in crate::rates) async fn send(
    app: &App,
    records: &Records,
    unit: Option<&UnitId>,
    correlation: Uuid,
    is_own: bool,
) -> Result<()> {
    let plan = async || {
        let walk = match unit {
            Some(id) => Walk::of(&*Tree::new(records).node(id).await?.ok_or_else(no_unit)?),
            None => Walk::everywhere(),
        };
        let roots = records.scan(&children_prefix(None), None, 1).await?;
        if roots.entries.is_empty() && !is_own {
            let detail = "this tenant has no business units";
            return Err(Error::NotFound(detail.to_owned()));
        }
        let mut change = Change::default();
        add(records, &mut change, correlation).await?;
        let (reach, now) = (Reach::InitialState(walk), app.clock.now());
        progress::record(records, &mut change, correlation, reach, now).await?;
        Ok((change, ()))
    };
    records.change(plan).await
}

/// Adds an initial state to those of its tenant that are being sent.
async fn add(records: &Records, change: &mut Change, correlation: Uuid) -> Result<()> {
    let read: Option<Versioned<Vec<Uuid>>> = records.get(INITIAL_STATES).await?;
    change.expect(INITIAL_STATES, read.as_ref());
    let mut sent = Vec::new();
    for earlier in read.map(|read| read.record).unwrap_or_default() {
        let progress: Option<Versioned<Progress>> = records.get(&change_key(earlier)).await?;
        if progress.is_some_and(|progress| !progress.record.passes.is_empty()) {
            sent.push(earlier);
        }
    }
    if sent.len() >= MAX_INITIAL_STATES {
        return Err(Error::TooMany {
            detail: format!("{MAX_INITIAL_STATES} initial states are being sent"),
            retry_after: RETRY,
        });
    }
    sent.push(correlation);
    change.put(INITIAL_STATES, &sent)
}
