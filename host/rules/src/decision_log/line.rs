//! A line of the log, as it is written and read: a decision about one item by one rule, or the number of missing
//! decisions. Members that do not apply are left out.
//!
//! All that is known of the customer is deliberately absent: age, birth date and licenses are not in the log.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A line of the log.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Line<'a> {
    /// The time of the decision; for missing decisions, the time of the line, or of the till's next decision.
    pub at: Cow<'a, str>,
    /// The tenant whose decision it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<Cow<'a, str>>,
    /// The client that asked, or that uploaded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// The business unit of the client, or the one that was uploaded.
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
    /// The reason why it does not allow the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// The part of the project that does not allow the item: the name of a property, or `itemId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restriction: Option<Cow<'a, str>>,
    /// The SHA-256 of the module that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Cow<'a, str>>,
    /// The digest of the catalog behind the decision, if it was uploaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Cow<'a, str>>,
    /// The correlation id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Cow<'a, str>>,
    /// The till that decided, if the decision was uploaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub till: Option<Cow<'a, str>>,
    /// The number that the till gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The time of the upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Cow<'a, str>>,
    /// The number of missing decisions: of the host that writes the log, or of a till before this number. A decision
    /// about a basket counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// The time of the first missing decision, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Cow<'a, str>>,
}

impl Line<'_> {
    /// Appends it and a line break.
    pub fn write(&self, to: &mut Vec<u8>) {
        let length = to.len();
        // Writing to memory does not fail, and everything in a line has a JSON form.
        match serde_json::to_writer(&mut *to, self) {
            Ok(()) => to.push(b'\n'),
            Err(_) => to.truncate(length),
        }
    }
}
