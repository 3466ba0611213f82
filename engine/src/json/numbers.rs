//! Finds the numbers of a JSON text, exactly as they are written, and reads them.

use std::borrow::Cow;

use super::{Node, Scalar};

impl<'a> Node<'_, 'a> {
    /// Returns the number's text exactly as it is written in the JSON text, if the value is a number.
    #[must_use]
    pub fn number(self) -> Option<Cow<'a, str>> {
        match self.scalar() {
            // JSON has one way to write an integer, and `-0` is not an `Integer`.
            Scalar::Integer(value) => Some(Cow::Owned(value.to_string())),
            Scalar::Number(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    /// Returns the number if it is an integer; its fraction may have zeros (`18.0`).
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        match self.scalar() {
            Scalar::Integer(value) => Some(*value),
            Scalar::Number(text) => {
                let (whole, fraction) = text.split_once('.')?;
                let is_whole = fraction.bytes().all(|digit| digit == b'0');
                whole.parse().ok().filter(|_| is_whole)
            }
            _ => None,
        }
    }
}

/// The numbers of a valid JSON text, in order, each exactly as it is written.
pub(super) struct Numbers<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Iterator for Numbers<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (mut in_string, mut is_escaped) = (false, false);
        let start = self.rest.bytes().position(|byte| {
            let after_backslash = std::mem::take(&mut is_escaped);
            match byte {
                b'"' => in_string ^= !after_backslash,
                b'\\' => is_escaped = !after_backslash,
                b'-' | b'0'..=b'9' => return !in_string,
                _ => {}
            }
            false
        });
        let (_, rest) = self.rest.split_at_checked(start?)?;
        let length = rest
            .bytes()
            .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E'));
        let (number, rest) = rest.split_at_checked(length.unwrap_or(rest.len()))?;
        self.rest = rest;
        Some(number)
    }
}
