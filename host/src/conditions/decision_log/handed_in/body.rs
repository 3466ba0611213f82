//! What is handed in: `{ till, decisions: [..] }`. Unlike elsewhere, a member that is not known is refused: a record that
//! lacks a part of what its till knows must not look whole, and nothing that is known of the customer belongs on it.

use std::borrow::Cow;

use tillgate_engine::condition::ConditionId;
use tillgate_engine::decision::Decision;
use tillgate_engine::json::{Faults, Node};
use tillgate_engine::restriction::ProjectId;
use uuid::Uuid;

use crate::body::{or_fault, parsed, read, required, text_that, time, uuid};
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
const UNKNOWN: &str = "is not a member of a decision on record; nothing about the customer is";

const MEMBERS: [&str; 14] = [
    "sequence",
    "at",
    "itemId",
    "conditionId",
    "projectId",
    "decision",
    "reason",
    "restriction",
    "etag",
    "engine",
    "catalog",
    "businessUnitId",
    "correlationId",
    "droppedBefore",
];

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
    pub(in crate::conditions) fn read(body: &[u8]) -> Result<Self> {
        read(body, |root, faults| {
            refuse_unknown(root, &["till", "decisions"], faults);
            let till = required(root, "till", faults, till);
            let decisions = required(root, "decisions", faults, decisions);
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

fn refuse_unknown(object: Node<'_, '_>, members: &[&str], faults: &mut Faults) {
    let unknown = |member: &Node<'_, '_>| !members.contains(&member.key().as_ref());
    for member in object.children().filter(unknown) {
        faults.add(member, UNKNOWN);
    }
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
        let Some(reported) = decision(element, faults) else {
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

fn decision(node: Node<'_, '_>, faults: &mut Faults) -> Option<Reported> {
    let object = faults.object(node)?;
    refuse_unknown(object, &MEMBERS, faults);
    let sequence = required(object, "sequence", faults, number);
    let at = required(object, "at", faults, time);
    let item = required(object, "itemId", faults, text);
    let rule = rule(object, faults);
    let decision = required(object, "decision", faults, |node, faults| {
        let known = |text: &str| {
            let mut all = Decision::ALL.into_iter();
            all.find(|decision| decision.as_str() == text)
        };
        parsed(node, faults, known, DECISION_RULE)
    });
    let reason = optional(object, "reason", faults, |node, faults| {
        text_that(node, faults, is_reason, REASON_RULE)
    });
    if let (Some(decision), Some(reason)) = (decision, &reason) {
        let allows = decision == Decision::Allow;
        if allows && reason.is_some() {
            let reason = object.member("reason").unwrap_or(object);
            faults.add(reason, "must not be there: the item was allowed");
        } else if !allows && reason.is_none() {
            faults.add_member(object, "reason", "is required, unless the item was allowed");
        }
    }
    let restriction = optional(object, "restriction", faults, text);
    let [etag, engine, catalog] =
        ["etag", "engine", "catalog"].map(|member| optional(object, member, faults, digest));
    let unit = optional(object, "businessUnitId", faults, text);
    let correlation = optional(object, "correlationId", faults, uuid);
    let dropped_before = optional(object, "droppedBefore", faults, number);
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
fn rule(object: Node<'_, '_>, faults: &mut Faults) -> Option<Rule> {
    match (object.member("conditionId"), object.member("projectId")) {
        (Some(condition), None) => {
            let id = text_that(condition, faults, ConditionId::is_id, ConditionId::RULE);
            id.map(Rule::Condition)
        }
        (None, Some(project)) => {
            parsed(project, faults, ProjectId::new, ProjectId::RULE).map(Rule::Project)
        }
        _ => {
            faults.add(object, "must have either a conditionId or a projectId");
            None
        }
    }
}

/// An optional member that must not be null: `Some(None)` if it is missing, `None` if it has a fault.
fn optional<'d, 'a, T>(
    object: Node<'d, 'a>,
    member: &str,
    faults: &mut Faults,
    read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
) -> Option<Option<T>> {
    match object.member(member) {
        Some(node) => read(node, faults).map(Some),
        None => Some(None),
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
