//! Decisions that go into the decision log: the lines are made of what the module returns for the log beside its answer.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use serde::Deserialize;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::engine::MODULE_SHA256;
use tillgate_base::error::Result;
use tillgate_base::identity::Caller;
use tillgate_base::observe::readiness::Warning;
use tillgate_engine::outcome::Decision;
use tillgate_engine::record::Record;
use tillgate_engine::restriction::ProjectId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::Conditions;
use super::catalog::TenantCatalog;
use crate::decision_log::{self, Choice, DecisionLog, Line, NO_LOG, Receipt, Upload, Uploads};

/// The bytes that most lines take.
const LINE: usize = 512;

/// The rows of a decision of which the log keeps nothing.
const NO_ROWS: &[u8] = b"[]";

/// The reason for an item whose condition is not in force, since the answer has no result of that condition.
const NOT_IN_FORCE: &str = "condition.not_in_force";

/// The module's row of an item ([`tillgate_engine::record`]).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'r> {
    #[serde(borrow)]
    item_id: Cow<'r, str>,
    #[serde(borrow)]
    verdicts: Vec<Verdict<'r>>,
    /// Conditions that are not in force.
    #[serde(default)]
    unresolved: Vec<&'r str>,
}

/// The rule that decided about an item, if there is one, and its decision.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verdict<'r> {
    condition_id: Option<&'r str>,
    project_id: Option<&'r str>,
    decision: &'r str,
    reason: Option<&'r str>,
    #[serde(borrow)]
    restriction: Option<Cow<'r, str>>,
}

impl<'r> Row<'r> {
    fn into_verdicts(self) -> impl Iterator<Item = Verdict<'r>> {
        let unresolved = self.unresolved.into_iter().map(|id| Verdict {
            condition_id: Some(id),
            project_id: None,
            decision: Decision::SoftDeny.as_str(),
            reason: Some(NOT_IN_FORCE),
            restriction: None,
        });
        self.verdicts.into_iter().chain(unresolved)
    }
}

/// Puts one decision into the log.
#[derive(Debug)]
pub(super) struct Logger {
    log: Arc<DecisionLog>,
    choice: Choice,
    /// The caller, and the correlation id of the request.
    caller: Arc<Caller>,
    correlation: Uuid,
}

impl Conditions {
    /// Returns the log that this host writes, if it writes one.
    #[must_use]
    pub const fn decision_log(&self) -> Option<&Arc<DecisionLog>> {
        self.decision_log.as_ref()
    }

    /// Returns the logger of a decision, if it may go into the log. `asked` returns the caller and the correlation id.
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
    /// Those of [`Uploads::take`].
    pub(super) async fn upload(&self, caller: &Caller, upload: &Upload) -> Result<Receipt> {
        let (tenant, _) = self.tenant(&caller.tenant).await?;
        let choice = tenant.catalog().choice();
        if choice == Choice::None {
            return Ok(Receipt::of_none(upload));
        }
        let uploads = Uploads {
            log: self.decision_log.as_ref().ok_or(NO_LOG)?,
            records: tenant.own().records(),
            max_tills: self.app.config.quotas.tills,
            choice,
            caller,
            now: self.app.clock.now(),
        };
        uploads.take(upload).await
    }

    /// Registers the log's metrics, and a warning while it is incomplete or tenants want one that this host does not write.
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
            let why = "tenants want their decisions in a log, but this host writes none";
            (count > 0).then_some(Warning { count, why })
        });
    }
}

impl Logger {
    /// Returns the verdicts that the log keeps.
    pub(super) const fn record(&self) -> Record {
        match self.choice {
            Choice::All => Record::All,
            Choice::None | Choice::Denials => Record::Denials,
        }
    }

    /// Logs a decision that was made with a catalog, from the module's rows of it ([`tillgate_engine::record`]).
    pub(super) fn log(self, catalog: &TenantCatalog, rows: &[u8], at: Timestamp) {
        if rows == NO_ROWS {
            return;
        }
        let rows = match serde_json::from_slice::<Vec<Row<'_>>>(rows) {
            Ok(rows) => rows,
            Err(cause) => {
                tracing::error!(%cause, "the module's record of a decision cannot be read");
                return self.log.miss(at);
            }
        };
        let (time, correlation) = (at.to_millis_text(), self.correlation.to_string());
        let (mut lines, mut count) = (Vec::with_capacity(LINE), 0);
        for mut row in rows {
            let item = std::mem::take(&mut row.item_id);
            for verdict in row.into_verdicts() {
                let line = Line {
                    at: (&*time).into(),
                    tenant_id: Some(catalog.tenant().as_str().into()),
                    client_id: Some((&*self.caller.subject).into()),
                    business_unit_id: self.caller.unit.as_deref().map(Into::into),
                    item_id: Some((&*item).into()),
                    condition_id: verdict.condition_id.map(Into::into),
                    project_id: verdict.project_id.map(Into::into),
                    etag: etag(catalog, &verdict).map(|etag| etag::digest(etag).into()),
                    decision: Some(verdict.decision.into()),
                    reason: verdict.reason.map(Into::into),
                    restriction: verdict.restriction,
                    engine: Some(MODULE_SHA256.into()),
                    correlation_id: Some((&*correlation).into()),
                    ..Line::default()
                };
                line.write(&mut lines);
                count += 1;
                // Item ids may be long, and are repeated: a basket may have more lines than there is ever room for.
                if !self.log.may_have_room(lines.len()) {
                    self.log.miss(at);
                    return;
                }
            }
        }
        self.log.add(lines, count, at);
    }
}

/// Returns the version of the rule that decided, if it exists.
fn etag<'c>(catalog: &'c TenantCatalog, verdict: &Verdict<'_>) -> Option<&'c Etag> {
    if let Some(id) = verdict.condition_id {
        return Some(catalog.condition_in_force(id)?.text.etag());
    }
    let id = ProjectId::new(verdict.project_id?)?;
    Some(catalog.project(id)?.text.etag())
}
