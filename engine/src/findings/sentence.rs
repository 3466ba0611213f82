//! The wording of findings: whole sentences for the owner of a rule, who knows neither JSON nor the kinds of
//! restrictions. They are written as the inside of a JSON string.

use crate::json::{push, push_text, write_number};
use crate::product::{Choice, Target, name_of};

/// The most values that a sentence quotes.
const MAX_QUOTED: usize = 10;

/// The most bytes that a sentence quotes of a value.
const MAX_BYTES: usize = 60;

/// A sign in a sentence, and the words that replace it.
struct Sign {
    sign: u8,
    /// For one value of a property and for several: the words before and after the property's name. `None` leaves out
    /// the name.
    of_property: [(&'static str, Option<&'static str>); 2],
    /// For one item and for several.
    of_items: [&'static str; 2],
}

const SIGNS: [Sign; 6] = [
    Sign {
        sign: b'#',
        of_property: [("", Some("")); 2],
        of_items: ["item"; 2],
    },
    Sign {
        sign: b'~',
        of_property: [("", Some("")); 2],
        of_items: ["items"; 2],
    },
    Sign {
        sign: b'^',
        of_property: [("values of ", Some("")); 2],
        of_items: ["items"; 2],
    },
    Sign {
        sign: b'%',
        of_property: [
            ("This value of ", Some(" is")),
            ("These values of ", Some(" are")),
        ],
        of_items: ["This item is", "These items are"],
    },
    Sign {
        sign: b'&',
        of_property: [("it", None), ("them", None)],
        of_items: ["it", "them"],
    },
    Sign {
        sign: b'$',
        of_property: [
            ("A restriction", None),
            ("Each of these restrictions", None),
        ],
        of_items: ["A restriction", "Each of these restrictions"],
    },
];

/// Appends a sentence about some values of a target, or some restrictions on it, and ends it with the values:
/// `: "paint", "glue" and 3 more.` Words for one value, or for several, replace each sign of [`SIGNS`] in `words`.
#[inline(never)]
pub(super) fn write_sentence(
    words: &str,
    target: Target<'_>,
    values: &[Choice<'_>],
    is_one: bool,
    out: &mut Vec<u8>,
) {
    for byte in words.bytes() {
        let Some(found) = SIGNS.iter().find(|sign| sign.sign == byte) else {
            out.push(byte);
            continue;
        };
        let ([one, more], [one_item, items]) = (found.of_property, found.of_items);
        let (before, after) = if is_one { one } else { more };
        match (target, after) {
            (None, _) => push(if is_one { one_item } else { items }, out),
            (Some(_), None) => push(before, out),
            (Some(name), Some(after)) => {
                push(before, out);
                write_name(name, out);
                push(after, out);
            }
        }
    }
    if !values.is_empty() {
        write_list(values, out);
    }
}

/// Appends a name, in quotes unless it reads as a word.
fn write_name(name: &str, out: &mut Vec<u8>) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.len() <= MAX_BYTES && name.bytes().all(is_letter) {
        push(name, out)
    } else {
        write_quoted(name, out)
    }
}

/// Appends a text in quotes, cut off if it is long.
#[inline(never)]
fn write_quoted(text: &str, out: &mut Vec<u8>) {
    let begin = text.get(..text.floor_char_boundary(MAX_BYTES));
    let begin = begin.unwrap_or_default();
    // This is a JSON string inside another one, so its quotes are escaped.
    out.push(b'\\');
    push_text(begin, out);
    out.pop();
    push(
        if begin.len() < text.len() {
            "…\\\""
        } else {
            "\\\""
        },
        out,
    );
}

/// Appends the values that end a sentence.
#[inline(never)]
fn write_list(values: &[Choice<'_>], out: &mut Vec<u8>) {
    let last = values.len() - 1;
    for (number, value) in values.iter().take(MAX_QUOTED).enumerate() {
        let before = match number {
            0 => ": ",
            _ if number == last => " and ",
            _ => ", ",
        };
        push(before, out);
        match value {
            Choice::Text(text) => write_quoted(text, out),
            Choice::Bool(value) => push(name_of(*value), out),
            Choice::Other => {}
        }
    }
    if let Some(more @ 1..) = values.len().checked_sub(MAX_QUOTED) {
        push(" and ", out);
        write_number(more, out);
        push(" more", out);
    }
    out.push(b'.');
}
