//! A JSON text, read once and strictly into a flat list of nodes. Faults found in it are collected in [`Faults`].
//!
//! Strict means: UTF-8, no duplicate members in an object, nothing after the value, at most [`MAX_DEPTH`] levels
//! (`platform.md`, "HTTP conventions"). A byte order mark before the value is skipped. Numbers keep their text, so an
//! amount stays exact from a request to the store and to the answer. Strings without escapes, and numbers, are borrowed
//! from the text. Every entry records its parent, so a path is built only when there is a fault to report. This is not
//! a general JSON library: it exists to name everything that is wrong with an input at once.

mod faults;
mod nearest;
mod numbers;
mod reader;
mod write;

use std::borrow::Cow;
use std::fmt::Write;

use serde::de::DeserializeSeed;

pub use self::faults::{Faults, NO_CONTROLS, unknown};
pub use self::nearest::nearest;
use self::numbers::Numbers;
use self::reader::Reader;
pub(crate) use self::write::{push, push_text, write_number, write_text};
use crate::error::{Code, Error};
use crate::index::{Index, Seed};
use crate::swar::equal;

/// The deepest nesting of arrays and objects, in levels.
pub const MAX_DEPTH: usize = 32;

/// The byte order mark in UTF-8. Some programs write it at the beginning of a file.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The most values, arrays, objects and members in the text of a request. No valid request has more, and they take
/// little memory.
pub const MAX_VALUES: usize = 250_000;

/// A value. An array or an object comes without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits an `i64` and is written without a fraction or an exponent.
    Integer(i64),
    /// Any other number, exactly as it is written: `1.10`, `1e2`, `-0`, `123456789012345678901`. It is never a float,
    /// which would lose digits.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// One step of a JSON path: the address of a value in its parent.
#[derive(Clone, Debug)]
enum Segment<'a> {
    /// The name of a member.
    Member(Cow<'a, str>),
    /// The position of an element, from 0. The root is `Element(0)`.
    Element(usize),
}

#[derive(Clone, Debug)]
struct Entry<'a> {
    segment: Segment<'a>,
    /// The index of the parent's entry; the root is its own parent.
    parent: usize,
    scalar: Scalar<'a>,
    /// The index after this entry's last descendant.
    end: usize,
}

/// A parsed JSON text; never empty.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// In the order of the text.
    entries: Vec<Entry<'a>>,
    /// True if an object may have duplicate members; if false, none has.
    may_have_duplicates: bool,
    /// True if there is a [`Scalar::Number`].
    has_numbers: bool,
    /// True if a number may be an integer with a fraction of zeros, such as `18.0`.
    may_have_integers: bool,
    /// True if reading ended at a value that is nested too deeply.
    is_too_deep: bool,
    /// The most entries, and whether reading ended because there was one more.
    most: usize,
    has_too_many: bool,
}

/// A value in a document. The default stands for a missing value, and is `null`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<'d, 'a> {
    entries: &'d [Entry<'a>],
    index: usize,
}

impl<'a> Document<'a> {
    /// Parses a JSON text.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the text is not JSON, or not as strict as this module requires; every duplicate member is
    /// named.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        Self::parse_up_to(text, MAX_VALUES)
    }

    /// Parses a JSON text of at most `most` values.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn parse_up_to(text: &'a [u8], most: usize) -> Result<Self, Error> {
        let text = utf8(text)?;
        let mut document = Self::read(text, most)?;
        if document.has_numbers {
            document.fill_in_numbers(text);
        }
        Ok(document)
    }

    /// Parses at most `most` values, and leaves out the texts of numbers if none of them can be an integer. Decisions
    /// do not read those texts, and keeping them would slow down an item with a price by a third.
    pub(crate) fn parse_without_number_text(text: &'a [u8], most: usize) -> Result<Self, Error> {
        let text = utf8(text)?;
        let mut document = Self::read(text, most)?;
        if document.may_have_integers {
            document.fill_in_numbers(text);
        }
        Ok(document)
    }

    fn read(text: &'a str, most: usize) -> Result<Self, Error> {
        let mut document = Self {
            entries: Vec::with_capacity(16),
            may_have_duplicates: false,
            has_numbers: false,
            may_have_integers: false,
            is_too_deep: false,
            most,
            has_too_many: false,
        };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let root = Reader {
            document: &mut document,
            segment: Segment::Element(0),
            parent: 0,
            depth: 0,
        };
        let read = root
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end());
        if document.is_too_deep {
            let message = "must be JSON: nested deeper than 32 levels";
            return Err(Error::new(Code::Invalid, "$", message));
        }
        if document.has_too_many {
            let message = "must have at most 250000 values, in arrays and objects too";
            return Err(Error::new(Code::Invalid, "$", message));
        }
        read.map_err(|cause| {
            let mut message = String::from("must be JSON: ");
            // Unlike `format!`, this cannot panic, so the module has no code for a panic.
            let _ = write!(message, "{cause}");
            Error::new(Code::Invalid, "$", message)
        })?;
        if document.may_have_duplicates {
            document.reject_duplicates()?;
        }
        Ok(document)
    }

    fn reject_duplicates(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        for (index, entry) in self.entries.iter().enumerate() {
            if matches!(entry.scalar, Scalar::Object) {
                let object = Node {
                    entries: &self.entries,
                    index,
                };
                object.for_each_duplicate(&mut |member| faults.add(member, "appears twice"));
            }
        }
        faults.none_or_error()
    }

    /// Takes the text of numbers from the JSON text that the entries were read from. `serde_json` passes on a float
    /// instead of the text; its feature that keeps the text would make every integer slower, in every crate of the
    /// build.
    fn fill_in_numbers(&mut self, text: &'a str) {
        let mut numbers = Numbers { rest: text };
        for entry in &mut self.entries {
            match &mut entry.scalar {
                Scalar::Number(number) => *number = numbers.next().unwrap_or_default(),
                Scalar::Integer(_) => {
                    numbers.next();
                }
                _ => {}
            }
        }
    }

    /// Returns the outermost value.
    #[must_use]
    pub fn root(&self) -> Node<'_, 'a> {
        Node {
            entries: &self.entries,
            index: 0,
        }
    }
}

