//! Finds the differences between two documents of one form, by JSON path. The order of members does not matter.
//!
//! Lists of plain values, such as the items of a project, are compared by what was added and removed. Other lists are
//! compared by index, without their common beginning and end.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_engine::json::{Document, Node, Scalar};

use super::members::{Members, write_list};
use super::unit_rates::{RatesChange, names};

/// The most differences kept for a resource.
const MAX: usize = 1_000;

/// A difference: the value before, the value after, or both, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw")]
    pub(super) before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw")]
    pub(super) after: Option<String>,
}

/// The differences of a resource, and the number of further ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    pub(super) all: Vec<Difference>,
    pub(super) more: usize,
}

fn raw<S: serde::Serializer>(json: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    let raw = json
        .clone()
        .and_then(|json| RawValue::from_string(json).ok());
    raw.serialize(to)
}

impl Differences {
    /// Returns the differences between two documents.
    pub(super) fn between(before: &Members, after: &Members) -> Self {
        let mut differences = Self::default();
        if before == after {
            return differences;
        }
        let (before, after) = (before.to_json(), after.to_json());
        let parse = |json| Document::parse_up_to(json, usize::MAX);
        if let (Ok(before), Ok(after)) = (parse(&before), parse(&after)) {
            differences.compare(before.root(), after.root(), "$");
        }
        differences
    }

    /// Returns the differences that a change of rates makes.
    pub(super) fn of_rates(change: &RatesChange) -> Self {
        let mut differences = Self::default();
        let path = |key| names(key).join(" ");
        for (key, value, before) in &change.set {
            differences.add(path(*key), before.clone(), Some(value.clone()));
        }
        for (key, value) in &change.delete {
            differences.add(path(*key), Some(value.clone()), None);
        }
        differences
    }

    /// Adds a difference in words, before all others, so that it is seen however many there are.
    pub(super) fn note(&mut self, path: &str, before: &str, after: &str) {
        let quoted = |text: &str| serde_json::to_string(text).ok();
        let difference = Difference {
            path: path.to_owned(),
            before: quoted(before),
            after: quoted(after),
        };
        self.all.insert(0, difference);
    }

    fn add(&mut self, path: String, before: Option<String>, after: Option<String>) {
        if self.all.len() == MAX {
            self.more += 1;
            return;
        }
        self.all.push(Difference {
            path,
            before,
            after,
        });
    }

    fn compare(&mut self, before: Node<'_, '_>, after: Node<'_, '_>, path: &str) {
        match (before.scalar(), after.scalar()) {
            (Scalar::Object, Scalar::Object) => self.compare_objects(before, after, path),
            (Scalar::Array, Scalar::Array) if is_plain(before) && is_plain(after) => {
                self.compare_values(before, after, path);
            }
            (Scalar::Array, Scalar::Array) => self.compare_lists(before, after, path),
            _ => {
                let (before, after) = (json(before), json(after));
                if before != after {
                    self.add(path.to_owned(), Some(before), Some(after));
                }
            }
        }
    }

    fn compare_objects(&mut self, before: Node<'_, '_>, after: Node<'_, '_>, path: &str) {
        let parent = |name: &str| match path_of(name) {
            Some(plain) => format!("{path}.{plain}"),
            None => format!("{path}[{}]", serde_json::Value::from(name)),
        };
        for member in before.children() {
            let path = parent(member.key());
            match after.member(member.key()) {
                Some(after) => self.compare(member, after, &path),
                None => self.add(path, Some(json(member)), None),
            }
        }
        for member in after.children() {
            if before.member(member.key()).is_none() {
                self.add(parent(member.key()), None, Some(json(member)));
            }
        }
    }

    /// Compares lists of plain values.
    fn compare_values(&mut self, before: Node<'_, '_>, after: Node<'_, '_>, path: &str) {
        let (before, after) = (jsons(before), jsons(after));
        if before == after {
            return;
        }
        let mut counts: BTreeMap<&str, isize> = BTreeMap::new();
        for value in &after {
            *counts.entry(value).or_default() += 1;
        }
        for value in &before {
            *counts.entry(value).or_default() -= 1;
        }
        if counts.values().all(|count| *count == 0) {
            self.note(path, "in this order", "in another order");
            return;
        }
        for value in &before {
            if let Some(count @ ..0) = counts.get_mut(value.as_str()) {
                *count += 1;
                self.add(path.to_owned(), Some(value.clone()), None);
            }
        }
        for value in &after {
            if let Some(count @ 1..) = counts.get_mut(value.as_str()) {
                *count -= 1;
                self.add(path.to_owned(), None, Some(value.clone()));
            }
        }
    }

    /// Compares lists that contain objects or lists.
    fn compare_lists(&mut self, before: Node<'_, '_>, after: Node<'_, '_>, path: &str) {
        let (old, new) = (in_order(before), in_order(after));
        let alike = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
            pairs.take_while(|(old, new)| old == new).count()
        };
        let begin = alike(&mut old.iter().zip(&new));
        let most = old.len().min(new.len()) - begin;
        let end = alike(&mut old.iter().rev().zip(new.iter().rev())).min(most);
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        for index in begin..old_end.max(new_end) {
            let path = format!("{path}[{index}]");
            let old = before.children().nth(index).filter(|_| index < old_end);
            let new = after.children().nth(index).filter(|_| index < new_end);
            match (old, new) {
                (Some(old), Some(new)) => self.compare(old, new, &path),
                (old, new) => self.add(path, old.map(json), new.map(json)),
            }
        }
    }
}

/// Returns a name that needs no quotes in a path.
fn path_of(name: &str) -> Option<&str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = !name.starts_with(|c: char| c.is_ascii_digit());
    (!name.is_empty() && begins && name.bytes().all(is_plain)).then_some(name)
}

/// Returns whether a list contains no objects and no lists.
fn is_plain(list: Node<'_, '_>) -> bool {
    let nests = |node: Node<'_, '_>| matches!(node.scalar(), Scalar::Array | Scalar::Object);
    !list.children().any(nests)
}

fn jsons(list: Node<'_, '_>) -> Vec<String> {
    list.children().map(json).collect()
}

/// Returns the elements of a list, with their members sorted by name.
fn in_order(list: Node<'_, '_>) -> Vec<String> {
    let elements = list.children().map(|element| {
        let mut json = Vec::new();
        write_in_order(element, &mut json);
        String::from_utf8(json).unwrap_or_default()
    });
    elements.collect()
}

/// Appends a value, with the members of its objects sorted by name.
fn write_in_order(node: Node<'_, '_>, out: &mut Vec<u8>) {
    let mut children: Vec<_> = node.children().collect();
    let written = |child: &Node<'_, '_>| {
        let mut json = Vec::new();
        write_in_order(*child, &mut json);
        json
    };
    match node.scalar() {
        Scalar::Object => {
            children.sort_unstable_by_key(|child| child.key());
            let mut members = Members::default();
            for child in &children {
                members.set(child.key(), written(child));
            }
            members.write(out);
        }
        Scalar::Array => write_list(&children.iter().map(written).collect::<Vec<_>>(), out),
        _ => node.write(out),
    }
}

fn json(node: Node<'_, '_>) -> String {
    let mut json = Vec::new();
    node.write(&mut json);
    String::from_utf8(json).unwrap_or_default()
}
