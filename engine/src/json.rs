//! A JSON text, read once and strictly into a flat list of nodes, and what is found wrong while looking at it.
//!
//! Strict means: UTF-8, no member twice in an object, nothing after the value, at most [`MAX_DEPTH`] levels
//! (`platform.md`, "HTTP conventions"). Strings are borrowed from the text where they have no escapes. A node knows its
//! place, so the path of a fault costs nothing until there is one. Not a general JSON library: it reads what a caller
//! sent, so that [`crate::condition`], [`crate::restriction`] and the host can name everything that is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Code, Error, Fault, MAX_FAULTS};
use crate::index::{Index, Seed};
use crate::words::{may_need_escape, same};

/// How deep arrays and objects may lie in each other.
pub const MAX_DEPTH: usize = 32;

/// A value without what is inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number without fraction and exponent that an `i64` holds.
    Integer(i64),
    /// Any other number. Its value is of no use here: nothing in the engine is a float.
    Number,
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Where a value stands in the one around it.
#[derive(Clone, Debug)]
enum Place<'a> {
    /// The member of that name.
    Member(Cow<'a, str>),
    /// The element at that position; the whole is one too.
    Element(usize),
}

#[derive(Clone, Debug)]
struct Entry<'a> {
    place: Place<'a>,
    /// The index of the entry around this one; its own for the whole.
    around: usize,
    scalar: Scalar<'a>,
    /// The index after the last entry inside this one.
    end: usize,
}

/// A JSON text that was read; never empty.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    entries: Vec<Entry<'a>>,
    /// Whether an object may have a member twice; when not, none has.
    may_repeat: bool,
}

/// A value in a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d, 'a> {
    entries: &'d [Entry<'a>],
    index: usize,
}

/// What was found wrong with a document, in the order it was found.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl<'a> Document<'a> {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// [`Code::Invalid`] when it is not JSON as this module means it.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        let text = std::str::from_utf8(text)
            .map_err(|_| Error::new(Code::Invalid, "$", "must be UTF-8"))?;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let document = Self::read(&mut deserializer)
            .and_then(|read| deserializer.end().map(|()| read))
            .map_err(|cause| Error::new(Code::Invalid, "$", format!("must be JSON: {cause}")))?;
        document.without_repeats()
    }

    /// Reads a value of any serde format: a JavaScript value, for one.
    ///
    /// # Errors
    /// What the format says; a member that is there twice is for [`Document::without_repeats`].
    pub fn read<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        let mut document = Self {
            entries: Vec::with_capacity(16),
            may_repeat: false,
        };
        let reader = Reader {
            document: &mut document,
            place: Place::Element(0),
            around: 0,
            depth: 0,
        };
        reader.deserialize(deserializer)?;
        Ok(document)
    }

    /// The document, when no object in it has a member twice.
    ///
    /// # Errors
    /// [`Code::Invalid`] naming each repeated member.
    pub fn without_repeats(self) -> Result<Self, Error> {
        if !self.may_repeat {
            return Ok(self);
        }
        let mut faults = Faults::default();
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.scalar == Scalar::Object {
                let object = Node {
                    entries: &self.entries,
                    index,
                };
                object.each_repeated_member(&mut |member| faults.add(member, "is there twice"));
            }
        }
        faults.none_or_error().map(|()| self)
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Node<'_, 'a> {
        Node {
            entries: &self.entries,
            index: 0,
        }
    }
}

impl<'d, 'a> Node<'d, 'a> {
    #[inline(always)]
    fn entry(self) -> Option<&'d Entry<'a>> {
        self.entries.get(self.index)
    }

    /// The value, without what is inside it.
    #[must_use]
    #[inline(always)]
    pub fn scalar(self) -> &'d Scalar<'a> {
        self.entry().map_or(&Scalar::Null, |entry| &entry.scalar)
    }

