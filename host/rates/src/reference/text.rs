//! Checks a document before it is parsed: it must be text in UTF-8, of the type that its sender says. Also finds the
//! line of a byte.
//!
//! Common mistakes get messages of their own: a zip file as CSV, a page that reports an error instead of the document,
//! a file that an editor has saved as UTF-16.

use tillgate_api::rate::document_type::starts_as_markup;

use super::DocumentType;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Returns the text of a document, without a byte order mark.
pub(super) fn checked(kind: DocumentType, document: &[u8]) -> Result<&str, String> {
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    if let Some(message) = mistaken(document) {
        return Err(message.to_owned());
    }
    let text = std::str::from_utf8(document).map_err(|cause| {
        let line = Lines::of(document).line_at(cause.valid_up_to());
        format!("line {line}: must be UTF-8")
    })?;
    if text.trim_ascii().is_empty() {
        return Err("is empty".to_owned());
    }
    if is_web_page(text) {
        return Err(WEB_PAGE.to_owned());
    }
    match (kind, starts_as_markup(document)) {
        (DocumentType::Xml, false) => {
            Err("is not XML, although its content type says so".to_owned())
        }
        (DocumentType::Csv, true) => Err("is XML, although its content type says CSV".to_owned()),
        (DocumentType::Zip, _) => Err(ZIP.to_owned()),
        (DocumentType::Xml, true) | (DocumentType::Csv, false) => Ok(text),
    }
}

/// The message for a zip file that was sent as something else, or within another zip file.
const ZIP: &str = "is a zip file: unzip it first";

const WEB_PAGE: &str = "is a web page, not a document of rates";

/// Returns the message for a document that is not UTF-8 text, by its first bytes.
fn mistaken(document: &[u8]) -> Option<&'static str> {
    match document {
        [b'P', b'K', 3, 4, ..] => Some(ZIP),
        [0x1F, 0x8B, ..] => Some("is a gzip file: unpack it first"),
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0, _, ..] | [_, 0, ..] => {
            Some("must be UTF-8, and not UTF-16")
        }
        _ => None,
    }
}

fn is_web_page(text: &str) -> bool {
    let text = text.trim_ascii_start().as_bytes();
    let starts = |with: &[u8]| {
        text.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    starts(b"<!doctype html") || starts(b"<html")
}

/// Returns a text of the document for a message: without control characters, and cut if it is long.
pub(super) fn shown(text: &str) -> String {
    const MAX: usize = 120;
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX)
        .collect();
    if text.chars().nth(MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Counts lines and reads each byte once: the bytes that are looked up must not go backwards.
pub(super) struct Lines<'d> {
    document: &'d [u8],
    counted: usize,
    line: usize,
}

impl<'d> Lines<'d> {
    pub(super) const fn of(document: &'d [u8]) -> Self {
        Self {
            document,
            counted: 0,
            line: 1,
        }
    }

    /// Returns the line that a byte is on, from 1.
    pub(super) fn line_at(&mut self, byte: usize) -> usize {
        let between = self.document.get(self.counted..byte).unwrap_or_default();
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.counted = self.counted.max(byte);
        self.line
    }

    /// Returns the line of the first byte, from this one on, that does not end a line.
    pub(super) fn line_from(&mut self, byte: usize) -> usize {
        let rest = self.document.get(byte..).unwrap_or_default();
        let ends = rest
            .iter()
            .take_while(|byte| b"\r\n".contains(byte))
            .count();
        self.line_at(byte + ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_to_the_byte_that_is_asked_for() {
        let mut lines = Lines::of(b"a\r\n\r\nb\nc");
        let places = [0, 1, 3, 5, 6, 7, 99];
        assert_eq!(
            places.map(|byte| lines.line_at(byte)),
            [1, 1, 2, 3, 3, 4, 4]
        );
        assert_eq!(Lines::of(b"a\r\n\r\nb").line_from(1), 3);
        assert_eq!(Lines::of(b"a\n").line_from(1), 2);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_shown_on_one_line() {
        assert_eq!(shown("a\nb\u{1b}c"), "a b c");
        assert_eq!(shown(&"é".repeat(121)), "é".repeat(120) + "…");
        assert_eq!(shown(&"é".repeat(120)), "é".repeat(120));
    }
}
