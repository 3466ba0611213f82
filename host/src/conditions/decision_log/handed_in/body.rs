//! What is handed in: `{ till, decisions: [..] }`. Unknown members are always refused: a record that lacks a part of
//! what its till knows must not look whole, and nothing that is known of the customer belongs on it.

use std::borrow::Cow;

use tillgate_engine::condition::ConditionId;
use tillgate_engine::decision::Decision;
use tillgate_engine::json::{Faults, Node};
use tillgate_engine::restriction::ProjectId;
use uuid::Uuid;

use crate::body::{Body, Fields, object, or_fault, parsed, read, text_that, time, uuid};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::identity::{NAME_RULE, STEP_RULE, is_name, is_step};

/// The most decisions that are handed in at once.
const MAX_DECISIONS: usize = 1_000;

/// The greatest number of a decision: the greatest integer that every JSON reader keeps.
const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// The most characters of an item's id, of the name of a property, and of a business unit's id.
const MAX_TEXT: usize = 256;

/// The most bytes of a reason.
const MAX_REASON: usize = 64;

const SEQUENCE_RULE: &str = "must be an integer from 1 to 9007199254740991";
const REASON_RULE: &str = "must be a reason such as age_restriction.underage";
const DIGEST_RULE: &str = "must be a SHA-256: 64 of 0-9 a-f";
const DECISION_RULE: &str = "must be ALLOW, SOFT_DENY or HARD_DENY";

/// The decisions of a till.
#[derive(Clone, Debug)]
pub(in crate::conditions) struct Report {
    pub(super) till: String,
    /// By their numbers, ascending.
    pub(super) decisions: Vec<Reported>,
}

/// A decision of a till.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    pub(super) item: String,
    pub(super) rule: Rule,
    pub(super) decision: Decision,
    pub(super) reason: Option<String>,
    pub(super) restriction: Option<String>,
    pub(super) etag: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) catalog: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) correlation: Option<Uuid>,
    pub(super) dropped_before: Option<u64>,
}

/// What decided.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Condition(String),
    Project(ProjectId),
}

impl Report {
    /// Reads a body.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) with every fault.
    pub(in crate::conditions) fn read(body: &Body) -> Result<Self> {
        let strict = Body {
            lenient: false,
            ..body.clone()
        };
        read(&strict, |fields| {
            let till = fields.required("till", till);
            let decisions = fields.required("decisions", decisions);
            Some(Self {
                till: till?,
                decisions: decisions?,
            })
        })
    }
}

/// Whether a text may be the name of a till.
pub(in crate::conditions) fn is_till(text: &str) -> bool {
    is_name(text) && !is_step(text)
}

fn till(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let name = text_that(node, faults, is_name, NAME_RULE)?;
    let till = Some(name).filter(|name| !is_step(name));
    or_fault(faults, node, till, STEP_RULE)
}

fn decisions(node: Node<'_, '_>, faults: &mut Faults) -> Option<Vec<Reported>> {
    let list = faults.array(node)?;
    let count = list.children().take(MAX_DECISIONS + 1).count();
    if !(1..=MAX_DECISIONS).contains(&count) {
        faults.add(list, "must have 1 to 1000 elements");
        return None;
    }
    let (mut decisions, mut before) = (Vec::with_capacity(count), 0);
    for element in list.children() {
        let Some(reported) = object(element, faults, |fields| decision(fields)) else {
            continue;
        };
        if reported.sequence <= before {
            let sequence = element.member("sequence").unwrap_or(element);
            faults.add(sequence, "must be greater than the one before");
        }
        before = reported.sequence;
        decisions.push(reported);
    }
    Some(decisions)
}

fn decision(fields: &mut Fields<'_, '_, '_>) -> Option<Reported> {
    let sequence = fields.required("sequence", number);
    let at = fields.required("at", time);
    let item = fields.required("itemId", text);
    let rule = rule(fields);
    let decision = fields.required("decision", |node, faults| {
        let known = |text: &str| {
            let mut all = Decision::ALL.into_iter();
            all.find(|decision| decision.as_str() == text)
        };
        parsed(node, faults, known, DECISION_RULE)
    });
    let reason = fields.not_null("reason", |node, faults| {
        text_that(node, faults, is_reason, REASON_RULE)
    });
    if let (Some(decision), Some(reason)) = (decision, &reason) {
        let allows = decision == Decision::Allow;
        if allows && reason.is_some() {
            let reason = fields.node.member("reason").unwrap_or(fields.node);
            let rule = "must not be there: the item was allowed";
            fields.faults.add(reason, rule);
        } else if !allows && reason.is_none() {
            let rule = "is required, unless the item was allowed";
            fields.faults.add_member(fields.node, "reason", rule);
        }
    }
    let restriction = fields.not_null("restriction", text);
    let [etag, engine, catalog] =
        ["etag", "engine", "catalog"].map(|member| fields.not_null(member, digest));
    let unit = fields.not_null("businessUnitId", text);
    let correlation = fields.not_null("correlationId", uuid);
    let dropped_before = fields.not_null("droppedBefore", number);
    Some(Reported {
        sequence: sequence?,
        at: at?,
        item: item?,
        rule: rule?,
        decision: decision?,
        reason: reason?,
        restriction: restriction?,
        etag: etag?,
        engine: engine?,
        catalog: catalog?,
        unit: unit?,
        correlation: correlation?,
        dropped_before: dropped_before?,
    })
}

/// What decided: a condition or a project.
fn rule(fields: &mut Fields<'_, '_, '_>) -> Option<Rule> {
    let given = (fields.member("conditionId"), fields.member("projectId"));
    let faults = &mut *fields.faults;
    match given {
        (Some(condition), None) => {
            let id = text_that(condition, faults, ConditionId::is_id, ConditionId::RULE);
            id.map(Rule::Condition)
        }
        (None, Some(project)) => {
            parsed(project, faults, ProjectId::new, ProjectId::RULE).map(Rule::Project)
        }
        _ => {
            let rule = "must have either a conditionId or a projectId";
            faults.add(fields.node, rule);
            None
        }
    }
}

fn text(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    faults.name(node, MAX_TEXT).map(Cow::into_owned)
}

fn number(node: Node<'_, '_>, faults: &mut Faults) -> Option<u64> {
    let number = node.integer().and_then(|number| u64::try_from(number).ok());
    let fits = number.filter(|number| (1..=MAX_SEQUENCE).contains(number));
    or_fault(faults, node, fits, SEQUENCE_RULE)
}

fn digest(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(is_digit);
    text_that(node, faults, is_digest, DIGEST_RULE)
}

/// Whether a text has the form of a reason: `<area>.<reason>`.
fn is_reason(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let words = text.split_once('.');
    text.len() <= MAX_REASON && words.is_some_and(|(area, reason)| is_word(area) && is_word(reason))
}
