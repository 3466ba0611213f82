//! A line of the log, as it is written and read: a decision about one item by one rule, or how many decisions are missing. What
//! does not apply is left out.
//!
//! Deliberately absent is everything that is known of the customer: age, birth date and licenses are not in the log.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// See the module's documentation.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Line<'a> {
    /// When it was decided; of missing decisions, when that was written, or the till's next decision made.
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
    /// The number that the till has given it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// When it was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Cow<'a, str>>,
    /// How many decisions are missing: of the host that writes the log, or of a till before this number. One about a basket
    /// counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// When the first of those that are missing was made, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Cow<'a, str>>,
}

impl Line<'_> {
    /// Appends it, and a line break.
    pub fn write(&self, to: &mut Vec<u8>) {
        let length = to.len();
        // Writing to memory does not fail, and everything in a line has a JSON form.
        match serde_json::to_writer(&mut *to, self) {
            Ok(()) => to.push(b'\n'),
            Err(_) => to.truncate(length),
        }
    }
}
