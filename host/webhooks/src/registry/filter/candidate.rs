//! An event as filters see it: the values at the paths that filters name, and nothing else of its data. The data is
//! read once, however many webhooks have filters, and only along those paths, however many members it has.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tillgate_engine::json::{Document, Node};

use super::path::Path;
use super::value::Value;

/// An event that is published or stored.
pub(crate) trait Filterable {
    fn event_type(&self) -> &str;

    /// Returns its id, if it has one already.
    fn id(&self) -> Option<&str>;

    /// Returns its data, if that is JSON.
    fn json(&self) -> Option<Cow<'_, [u8]>>;
}

/// The names of nested members of the data.
pub(super) type Names = [String];

/// An event, with the part of its data that some filters compare.
pub(in crate::registry) struct Candidate<'e> {
    event: &'e dyn Filterable,
    /// Arrays, objects and null are left out: no filter compares them.
    values: BTreeMap<&'e Names, Value>,
}

impl<'e> Candidate<'e> {
    /// Reads an event at the paths below its data that filters name. Without any, the data is not read.
    pub(in crate::registry) fn new(
        event: &'e dyn Filterable,
        paths: impl Iterator<Item = &'e Names>,
    ) -> Self {
        let mut paths: Vec<_> = paths.collect();
        paths.sort_unstable();
        paths.dedup();
        let mut values = BTreeMap::new();
        if !paths.is_empty() {
            let json = event.json().unwrap_or_default();
            if let Ok(document) = Document::parse(&json) {
                find(document.root(), &paths, 0, &mut values);
            }
        }
        Self { event, values }
    }

    /// Returns whether the value at a path is one of some values.
    pub(super) fn has_one_of(&self, path: &Path, values: &BTreeSet<Value>) -> bool {
        let is_text = |text: &str| values.contains(&Value::Text(text.to_owned()));
        match path {
            Path::Type => is_text(self.event.event_type()),
            Path::Id => self.event.id().is_some_and(is_text),
            Path::Data(names) => {
                let found = self.values.get(names.as_slice());
                found.is_some_and(|value| values.contains(value))
            }
        }
    }
}

/// Adds the values at paths that all lead through a node. The paths are sorted and unique, and have the node's `depth`
/// names in common.
fn find<'p>(
    node: Node<'_, '_>,
    paths: &[&'p Names],
    depth: usize,
    values: &mut BTreeMap<&'p Names, Value>,
) {
    // The path that ends here sorts before those that go on.
    let ending = paths.first().filter(|path| path.len() == depth);
    if let (Some(path), Some(value)) = (ending, Value::of(node)) {
        values.insert(*path, value);
    }
    if !node.is_object() {
        return;
    }
    let name = |path: &&'p Names| path.get(depth).map(String::as_str);
    for member in node.children() {
        let key = Some(member.key().as_ref());
        let begin = paths.partition_point(|path| name(path) < key);
        let (_, rest) = paths.split_at(begin);
        let (through, _) = rest.split_at(rest.partition_point(|path| name(path) == key));
        if !through.is_empty() {
            find(member, through, depth + 1, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value as Json;

    use super::*;

    /// The data of an event.
    struct Data(String);

    impl Filterable for Data {
        fn event_type(&self) -> &str {
            "x.orders.v1"
        }

        fn id(&self) -> Option<&str> {
            None
        }

        fn json(&self) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(self.0.as_bytes()))
        }
    }

    fn value_of(json: &str) -> Option<Value> {
        let document = Document::parse(json.as_bytes()).ok()?;
        Value::of(document.root())
    }

    /// Returns the value at a path, by another JSON library, which has all members in a map.
    fn expected(data: &Json, names: &Names) -> Option<Value> {
        let found = names.iter().try_fold(data, |value, name| value.get(name))?;
        value_of(&found.to_string())
    }

    #[test]
    fn a_value_is_found_where_objects_alone_lead_to_it() {
        let deep = format!(r#"{{"a":1,"b":{}{}}}"#, "[".repeat(32), "]".repeat(32));
        for (data, names, found) in [
            (r#"{"a":1}"#, &["a"][..], Some("1")),
            (
                r#"{"b":0,"a":{"a":{"a":true},"b":1}}"#,
                &["a", "a", "a"],
                Some("true"),
            ),
            (r#"{"a":{"a":1}}"#, &["a"], None),
            (r#"{"a":{"b":1}}"#, &["a", "a"], None),
            (r#"{"a":1}"#, &["a", "a"], None),
            (r#"{"a":null}"#, &["a"], None),
            (r#"{"a":null}"#, &["a", "a"], None),
            (r#"{"a":["x"]}"#, &["a"], None),
            (r#"{"a":["x"]}"#, &["a", ""], None),
            (r#"{"a":["x"]}"#, &["a", "0"], None),
            (r#"{"a":[{"b":1}]}"#, &["a", "b"], None),
            (r#"[{"a":1}]"#, &["a"], None),
            (r#"["x"]"#, &[""], None),
            (r#""a""#, &["a"], None),
            ("null", &["a"], None),
            (r#"{"":{"":"x"}}"#, &["", ""], Some(r#""x""#)),
            (r#"{"A":1,"a ":2,"\u00e1":3,"aa":4}"#, &["a"], None),
            (r#"{"\u0061":1}"#, &["a"], Some("1")),
            (r#"{"a.b":1}"#, &["a.b"], Some("1")),
            (r#"{"a.b":1}"#, &["a", "b"], None),
            // Data that is not strict JSON has no members.
            (r#"{"a":1,"a":1}"#, &["a"], None),
            (r#"{"a":1,"b":{"c":1,"c":1}}"#, &["a"], None),
            (r#"{"a":1}}"#, &["a"], None),
            ("", &["a"], None),
            (&deep, &["a"], None),
        ] {
            let event = Data(data.to_owned());
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            // Other paths beside it make no difference.
            let others = ["a", "b", "c"].map(|name| vec![name.to_owned(); 2]);
            let paths = others.iter().chain([&names]).map(Vec::as_slice);
            let candidate = Candidate::new(&event, paths);
            let value = candidate.values.get(names.as_slice());
            let found = found.and_then(value_of);
            assert_eq!(value, found.as_ref(), "{data} {names:?}");
        }
    }

    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "A", "aa", "a.b", "", "0"]).prop_map(str::to_owned)
    }

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-2..3).prop_map(Json::from),
            name().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map(name(), inner, 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_path_leads_to_what_a_map_of_all_members_has(
            data in json(),
            paths in prop::collection::vec(prop::collection::vec(name(), 1..4), 0..24),
        ) {
            let event = Data(data.to_string());
            let candidate = Candidate::new(&event, paths.iter().map(Vec::as_slice));
            for names in &paths {
                let found = candidate.values.get(names.as_slice());
                let expected = expected(&data, names);
                prop_assert_eq!(found, expected.as_ref());
            }
            for names in candidate.values.keys() {
                prop_assert!(paths.iter().any(|path| path == names));
            }
        }
    }
}
