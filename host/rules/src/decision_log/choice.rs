//! A tenant's choice of the decisions that go into the log. It is a record of the tenant's partition, read and kept
//! fresh with its conditions, so that a decision finds it beside its rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::Value;
use tillgate_api::schema::made_by;
use tillgate_base::identity::By;

/// The key of the choice's record.
pub const CHOICE: &str = "decision-log";

/// The decisions that go into the log.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Choice {
    /// No decisions. This is the default.
    #[default]
    None,
    /// Decisions that do not allow the item.
    Denials,
    /// All decisions.
    All,
}

impl Choice {
    /// The rule for choices, for messages.
    pub const RULE: &str = "must be none, denials or all";

    /// Returns the choice of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "denials" => Some(Self::Denials),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// A tenant's choice of decisions to log.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DecisionLog")]
pub struct Chosen {
    /// The decisions that go into the log.
    pub decision_log: Choice,
    /// The author of the last choice. It is absent from choices that are older than this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "made_by")]
    pub last_modified_by: Option<By>,
}

/// Reads `{ decisionLog }`.
pub fn read_choice(value: Value<'_, '_, '_>) -> Option<Choice> {
    value.component("DecisionLogPut", |value| {
        value.object(|fields| {
            fields.may_have(&["lastModifiedBy"]);
            let about = "The decisions of the tenant that go into the log.";
            fields.required("decisionLog", about, |value| {
                value.name_of(&["none", "denials", "all"], Choice::from_name, Choice::RULE)
            })
        })
    })
}
