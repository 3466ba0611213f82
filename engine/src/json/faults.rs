//! Collects the faults of a document, and reads values that must be of some kind. Each fault is named by its path, and
//! all of them are reported at once.

use std::borrow::Cow;

use super::nearest::nearest;
use super::{Node, Scalar};
use crate::error::{Code, Error, Fault, MAX_FAULTS, UNKNOWN};
use crate::swar::equal;

/// The message about a name that has control characters.
pub const NO_CONTROLS: &str = "must not contain control characters";

/// The faults of a document, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Faults {
    list: Vec<Fault>,
    /// True if unknown members are ignored.
    lenient: bool,
}

impl Faults {
    /// Creates an empty list of faults. With `lenient`, unknown members are not faults (`Prefer: handling=lenient`).
    #[must_use]
    pub const fn lenient(lenient: bool) -> Self {
        Self {
            list: Vec::new(),
            lenient,
        }
    }

    /// Adds a fault for each member of an object whose name is not in `names`, unless unknown members are ignored. A
    /// misspelled name must not change a decision (`platform.md`, "Nothing that a caller meant is ignored").
    #[inline]
    pub fn refuse_unknown(&mut self, object: Node<'_, '_>, names: &[&str]) {
        if !self.lenient {
            self.always_refuse_unknown(object, names);
        }
    }

    /// Adds these faults even if unknown members are ignored: a rule that is not understood must not seem to be
    /// enforced.
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

    /// Adds a fault at a node. `message` continues a sentence that the path begins: `must be a string`.
    #[cold]
    pub fn add(&mut self, node: Node<'_, '_>, message: impl Into<Cow<'static, str>>) {
        if self.has_room() {
            self.list.push(Fault {
                path: node.path(),
                message: message.into(),
            });
        }
    }

    /// Adds a fault at a member that the node lacks.
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

    /// Returns whether there are no faults so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns `Ok` if there are no faults.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all faults.
    pub fn none_or_error(self) -> Result<(), Error> {
        if self.list.is_empty() {
            return Ok(());
        }
        Err(Error {
            code: Code::Invalid,
            faults: self.list,
        })
    }

    /// Returns a required member, or adds a fault if it is missing.
    pub fn required<'d, 'a>(&mut self, object: Node<'d, 'a>, key: &str) -> Option<Node<'d, 'a>> {
        let member = object.member(key);
        if member.is_none() {
            self.add_member(object, key, "is required");
        }
        member
    }

    /// Returns the node if it is an object, or adds a fault.
    #[inline(always)]
    pub fn object<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if node.is_object() {
            return Some(node);
        }
        self.add(node, "must be an object");
        None
    }

    /// Returns the node if it is an object, and refuses members whose names are not in `names`; otherwise adds a fault.
    pub fn object_with<'d, 'a>(
        &mut self,
        node: Node<'d, 'a>,
        names: &[&str],
    ) -> Option<Node<'d, 'a>> {
        let object = self.object(node)?;
        self.refuse_unknown(object, names);
        Some(object)
    }

    /// Returns the node if it is an array, or adds a fault.
    pub fn array<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if matches!(node.scalar(), Scalar::Array) {
            return Some(node);
        }
        self.add(node, "must be an array");
        None
    }

    /// Returns the string if it has 1 to `max` characters, or adds a fault.
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

    /// Returns the boolean if it is one, or adds a fault.
    pub fn boolean(&mut self, node: Node<'_, '_>) -> Option<bool> {
        if let Scalar::Bool(value) = node.scalar() {
            return Some(*value);
        }
        self.add(node, "must be true or false");
        None
    }

    /// Returns the integer if it is one from 0 to `max`, or adds a fault.
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

/// Returns the message about a name that is not in `names`. It suggests the most similar name, if there is one.
#[must_use]
pub fn unknown(name: &str, names: &[&str]) -> Cow<'static, str> {
    match nearest(name, names) {
        Some(nearest) => Cow::Owned([UNKNOWN, ": is ", nearest, " meant?"].concat()),
        None => Cow::Borrowed(UNKNOWN),
    }
}

/// Returns a message with a number in it. Unlike `format!`, this takes little of the module.
#[cold]
#[inline(never)]
fn with_number(before: &str, number: usize, after: &str) -> String {
    let mut message = String::from(before);
    message.push_str(&number.to_string());
    message.push_str(after);
    message
}
