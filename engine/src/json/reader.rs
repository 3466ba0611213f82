//! Reads a JSON text into the entries of a document, in one pass.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Document, Entry, MAX_DEPTH, Scalar, Segment};

/// Reads one value with its contents, and appends them to a document's entries.
pub(super) struct Reader<'r, 'a> {
    pub(super) document: &'r mut Document<'a>,
    pub(super) segment: Segment<'a>,
    pub(super) parent: usize,
    pub(super) depth: usize,
}

impl<'a> Reader<'_, 'a> {
    #[inline(always)]
    fn leaf<E>(self, scalar: Scalar<'a>) -> Result<(), E> {
        let end = self.document.entries.len() + 1;
        self.document.entries.push(Entry {
            segment: self.segment,
            parent: self.parent,
            scalar,
            end,
        });
        Ok(())
    }

    /// Appends a number whose text [`Document::fill_in_numbers`] fills in.
    fn number<E>(self) -> Result<(), E> {
        self.document.has_numbers = true;
        self.leaf(Scalar::Number(""))
    }

    /// Begins an array or object; [`Reader::close`] sets its `end`. Returns `None` if it is too deep or there are too
    /// many values: it is not read, which `serde_json` takes for a syntax error. An error from here would need the code
    /// that looks for a line and column in its message, a fifteenth of the module.
    #[inline(always)]
    fn open(&mut self, scalar: Scalar<'a>) -> Option<usize> {
        if self.depth == MAX_DEPTH {
            self.document.is_too_deep = true;
            return None;
        }
        if self.document.entries.len() > self.document.most {
            self.document.has_too_many = true;
            return None;
        }
        let index = self.document.entries.len();
        self.document.entries.push(Entry {
            segment: std::mem::replace(&mut self.segment, Segment::Element(0)),
            parent: self.parent,
            scalar,
            end: index + 1,
        });
        Some(index)
    }

    /// Returns whether reading ends here, as it does at a value that is too deep.
    #[inline(always)]
    fn has_too_many(&mut self) -> bool {
        let has_too_many = self.document.entries.len() > self.document.most;
        self.document.has_too_many |= has_too_many;
        has_too_many
    }

    /// Returns a reader of a value in the array or object at `index`.
    #[inline(always)]
    fn inside<'s>(&'s mut self, index: usize, segment: Segment<'a>) -> Reader<'s, 'a> {
        Reader {
            document: &mut *self.document,
            segment,
            parent: index,
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

/// Returns a name's bit in a Bloom filter of 64 bits with one hash: names with different bits are different.
#[inline(always)]
fn bloom_bit(name: &str) -> u64 {
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
        match i64::try_from(value) {
            Ok(value) => self.leaf(Scalar::Integer(value)),
            Err(_) => self.number(),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.document.may_have_integers |= value.trunc() == value;
        self.number()
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<(), E> {
        self.leaf(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.leaf(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut access: A) -> Result<(), A::Error> {
        let Some(index) = self.open(Scalar::Array) else {
            return Ok(());
        };
        let mut position = 0;
        while access
            .next_element_seed(self.inside(index, Segment::Element(position)))?
            .is_some()
        {
            position += 1;
            if self.has_too_many() {
                return Ok(());
            }
        }
        self.close(index)
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut access: A) -> Result<(), A::Error> {
        let Some(index) = self.open(Scalar::Object) else {
            return Ok(());
        };
        let mut seen = 0;
        while let Some(key) = access.next_key_seed(Key)? {
            let bit = bloom_bit(&key);
            self.document.may_have_duplicates |= seen & bit != 0;
            seen |= bit;
            access.next_value_seed(self.inside(index, Segment::Member(key)))?;
            if self.has_too_many() {
                return Ok(());
            }
        }
        self.close(index)
    }
}

/// Reads a member's name, borrowed if possible.
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
