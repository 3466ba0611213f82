//! Texts that people take for equal although they differ: in capitals, in blanks around them, or in the way accents are
//! written.
//!
//! Unicode's tables would be larger than the rest of the findings, so this module knows exactly what shops write:
//! - capitals of Latin (U+0041 to U+017F, U+0200 to U+0233, U+1E00 to U+1EFF), Greek (U+0386 to U+03AB) and Cyrillic
//!   (U+0400 to U+052F) letters, except U+0130, U+0220, U+04C0 and U+1E9E;
//! - blanks and line breaks (the white space of Unicode), and the invisible U+200B and U+FEFF, at the start and at the
//!   end;
//! - accents as separate characters (U+0300 to U+036F). One such accent is enough for a finding: tills send what people
//!   type in NFC, which has most letters with accents as one character.

use crate::index::{Index, Seed};

/// Texts in groups that look alike. A value that is not a text is in no group.
pub(super) struct Groups {
    /// The group of each text.
    of_text: Vec<Option<usize>>,
    /// The number of texts in each group.
    sizes: Vec<usize>,
}

impl Groups {
    #[inline(never)]
    pub(super) fn of(texts: &[Option<&str>], seed: Seed) -> Self {
        let mut known = Index::new(seed);
        let mut groups = Self {
            of_text: Vec::new(),
            sizes: Vec::new(),
        };
        for text in texts {
            let next = groups.sizes.len();
            let group = text.map(|text| known.get_or_insert(&look(text), next));
            if group == Some(next) {
                groups.sizes.push(0);
            }
            if let Some(size) = group.and_then(|group| groups.sizes.get_mut(group)) {
                *size += 1;
            }
            groups.of_text.push(group);
        }
        groups
    }

    /// Returns the groups of two or more texts, in order of appearance.
    pub(super) fn of_several(&self) -> impl Iterator<Item = usize> {
        let sizes = self.sizes.iter().enumerate();
        sizes.filter_map(|(group, size)| (*size > 1).then_some(group))
    }

    /// Returns whether a text looks like another one.
    pub(super) fn is_of_several(&self, text: usize) -> bool {
        let group = self.of_text.get(text).copied().flatten();
        group.and_then(|group| self.sizes.get(group)) > Some(&1)
    }

    /// Returns the texts of a group, as marks by number.
    pub(super) fn members(&self, group: usize) -> Vec<bool> {
        let mut members = Vec::new();
        for of_text in &self.of_text {
            members.push(*of_text == Some(group));
        }
        members
    }
}

/// Returns a form of the text that is the same for all texts that look alike.
#[inline(never)]
pub(super) fn look(text: &str) -> String {
    let mut look = String::with_capacity(text.len());
    for c in trimmed(text).chars() {
        look.push(small(c));
    }
    look
}

/// Returns whether the text begins or ends with a blank.
pub(super) fn has_blanks_around(text: &str) -> bool {
    trimmed(text).len() < text.len()
}

/// Returns whether accents are written as separate characters.
pub(super) fn has_loose_accents(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{300}'..='\u{36f}'))
}

#[inline(never)]
fn trimmed(text: &str) -> &str {
    let (mut begin, mut end) = (text.len(), text.len());
    for (at, c) in text.char_indices() {
        if row_of(c, &BLANKS).is_none() {
            begin = begin.min(at);
            end = at + c.len_utf8();
        }
    }
    text.get(begin..end).unwrap_or_default()
}

/// Sorted ranges of characters, with a number for each range.
type Ranges<const N: usize> = [(u16, u16, i16); N];

const BLANKS: Ranges<11> = [
    (0x9, 0xd, 0),
    (0x20, 0x20, 0),
    (0x85, 0x85, 0),
    (0xa0, 0xa0, 0),
    (0x1680, 0x1680, 0),
    (0x2000, 0x200b, 0),
    (0x2028, 0x2029, 0),
    (0x202f, 0x202f, 0),
    (0x205f, 0x205f, 0),
    (0x3000, 0x3000, 0),
    (0xfeff, 0xfeff, 0),
];

/// Marks a range of capitals that are each followed by their small letter, and are even.
const EVEN: i16 = 0;
/// Marks a range of capitals that are each followed by their small letter, and are odd.
const ODD: i16 = 1;

/// Capitals, and the distance to their small letters. The dotted capital I and the dotless small i of Turkish are left
/// out, because they are not a pair.
const CAPITALS: Ranges<25> = [
    (0x41, 0x5a, 32),
    (0xc0, 0xd6, 32),
    (0xd8, 0xde, 32),
    (0x100, 0x12f, EVEN),
    (0x132, 0x137, EVEN),
    (0x139, 0x148, ODD),
    (0x14a, 0x177, EVEN),
    (0x178, 0x178, -121),
    (0x179, 0x17e, ODD),
    (0x200, 0x21f, EVEN),
    (0x222, 0x233, EVEN),
    (0x386, 0x386, 38),
    (0x388, 0x38a, 37),
    (0x38c, 0x38c, 64),
    (0x38e, 0x38f, 63),
    (0x391, 0x3a1, 32),
    (0x3a3, 0x3ab, 32),
    (0x400, 0x40f, 80),
    (0x410, 0x42f, 32),
    (0x460, 0x481, EVEN),
    (0x48a, 0x4bf, EVEN),
    (0x4c1, 0x4ce, ODD),
    (0x4d0, 0x52f, EVEN),
    (0x1e00, 0x1e95, EVEN),
    (0x1ea0, 0x1eff, EVEN),
];

/// Returns the number of the range that has a character.
#[inline(never)]
fn row_of(c: char, ranges: &[(u16, u16, i16)]) -> Option<i16> {
    let code = u32::from(c);
    for (first, last, number) in ranges {
        if code <= u32::from(*last) {
            return (u32::from(*first) <= code).then_some(*number);
        }
    }
    None
}

/// Returns the small letter of a capital, and any other character as it is.
fn small(c: char) -> char {
    let code = u32::from(c);
    let small = match row_of(c, &CAPITALS) {
        None => return c,
        Some(EVEN) => code | 1,
        Some(ODD) => code + code % 2,
        Some(distance) => code.wrapping_add_signed(distance.into()),
    };
    char::from_u32(small).unwrap_or(c)
}
