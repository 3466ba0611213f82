//! A value of a body. A description asks for a value of some kind, which is then read from the document or described in
//! the schema.

mod fields;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;
use tillgate_engine::json::{Faults, Node};

pub use self::fields::{Fields, Member};
use crate::schema::{component, one_of};

/// A value that is read or described. If it is described, every method returns `None`.
#[derive(Debug)]
pub struct Value<'v, 'd, 'a>(Side<'v, 'd, 'a>);

#[derive(Debug)]
enum Side<'v, 'd, 'a> {
    Given(Node<'d, 'a>, &'v mut Faults),
    Described(&'v mut SchemaGenerator, &'v mut Schema),
}

/// One of several kinds of objects.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The value of the member that tells the kinds apart.
    pub name: &'static str,
    /// Its name in the documents.
    pub component: &'static str,
}

impl<'v, 'd, 'a> Value<'v, 'd, 'a> {
    /// Creates a value that is read from a document.
    pub const fn given(node: Node<'d, 'a>, faults: &'v mut Faults) -> Self {
        Self(Side::Given(node, faults))
    }

    pub(crate) const fn described(
        generator: &'v mut SchemaGenerator,
        schema: &'v mut Schema,
    ) -> Self {
        Self(Side::Described(generator, schema))
    }

    /// Describes a value with `schema`, or reads it with `read`, which returns `None` after it has added a fault.
    pub fn of<T>(
        self,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
        read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
    ) -> Option<T> {
        match self.0 {
            Side::Given(node, faults) => read(node, faults),
            Side::Described(generator, place) => {
                *place = schema(generator);
                None
            }
        }
    }

    /// Reads a string that `parse` can parse.
    pub fn parsed<T>(
        self,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
        parse: impl FnOnce(&str) -> Option<T>,
        rule: &'static str,
    ) -> Option<T> {
        self.of(schema, |node, faults| {
            let found = node.text().and_then(|text| parse(text));
            or_fault(faults, node, found, rule)
        })
    }

    /// Reads a string for which `holds` is true.
    pub fn text_that(
        self,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
        holds: impl FnOnce(&str) -> bool,
        rule: &'static str,
    ) -> Option<String> {
        self.parsed(schema, |text| holds(text).then(|| text.to_owned()), rule)
    }

    /// Reads one of the names of an enumeration.
    pub fn name_of<T>(
        self,
        names: &[&str],
        parse: impl FnOnce(&str) -> Option<T>,
        rule: &'static str,
    ) -> Option<T> {
        let schema = |_: &mut _| json_schema!({ "type": "string", "enum": names });
        self.parsed(schema, parse, rule)
    }

    /// Reads a number by its text; the error of `parse` is the fault.
    pub fn number<T>(
        self,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        self.of(schema, |node, faults| {
            let text = or_fault(faults, node, node.number(), "must be a number")?;
            parse(&text).map_err(|rule| faults.add(node, rule)).ok()
        })
    }

    /// Reads a string; the error of `parse` is the fault.
    pub fn checked<T>(
        self,
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        self.of(schema, |node, faults| {
            let text = or_fault(faults, node, node.text(), "must be a string")?;
            parse(text).map_err(|rule| faults.add(node, rule)).ok()
        })
    }

    /// Reads an integer in a range.
    pub fn integer(self, range: RangeInclusive<u64>, rule: &'static str) -> Option<u64> {
        let (least, most) = (*range.start(), *range.end());
        let schema =
            move |_: &mut _| json_schema!({ "type": "integer", "minimum": least, "maximum": most });
        self.of(schema, |node, faults| {
            let number = node.number().and_then(|text| text.parse().ok());
            let number = number.filter(|number| range.contains(number));
            or_fault(faults, node, number, rule)
        })
    }

