//! Decisions that were made elsewhere: a till hands them in, and they are on disk when that is answered.
//!
//! A till numbers its decisions, and hands them in by these numbers, ascending. How far it has come is kept in the store
//! (`tills.rs`), so that what it hands in again is not written again. It is written first: when the host dies in between, the
//! record has some decisions twice, and who reads it knows them by till and number.

mod body;
mod tills;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use tillgate_engine::decision::Decision;
use tokio::sync::oneshot;

pub(in crate::conditions) use self::body::{Report, report, till_schema};
use self::body::{Reported, Rule};
use self::tills::{Stored, Till};
pub(in crate::conditions) use self::tills::{TillQuery, is_till_cursor};
use super::DecisionLog;
use super::line::Line;
use super::queue::Room;
use super::writer::HandedIn;
use crate::clock::Timestamp;
use crate::conditions::Conditions;
use crate::conditions::backlog::Backlog;
use crate::conditions::catalog::TenantCatalog;
use crate::conditions::choice::Choice;
use crate::error::{Error, Result};
use crate::identity::Caller;

/// How long a till waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is begun anew, when the same till hands in elsewhere at the same time.
const MAX_ATTEMPTS: usize = 8;

const NO_RECORD: Error = Error::Overloaded("this host puts no decisions on record now");

/// What became of what was handed in.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::conditions) struct Receipt {
    till: String,
    /// The number of the till's last decision.
    sequence: u64,
    /// How many are on record now.
    written: usize,
    /// How many were there already.
    repeated: usize,
    /// How many the tenant does not want on record.
    left_out: usize,
}

impl Conditions {
    /// Puts the decisions of a till on record.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has too many tills; [`Error::Overloaded`] when they cannot be written; when the
    /// store is unavailable.
    pub(in crate::conditions) async fn hand_in(
        &self,
        caller: &Caller,
        report: &Report,
    ) -> Result<Receipt> {
        let (tenant, _) = self.tenant(&caller.tenant).await?;
        let catalog = tenant.catalog();
        let last = report.decisions.last();
        let last = last.map_or(0, |reported| reported.sequence);
        if catalog.on_record() == Choice::None {
            return Ok(Receipt {
                till: report.till.clone(),
                sequence: last,
                written: 0,
                repeated: 0,
                left_out: report.decisions.len(),
            });
        }
        let log = self.decision_log.as_ref().ok_or(NO_RECORD)?;
        let records = tenant.own().records();
        for _ in 0..MAX_ATTEMPTS {
            let stored = Stored::read(records, &report.till, &caller.subject).await?;
            stored.refuse_beyond(self.app.config.quotas.tills)?;
            let till = stored.till();
            let mut writing = Writing {
                caller,
                catalog: &catalog,
                received: self.app.clock.now(),
                receipt: Receipt {
                    till: report.till.clone(),
                    sequence: last.max(till.sequence),
                    written: 0,
                    repeated: 0,
                    left_out: 0,
                },
                till,
                lines: Vec::new(),
            };
            report.decisions.iter().for_each(|one| writing.add(one));
            let Writing {
                till,
                receipt,
                lines,
                ..
            } = writing;
            if receipt.repeated < report.decisions.len() {
                log.write(catalog.backlog(), lines, receipt.written).await?;
                let change = stored.change(&till)?;
                if records.commit(change).await?.is_none() {
                    continue;
                }
            }
            log.count_handed_in(&receipt);
            return Ok(receipt);
        }
        Err(Error::Busy)
    }
}

/// Lines that are made of what is handed in.
struct Writing<'r> {
    caller: &'r Caller,
    catalog: &'r TenantCatalog,
    received: Timestamp,
    /// How far the till is.
    till: Till,
    receipt: Receipt,
    lines: Vec<u8>,
}

impl Writing<'_> {
    fn add(&mut self, reported: &Reported) {
        if reported.sequence <= self.till.sequence {
            self.receipt.repeated += 1;
            return;
        }
        (self.till.sequence, self.till.at) = (reported.sequence, self.received);
        let dropped = reported.dropped_before.unwrap_or_default();
        self.till.missing = self.till.missing.saturating_add(dropped);
        let allows = reported.decision == Decision::Allow;
        if allows && self.catalog.on_record() == Choice::Denials {
            self.receipt.left_out += 1;
            return;
        }
        self.line(reported);
        (self.till.written, self.till.missing) = (reported.sequence, 0);
        self.receipt.written += 1;
    }

    fn line(&mut self, reported: &Reported) {
        let text = |text: &Option<String>| text.clone().map(Into::into);
        let (condition, project) = match &reported.rule {
            Rule::Condition(id) => (Some(id.as_str().into()), None),
            Rule::Project(id) => (None, Some(id.to_string().into())),
        };
        let unit = reported.unit.as_deref().or(self.caller.unit.as_deref());
        let line = Line {
            at: reported.at.to_millis_text().into(),
            tenant_id: Some(self.caller.tenant.as_str().into()),
            client_id: Some((&*self.caller.subject).into()),
            business_unit_id: unit.map(Into::into),
            item_id: Some(reported.item.as_str().into()),
            condition_id: condition,
            project_id: project,
            etag: text(&reported.etag),
            decision: Some(reported.decision.as_str().into()),
            reason: text(&reported.reason),
            restriction: text(&reported.restriction),
            engine: text(&reported.engine),
            catalog: text(&reported.catalog),
            correlation_id: reported.correlation.map(|id| id.to_string().into()),
            till: Some(self.receipt.till.as_str().into()),
            epoch: greater_than_0(self.till.epoch),
            sequence: Some(reported.sequence),
            previous: greater_than_0(self.till.written),
            dropped_before: greater_than_0(self.till.missing),
            received: Some(self.received.to_millis_text().into()),
            ..Line::default()
        };
        line.write(&mut self.lines);
    }
}

fn greater_than_0(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

impl DecisionLog {
    /// Writes lines, and waits until they are on disk.
    async fn write(&self, backlog: &Arc<Backlog>, lines: Vec<u8>, count: usize) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let room = Room::take(&self.shared.queue, backlog, lines.len()).map_err(|_| NO_RECORD)?;
        let (done, written) = oneshot::channel();
        self.shared.hand_in(HandedIn {
            lines,
            count: u64::try_from(count).unwrap_or(u64::MAX),
            done,
            room,
        });
        match tokio::time::timeout(PATIENCE, written).await {
            Ok(Ok(true)) => Ok(()),
            _ => Err(NO_RECORD),
        }
    }

    fn count_handed_in(&self, receipt: &Receipt) {
        let counts = [receipt.written, receipt.repeated, receipt.left_out];
        for (counter, count) in self.shared.handed_in_counts.iter().zip(counts) {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }
}