/// Returns the text without a byte order mark.
fn utf8(text: &[u8]) -> Result<&str, Error> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    std::str::from_utf8(text).map_err(|_| Error::new(Code::Invalid, "$", "must be UTF-8"))
}

impl<'d, 'a> Node<'d, 'a> {
    #[inline(always)]
    fn entry(self) -> Option<&'d Entry<'a>> {
        self.entries.get(self.index)
    }

    /// Returns the value. An array or an object comes without its contents.
    #[must_use]
    #[inline(always)]
    pub fn scalar(self) -> &'d Scalar<'a> {
        self.entry().map_or(&Scalar::Null, |entry| &entry.scalar)
    }

    /// Returns the string, if the value is one.
    #[must_use]
    #[inline(always)]
    pub fn text(self) -> Option<&'d Cow<'a, str>> {
        match self.scalar() {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the value is `null`.
    #[must_use]
    #[inline(always)]
    pub fn is_null(self) -> bool {
        matches!(self.scalar(), Scalar::Null)
    }

    /// Returns whether the value is an object.
    #[must_use]
    #[inline(always)]
    pub fn is_object(self) -> bool {
        matches!(self.scalar(), Scalar::Object)
    }

    /// Returns the elements of an array or the members of an object, in order; any other value has none.
    pub fn children(self) -> impl Iterator<Item = Self> {
        let mut next = self.index + 1;
        let end = self.entry().map_or(0, |entry| entry.end);
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let child = Node {
                entries: self.entries,
                index: next,
            };
            next = child.entry()?.end;
            Some(child)
        })
    }

    /// Returns the member's name, which is empty if the node is not a member of an object.
    #[must_use]
    #[inline(always)]
    pub fn key(self) -> &'d Cow<'a, str> {
        const NONE: &Cow<'static, str> = &Cow::Borrowed("");
        match self.entry().map(|entry| &entry.segment) {
            Some(Segment::Member(key)) => key,
            Some(Segment::Element(_)) | None => NONE,
        }
    }

    /// Returns the member with this name, if the node is an object that has one.
    #[must_use]
    pub fn member(self, key: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        self.children().find(|child| equal(child.key(), key))
    }

    fn for_each_duplicate(self, report: &mut dyn FnMut(Self)) {
        let few = self.children().nth(16).is_none();
        let names = self.children().map(|member| member.key().as_ref());
        let mut seen = Index::new(Seed::of(names.filter(|_| !few)));
        for (number, member) in self.children().enumerate() {
            let mut earlier = self.children().take(number);
            let is_duplicate = if few {
                earlier.any(|earlier| equal(earlier.key(), member.key()))
            } else {
                seen.get_or_insert(member.key(), number) != number
            };
            if is_duplicate {
                report(member);
            }
        }
    }

    /// Returns the node's JSON path, such as `$.items[3].id`.
    #[must_use]
    pub fn path(self) -> String {
        let mut path = String::from("$");
        let mut chain = Vec::new();
        let mut index = self.index;
        while index > 0
            && let Some(entry) = self.entries.get(index)
        {
            chain.push(&entry.segment);
            index = entry.parent;
        }
        for segment in chain.into_iter().rev() {
            match segment {
                Segment::Member(key) => push_member(&mut path, key),
                Segment::Element(position) => push_index(&mut path, *position),
            }
        }
        path
    }

    /// Returns the JSON path of a member of this node, whether or not the member exists.
    #[must_use]
    pub fn path_of(self, key: &str) -> String {
        let mut path = self.path();
        push_member(&mut path, key);
        path
    }
}

fn push_index(path: &mut String, position: usize) {
    path.push('[');
    path.push_str(&position.to_string());
    path.push(']');
}

fn push_member(path: &mut String, key: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let first = key.bytes().next();
    if first.is_some_and(|first| !first.is_ascii_digit()) && key.bytes().all(is_plain) {
        path.push('.');
        path.push_str(key);
        return;
    }
    path.push_str("['");
    for c in key.chars().take(64) {
        if matches!(c, '\'' | '\\') {
            path.push('\\');
        }
        path.push(if c.is_control() { '\u{fffd}' } else { c });
    }
    path.push_str("']");
}