    /// Reads an object. A member that `read` does not ask for is a fault.
    pub fn object<T>(self, read: impl FnOnce(&mut Fields<'_, 'd, 'a>) -> Option<T>) -> Option<T> {
        match self.0 {
            Side::Given(node, faults) => {
                let node = faults.object(node)?;
                let mut fields = Fields::given(node, faults);
                let value = read(&mut fields);
                fields.refuse_unknown();
                value
            }
            Side::Described(generator, place) => {
                let mut fields = Fields::described(generator);
                read(&mut fields);
                *place = fields.schema();
                None
            }
        }
    }

    /// Reads a value that has a name in the documents.
    pub fn component<T>(
        self,
        name: &'static str,
        read: impl FnOnce(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<T> {
        match self.0 {
            Side::Given(..) => read(self),
            Side::Described(generator, place) => {
                *place = component(generator, name, |generator| {
                    let mut schema = Schema::default();
                    read(Value::described(generator, &mut schema));
                    schema
                });
                None
            }
        }
    }

    /// Reads an object of one of several kinds, which the member `by` tells apart.
    pub fn one_of<T>(
        self,
        by: &'static str,
        kinds: &[Kind],
        rule: &'static str,
        mut read: impl FnMut(&'static str, &mut Fields<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<T> {
        match self.0 {
            Side::Given(node, faults) => {
                let node = faults.object(node)?;
                let kind = faults.required(node, by)?;
                let named = kind
                    .text()
                    .and_then(|name| kinds.iter().find(|kind| kind.name == name.as_ref()));
                let named = or_fault(faults, kind, named, rule)?;
                let mut fields = Fields::given(node, faults);
                fields.may_have(&[by]);
                let value = read(named.name, &mut fields);
                fields.refuse_unknown();
                value
            }
            Side::Described(generator, place) => {
                let mut described = Vec::new();
                for kind in kinds {
                    let reference = component(generator, kind.component, |generator| {
                        let mut fields = Fields::described(generator);
                        fields.constant(by, kind.name);
                        read(kind.name, &mut fields);
                        fields.schema()
                    });
                    described.push((kind.name, reference));
                }
                *place = one_of(by, &described);
                None
            }
        }
    }

    /// Reads a list and returns the elements that could be read. `rule` says how many it may have.
    pub fn list<T>(
        self,
        count: RangeInclusive<usize>,
        rule: &'static str,
        mut element: impl FnMut(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        match self.0 {
            Side::Given(node, faults) => {
                let list = faults.array(node)?;
                if !count.contains(&list.children().count()) {
                    faults.add(list, rule);
                    return None;
                }
                let mut elements = Vec::new();
                for node in list.children() {
                    elements.extend(element(Value::given(node, faults)));
                }
                Some(elements)
            }
            Side::Described(generator, place) => {
                let mut schema = Schema::default();
                element(Value::described(generator, &mut schema));
                *place = json_schema!({ "type": "array", "items": schema });
                if *count.end() < usize::MAX {
                    place.insert("maxItems".to_owned(), json!(count.end()));
                }
                if *count.start() > 0 {
                    place.insert("minItems".to_owned(), json!(count.start()));
                }
                None
            }
        }
    }

    /// Reads a list and passes its elements to `make`, whose error is the fault of the list.
    pub fn list_that<T, L>(
        self,
        count: RangeInclusive<usize>,
        rule: &'static str,
        element: impl FnMut(Value<'_, 'd, 'a>) -> Option<T>,
        make: impl FnOnce(Vec<T>) -> Result<L, &'static str>,
    ) -> Option<L> {
        match self.0 {
            Side::Given(node, faults) => {
                let read = Value::given(node, faults).list(count, rule, element)?;
                make(read).map_err(|rule| faults.add(node, rule)).ok()
            }
            Side::Described(generator, place) => {
                Value::described(generator, place).list(count, rule, element);
                None
            }
        }
    }

    /// Reads a list without repeated elements; `repeated` is the fault of a repeated one.
    pub fn set<T: Ord + Clone>(
        self,
        count: RangeInclusive<usize>,
        rule: &'static str,
        repeated: &'static str,
        mut element: impl FnMut(Value<'_, 'd, 'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        match self.0 {
            Side::Given(node, faults) => {
                let mut seen = BTreeSet::new();
                Value::given(node, faults).list(count, rule, |Value(side)| match side {
                    Side::Given(node, faults) => {
                        let found = element(Value::given(node, faults))?;
                        let found = seen.insert(found.clone()).then_some(found);
                        or_fault(faults, node, found, repeated)
                    }
                    Side::Described(..) => None,
                })
            }
            Side::Described(generator, place) => {
                Value::described(generator, place).list(count, rule, element);
                place.insert("uniqueItems".to_owned(), json!(true));
                None
            }
        }
    }
}

/// Returns what was found, or adds the rule as a fault of the node.
pub fn or_fault<T>(
    faults: &mut Faults,
    node: Node<'_, '_>,
    found: Option<T>,
    rule: &'static str,
) -> Option<T> {
    if found.is_none() {
        faults.add(node, rule);
    }
    found
}
