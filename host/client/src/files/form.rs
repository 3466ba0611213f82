//! The form of a kind's documents. The API schemas say which members exist, which of them are secrets, and what leaving
//! one out means.
//!
//! Files and the host's answers are brought into this form, so that they are equal if they say the same: defaults are
//! filled in, decimals have no trailing zeros, and sets are sorted. The order of members does not matter. The host's
//! own readers check whether values are valid (`document.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tillgate_engine::json::{Faults, Node, Scalar};
use tillgate_engine::rate::Percentage;

use super::kind::Kind;
use super::members::{Members, write_list};
use super::resources::Resources;

/// Members of requests that are not part of files: the manager of a resource, and the id that the host gives a webhook.
const NOT_IN_FILES: [&str; 2] = ["managedBy", "id"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    File,
    Host,
}

/// The API schemas for the resources of a kind.
#[derive(Debug)]
struct Form {
    /// The schema of the body that creates or replaces a resource.
    body: Value,
    /// The schema of a resource in an answer.
    answer: Value,
    /// The schemas that both refer to.
    components: Map<String, Value>,
}

/// The forms of all kinds, and what the program knows of them.
pub(super) struct Forms {
    pub(super) resources: &'static dyn Resources,
    by_kind: BTreeMap<Kind, Form>,
}

impl Forms {
    pub(super) fn of(resources: &'static dyn Resources) -> Self {
        let kinds = Kind::ALL.into_iter();
        Self {
            resources,
            by_kind: kinds
                .map(|kind| (kind, Form::of(kind, resources)))
                .collect(),
        }
    }

    /// Reads the members of a document in their form. A member that a document of its origin cannot have is a fault, so
    /// that a typo is not dropped silently.
    pub(super) fn read(
        &self,
        kind: Kind,
        root: Node<'_, '_>,
        origin: Origin,
        faults: &mut Faults,
    ) -> Members {
        let form = self.by_kind.get(&kind);
        form.map_or_else(Members::default, |form| {
            form.read(kind, root, origin, faults)
        })
    }
}

impl Form {
    fn of(kind: Kind, resources: &dyn Resources) -> Self {
        let mut generator = resources.generator();
        let (body, answer) = resources.schemas(kind, &mut generator);
        Self {
            body: body.to_value(),
            answer: answer.to_value(),
            components: generator.take_definitions(false),
        }
    }

    fn read(&self, kind: Kind, root: Node<'_, '_>, origin: Origin, faults: &mut Faults) -> Members {
        let body = self.object_of(&self.body, root);
        let answer = self.object_of(&self.answer, root);
        let names = kind.names();
        let is_in_files = |name: &&str| !NOT_IN_FILES.contains(name);
        let mut known: Vec<&str> = body.names().filter(is_in_files).collect();
        known.extend(names);
        let in_files = known.clone();
        if origin == Origin::Host {
            known.extend(answer.names());
        }
        // The host's readers report an unknown kind of rule.
        if origin == Origin::Host || body.properties.is_some() {
            faults.refuse_unknown(root, &known);
        }
        let mut members = Members::default();
        for child in root.children().filter(|child| !child.is_null()) {
            let name = child.key().as_ref();
            if !in_files.contains(&name) {
                continue;
            }
            let property = body.property(name).unwrap_or(&Value::Null);
            // An omitted list is an empty one.
            if is_secret(property) || is_empty_list(child) && !body.requires(name) {
                continue;
            }
            let mut json = Vec::new();
            let is_set = answer.property(name).is_some_and(is_set);
            self.write(child, property, is_set, faults, &mut json);
            members.set(name, json);
        }
        body.fill_in(&mut members);
        members
    }

