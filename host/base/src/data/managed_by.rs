//! The program that manages a resource: a label that `tillgate apply` writes and reads, so that it deletes only what it
//! created.
//!
//! The label decides nothing. A PUT sets it as the member `managedBy`, and a GET returns it where it is set. A PUT
//! without it removes it, so a change by hand takes the resource over.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tillgate_api::Fields;
use tillgate_engine::json::{Faults, Node};

use crate::identity::{NAME_RULE, is_name};

/// The name of the member.
pub const MEMBER: &str = "managedBy";

/// A label: 1 to 64 of `[A-Za-z0-9._-]`, so that JSON need not escape it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ManagedBy(Box<str>);

impl ManagedBy {
    /// Returns the label, if the text is one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.into()))
    }

    /// Returns the label as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the member of a body: `Some(None)` if it is missing or null, `None` if it has a fault.
    pub fn read(object: Node<'_, '_>, faults: &mut Faults) -> Option<Option<Self>> {
        let Some(node) = object.member(MEMBER).filter(|node| !node.is_null()) else {
            return Some(None);
        };
        let label = node.text().and_then(|text| Self::new(text));
        if label.is_none() {
            faults.add(node, NAME_RULE);
        }
        label.map(Some)
    }
}

/// Reads the label of the program that manages a resource.
pub fn managed_by(fields: &mut Fields<'_, '_, '_>) -> Option<Option<ManagedBy>> {
    let about = "The program that manages the resource, such as `tillgate-apply`. It is only \
        a label. A PUT without it removes it. An answer has it only if it is set.";
    fields.optional(MEMBER, about, |value| {
        value.parsed(schema, ManagedBy::new, NAME_RULE)
    })
}

fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" })
}

impl JsonSchema for ManagedBy {
    fn schema_name() -> Cow<'static, str> {
        "ManagedBy".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema(generator)
    }
}
