//! The form of a file: the members that it may have, and the one way in which each is written.
//!
//! A file and the host's answer are brought into the same form, so that they are the same to the byte when they say the
//! same: members in one order, what is left out filled in, decimals without zeros at their end. A member that the form does
//! not have is a fault: a slip of the pen must not be dropped. Whether values are valid is for the host's own readers to say
//! (`document.rs`).

use std::borrow::Cow;

use tillgate_engine::json::{Faults, Node, Scalar};

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Anything, as it is written.
    Any,
    /// A number with one spelling; anything else as it is written.
    Spelled(fn(&str) -> Option<String>),
    /// The same for a string.
    SpelledText(fn(&str) -> Option<String>),
    /// A list.
    List(&'static Shape),
    /// A list of strings whose order says nothing.
    Set,
    /// An object with these members.
    Object(&'static [Member]),
    /// An object whose members depend on the text of one of them.
    Tagged(&'static str, &'static [(&'static str, &'static [Member])]),
    /// A secret, which is no part of what is compared (`secrets.rs`).
    Secret,
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) default: Default,
}

/// What it means that a member is left out, or null.
#[derive(Clone, Copy, Debug)]
pub(super) enum Default {
    /// That it is not there.
    None,
    /// The same as an empty list.
    NoneOrEmpty,
    /// The same as this JSON.
    Is(&'static str),
}

impl Member {
    /// One without a default.
    pub(super) const fn new(name: &'static str, shape: Shape) -> Self {
        Self {
            name,
            shape,
            default: Default::None,
        }
    }
}

/// The members of an object in its form, by name: JSON.
#[derive(Clone, Debug, std::default::Default, PartialEq, Eq)]
pub(super) struct Members(Vec<(&'static str, Vec<u8>)>);

impl Members {
    /// Reads an object. Those of `ignored` may be there and are left out.
    pub(super) fn read(
        object: Node<'_, '_>,
        members: &[Member],
        ignored: &[&str],
        faults: &mut Faults,
    ) -> Self {
        for child in object.children() {
            let name = child.key().as_ref();
            let is_known = members.iter().any(|member| member.name == name);
            if !is_known && !ignored.contains(&name) {
                faults.add(child, "is not a member that may stand here");
            }
        }
        let mut read = Self::default();
        for member in members {
            let node = object.member(member.name).filter(|node| !node.is_null());
            let json = match (member.default, node) {
                _ if matches!(member.shape, Shape::Secret) => continue,
                (Default::NoneOrEmpty, Some(node)) if is_empty_list(node) => continue,
                (Default::Is(json), None) => json.as_bytes().to_vec(),
                (_, None) => continue,
                (_, Some(node)) => {
                    let mut json = Vec::new();
                    write(node, member.shape, faults, &mut json);
                    json
                }
            };
            read.0.push((member.name, json));
        }
        read
    }

    /// The JSON of a member.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.map(|(_, json)| json.as_slice())
    }

    /// The text of a member.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_slice(self.get(name)?).ok()
    }

    /// Sets a member, the last one if it is new.
    pub(super) fn set(&mut self, name: &'static str, json: Vec<u8>) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, before)) => *before = json,
            None => self.0.push((name, json)),
        }
    }

    /// The object, compact.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        self.write(&mut json);
        json
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (index, (name, json)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_text(name, out);
            out.push(b':');
            out.extend_from_slice(json);
        }
        out.push(b'}');
    }
}

/// Appends a value in its form. What is not of the form is written as it is: the host's readers refuse it.
fn write(node: Node<'_, '_>, shape: Shape, faults: &mut Faults, out: &mut Vec<u8>) {
    match shape {
        Shape::Any | Shape::Secret => node.write(out),
        Shape::Spelled(spell) => match node.number().and_then(|number| spell(&number)) {
            Some(number) => out.extend_from_slice(number.as_bytes()),
            None => node.write(out),
        },
        Shape::SpelledText(spell) => match node.text().and_then(|text| spell(text)) {
            Some(text) => write_text(&text, out),
            None => node.write(out),
        },
        Shape::List(shape) if is_list(node) => {
            let elements = node.children().map(|element| {
                let mut json = Vec::new();
                write(element, *shape, faults, &mut json);
                json
            });
            write_list(elements.collect::<Vec<_>>().iter(), out);
        }
        Shape::Set if is_list(node) => {
            let elements = node.children().map(|element| {
                let mut json = Vec::new();
                element.write(&mut json);
                json
            });
            let mut elements: Vec<_> = elements.collect();
            elements.sort_unstable();
            elements.dedup();
            write_list(elements.iter(), out);
        }
        Shape::Object(members) if node.is_object() => {
            Members::read(node, members, &[], faults).write(out);
        }
        Shape::Tagged(tag, variants) if node.is_object() => {
            let text = node.member(tag).and_then(|member| member.text());
            let text = text.map_or("", Cow::as_ref);
            match variants.iter().find(|(name, _)| *name == text) {
                Some((_, members)) => Members::read(node, members, &[], faults).write(out),
                None => node.write(out),
            }
        }
        Shape::List(_) | Shape::Set | Shape::Object(_) | Shape::Tagged(..) => node.write(out),
    }
}

fn is_list(node: Node<'_, '_>) -> bool {
    matches!(node.scalar(), Scalar::Array)
}

fn is_empty_list(node: Node<'_, '_>) -> bool {
    is_list(node) && node.children().next().is_none()
}

/// Appends elements as a list.
fn write_list<'e>(elements: impl Iterator<Item = &'e Vec<u8>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, element) in elements.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(element);
    }
    out.push(b']');
}

/// Appends a string as JSON.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing a string cannot fail.
    out.extend(serde_json::to_vec(text).unwrap_or_default());
}
