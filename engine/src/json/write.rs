//! Writes values as compact JSON.

use super::{Node, Scalar};
use crate::swar::may_need_escape;

impl Node<'_, '_> {
    /// Appends the value: members in order, numbers as they are written, strings escaped only where JSON demands it. A
    /// document that was parsed without the text of its numbers cannot be written.
    pub fn write(self, out: &mut Vec<u8>) {
        match self.scalar() {
            Scalar::Null => push("null", out),
            Scalar::Bool(true) => push("true", out),
            Scalar::Bool(false) => push("false", out),
            Scalar::Integer(value) => push(&value.to_string(), out),
            Scalar::Number(text) => push(text, out),
            Scalar::Text(text) => write_text(text, out),
            Scalar::Array | Scalar::Object => self.write_children(out),
        }
    }

    fn write_children(self, out: &mut Vec<u8>) {
        let (open, close) = if self.is_object() {
            ("{", "}")
        } else {
            ("[", "]")
        };
        let mut before = open;
        for child in self.children() {
            push(before, out);
            before = ",";
            if self.is_object() {
                write_text(child.key(), out);
                push(":", out);
            }
            child.write(out);
        }
        push(if before == open { open } else { "" }, out);
        push(close, out);
    }

    /// Returns whether arrays and objects are nested in the value to more than `levels` levels, including the value
    /// itself.
    #[must_use]
    pub fn is_deeper_than(self, levels: usize) -> bool {
        let opens = matches!(self.scalar(), Scalar::Array | Scalar::Object);
        match levels.checked_sub(1) {
            None => opens,
            Some(rest) => self.children().any(|child| child.is_deeper_than(rest)),
        }
    }
}

/// Appends a text as it is. It is for text that is rarely written: a call takes less of the module than inlined code.
#[inline(never)]
pub(crate) fn push(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string as JSON. Like [`push`], it is never inlined.
#[inline(never)]
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    write_text(text, out);
}

#[inline(never)]
pub(crate) fn write_number(number: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    let mut rest = number;
    loop {
        out.push(b'0' + u8::try_from(rest % 10).unwrap_or_default());
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(begin..) {
        digits.reverse();
    }
}

/// Appends a string as JSON.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    if may_need_escape(text) {
        // Writing a string cannot fail.
        out.extend(serde_json::to_vec(text).unwrap_or_default());
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}
