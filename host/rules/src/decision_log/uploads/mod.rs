//! Decisions that were made elsewhere: a till uploads them, and they are on disk before the upload is answered.
//!
//! A till numbers its decisions, and uploads them in ascending order of these numbers. The store keeps its progress
//! (`tills.rs`), so that repeated decisions are not written again. The log is written first: if the host dies in
//! between, the log has some decisions twice, and its readers recognize them by till and number.

mod body;
mod tills;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Caller;
use tillgate_engine::outcome::Decision;
use tillgate_store::clock::Timestamp;

use self::body::{Reported, Rule};
pub use self::body::{Upload, till_schema, upload_body};
use self::tills::{Stored, Till};
pub use self::tills::{
    TillPage, TillQuery, forget_till, is_till_cursor, till_cursor, tills, tills_used,
};
use super::DecisionLog;
use super::choice::Choice;
use super::line::Line;

/// The time that a till waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// The error of a host that writes no log, or cannot.
pub const NO_LOG: Error = Error::Overloaded("this host writes no decision log now");

/// The result of sending decisions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DecisionReceipt")]
pub struct Receipt {
    #[schemars(schema_with = "till_schema")]
    till: String,
    /// The number of the till's last decision.
    #[schemars(schema_with = "body::number_schema")]
    sequence: u64,
    /// The number of decisions that were written to the log.
    written: usize,
    /// The number of decisions that were repetitions.
    repeated: usize,
    /// The number of decisions that the tenant has not chosen to log.
    left_out: usize,
}

impl Receipt {
    /// Creates the receipt for a tenant that wants no decisions in the log.
    pub fn of_none(upload: &Upload) -> Self {
        Self {
            left_out: upload.decisions.len(),
            ..Self::new(upload, 0)
        }
    }

    fn new(upload: &Upload, known: u64) -> Self {
        let last = upload
            .decisions
            .last()
            .map_or(0, |reported| reported.sequence);
        Self {
            till: upload.till.clone(),
            sequence: last.max(known),
            written: 0,
            repeated: 0,
            left_out: 0,
        }
    }
}

/// Puts the decisions of a till into the log.
#[derive(Debug)]
pub struct Uploads<'r> {
    pub log: &'r DecisionLog,
    /// The records of the tenant.
    pub records: &'r Records,
    /// The most tills that the tenant may have.
    pub max_tills: usize,
    pub choice: Choice,
    pub caller: &'r Caller,
    pub now: Timestamp,
}

impl Uploads<'_> {
    /// Puts the decisions of a till into the log.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has too many tills; [`Error::Overloaded`] when the decisions cannot be
    /// written; when the store is unavailable.
    pub async fn take(&self, upload: &Upload) -> Result<Receipt> {
        let plan = async || {
            let stored = Stored::read(self.records, &upload.till, &self.caller.subject).await?;
            stored.refuse_beyond(self.max_tills)?;
            let known = stored.sequence();
            let mut receipt = Receipt::new(upload, known);
            let (mut lines, mut count) = (Vec::new(), 0);
            for reported in &upload.decisions {
                if reported.sequence <= known {
                    receipt.repeated += 1;
                    continue;
                }
                if let Some(missing) = reported.dropped_before {
                    let line = Line {
                        missing: Some(missing),
                        ..self.line(&upload.till, reported)
                    };
                    line.write(&mut lines);
                    count += 1;
                }
                if self.choice == Choice::Denials && reported.decision == Decision::Allow {
                    receipt.left_out += 1;
                    continue;
                }
                self.decision(&upload.till, reported).write(&mut lines);
                receipt.written += 1;
                count += 1;
            }
            if receipt.repeated == upload.decisions.len() {
                return Ok((Change::default(), receipt));
            }
            if count > 0 && !self.log.write(lines, count, PATIENCE).await {
                return Err(NO_LOG);
            }
            let till = Till {
                client: self.caller.subject.to_string(),
                sequence: receipt.sequence,
                at: self.now,
            };
            Ok((stored.change(&till)?, receipt))
        };
        self.records.change(plan).await
    }

    /// Returns the members that all lines about a till's decision have.
    fn line<'l>(&'l self, till: &'l str, reported: &Reported) -> Line<'l> {
        Line {
            at: reported.at.to_millis_text().into(),
            tenant_id: Some(self.caller.tenant.as_str().into()),
            client_id: Some((&*self.caller.subject).into()),
            till: Some(till.into()),
            sequence: Some(reported.sequence),
            received: Some(self.now.to_millis_text().into()),
            ..Line::default()
        }
    }

    fn decision<'l>(&'l self, till: &'l str, reported: &'l Reported) -> Line<'l> {
        let text = |text: &'l Option<String>| text.as_deref().map(Into::into);
        let (condition_id, project_id) = match &reported.rule {
            Rule::Condition(id) => (Some(id.as_str().into()), None),
            Rule::Project(id) => (None, Some(id.to_string().into())),
        };
        let unit = reported.unit.as_deref().or(self.caller.unit.as_deref());
        Line {
            business_unit_id: unit.map(Into::into),
            item_id: Some(reported.item.as_str().into()),
            condition_id,
            project_id,
            etag: text(&reported.etag),
            decision: Some(reported.decision.as_str().into()),
            reason: text(&reported.reason),
            restriction: text(&reported.restriction),
            engine: text(&reported.engine),
            catalog: text(&reported.catalog),
            correlation_id: reported.correlation.map(|id| id.to_string().into()),
            ..self.line(till, reported)
        }
    }
}