    /// Returns the schema of an object: follows references, and selects the object's own kind if there are several.
    fn object_of<'s>(&'s self, schema: &'s Value, object: Node<'_, '_>) -> ObjectSchema<'s> {
        let reference = match (schema.get("$ref"), schema.get("discriminator")) {
            (Some(reference), _) => Some(reference),
            (None, Some(discriminator)) => {
                let by = discriminator.get("propertyName").and_then(Value::as_str);
                let kind = by.and_then(|by| object.member(by)?.text());
                kind.and_then(|kind| discriminator.get("mapping")?.get(kind.as_ref()))
            }
            (None, None) => None,
        };
        let name = reference.and_then(|it| it.as_str()?.rsplit('/').next());
        match name.and_then(|name| self.components.get(name)) {
            Some(schema) => self.object_of(schema, object),
            None => ObjectSchema {
                schema,
                properties: schema.get("properties").and_then(Value::as_object),
            },
        }
    }

    /// Appends a value in its form. A value in another form is written as it is: the host's readers refuse it.
    fn write(
        &self,
        node: Node<'_, '_>,
        schema: &Value,
        is_set: bool,
        faults: &mut Faults,
        out: &mut Vec<u8>,
    ) {
        let object = self.object_of(schema, node);
        if node.is_object() && object.properties.is_some() {
            return self.read_object(node, object, faults).write(out);
        }
        let list = object.schema.get("items").filter(|_| is_list(node));
        if let Some(items) = list {
            let elements = node.children().map(|element| {
                let mut json = Vec::new();
                self.write(element, items, false, faults, &mut json);
                json
            });
            let mut elements: Vec<_> = elements.collect();
            if is_set {
                elements.sort_unstable();
                elements.dedup();
            }
            return write_list(&elements, out);
        }
        // The decimals of these documents are percentages.
        let is_decimal = object.schema.get("type").is_some_and(|it| it == "number");
        let decimal = node.number().filter(|_| is_decimal);
        match decimal.and_then(|text| Percentage::parse(&text).ok()) {
            Some(decimal) => out.extend(decimal.value().to_string().into_bytes()),
            None => node.write(out),
        }
    }

    fn read_object(
        &self,
        node: Node<'_, '_>,
        object: ObjectSchema<'_>,
        faults: &mut Faults,
    ) -> Members {
        if object.schema.get("additionalProperties") == Some(&json!(false)) {
            faults.refuse_unknown(node, &object.names().collect::<Vec<_>>());
        }
        let mut members = Members::default();
        for child in node.children() {
            let name = child.key().as_ref();
            let property = object.property(name).unwrap_or(&Value::Null);
            if is_secret(property) {
                continue;
            }
            let mut json = Vec::new();
            self.write(child, property, false, faults, &mut json);
            members.set(name, json);
        }
        object.fill_in(&mut members);
        members
    }
}

/// The schema of an object, and the members that it names: none if the object may be anything.
#[derive(Clone, Copy)]
struct ObjectSchema<'s> {
    schema: &'s Value,
    properties: Option<&'s Map<String, Value>>,
}

impl<'s> ObjectSchema<'s> {
    fn names(self) -> impl Iterator<Item = &'s str> {
        let properties = self.properties.into_iter().flatten();
        properties.map(|(name, _)| name.as_str())
    }

    fn property(self, name: &str) -> Option<&'s Value> {
        self.properties?.get(name)
    }

    fn requires(self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|one| one == name))
    }

    /// Adds omitted members that have a default.
    fn fill_in(self, members: &mut Members) {
        for (name, property) in self.properties.into_iter().flatten() {
            if let Some(default) = property.get("default")
                && members.get(name).is_none()
            {
                members.set(name, default.to_string().into_bytes());
            }
        }
    }
}

fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&json!(true))
}

fn is_set(schema: &Value) -> bool {
    schema.get("uniqueItems") == Some(&json!(true))
}

fn is_list(node: Node<'_, '_>) -> bool {
    matches!(node.scalar(), Scalar::Array)
}

fn is_empty_list(node: Node<'_, '_>) -> bool {
    is_list(node) && node.children().next().is_none()
}
