//! Requests about an item and a project, and how they are read.

use std::borrow::Cow;

use super::{ProjectId, Value};
use crate::condition::MAX_ITEM_ID;
use crate::error::Error;
use crate::json::{Document, Faults, Node, Scalar};

/// An item with the properties that restrictions test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The id, 1 to [`MAX_ITEM_ID`] characters.
    pub id: Cow<'a, str>,
    /// The properties, by name.
    pub properties: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Item<'a> {
    /// Reads `{ "id", "additionalProperties"? }`. `None` if there is a fault.
    pub(crate) fn read(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Self> {
        let node = faults.object(node)?;
        let id = faults
            .required(node, "id")
            .and_then(|id| faults.name(id, MAX_ITEM_ID));
        let mut properties = Vec::new();
        if let Some(member) = node.member("additionalProperties") {
            for member in faults.object(member)?.children() {
                if let Some(value) = read_property_value(member, faults) {
                    properties.push((member.key().clone(), value));
                }
            }
        }
        Some(Self {
            id: id?,
            properties,
        })
    }
}

fn read_property_value<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Value<'a>> {
    match node.scalar() {
        Scalar::Text(text) => Some(Value::Text(text.clone())),
        Scalar::Bool(value) => Some(Value::Bool(*value)),
        Scalar::Integer(_) | Scalar::Number(_) => Some(Value::Number),
        Scalar::Null | Scalar::Array | Scalar::Object => {
            faults.add(node, "must be a string, true, false or a number");
            None
        }
    }
}

/// A request to decide about one item on one project (`given.md` 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRequest<'a> {
    /// The project.
    pub project_id: ProjectId,
    /// The item.
    pub item: Item<'a>,
}

impl<'a> ProjectRequest<'a> {
    /// Reads `{ "projectId", "item": { "id", "additionalProperties"? } }`; unknown members are ignored.
    ///
    /// # Errors
    /// [`crate::Code::Invalid`] with a fault for every invalid member.
    pub fn read(document: &Document<'a>) -> Result<Self, Error> {
        let mut faults = Faults::default();
        let root = faults.object(document.root());
        let project_id = root
            .and_then(|root| faults.required(root, "projectId"))
            .and_then(|id| read_project_id(id, &mut faults));
        let item = root
            .and_then(|root| faults.required(root, "item"))
            .and_then(|item| Item::read(item, &mut faults));
        faults.none_or_error()?;
        match (project_id, item) {
            (Some(project_id), Some(item)) => Ok(Self { project_id, item }),
            _ => Err(Error::new(crate::Code::Invalid, "$", "must be an object")),
        }
    }
}

/// Reads a project's id. `None` if there is a fault.
pub(crate) fn read_project_id(node: Node<'_, '_>, faults: &mut Faults) -> Option<ProjectId> {
    let id = node.text().and_then(|text| ProjectId::new(text));
    if id.is_none() {
        faults.add(node, ProjectId::RULE);
    }
    id
}
