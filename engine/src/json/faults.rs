//! Collects what is wrong with a document, and reads values that must be of some kind: each fault is named by its path, and
//! all of them are reported at once.

use std::borrow::Cow;

use super::nearest::nearest;
use super::{Node, Scalar};
use crate::error::{Code, Error, Fault, MAX_FAULTS, UNKNOWN};
use crate::swar::equal;

/// What is wrong with a name that has control characters.
pub const NO_CONTROLS: &str = "must not contain control characters";

/// The faults found in a document, in the order they were found.
#[derive(Debug, Default)]
pub struct Faults {
    list: Vec<Fault>,
    /// Whether unknown members are ignored.
    lenient: bool,
}

impl Faults {
    /// An empty list of faults. With `lenient`, unknown members are no faults (`Prefer: handling=lenient`).
    #[must_use]
    pub const fn lenient(lenient: bool) -> Self {
        Self {
            list: Vec::new(),
            lenient,
        }
    }

    /// Adds a fault for each member of an object whose name is not in `names`, unless unknown members are ignored. A misspelled
    /// name must not change a decision (`platform.md`, "Nothing that a caller meant is ignored").
    #[inline]
    pub fn refuse_unknown(&mut self, object: Node<'_, '_>, names: &[&str]) {
        if !self.lenient {
            self.always_refuse_unknown(object, names);
        }
    }

    /// Adds these faults even when unknown members are ignored: a rule that is not understood must not seem to be enforced.
    #[inline]
    pub fn always_refuse_unknown(&mut self, object: Node<'_, '_>, names: &[&str]) {
        for member in object.children() {
            if !names.iter().any(|name| equal(name, member.key())) {
                self.add_unknown(member, names);
            }
        }
    }

    /// Reads a part of the document in which unknown members are always faults.
    pub(crate) fn strictly<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let lenient = std::mem::take(&mut self.lenient);
        let value = read(self);
        self.lenient = lenient;
        value
    }

    #[cold]
    #[inline(never)]
    fn add_unknown(&mut self, member: Node<'_, '_>, names: &[&str]) {
        if self.has_room() {
            self.add(member, unknown(member.key(), names));
        }
    }

    /// Adds a fault of a node. `message` continues a sentence that the path begins: `must be a string`.
    #[cold]
    pub fn add(&mut self, node: Node<'_, '_>, message: impl Into<Cow<'static, str>>) {
        if self.has_room() {
            self.list.push(Fault {
                path: node.path(),
                message: message.into(),
            });
        }
    }

    /// Adds a fault of a member that the node lacks.
    #[cold]
    pub fn add_member(&mut self, node: Node<'_, '_>, key: &str, message: &'static str) {
        if self.has_room() {
            self.list.push(Fault {
                path: node.path_of(key),
                message: Cow::Borrowed(message),
            });
        }
    }

    fn has_room(&mut self) -> bool {
        if self.list.len() == MAX_FAULTS {
            let message = Cow::Borrowed("has more faults than are listed");
            self.list.push(Fault {
                path: "$".to_owned(),
                message,
            });
        }
        self.list.len() < MAX_FAULTS
    }

    /// Whether there are no faults so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `Ok` if there are no faults.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all of them.
    pub fn none_or_error(self) -> Result<(), Error> {
        if self.list.is_empty() {
            return Ok(());
        }
        Err(Error {
            code: Code::Invalid,
            faults: self.list,
        })
    }

    /// A required member; a fault if it is missing.
    pub fn required<'d, 'a>(&mut self, object: Node<'d, 'a>, key: &str) -> Option<Node<'d, 'a>> {
        let member = object.member(key);
        if member.is_none() {
            self.add_member(object, key, "is required");
        }
        member
    }

    /// The node, if it is an object; a fault if not.
    #[inline(always)]
    pub fn object<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if node.is_object() {
            return Some(node);
        }
        self.add(node, "must be an object");
        None
    }

    /// The node, if it is an object; a fault if not, and one for each member whose name is not in `names`.
    pub fn object_with<'d, 'a>(
        &mut self,
        node: Node<'d, 'a>,
        names: &[&str],
    ) -> Option<Node<'d, 'a>> {
        let object = self.object(node)?;
        self.refuse_unknown(object, names);
        Some(object)
    }

    /// The node, if it is an array; a fault if not.
    pub fn array<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if matches!(node.scalar(), Scalar::Array) {
            return Some(node);
        }
        self.add(node, "must be an array");
        None
    }

    /// The string, if it is one of 1 to `max` characters; a fault if not.
    pub fn name<'a>(&mut self, node: Node<'_, 'a>, max: usize) -> Option<Cow<'a, str>> {
        let text = node.text().filter(|text| {
            !text.is_empty() && (text.len() <= max || text.chars().nth(max).is_none())
        });
        if text.is_none() {
            self.add(
                node,
                with_number("must be a string of 1 to ", max, " characters"),
            );
        }
        text.cloned()
    }

    /// The boolean, if it is one; a fault if not.
    pub fn boolean(&mut self, node: Node<'_, '_>) -> Option<bool> {
        if let Scalar::Bool(value) = node.scalar() {
            return Some(*value);
        }
        self.add(node, "must be true or false");
        None
    }

    /// The integer, if it is one from 0 to `max`; a fault if not.
    pub fn integer(&mut self, node: Node<'_, '_>, max: u8) -> Option<u8> {
        if let Some(value) = node.integer()
            && let Ok(value) = u8::try_from(value)
            && value <= max
        {
            return Some(value);
        }
        self.add(
            node,
            with_number("must be an integer from 0 to ", max.into(), ""),
        );
        None
    }
}

/// The message about a name that is not in `names`. It suggests the most similar one, if there is one.
#[must_use]
pub fn unknown(name: &str, names: &[&str]) -> Cow<'static, str> {
    match nearest(name, names) {
        Some(nearest) => Cow::Owned([UNKNOWN, ": is ", nearest, " meant?"].concat()),
        None => Cow::Borrowed(UNKNOWN),
    }
}

/// A message with a number in it. Unlike `format!`, this takes little of the module.
#[cold]
#[inline(never)]
fn with_number(before: &str, number: usize, after: &str) -> String {
    let mut message = String::from(before);
    message.push_str(&number.to_string());
    message.push_str(after);
    message
}