    /// The string, when it is one.
    #[must_use]
    #[inline(always)]
    pub fn text(self) -> Option<&'d Cow<'a, str>> {
        match self.scalar() {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `null`.
    #[must_use]
    #[inline(always)]
    pub fn is_null(self) -> bool {
        *self.scalar() == Scalar::Null
    }

    /// Whether it is an object.
    #[must_use]
    #[inline(always)]
    pub fn is_object(self) -> bool {
        *self.scalar() == Scalar::Object
    }

    /// What is inside an array or an object, in order.
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

    /// The member's name, when the node is a member.
    #[must_use]
    #[inline(always)]
    pub fn key(self) -> &'d Cow<'a, str> {
        const NONE: &Cow<'static, str> = &Cow::Borrowed("");
        match self.entry().map(|entry| &entry.place) {
            Some(Place::Member(key)) => key,
            Some(Place::Element(_)) | None => NONE,
        }
    }

    /// The member of that name, when the node is an object that has it.
    #[must_use]
    pub fn member(self, key: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        self.children().find(|child| same(child.key(), key))
    }

    fn each_repeated_member(self, report: &mut dyn FnMut(Self)) {
        let few = self.children().nth(16).is_none();
        let names = self.children().map(|member| member.key().as_ref());
        let mut seen = Index::new(Seed::of(names.filter(|_| !few)));
        for (number, member) in self.children().enumerate() {
            let mut earlier = self.children().take(number);
            let repeated = if few {
                earlier.any(|earlier| same(earlier.key(), member.key()))
            } else {
                seen.get_or_add(member.key(), number) != number
            };
            if repeated {
                report(member);
            }
        }
    }

    /// Where the node is, as a JSON path.
    #[must_use]
    pub fn path(self) -> String {
        let mut path = String::from("$");
        let mut chain = Vec::new();
        let mut index = self.index;
        while index > 0
            && let Some(entry) = self.entries.get(index)
        {
            chain.push(&entry.place);
            index = entry.around;
        }
        for place in chain.into_iter().rev() {
            match place {
                Place::Member(key) => push_member(&mut path, key),
                Place::Element(position) => push_index(&mut path, *position),
            }
        }
        path
    }

    /// Where a member of this node is or would be.
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
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !key.is_empty()
        && !key.starts_with(|c: char| c.is_ascii_digit());
    if plain {
        path.push('.');
        path.push_str(key);
        return;
    }
    path.push_str("['");
    for c in key.chars().take(64) {
        match c {
            '\'' | '\\' => path.extend(['\\', c]),
            c if c.is_control() => path.push('\u{fffd}'),
            c => path.push(c),
        }
    }
    path.push_str("']");
}

impl Faults {
    /// Notes what is wrong with a node.
    #[cold]
    pub fn add(&mut self, node: Node<'_, '_>, message: impl Into<Cow<'static, str>>) {
        if self.has_room() {
            self.0.push(Fault {
                path: node.path(),
                message: message.into(),
            });
        }
    }

    /// Notes what is wrong with a member of a node that is not there.
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

    /// Whether nothing is wrong so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing, when nothing is wrong.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all that is.
    pub fn none_or_error(self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error {
            code: Code::Invalid,
            faults: self.0,
        })
    }

    /// A required member; noted when it is missing.
    pub fn required<'d, 'a>(&mut self, object: Node<'d, 'a>, key: &str) -> Option<Node<'d, 'a>> {
        let member = object.member(key);
        if member.is_none() {
            self.add_member(object, key, "is required");
        }
        member
    }

    /// The node, when it is an object; noted when it is not.
    #[inline(always)]
    pub fn object<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if node.is_object() {
            return Some(node);
        }
        self.add(node, "must be an object");
        None
    }

    /// The node, when it is an array; noted when it is not.
    pub fn array<'d, 'a>(&mut self, node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if *node.scalar() == Scalar::Array {
            return Some(node);
        }
        self.add(node, "must be an array");
        None
    }

    /// The string, when it is one of 1 to `max` characters; noted when it is not.
    pub fn name<'a>(&mut self, node: Node<'_, 'a>, max: usize) -> Option<Cow<'a, str>> {
        let text = node.text().filter(|text| {
            !text.is_empty() && (text.len() <= max || text.chars().nth(max).is_none())
        });
        if text.is_none() {
            self.add(node, format!("must be a string of 1 to {max} characters"));
        }
        text.cloned()
    }

