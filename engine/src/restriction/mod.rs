//! Project restrictions and the requests about them, and how they are read; `write.rs` writes them.
//!
//! The contract is `conditions.md`, "Project restrictions". [`crate::restriction_checks`] decides by them.

mod write;

use std::borrow::Cow;
use std::fmt;

use uuid::Uuid;

use crate::condition::MAX_ITEM_ID;
use crate::error::Error;
use crate::json::{Document, Faults, NO_CONTROLS, Node, Scalar};
use crate::swar::parse_hex;

/// The most restrictions of a project.
pub const MAX_RESTRICTIONS: usize = 1_000;

/// The most values over all restrictions of a project.
pub const MAX_VALUES: usize = 100_000;

/// The longest value or name of a property, in bytes.
pub const MAX_VALUE_BYTES: usize = 256;

/// The id of a project, a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(Uuid);

impl ProjectId {
    /// The error message about a text that is not an id.
    pub const RULE: &'static str = "must be a UUID";

    /// Returns the id, if the text is a hyphenated UUID in lower or upper case.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        // 8-4-4-4-12 digits, parsed eight at a time.
        let (first, rest) = text.as_bytes().split_first_chunk::<8>()?;
        let (second, rest) = rest.split_first_chunk::<10>()?;
        let (third, rest) = rest.split_first_chunk::<10>()?;
        let ([b'-', b, c, d, e, b'-', f, g, h, i], [b'-', j, k, l, m, b'-', n, o, p, q]) =
            (*second, *third)
        else {
            return None;
        };
        let quarters = [
            parse_hex(*first)?,
            parse_hex([b, c, d, e, f, g, h, i])?,
            parse_hex([j, k, l, m, n, o, p, q])?,
            parse_hex(*rest.as_array()?)?,
        ];
        let number = quarters
            .into_iter()
            .fold(0, |all, quarter| all << 32 | u128::from(quarter));
        Some(Self(Uuid::from_u128(number)))
    }

    /// Calls `run` with the id's text, in lower case.
    pub(crate) fn with_text<R>(self, run: impl FnOnce(&str) -> R) -> R {
        run(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

/// A value in a restriction's list or of an item's property. Values match by type and value: `true` is not `"true"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A boolean.
    Bool(bool),
    /// A number, which a property may have but which matches nothing.
    Number,
}

/// The demand of a restriction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand<'a> {
    /// The property must have one of the values.
    Whitelist(Cow<'a, str>, Vec<Value<'a>>),
    /// The property must have none of the values.
    Blacklist(Cow<'a, str>, Vec<Value<'a>>),
    /// The property must have this boolean value.
    Boolean(Cow<'a, str>, bool),
    /// The item must have one of these ids.
    WhitelistedItems(Vec<Cow<'a, str>>),
    /// The item must have none of these ids.
    BlacklistedItems(Vec<Cow<'a, str>>),
}

/// One restriction of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restriction<'a> {
    /// The demand.
    pub demand: Demand<'a>,
    /// True if it is a check of its own, not joined with others of the same type and target.
    pub exclusive: bool,
}

impl Demand<'_> {
    /// Returns the number of values in the list.
    pub(crate) const fn count(&self) -> usize {
        match self {
            Self::Whitelist(_, values) | Self::Blacklist(_, values) => values.len(),
            Self::Boolean(..) => 1,
            Self::WhitelistedItems(items) | Self::BlacklistedItems(items) => items.len(),
        }
    }
}

/// The members of a project: those that decide, its name and tests, and the program that manages it at a host.
const MEMBERS: [&str; 5] = ["projectId", "name", "restrictions", "tests", "managedBy"];

/// A project: `{ "projectId", "name"?, "restrictions" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project<'a> {
    /// The id; [`Project::read`] leaves it `None`.
    pub id: Option<ProjectId>,
    /// The display name.
    pub name: Option<Cow<'a, str>>,
    /// The restrictions, in the order of the document.
    pub restrictions: Vec<Restriction<'a>>,
}

impl<'a> Project<'a> {
    /// Reads the body of a PUT, and collects faults. It has `restrictions` and an optional `name` without control
    /// characters. `projectId` may be given if it matches the path, so that the body of a GET can be sent back.
    pub fn from_put(id: ProjectId, node: Node<'_, 'a>, faults: &mut Faults) -> Self {
        let mut project = Self::read(node, faults);
        let member = node.member("projectId");
        if let Some(member) = member
            && member.text().and_then(|text| ProjectId::new(text)) != Some(id)
        {
            faults.add(member, "must be the id in the path");
        }
        if let (Some(name), Some(member)) = (&project.name, node.member("name"))
            && name.contains(char::is_control)
        {
            faults.add(member, NO_CONTROLS);
        }
        project.id = Some(id);
        project
    }

    /// Reads a project and collects faults.
    pub fn read(node: Node<'_, 'a>, faults: &mut Faults) -> Self {
        let mut project = Self {
            id: None,
            name: None,
            restrictions: Vec::new(),
        };
        let Some(node) = faults.object_with(node, &MEMBERS) else {
            return project;
        };
        let name = node.member("name");
        project.name = name.and_then(|name| faults.name(name, MAX_ITEM_ID));
        let list = faults.required(node, "restrictions");
        let Some(list) = list.and_then(|list| faults.array(list)) else {
            return project;
        };
        let mut values = 0;
        for (position, element) in list.children().enumerate() {
            if position == MAX_RESTRICTIONS {
                faults.add(list, "must have at most 1000 restrictions");
                break;
            }
            if let Some(restriction) = read_restriction(element, faults) {
                values += restriction.demand.count();
                project.restrictions.push(restriction);
            }
        }
        if values > MAX_VALUES {
            faults.add(
                list,
                "must have at most 100000 values over all restrictions",
            );
        }
        project
    }
}

