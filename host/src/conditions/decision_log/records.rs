//! From a decision to its lines: one for each item and rule, by the module's answer. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use tillgate_engine::decision::Decision;

use super::line::{GapOf, Line};
use super::queue::Decided;
use crate::conditions::backlog::Gap;
use crate::conditions::choice::Choice;
use crate::conditions::plan::Subject;
use crate::data::etag::{self, Etag};
use crate::engine::MODULE_SHA256;
use crate::identity::TenantId;

/// Why an item of a basket is not allowed whose condition is not in force: the answer has no result of that.
const NOT_IN_FORCE: &str = "condition.not_in_force";

const ALLOW: &str = Decision::Allow.as_str();

/// What nothing speaks against.
const ALLOWED: Outcome<'_> = Outcome {
    id: None,
    decision: ALLOW,
    reason: None,
    restriction: None,
};

/// A condition that is not in force.
const UNRESOLVED: Outcome<'_> = Outcome {
    id: None,
    decision: Decision::SoftDeny.as_str(),
    reason: Some(NOT_IN_FORCE),
    restriction: None,
};

/// The answer about a basket.
#[derive(Deserialize)]
struct Basket<'a> {
    #[serde(borrow)]
    items: Vec<Item<'a>>,
}

/// The answer about an item. Explanations, which say what is known of the customer, are not read.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    results: Vec<Outcome<'a>>,
    #[serde(default)]
    errors: Vec<Unresolved<'a>>,
}

/// The result of a condition, which has an id, or of a project's restriction.
#[derive(Deserialize)]
struct Outcome<'a> {
    id: Option<&'a str>,
    decision: &'a str,
    reason: Option<&'a str>,
    #[serde(borrow, default)]
    restriction: Option<Text<'a>>,
}

/// A text that may need escaping.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Unresolved<'a> {
    #[serde(rename = "conditionId")]
    condition_id: &'a str,
}

/// What decided about an item, and the version of it.
enum Rule<'r> {
    Condition(&'r str, Option<&'r Etag>),
    Project(&'r str, Option<&'r Etag>),
    /// Nothing was asked about it.
    None,
}

/// The lines of one decision.
struct Records<'d> {
    decided: &'d Decided,
    at: String,
    correlation: String,
    denials_alone: bool,
    to: &'d mut Vec<u8>,
    count: u64,
}

/// Appends the lines of a decision that are to be on record; answers how many.
pub(super) fn write(decided: &Decided, to: &mut Vec<u8>) -> u64 {
    let mut records = Records {
        decided,
        at: decided.at.to_millis_text(),
        correlation: decided.correlation.to_string(),
        denials_alone: decided.choice == Choice::Denials,
        to,
        count: 0,
    };
    let read = match decided.subject {
        Subject::Basket => serde_json::from_slice(&decided.answer)
            .map(|Basket { items }| items.iter().for_each(|item| records.item(item))),
        Subject::Condition | Subject::Project => {
            serde_json::from_slice(&decided.answer).map(|item| records.item(&item))
        }
    };
    if let Err(cause) = read {
        tracing::error!(%cause, "an answer of the module cannot be read for the record");
    }
    records.count
}

/// Appends the line of a gap.
pub(super) fn write_gap(tenant: &TenantId, gap: &Gap, to: &mut Vec<u8>) {
    let line = Line {
        at: gap.until.to_millis_text().into(),
        tenant_id: Some(tenant.as_str().into()),
        gap: Some(GapOf {
            since: gap.since.to_millis_text().into(),
            decisions: gap.decisions,
        }),
        ..Line::default()
    };
    line.write(to);
}

impl Records<'_> {
    fn item(&mut self, item: &Item<'_>) {
        let versions = &self.decided.versions;
        for outcome in &item.results {
            if let Some(id) = outcome.id {
                let rule = Rule::Condition(id, versions.condition(id));
                self.write(&item.id, &rule, outcome);
            }
        }
        for Unresolved { condition_id } in &item.errors {
            let rule = Rule::Condition(condition_id, None);
            self.write(&item.id, &rule, &UNRESOLVED);
        }
        match versions.project() {
            Some((id, etag)) => {
                let of_project = item.results.iter().filter(|outcome| outcome.id.is_none());
                let outcome = worst(of_project).unwrap_or(&ALLOWED);
                let id = id.to_string();
                let rule = Rule::Project(&id, etag.as_ref());
                self.write(&item.id, &rule, outcome);
            }
            None if item.results.is_empty() && item.errors.is_empty() => {
                self.write(&item.id, &Rule::None, &ALLOWED);
            }
            None => {}
        }
    }

    fn write(&mut self, item: &str, rule: &Rule<'_>, outcome: &Outcome<'_>) {
        if self.denials_alone && outcome.decision == ALLOW {
            return;
        }
        let Decided { tenant, caller, .. } = self.decided;
        let (condition, project, etag) = match rule {
            Rule::Condition(id, etag) => (Some(*id), None, *etag),
            Rule::Project(id, etag) => (None, Some(*id), *etag),
            Rule::None => (None, None, None),
        };
        let line = Line {
            at: Cow::Borrowed(&self.at),
            tenant_id: Some(tenant.as_str().into()),
            client_id: Some(Cow::Borrowed(&caller.subject)),
            business_unit_id: caller.unit.as_deref().map(Cow::Borrowed),
            item_id: Some(item.into()),
            condition_id: condition.map(Cow::Borrowed),
            project_id: project.map(Cow::Borrowed),
            etag: etag.map(|etag| etag::digest(etag).into()),
            decision: Some(outcome.decision.into()),
            reason: outcome.reason.map(Cow::Borrowed),
            restriction: outcome
                .restriction
                .as_ref()
                .filter(|_| outcome.reason.is_some())
                .map(|restriction| (&*restriction.0).into()),
            engine: Some(MODULE_SHA256.into()),
            correlation_id: Some(Cow::Borrowed(&self.correlation)),
            ..Line::default()
        };
        line.write(self.to);
        self.count += 1;
    }
}

/// The first of the worst results.
fn worst<'o, 'a>(outcomes: impl Iterator<Item = &'o Outcome<'a>>) -> Option<&'o Outcome<'a>>
where
    'a: 'o,
{
    let rank = |outcome: &Outcome<'_>| {
        let mut all = Decision::ALL.iter();
        all.position(|decision| decision.as_str() == outcome.decision)
    };
    outcomes.reduce(|worst, other| match rank(other) > rank(worst) {
        true => other,
        false => worst,
    })
}