    /// The boolean, when it is one; noted when it is not.
    pub fn boolean(&mut self, node: Node<'_, '_>) -> Option<bool> {
        if let Scalar::Bool(value) = node.scalar() {
            return Some(*value);
        }
        self.add(node, "must be true or false");
        None
    }

    /// The integer, when it is one from 0 to `max`; noted when it is not.
    pub fn integer(&mut self, node: Node<'_, '_>, max: u8) -> Option<u8> {
        if let Scalar::Integer(value) = node.scalar()
            && let Ok(value) = u8::try_from(*value)
            && value <= max
        {
            return Some(value);
        }
        self.add(node, format!("must be an integer from 0 to {max}"));
        None
    }
}

/// Appends a string's JSON text.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    if may_need_escape(text) {
        // Writing a string to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// Reads one value, and what is inside it, to the end of a document's entries.
struct Reader<'r, 'a> {
    document: &'r mut Document<'a>,
    place: Place<'a>,
    around: usize,
    depth: usize,
}

impl<'a> Reader<'_, 'a> {
    #[inline(always)]
    fn leaf<E>(self, scalar: Scalar<'a>) -> Result<(), E> {
        let end = self.document.entries.len() + 1;
        self.document.entries.push(Entry {
            place: self.place,
            around: self.around,
            scalar,
            end,
        });
        Ok(())
    }

    /// Opens an array or object; its `end` is set when it is closed.
    #[inline(always)]
    fn open<E: de::Error>(&mut self, scalar: Scalar<'a>) -> Result<usize, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom("deeper than 32 levels"));
        }
        let index = self.document.entries.len();
        self.document.entries.push(Entry {
            place: std::mem::replace(&mut self.place, Place::Element(0)),
            around: self.around,
            scalar,
            end: index + 1,
        });
        Ok(index)
    }

    /// A reader of what stands there in the array or object at `index`.
    #[inline(always)]
    fn inside<'s>(&'s mut self, index: usize, place: Place<'a>) -> Reader<'s, 'a> {
        Reader {
            document: &mut *self.document,
            place,
            around: index,
            depth: self.depth + 1,
        }
    }

    #[inline(always)]
    fn close<E>(self, index: usize) -> Result<(), E> {
        let end = self.document.entries.len();
        if let Some(entry) = self.document.entries.get_mut(index) {
            entry.end = end;
        }
        Ok(())
    }
}

/// One of 64 bits for a name: names with different bits are different.
#[inline(always)]
fn mark(name: &str) -> u64 {
    let name = name.as_bytes();
    let (first, last) = (name.first().unwrap_or(&0), name.last().unwrap_or(&0));
    let length = name.len().to_le_bytes()[0];
    let sum = u32::from_le_bytes([*first, *last, length, 0]);
    1 << (sum.wrapping_mul(0x9e37_79b1) >> 26)
}

impl<'a> DeserializeSeed<'a> for Reader<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Reader<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.leaf(Scalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.leaf(Scalar::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.leaf(Scalar::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.leaf(i64::try_from(value).map_or(Scalar::Number, Scalar::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.leaf(Scalar::Number)
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<(), E> {
        self.leaf(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.leaf(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<(), E> {
        self.leaf(Scalar::Text(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut access: A) -> Result<(), A::Error> {
        let index = self.open(Scalar::Array)?;
        let mut position = 0;
        while access
            .next_element_seed(self.inside(index, Place::Element(position)))?
            .is_some()
        {
            position += 1;
        }
        self.close(index)
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut access: A) -> Result<(), A::Error> {
        let index = self.open(Scalar::Object)?;
        let mut seen = 0;
        while let Some(key) = access.next_key_seed(Key)? {
            let mark = mark(&key);
            self.document.may_repeat |= seen & mark != 0;
            seen |= mark;
            access.next_value_seed(self.inside(index, Place::Member(key)))?;
        }
        self.close(index)
    }
}

/// Reads a member's name, borrowed where it can be.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}
