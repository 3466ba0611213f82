//! Filters select the events that a webhook gets among those of the types that it wants (`webhooks.md`, "Resource").
//!
//! Each condition of a filter names a member of an event and the values that it may have; all conditions must hold. A
//! filter is compiled when its webhook is read into memory, and evaluated when an event is accepted. Read in this
//! order: `value.rs` (what is compared), `path.rs` (where it is), `candidate.rs` (the event that it is looked up in).

mod candidate;
mod path;
mod value;

use std::collections::BTreeSet;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::{RawValue, to_raw_value};
use tillgate_api::schema::scalar;
use tillgate_api::value::or_fault;
use tillgate_api::{Value as Described, describe};
use tillgate_engine::json::{Document, Faults, Node};

pub(super) use self::candidate::Candidate;
pub(crate) use self::candidate::Filterable;
use self::candidate::Names;
use self::path::{PATH_RULE, Path};
use self::value::{VALUE_RULE, Value};

const MAX_CONDITIONS: usize = 16;
const MAX_VALUES: usize = 100;

/// The most bytes of a filter as JSON: all webhooks of a tenant are in memory.
const MAX_BYTES: usize = 16 << 10;

/// A filter. It is stored as text, in which numbers stay as they were written.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    json: Box<RawValue>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    path: Path,
    values: BTreeSet<Value>,
}

/// A condition as JSON.
#[derive(Serialize)]
struct Written {
    path: String,
    #[serde(rename = "in")]
    values: Vec<Box<RawValue>>,
}

impl Filter {
    /// Reads `[{ path, in: [...] }]`.
    pub(super) fn read(value: Described<'_, '_, '_>) -> Option<Self> {
        value.component("EventFilter", |value| {
            let (count, rule) = (0..=MAX_CONDITIONS, "must have at most 16 conditions");
            value.list_that(count, rule, condition, |read| {
                let (conditions, written): (_, Vec<_>) = read.into_iter().unzip();
                let json = to_raw_value(&written).map_err(|_| "must be JSON")?;
                if json.get().len() <= MAX_BYTES {
                    Ok(Self { json, conditions })
                } else {
                    Err("must have at most 16 KiB")
                }
            })
        })
    }

    /// Returns whether it lets everything through.
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns whether an event is for the webhook.
    pub(super) fn matches(&self, event: &Candidate<'_>) -> bool {
        let holds = |it: &Condition| event.has_one_of(&it.path, &it.values);
        self.conditions.iter().all(holds)
    }

    /// Returns the paths below the data that it names.
    pub(super) fn data_paths(&self) -> impl Iterator<Item = &Names> {
        self.conditions.iter().filter_map(|it| match &it.path {
            Path::Data(names) => Some(names.as_slice()),
            Path::Type | Path::Id => None,
        })
    }

    /// Returns the filter as the API returns it.
    pub(super) fn json(&self) -> &RawValue {
        &self.json
    }
}

pub(super) fn filter_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, Filter::read)
}

fn condition(value: Described<'_, '_, '_>) -> Option<(Condition, Written)> {
    value.component("EventFilterCondition", |value| {
        value.object(|fields| {
            let about = "`$.type`, `$.id`, or a member of JSON data such as \
                `$.data.businessUnitId` or `$.data['a.b']`: at most 512 \
                bytes and 16 names, no wildcards and no elements of arrays. \
                An absent member matches nothing.";
            let path = fields.required("path", about, |value| {
                value.of(path_schema, |node, faults| {
                    let text = node.text().map_or("", |text| text.as_ref());
                    let path = Path::parse(text).map(|path| (path, text.to_owned()));
                    or_fault(faults, node, path, PATH_RULE)
                })
            });
            let about = "The values that it may have, compared by type and value.";
            let values = fields.required("in", about, |value| {
                value.list(1..=MAX_VALUES, "must have 1 to 100 values", one_value)
            });
            let ((path, text), values) = (path?, values?);
            let (values, written) = values.into_iter().unzip();
            let written = Written {
                path: text,
                values: written,
            };
            Some((Condition { path, values }, written))
        })
    })
}

fn path_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"^\$\.(type|id|data[.\[].+)$", "maxLength": 512 })
}

fn one_value(value: Described<'_, '_, '_>) -> Option<(Value, Box<RawValue>)> {
    let schema = |generator: &mut _| {
        let about = "A string of at most 512 bytes, or a number of at most 64 characters, compared by its decimal value.";
        scalar(
            generator,
            "FilterValue",
            &["string", "number", "boolean"],
            about,
        )
    };
    value.of(schema, |node: Node<'_, '_>, faults| {
        or_fault(faults, node, Value::read(node), VALUE_RULE)
    })
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.json.get() == other.json.get()
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.json.get())
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let document = Document::parse(text.as_bytes()).map_err(de::Error::custom)?;
        let mut faults = Faults::default();
        let read = Self::read(Described::given(document.root(), &mut faults));
        // Without its malformed conditions, the filter would let more events through.
        match read.filter(|_| faults.is_empty()) {
            Some(filter) => Ok(filter),
            None => Err(de::Error::custom("a filter is malformed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn a_stored_filter_is_read_whole_or_not_at_all() {
        let read = |filter: &str| {
            let record = serde_json::to_string(filter).unwrap_or_default();
            serde_json::from_str::<Filter>(&record)
        };
        let whole = read(r#"[{"path":"$.type","in":["a.v1"]},{"path":"$.id","in":["1"]}]"#);
        assert!(whole.is_ok_and(|filter| filter.conditions.len() == 2));
        for malformed in [
            r#"[{"path":"$.type","in":["a.v1"]},{"path":"$.*","in":["1"]}]"#,
            r#"[{"path":"$.type","in":["a.v1",null]}]"#,
            r#"[{"path":"$.type","in":["a.v1"]},{"path":"$.id"}]"#,
        ] {
            assert!(read(malformed).is_err(), "{malformed}");
        }
    }
}
