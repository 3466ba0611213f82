//! The members of an object. A description asks for all members before it needs the value of any, so that all faults
//! are found at once and the schema has all members.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};
use tillgate_engine::json::{Faults, Node};

use super::Value;

/// The members of an object that is read or described.
#[derive(Debug)]
pub struct Fields<'f, 'd, 'a>(Side<'f, 'd, 'a>);

#[derive(Debug)]
enum Side<'f, 'd, 'a> {
    Given {
        node: Node<'d, 'a>,
        faults: &'f mut Faults,
        /// The members that were asked for.
        names: Vec<&'static str>,
    },
    Described {
        generator: &'f mut SchemaGenerator,
        properties: Map<String, serde_json::Value>,
        required: Vec<&'static str>,
        /// Set if unknown members are always ignored, so that the schema allows them.
        is_open: bool,
    },
}

/// A member for which null has a meaning of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member<T> {
    Absent,
    Null,
    Value(T),
}

impl<'f, 'd, 'a> Fields<'f, 'd, 'a> {
    pub(crate) const fn given(node: Node<'d, 'a>, faults: &'f mut Faults) -> Self {
        Self(Side::Given {
            node,
            faults,
            names: Vec::new(),
        })
    }

    pub(crate) fn described(generator: &'f mut SchemaGenerator) -> Self {
        Self(Side::Described {
            generator,
            properties: Map::new(),
            required: Vec::new(),
            is_open: false,
        })
    }

    /// Adds a fault for each member that was not asked for.
    pub(crate) fn refuse_unknown(&mut self) {
        if let Side::Given {
            node,
            faults,
            names,
        } = &mut self.0
        {
            faults.refuse_unknown(*node, names);
        }
    }

    /// Returns the schema of the object.
    pub(crate) fn schema(self) -> Schema {
        let Side::Described {
            properties,
            required,
            is_open,
            ..
        } = self.0
        else {
            return Schema::default();
        };
        let mut schema = json_schema!({ "type": "object", "properties": properties });
        if !is_open {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema
    }

    /// Describes a required member whose value is always the same.
    pub(crate) fn constant(&mut self, name: &'static str, value: &str) {
        self.describe(
            name,
            "",
            |_| json_schema!({ "type": "string", "const": value }),
        );
        self.require(name);
    }

    /// Adds a member to the schema. `about` is a sentence or two for readers of the documents.
    fn describe(
        &mut self,
        name: &'static str,
        about: &str,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
    ) {
        if let Side::Described {
            generator,
            properties,
            ..
        } = &mut self.0
        {
            let mut schema = schema(generator);
            let own = schema.get("description").and_then(|it| it.as_str());
            let all: Vec<&str> = [about].into_iter().chain(own).collect();
            let description = all.join(" ").trim().to_owned();
            if !description.is_empty() {
                schema.insert("description".to_owned(), json!(description));
            }
            properties.insert(name.to_owned(), schema.to_value());
        }
    }

    fn require(&mut self, name: &'static str) {
        if let Side::Described { required, .. } = &mut self.0 {
            required.push(name);
        }
    }

    /// Adds null to the type of a member.
    fn or_null(&mut self, name: &str) {
        if let Side::Described { properties, .. } = &mut self.0
            && let Some(schema) = properties.get_mut(name).and_then(|it| it.as_object_mut())
            && let Some(one) = schema.get("type").cloned()
        {
            schema.insert("type".to_owned(), json!([one, "null"]));
        }
    }

    /// Adds the default of a member to its schema.
    fn set_default(&mut self, name: &str, default: serde_json::Value) {
        if let Side::Described { properties, .. } = &mut self.0
            && let Some(schema) = properties.get_mut(name).and_then(|it| it.as_object_mut())
        {
            schema.insert("default".to_owned(), default);
        }
    }

    /// Reads a member if it is there, or describes it.
    fn read<T>(
        &mut self,
        name: &'static str,
        about: &str,
        ignores_null: bool,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        match &mut self.0 {
            Side::Given {
                node,
                faults,
                names,
            } => {
                names.push(name);
                let member = node.member(name);
                match member.filter(|member| !(ignores_null && member.is_null())) {
                    Some(member) => read(Value::given(member, faults)).map(Some),
                    None => Some(None),
                }
            }
            Side::Described { .. } => {
                self.describe(name, about, |generator| {
                    let mut schema = Schema::default();
                    read(Value::described(generator, &mut schema));
                    schema
                });
                None
            }
        }
    }

    /// Reads a required member: `None` if it is missing or has a fault.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        about: &str,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<T> {
        self.require(name);
        let value = self.read(name, about, false, read)?;
        if value.is_none() {
            self.refuse_member(name, "is required");
        }
        value
    }

