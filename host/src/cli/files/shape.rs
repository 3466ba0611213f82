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

/// Appends an object with these members, compact. Those of `ignored` may be there and are left out.
pub(super) fn write_object(
    object: Node<'_, '_>,
    members: &[Member],
    ignored: &[&str],
    faults: &mut Faults,
    out: &mut Vec<u8>,
) {
    for child in object.children() {
        let name = child.key().as_ref();
        let is_known = members.iter().any(|member| member.name == name);
        if !is_known && !ignored.contains(&name) {
            faults.add(child, "is not a member that may stand here");
        }
    }
    let mut before = b'{';
    for member in members {
        let node = object.member(member.name).filter(|node| !node.is_null());
        let node = match (member.default, node) {
            (Default::NoneOrEmpty, Some(node)) if is_empty_list(node) => None,
            (_, node) => node,
        };
        let is_secret = matches!(member.shape, Shape::Secret);
        let default = match (member.default, node) {
            (Default::Is(json), None) => Some(json),
            _ => None,
        };
        if is_secret || node.is_none() && default.is_none() {
            continue;
        }
        out.push(before);
        before = b',';
        write_text(member.name, out);
        out.push(b':');
        match (node, default) {
            (Some(node), _) => write(node, member.shape, faults, out),
            (None, default) => out.extend_from_slice(default.unwrap_or_default().as_bytes()),
        }
    }
    if before == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
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
            write_object(node, members, &[], faults, out);
        }
        Shape::Tagged(tag, variants) if node.is_object() => {
            let text = node.member(tag).and_then(|member| member.text());
            let text = text.map_or("", Cow::as_ref);
            match variants.iter().find(|(name, _)| *name == text) {
                Some((_, members)) => write_object(node, members, &[], faults, out),
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
pub(super) fn write_list<'e>(elements: impl Iterator<Item = &'e Vec<u8>>, out: &mut Vec<u8>) {
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
