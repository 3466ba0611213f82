//! Filters: which events of the types that a webhook wants it gets (`webhooks.md`, "Resource").
//!
//! Each condition of a filter names a member of an event and the values that it may have; all conditions must hold. A filter
//! is compiled when its webhook is read into memory, and looked at when an event is accepted. Read it in this order:
//! `value.rs` (what is compared), `path.rs` (where it is), `candidate.rs` (the event that it is looked up in).

mod candidate;
mod path;
mod value;

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::{RawValue, to_raw_value};
use tillgate_engine::json::{Document, Faults, Node};

pub(super) use self::candidate::Candidate;
pub(in crate::webhooks) use self::candidate::Filterable;
use self::candidate::Names;
use self::path::{PATH_RULE, Path};
use self::value::{VALUE_RULE, Value};
use crate::body::{object, or_fault};

const MAX_CONDITIONS: usize = 16;
const MAX_VALUES: usize = 100;

/// The most bytes of a filter as JSON: all webhooks of a tenant are in memory.
const MAX_BYTES: usize = 16 << 10;

/// A filter. Its record has it as a text, in which numbers stay as they were written.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Filter {
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
    pub(super) fn read(list: Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        let list = faults.array(list)?;
        if list.children().nth(MAX_CONDITIONS).is_some() {
            faults.add(list, "must have at most 16 conditions");
            return None;
        }
        let read: Vec<_> = list
            .children()
            .map(|node| condition(node, faults))
            .collect();
        let read: Option<Vec<_>> = read.into_iter().collect();
        let (conditions, written): (_, Vec<_>) = read?.into_iter().unzip();
        let json = to_raw_value(&written).ok()?;
        let is_small = json.get().len() <= MAX_BYTES;
        let filter = Self { json, conditions };
        let rule = "must have at most 16 KiB";
        or_fault(faults, list, Some(filter).filter(|_| is_small), rule)
    }

    /// Whether it lets everything through.
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether an event is for the webhook.
    pub(super) fn matches(&self, event: &Candidate<'_>) -> bool {
        let holds = |it: &Condition| event.has_one_of(&it.path, &it.values);
        self.conditions.iter().all(holds)
    }

    /// The paths below the data that it names.
    pub(super) fn data_paths(&self) -> impl Iterator<Item = &Names> {
        self.conditions.iter().filter_map(|it| match &it.path {
            Path::Data(names) => Some(names.as_slice()),
            Path::Type | Path::Id => None,
        })
    }

    /// The filter as it is answered.
    pub(super) fn json(&self) -> &RawValue {
        &self.json
    }
}

fn condition(node: Node<'_, '_>, faults: &mut Faults) -> Option<(Condition, Written)> {
    let (path, values) = object(node, faults, |fields| {
        let path = fields.required("path", |node, faults| {
            let text = node.text().map_or("", |text| text.as_ref());
            let path = Path::parse(text).map(|path| (path, text.to_owned()));
            or_fault(faults, node, path, PATH_RULE)
        });
        let values = fields.required("in", values);
        Some((path?, values?))
    })?;
    let (path, text) = path;
    let (values, written) = values.into_iter().unzip();
    let written = Written {
        path: text,
        values: written,
    };
    Some((Condition { path, values }, written))
}

fn values(list: Node<'_, '_>, faults: &mut Faults) -> Option<Vec<(Value, Box<RawValue>)>> {
    let list = faults.array(list)?;
    if !(1..=MAX_VALUES).contains(&list.children().count()) {
        faults.add(list, "must have 1 to 100 values");
        return None;
    }
    let read = list
        .children()
        .map(|node| or_fault(faults, node, Value::read(node), VALUE_RULE));
    let read: Vec<_> = read.collect();
    read.into_iter().collect()
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
        let read = Self::read(document.root(), &mut faults);
        read.ok_or_else(|| de::Error::custom("a filter is malformed"))
    }
}
