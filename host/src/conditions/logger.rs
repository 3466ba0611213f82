//! Decisions that go into the decision log: the module says beside its answer what belongs there, and the lines are made of that.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use serde::Deserialize;
use tillgate_engine::decision::Decision;
use tillgate_engine::restriction::ProjectId;
use uuid::Uuid;

use super::Conditions;
use super::catalog::TenantCatalog;
use crate::clock::Timestamp;
use crate::data::etag::{self, Etag};
use crate::decision_log::{self, Choice, DecisionLog, HandIn, Line, NO_LOG, Receipt, Report};
use crate::engine::MODULE_SHA256;
use crate::error::Result;
use crate::identity::Caller;
use crate::observe::readiness::Warning;

/// The bytes of most lines, and the most that are allocated before they are made.
const LINE: usize = 512;
const MAX_ALLOCATED: usize = 1 << 20;

/// Why an item is not allowed whose condition is not in force: the answer has no result of that.
const NOT_IN_FORCE: &str = "condition.not_in_force";

/// A row of the module: an item and what decided about it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'r> {
    #[serde(borrow)]
    item_id: Cow<'r, str>,
    project_id: Option<&'r str>,
    /// The id of a condition that is not in force.
    unresolved: Option<&'r str>,
    result: Option<RowResult<'r>>,
}

/// The result of a condition, or the one of a project.
#[derive(Deserialize)]
struct RowResult<'r> {
    /// The condition.
    id: Option<&'r str>,
    decision: &'r str,
    reason: Option<&'r str>,
    #[serde(borrow)]
    restriction: Option<Cow<'r, str>>,
}

impl Row<'_> {
    fn decision(&self) -> &str {
        match (&self.result, self.unresolved) {
            (Some(result), _) => result.decision,
            (None, Some(_)) => Decision::SoftDeny.as_str(),
            (None, None) => Decision::Allow.as_str(),
        }
    }

    fn reason(&self) -> Option<&str> {
        match &self.result {
            Some(result) => result.reason,
            None => self.unresolved.map(|_| NOT_IN_FORCE),
        }
    }

    fn condition(&self) -> Option<&str> {
        let of_result = self.result.as_ref().and_then(|result| result.id);
        of_result.or(self.unresolved)
    }
}

/// Puts one decision into the log.
#[derive(Debug)]
pub(super) struct Logger {
    log: Arc<DecisionLog>,
    choice: Choice,
    /// Who asks, and in which request.
    caller: Arc<Caller>,
    correlation: Uuid,
}

impl Conditions {
    /// The log that this host writes, if it writes one.
    #[must_use]
    pub const fn decision_log(&self) -> Option<&Arc<DecisionLog>> {
        self.decision_log.as_ref()
    }

    /// What puts a decision into the log, if it may go there. `asked` says who asks, and in which request.
    pub(super) fn logger(
        &self,
        catalog: &TenantCatalog,
        asked: impl FnOnce() -> Result<(Arc<Caller>, Uuid)>,
    ) -> Result<Option<Logger>> {
        let Some(log) = &self.decision_log else {
            return Ok(None);
        };
        let choice = catalog.choice();
        if choice == Choice::None {
            return Ok(None);
        }
        let (caller, correlation) = asked()?;
        Ok(Some(Logger {
            log: Arc::clone(log),
            choice,
            caller,
            correlation,
        }))
    }

    /// Puts the decisions of a till into the log.
    ///
    /// # Errors
    /// Those of [`HandIn::take`].
    pub(super) async fn hand_in(&self, caller: &Caller, report: &Report) -> Result<Receipt> {
        let (tenant, _) = self.tenant(&caller.tenant).await?;
        let choice = tenant.catalog().choice();
        if choice == Choice::None {
            return Ok(Receipt::of_none(report));
        }
        let hand_in = HandIn {
            log: self.decision_log.as_ref().ok_or(NO_LOG)?,
            records: tenant.own().records(),
            max_tills: self.app.config.quotas.tills,
            choice,
            caller,
            now: self.app.clock.now(),
        };
        hand_in.take(report).await
    }

    /// Registers what is known of the log, and warns while it is not whole, or tenants want one that this host does not write.
    pub(super) fn measure_log(&self) {
        decision_log::measure(self.decision_log.as_ref(), &self.app.metrics);
        let log = self.decision_log.as_ref().map(Arc::downgrade);
        let tenants = Arc::clone(&self.tenants);
        self.app.readiness.warn("decision_log", move |_| {
            if let Some(log) = &log {
                return Weak::upgrade(log).and_then(|log| log.warning());
            }
            let tenants = tenants.read();
            let wants = tenants
                .all()
                .filter(|tenant| tenant.own().current().choice() != Choice::None);
            let count = wants.count();
            let why = "tenants want decisions in a log, and this host writes none";
            (count > 0).then_some(Warning { count, why })
        });
    }
}

impl Logger {
    /// Puts a decision into the log that was made with a catalog, by what the module says of it ([`tillgate_engine::record`]).
    pub(super) fn log(self, catalog: &TenantCatalog, rows: &[u8], at: Timestamp) {
        let rows = serde_json::from_slice::<Vec<Row<'_>>>(rows);
        let mut rows = rows.unwrap_or_else(|cause| {
            tracing::error!(%cause, "what the module says of a decision cannot be read");
            Vec::new()
        });
        if self.choice == Choice::Denials {
            rows.retain(|row| row.decision() != Decision::Allow.as_str());
        }
        if rows.is_empty() {
            return;
        }
        let (time, correlation) = (at.to_millis_text(), self.correlation.to_string());
        let mut lines = Vec::with_capacity((rows.len() * LINE).min(MAX_ALLOCATED));
        for row in &rows {
            let line = Line {
                at: (&*time).into(),
                tenant_id: Some(catalog.tenant().as_str().into()),
                client_id: Some((&*self.caller.subject).into()),
                business_unit_id: self.caller.unit.as_deref().map(Into::into),
                item_id: Some((&*row.item_id).into()),
                condition_id: row.condition().map(Into::into),
                project_id: row.project_id.map(Into::into),
                etag: etag(catalog, row).map(|etag| etag::digest(etag).into()),
                decision: Some(row.decision().into()),
                reason: row.reason().map(Into::into),
                restriction: row
                    .result
                    .as_ref()
                    .and_then(|result| Some(result.restriction.as_deref()?.into())),
                engine: Some(MODULE_SHA256.into()),
                correlation_id: Some((&*correlation).into()),
                ..Line::default()
            };
            line.write(&mut lines);
        }
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        self.log.add(lines, count, at);
    }
}

/// The version of the rule that decided, if it is there.
fn etag<'c>(catalog: &'c TenantCatalog, row: &Row<'_>) -> Option<&'c Etag> {
    if let Some(id) = row.condition() {
        return Some(catalog.condition_in_force(id)?.text.etag());
    }
    let id = ProjectId::new(row.project_id?)?;
    Some(catalog.project(id)?.text.etag())
}
