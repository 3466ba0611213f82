//! The body of an upload: `{ till, decisions: [..] }`. Unknown members are always refused: a line that lacks a part of
//! what its till knows must not look whole, and nothing that is known of the customer belongs in the log.

use std::borrow::Cow;

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rules::{body_condition_id, project_id};
use tillgate_api::value::or_fault;
use tillgate_api::values::uuid;
use tillgate_api::{Body, Value, read};
use tillgate_base::body::time;
use tillgate_base::error::Result;
use tillgate_base::identity::{NAME_RULE, STEP_RULE, is_name, is_step};
use tillgate_engine::condition::ConditionId;
use tillgate_engine::outcome::Decision;
use tillgate_engine::restriction::ProjectId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

/// The most decisions in one upload.
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
pub struct Upload {
    pub(super) till: String,
    /// In ascending order of their numbers.
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

/// The rule that decided.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Condition(String),
    Project(ProjectId),
}

impl Upload {
    /// Reads the body of an upload.
    ///
    /// # Errors
    /// [`Error::Invalid`](tillgate_base::error::Error::Invalid) with every fault.
    pub fn read(body: &Body) -> Result<Self> {
        let strict = Body {
            lenient: false,
            ..body.clone()
        };
        Ok(read(&strict, upload_body)?)
    }
}

/// Reads `{ till, decisions: [..] }`.
pub fn upload_body(value: Value<'_, '_, '_>) -> Option<Upload> {
    value.component("DecisionReport", |value| {
        value.object(|fields| {
            let till = fields.required("till", "The name of the till.", till);
            let decisions = fields.required(
                "decisions",
                "The decisions, in ascending order of `sequence`.",
                |value| {
                    let mut before = 0;
                    value.list(1..=MAX_DECISIONS, "must have 1 to 1000 elements", |value| {
                        decision(value, &mut before)
                    })
                },
            );
            Some(Upload {
                till: till?,
                decisions: decisions?,
            })
        })
    })
}

/// Returns whether a text may be the name of a till.
pub(super) fn is_till(text: &str) -> bool {
    is_name(text) && !is_step(text)
}

fn till(value: Value<'_, '_, '_>) -> Option<String> {
    value.of(till_schema, |node, faults| {
        let name = node.text().map_or("", |text| text.as_ref());
        let rule = if is_name(name) { STEP_RULE } else { NAME_RULE };
        or_fault(faults, node, is_till(name).then(|| name.to_owned()), rule)
    })
}

/// Returns the schema of the name of a till.
pub fn till_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", ".."] }, "examples": ["till-7"],
    })
}

/// Reads a decision, whose number must be greater than the previous one.
fn decision(value: Value<'_, '_, '_>, before: &mut u64) -> Option<Reported> {
    value.component("ReportedDecision", |value| {
        value.object(|fields| {
            let sequence = fields.required("sequence", "The number of the decision at the till.", number);
            let at = fields.required("at", "The time when the till decided.", time);
            let item = fields.required("itemId", "", text);
            let condition = fields.not_null(
                "conditionId",
                "The condition that decided; either this or `projectId` is required.",
                |value| value.text_that(body_condition_id, ConditionId::is_id, ConditionId::RULE),
            );
            let project = fields.not_null("projectId", "The project that decided.", |value| {
                value.parsed(project_id, ProjectId::new, ProjectId::RULE)
            });
            let named = ["conditionId", "projectId"].map(|name| fields.member(name).is_some());
            let rule = match named {
                [true, false] => condition.flatten().map(Rule::Condition),
                [false, true] => project.flatten().map(Rule::Project),
                _ => {
                    fields.refuse("must have either a conditionId or a projectId");
                    None
                }
            };
            let decision = fields.required("decision", "", |value| {
                let known = |text: &str| {
                    let mut all = Decision::ALL.into_iter();
                    all.find(|decision| decision.as_str() == text)
                };
                value.name_of(&["ALLOW", "SOFT_DENY", "HARD_DENY"], known, DECISION_RULE)
            });
            let about = "The reason why the item was not allowed. It is required then, and refused otherwise.";
            let reason = fields.not_null("reason", about, |value| {
                let schema = |_: &mut _| {
                    json_schema!({
                        "type": "string", "maxLength": MAX_REASON, "pattern": r"^[a-z_]+\.[a-z_]+$"
                    })
                };
                value.text_that(schema, is_reason, REASON_RULE)
            });
            if let (Some(decision), Some(reason)) = (decision, &reason) {
                let allows = decision == Decision::Allow;
                if allows && reason.is_some() {
                    fields.refuse_member("reason", "must be absent: the item was allowed");
                } else if !allows && reason.is_none() {
                    fields.refuse_member("reason", "is required, unless the item was allowed");
                }
            }
            let restriction = fields.not_null(
                "restriction",
                "The restriction of the project that decided.",
                text,
            );
            let etag = fields.not_null("etag", "The version of the rule.", digest);
            let engine = fields.not_null("engine", "The SHA-256 of the module that decided.", digest);
            let catalog = fields.not_null("catalog", "The version of the catalog.", digest);
            let unit = fields.not_null("businessUnitId", "The business unit of the till.", text);
            let correlation = fields.not_null("correlationId", "", uuid);
            let about = "The number of decisions that the till lost before this one.";
            let dropped_before = fields.not_null("droppedBefore", about, number);
            let sequence = sequence?;
            if sequence <= *before {
                fields.refuse_member("sequence", "must be greater than the one before");
            }
            *before = sequence;
            Some(Reported {
                sequence,
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
        })
    })
}

fn text(value: Value<'_, '_, '_>) -> Option<String> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": MAX_TEXT
        })
    };
    value.of(schema, |node, faults| {
        faults.name(node, MAX_TEXT).map(Cow::into_owned)
    })
}

fn number(value: Value<'_, '_, '_>) -> Option<u64> {
    value.of(number_schema, |node, faults| {
        let number = node.integer().and_then(|number| u64::try_from(number).ok());
        let fits = number.filter(|number| (1..=MAX_SEQUENCE).contains(number));
        or_fault(faults, node, fits, SEQUENCE_RULE)
    })
}

/// Returns the schema of the number of a decision.
pub(super) fn number_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_SEQUENCE })
}

fn digest(value: Value<'_, '_, '_>) -> Option<String> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(is_digit);
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "pattern": "^[0-9a-f]{64}$"
        })
    };
    value.text_that(schema, is_digest, DIGEST_RULE)
}

/// Returns whether a text has the form of a reason: `<area>.<reason>`.
fn is_reason(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let words = text.split_once('.');
    text.len() <= MAX_REASON && words.is_some_and(|(area, reason)| is_word(area) && is_word(reason))
}