    /// Reads an optional member: `Some(None)` if it is missing or null, `None` if it has a fault.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        about: &str,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        self.read(name, about, true, read)
    }

    /// Reads an optional member that must not be null: `Some(None)` if it is missing, `None` if it has a fault.
    pub fn not_null<T>(
        &mut self,
        name: &'static str,
        about: &str,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        self.read(name, about, false, read)
    }

    /// Reads an optional member that is `default` if it is missing or null.
    pub fn with_default<T: serde::Serialize>(
        &mut self,
        name: &'static str,
        about: &str,
        default: T,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<T> {
        if matches!(self.0, Side::Described { .. }) {
            let default = json!(default);
            let shown = default.as_str().map_or(default.to_string(), str::to_owned);
            let about = format!("{about} Default: `{shown}`.");
            self.read(name, about.trim_start(), true, read);
            self.set_default(name, default);
            return None;
        }
        Some(self.read(name, about, true, read)?.unwrap_or(default))
    }

    /// Reads an optional member for which null has a meaning of its own.
    pub fn nullable<T>(
        &mut self,
        name: &'static str,
        about: &str,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Member<T>> {
        if self.member(name).is_some_and(Node::is_null) {
            self.may_have(&[name]);
            return Some(Member::Null);
        }
        let value = self.read(name, about, false, read);
        self.or_null(name);
        Some(value?.map_or(Member::Absent, Member::Value))
    }

    /// Allows members that are not read, such as those that only answers have: a client may send an answer back.
    pub fn may_have(&mut self, allowed: &[&'static str]) {
        if let Side::Given { names, .. } = &mut self.0 {
            names.extend_from_slice(allowed);
        }
    }

    /// Describes unknown members as ignored, as in OAuth (RFC 7591). The route makes them so.
    pub fn ignore_unknown(&mut self) {
        if let Side::Described { is_open, .. } = &mut self.0 {
            *is_open = true;
        }
    }

    /// Checks an optional member that must repeat a parameter of the path.
    pub fn of_path(&mut self, name: &'static str, text: &str) {
        self.may_have(&[name]);
        let other = self.member(name);
        if other.is_some_and(|node| node.text().is_none_or(|said| said != text)) {
            self.refuse_member(name, "must be that of the path");
        }
    }

    /// Adds a fault to the object.
    pub fn refuse(&mut self, rule: &'static str) {
        if let Side::Given { node, faults, .. } = &mut self.0 {
            faults.add(*node, rule);
        }
    }

    /// Adds a fault to a member.
    pub fn refuse_member(&mut self, name: &str, rule: &'static str) {
        if let Side::Given { node, faults, .. } = &mut self.0 {
            match node.member(name) {
                Some(member) => faults.add(member, rule),
                None => faults.add_member(*node, name, rule),
            }
        }
    }

    /// Returns the path of the object in the body.
    pub fn path(&self) -> String {
        self.node().map_or_else(String::new, Node::path)
    }

    /// Returns a member of the document, if it is there.
    pub fn member(&self, name: &str) -> Option<Node<'d, 'a>> {
        self.node()?.member(name)
    }

    /// Returns the object in the document; `None` if it is described.
    pub const fn node(&self) -> Option<Node<'d, 'a>> {
        match &self.0 {
            Side::Given { node, .. } => Some(*node),
            Side::Described { .. } => None,
        }
    }
}