fn read_restriction<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Restriction<'a>> {
    let node = faults.object(node)?;
    let exclusive = node
        .member("exclusive")
        .map_or(Some(false), |member| faults.boolean(member));
    let kind = faults.required(node, "type")?;
    let demand = match kind.text().map(|text| text.as_ref()) {
        Some("WHITELIST") => {
            faults.always_refuse_unknown(
                node,
                &["type", "exclusive", "propertyName", "allowedValues"],
            );
            let name = read_property_name(node, faults);
            let values = read_list(node, "allowedValues", faults, read_listed_value);
            Demand::Whitelist(name?, values?)
        }
        Some("BLACKLIST") => {
            faults.always_refuse_unknown(
                node,
                &["type", "exclusive", "propertyName", "deniedValues"],
            );
            let name = read_property_name(node, faults);
            let values = read_list(node, "deniedValues", faults, read_listed_value);
            Demand::Blacklist(name?, values?)
        }
        Some("BOOLEAN") => {
            faults.always_refuse_unknown(node, &["type", "exclusive", "propertyName", "value"]);
            let name = read_property_name(node, faults);
            let value = faults.required(node, "value");
            let value = value.and_then(|value| faults.boolean(value));
            Demand::Boolean(name?, value?)
        }
        Some("WHITELISTEDITEMS") => {
            faults.always_refuse_unknown(node, &["type", "exclusive", "itemIds"]);
            Demand::WhitelistedItems(read_list(node, "itemIds", faults, read_short_text)?)
        }
        Some("BLACKLISTEDITEMS") => {
            faults.always_refuse_unknown(node, &["type", "exclusive", "itemIds"]);
            Demand::BlacklistedItems(read_list(node, "itemIds", faults, read_short_text)?)
        }
        _ => {
            let types =
                "must be WHITELIST, BLACKLIST, BOOLEAN, WHITELISTEDITEMS or BLACKLISTEDITEMS";
            faults.add(kind, types);
            return None;
        }
    };
    Some(Restriction {
        demand,
        exclusive: exclusive?,
    })
}

fn read_property_name<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Cow<'a, str>> {
    let name = faults.required(node, "propertyName")?;
    read_short_text(name, faults)
}

fn read_list<'a, T>(
    node: Node<'_, 'a>,
    key: &str,
    faults: &mut Faults,
    read: impl Fn(Node<'_, 'a>, &mut Faults) -> Option<T>,
) -> Option<Vec<T>> {
    let list = faults.required(node, key)?;
    let list = faults.array(list)?;
    Some(
        list.children()
            .filter_map(|element| read(element, faults))
            .collect(),
    )
}

fn read_short_text<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Cow<'a, str>> {
    let fits = |text: &&Cow<'a, str>| (1..=MAX_VALUE_BYTES).contains(&text.len());
    let text = node.text().filter(fits);
    if text.is_none() {
        faults.add(node, "must be a string of 1 to 256 bytes");
    }
    text.cloned()
}

fn read_listed_value<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Value<'a>> {
    match node.scalar() {
        Scalar::Bool(value) => Some(Value::Bool(*value)),
        Scalar::Text(text) if text.len() <= MAX_VALUE_BYTES => Some(Value::Text(text.clone())),
        _ => {
            faults.add(node, "must be a string of at most 256 bytes, true or false");
            None
        }
    }
}

/// The members of an item in a request about a project.
pub(crate) const ITEM: [&str; 2] = ["id", "additionalProperties"];

/// An item with the properties that restrictions test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The id, 1 to [`MAX_ITEM_ID`] characters.
    pub id: Cow<'a, str>,
    /// The properties, by name.
    pub properties: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Item<'a> {
    /// Reads `{ "id", "additionalProperties"? }` and collects faults; names that are not in `members` are unknown.
    /// Returns `None` if the id or the properties cannot be read.
    pub(crate) fn read(node: Node<'_, 'a>, members: &[&str], faults: &mut Faults) -> Option<Self> {
        let node = faults.object_with(node, members)?;
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
    /// The id of the project.
    pub project_id: ProjectId,
    /// The item.
    pub item: Item<'a>,
}

impl<'a> ProjectRequest<'a> {
    /// Reads `{ "projectId", "item": { "id", "additionalProperties"? } }`. `faults` determines whether unknown members
    /// are ignored.
    ///
    /// # Errors
    /// [`crate::Code::Invalid`] with a fault for every invalid member.
    pub fn read(document: &Document<'a>, mut faults: Faults) -> Result<Self, Error> {
        let root = faults.object_with(document.root(), &["projectId", "item"]);
        let project_id = root
            .and_then(|root| faults.required(root, "projectId"))
            .and_then(|id| read_project_id(id, &mut faults));
        let item = root
            .and_then(|root| faults.required(root, "item"))
            .and_then(|item| Item::read(item, &ITEM, &mut faults));
        faults.none_or_error()?;
        match (project_id, item) {
            (Some(project_id), Some(item)) => Ok(Self { project_id, item }),
            _ => Err(Error::new(crate::Code::Invalid, "$", "must be an object")),
        }
    }
}

/// Reads a project's id, or adds a fault and returns `None`.
pub(crate) fn read_project_id(node: Node<'_, '_>, faults: &mut Faults) -> Option<ProjectId> {
    let id = node.text().and_then(|text| ProjectId::new(text));
    if id.is_none() {
        faults.add(node, ProjectId::RULE);
    }
    id
}
