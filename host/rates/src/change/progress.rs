//! Changes by their correlation id: the shops that a change still has to reach, and how many it has reached
//! (`rates.md`, "The topic").
//!
//! The record of a change is written in the same commit as the messages of each page of shops, so that each shop is
//! visited once, whichever host continues it. Several changes may have the same correlation id and then share the
//! record.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::problem::CHANGE_NOT_FOUND;
use tillgate_api::schema::{nullable, uuid};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use crate::units::unit::{UnitId, UnitType};
use crate::units::walk::Walk;

/// The prefix of the records of changes.
pub(crate) const CHANGES: &str = "rates-change/";

/// The queue of the changes that have shops left to visit.
pub(crate) const FAN_OUT: &str = "rates-fan-out";

/// The queue that removes in time what changes leave behind (`retention.rs`): one job for each tenant.
pub(crate) const RETENTION: &str = "rates-retention";
const RETENTION_JOB: &str = "retention";

/// The most failed shops that are named.
const MAX_FAILED: usize = 100;

/// The interval of the retention job while there are changes.
const HOUR: Duration = Duration::from_secs(60 * 60);

pub(crate) fn change_key(correlation: Uuid) -> String {
    format!("{CHANGES}{correlation}")
}

/// The work for each shop of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Task {
    /// Compares what it uses now with what was last published.
    Difference,
    /// Sends all that it uses.
    InitialState,
}

/// Shops that a change has to visit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pass {
    pub(crate) task: Task,
    /// The progress of the pass.
    pub(crate) walk: Walk,
    /// The revision at which its shops were counted, once they are part of the total. Shops that were written later are
    /// up to date: every write of a shop is based on all that is set above it then.
    pub(crate) counted_at: Option<u64>,
    /// The time of the change: the date of what is new.
    pub(crate) at: Timestamp,
}

/// The record of a change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
    /// The first pass is under way.
    pub(crate) passes: VecDeque<Pass>,
    pub(crate) total: u64,
    pub(crate) done: u64,
    pub(crate) published: u64,
    /// The first shops that could not be brought up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<UnitId>,
    /// The time when it was made, in microseconds since the epoch.
    pub(crate) made_at: u64,
}

impl Progress {
    /// Notes a shop that could not be brought up to date.
    pub(crate) fn fail(&mut self, shop: UnitId) {
        if self.failed.len() < MAX_FAILED && !self.failed.contains(&shop) {
            self.failed.push(shop);
        }
    }
}

/// The progress of a change.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RateChange")]
pub(crate) struct ChangeAnswer {
    #[schemars(schema_with = "uuid")]
    correlation_id: Uuid,
    state: State,
    business_units: Visited,
    /// The first hundred shops that could not be updated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    failed: Vec<UnitId>,
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "RateChangeState")]
enum State {
    Running,
    Done,
}

/// The number of shops that a change has reached.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "VisitedShops")]
struct Visited {
    /// Shops to visit; null until they are counted.
    #[schemars(schema_with = "nullable::<u64>")]
    total: Option<u64>,
    done: u64,
    /// Shops that have received a message.
    published: u64,
}

/// The effect of a change on shops.
#[derive(Debug)]
pub(crate) enum Reach {
    /// Nothing: no shop uses other rates because of it.
    Nothing,
    /// One shop, in the change's own commit.
    Shop {
        /// True if the shop has a message.
        published: bool,
    },
    /// The shops below a unit, in the background.
    Below(UnitId, UnitType),
    /// All shops of a walk, whose rates are sent again.
    InitialState(Walk),
}

/// Returns a change as it is answered: `{ correlationId, state, businessUnits: { total, done, published }, failed? }`.
///
/// # Errors
/// [`Error::NotFound`] for an unknown change; [`Error::Unavailable`].
pub(crate) async fn answer(records: &Records, correlation: Uuid) -> Result<ChangeAnswer> {
    let read = records.get::<Progress>(&change_key(correlation)).await?;
    let progress = read.ok_or_else(|| no_change(correlation))?.record;
    let state = if progress.passes.is_empty() {
        State::Done
    } else {
        State::Running
    };
    let is_counted = |pass: &Pass| pass.counted_at.is_some();
    Ok(ChangeAnswer {
        correlation_id: correlation,
        state,
        business_units: Visited {
            total: (progress.passes.iter().all(is_counted)).then_some(progress.total),
            done: progress.done,
            published: progress.published,
        },
        failed: progress.failed,
    })
}

/// Returns the error for a correlation id that no change has.
pub(crate) fn no_change(correlation: impl std::fmt::Display) -> Error {
    Error::missing(CHANGE_NOT_FOUND, correlation)
}

/// Adds a change's record to the change, and the job that visits shops if any pass is left.
///
/// # Errors
/// [`Error::Unavailable`].
pub(super) async fn record(
    records: &Records,
    change: &mut Change,
    correlation: Uuid,
    reach: Reach,
    made_at: Timestamp,
) -> Result<()> {
    let key = change_key(correlation);
    let read: Option<Versioned<Progress>> = records.get(&key).await?;
    change.expect(&key, read.as_ref());
    let mut progress = read.map(|read| read.record).unwrap_or_default();
    progress.made_at = made_at.0;
    let pass = match reach {
        Reach::Nothing => None,
        Reach::Shop { published } => {
            progress.total += 1;
            progress.done += 1;
            progress.published += u64::from(published);
            None
        }
        Reach::Below(unit, unit_type) => Some((Task::Difference, Walk::below(&unit, unit_type))),
        Reach::InitialState(walk) => Some((Task::InitialState, walk)),
    };
    if let Some((task, walk)) = pass {
        progress.passes.push_back(Pass {
            task,
            walk,
            counted_at: None,
            at: made_at,
        });
    }
    if !progress.passes.is_empty() {
        // The job is due at once, whatever the clocks say.
        let due = Timestamp(0);
        change.enqueue(FAN_OUT, &correlation.to_string(), due, Bytes::new());
    }
    schedule_retention(change, made_at);
    change.put(&key, &progress)
}

/// Schedules the retention job for the end of the hour. All changes of an hour schedule the same job.
pub(crate) fn schedule_retention(change: &mut Change, now: Timestamp) {
    let hour = u64::try_from(HOUR.as_micros()).unwrap_or(u64::MAX);
    let due = Timestamp((now.0 / hour + 1) * hour);
    change.enqueue(RETENTION, RETENTION_JOB, due, Bytes::new());
}
