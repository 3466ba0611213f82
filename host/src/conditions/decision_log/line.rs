//! A line of the record, as it is written and read: a decision about one item by one rule; a gap; or the start or end of the
//! host that writes. What does not apply is left out.
//!
//! Deliberately absent is everything that is known of the customer: age, birth date and licenses are not on record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// See the module's documentation.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Line<'a> {
    /// When it was decided; of a gap, when the last decision of it was.
    pub at: Cow<'a, str>,
    /// Whose decision it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<Cow<'a, str>>,
    /// Who asked, or handed it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// The business unit of the client, or the one that was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit_id: Option<Cow<'a, str>>,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<Cow<'a, str>>,
    /// The condition that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_id: Option<Cow<'a, str>>,
    /// The project that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Cow<'a, str>>,
    /// The version of the condition or project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<Cow<'a, str>>,
    /// `ALLOW`, `SOFT_DENY` or `HARD_DENY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Cow<'a, str>>,
    /// Why it does not allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// What of the project does not allow: the name of a property, or `itemId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restriction: Option<Cow<'a, str>>,
    /// The SHA-256 of the module that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Cow<'a, str>>,
    /// The digest of the catalog that was decided with, where it was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Cow<'a, str>>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Cow<'a, str>>,
    /// Which till made it, where it was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub till: Option<Cow<'a, str>>,
    /// How often the numbers of the till had begun anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The till's number of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The till's number of the decision that is on record before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<u64>,
    /// How many decisions the till had to drop before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_before: Option<u64>,
    /// When it was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Cow<'a, str>>,
    /// Decisions that the record lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapOf<'a>>,
    /// What the host did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<HostEvent>,
}

/// Decisions that the record lacks.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct GapOf<'a> {
    /// When the first of them was made.
    pub since: Cow<'a, str>,
    /// How many there are; one about a basket counts once.
    pub decisions: u64,
}

/// What the host that writes the record did. A start without an end before it says that the host died, and with it what
/// waited to be written.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HostEvent {
    /// It began to write.
    Started,
    /// It has written everything.
    Stopped,
}

impl Line<'_> {
    /// Appends it, and a line break.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let length = to.len();
        // Writing to memory does not fail, and everything in a line has a JSON form.
        match serde_json::to_writer(&mut *to, self) {
            Ok(()) => to.push(b'\n'),
            Err(_) => to.truncate(length),
        }
    }
}
