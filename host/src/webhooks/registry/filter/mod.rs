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
use self::path::{PATH_RULE, Path};
use self::value::{VALUE_RULE, Value};
use crate::body::{or_fault, required};

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

    /// The filter as it is answered.
    pub(super) fn json(&self) -> &RawValue {
        &self.json
    }
}

fn condition(node: Node<'_, '_>, faults: &mut Faults) -> Option<(Condition, Written)> {
    let object = faults.object(node)?;
    let path = required(object, "path", faults, |node, faults| {
        let text = node.text().map_or("", |text| text.as_ref());
        let path = Path::parse(text).map(|path| (path, text.to_owned()));
        or_fault(faults, node, path, PATH_RULE)
    });
    let values = required(object, "in", faults, values);
    let ((path, text), values) = (path?, values?);
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    struct Told(&'static str);

    impl Filterable for Told {
        fn event_type(&self) -> &str {
            "x.orders.v1"
        }

        fn id(&self) -> Option<&str> {
            Some("order-1")
        }

        fn json(&self) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(self.0.as_bytes()))
        }
    }

    fn filter(json: &str) -> Result<Filter, serde_json::Error> {
        serde_json::from_value(serde_json::Value::from(json))
    }

    #[test]
    fn a_member_is_compared_by_type_and_value() -> Result<(), serde_json::Error> {
        const DATA: &str = r#"{"shop":{"id":"SE-001"},"total":1.10,"large":12345678901234567890123,
            "zero":-0.0,"paid":true,"seven":"7","list":["SE-001"],"none":null,"a.b":1,"it's":2}"#;
        for (path, values, expected) in [
            ("$.data.shop.id", r#""SE-002","SE-001""#, true),
            ("$.data.shop.id", r#""se-001""#, false),
            ("$.data.shop", r#""SE-001""#, false),
            ("$.data.shop.id.length", "6", false),
            ("$.data.total", "1.1", true),
            ("$.data.total", "11e-1", true),
            ("$.data.total", "1.1000000000000000000001", false),
            ("$.data.total", r#""1.10""#, false),
            ("$.data.large", "12345678901234567890123", true),
            ("$.data.large", "12345678901234567890124", false),
            ("$.data.large", "12345678901234567890123.0e0", true),
            ("$.data.zero", "0", true),
            ("$.data.paid", "true", true),
            ("$.data.paid", "false", false),
            ("$.data.paid", r#""true""#, false),
            ("$.data.paid", "1", false),
            ("$.data.seven", "7", false),
            ("$.data.seven", r#""7""#, true),
            ("$.data.list", r#""SE-001""#, false),
            ("$.data.none", r#""null""#, false),
            ("$.data.absent", r#""""#, false),
            ("$.data.toString", r#""""#, false),
            ("$.data['a.b']", "1", true),
            ("$.data.a.b", "1", false),
            (r"$.data['it\\'s']", "2", true),
            ("$.type", r#""x.orders.v1""#, true),
            ("$.type", r#""x.orders.v2""#, false),
            ("$.id", r#""order-1""#, true),
        ] {
            let json = format!(r#"[{{"path":"{path}","in":[{values}]}}]"#);
            let filter = filter(&json)?;
            let event = Told(DATA);
            assert_eq!(filter.matches(&Candidate::new(&event)), expected, "{json}");
            assert_eq!(filter.json().get(), json, "it is answered as it was set");
        }
        Ok(())
    }

    #[test]
    fn all_conditions_must_hold() -> Result<(), serde_json::Error> {
        let both = r#"[{"path":"$.data.a","in":[1]},{"path":"$.data.b","in":[2,3]}]"#;
        let filter = filter(both)?;
        for (data, expected) in [
            (r#"{"a":1,"b":3}"#, true),
            (r#"{"a":1,"b":4}"#, false),
            (r#"{"b":2}"#, false),
            ("[1]", false),
            ("1", false),
            ("{", false),
        ] {
            let event = Told(data);
            assert_eq!(filter.matches(&Candidate::new(&event)), expected, "{data}");
        }
        Ok(())
    }
}
