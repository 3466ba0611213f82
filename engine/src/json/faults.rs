//! Collects what is wrong with a document, and reads values that must be of some kind: each fault is named by its path, and
//! all of them are reported at once.

use std::borrow::Cow;

use super::{Node, Scalar};
use crate::error::{Code, Error, Fault, MAX_FAULTS};

/// What is wrong with a name that has control characters.
pub const NO_CONTROLS: &str = "must not contain control characters";

/// The faults found in a document, in the order they were found.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault of a node. `message` continues a sentence that the path begins: `must be a string`.
    #[cold]
    pub fn add(&mut self, node: Node<'_, '_>, message: impl Into<Cow<'static, str>>) {
        if self.has_room() {
            self.0.push(Fault {
                path: node.path(),
                message: message.into(),
            });
        }
    }

    /// Adds a fault of a member that the node lacks.
    #[cold]
    pub fn add_member(&mut self, node: Node<'_, '_>, key: &str, message: &'static str) {
        if self.has_room() {
            self.0.push(Fault {
                path: node.path_of(key),
                message: Cow::Borrowed(message),
            });
        }
    }

    fn has_room(&mut self) -> bool {
        if self.0.len() == MAX_FAULTS {
            let message = Cow::Borrowed("has more faults than are listed");
            self.0.push(Fault {
                path: "$".to_owned(),
                message,
            });
        }
        self.0.len() < MAX_FAULTS
    }

    /// Whether there are no faults so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` if there are no faults.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all of them.
    pub fn none_or_error(self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error {
            code: Code::Invalid,
            faults: self.0,
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

/// A message with a number in it. Unlike `format!`, this takes little of the module.
#[cold]
#[inline(never)]
fn with_number(before: &str, number: usize, after: &str) -> String {
    let mut message = String::from(before);
    message.push_str(&number.to_string());
    message.push_str(after);
    message
}
