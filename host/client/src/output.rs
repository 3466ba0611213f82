//! Prints to stdout: tables for people, JSON for programs. Errors and logs go to stderr.
//!
//! Much of the output comes from elsewhere: from a host, a receiver, or the publisher of an event. A terminal must show
//! it and not obey it, so what it would act on is escaped as in JSON (`\u001b`), which leaves JSON as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde_json::Value;

/// The control characters that commands use to lay out their output.
const LAYOUT: &[char] = &['\n', '\t'];

/// Returns a text member of an answer, or a dash if it is missing.
pub fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or("-")
}

/// Returns a text as part of one line, which it cannot end.
pub fn on_line(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// Returns a text that keeps its lines and tabs.
pub fn on_lines(text: &str) -> Cow<'_, str> {
    escaped(text, LAYOUT)
}

/// Returns a path as part of one line.
pub fn shown_path(path: &Path) -> String {
    on_line(&path.display().to_string()).into_owned()
}

/// Returns a text in which everything that a terminal acts on is escaped, except the kept characters.
fn escaped<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let is_escaped = |c: char| is_acted_on(c) && !kept.contains(&c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            _ = write!(safe, "\\u{:04x}", u32::from(c))
        } else {
            safe.push(c)
        }
    }
    Cow::Owned(safe)
}

/// Returns whether a terminal acts on a character instead of showing it: a control character, or one that breaks or
/// reverses its line.
fn is_acted_on(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns rows below their titles, aligned in columns.
pub fn table<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let width = |cell: &str| on_line(cell).chars().count();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let title = titles.get(column).map_or(0, |title| width(title));
        cells.map(|cell| width(cell)).fold(title, usize::max)
    });
    let mut table = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(widths) {
            let _ = write!(line, "{:width$}  ", on_line(cell));
        }
        table.push_str(line.trim_end());
        table.push('\n');
    };
    line(&mut titles.into_iter());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    table
}

/// Prints one line to stdout, about what a command has done.
pub fn print_line(line: &str) -> Result<(), String> {
    print(&format!("{}\n", on_line(line)))
}

/// Prints to stdout. A closed pipe is not an error.
pub fn print(output: &str) -> Result<(), String> {
    print_on(output).map(|_| ())
}

/// Prints to stdout what a terminal may show. Returns whether stdout is still open: a pipe may have been closed.
pub fn print_on(output: &str) -> Result<bool, String> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(on_lines(output).as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(cause) => Err(cause.to_string()),
    }
}

/// Prints a message to stderr, which may come from elsewhere too.
pub fn tell(message: &str) {
    on_stderr(&format!("tillgate: {}\n", on_lines(message)));
}

/// Writes to stderr unchanged. If that fails, there is no place left to report it.
pub fn on_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{on_line, on_lines, table};

    #[test]
    fn what_a_terminal_acts_on_is_escaped_and_the_rest_is_shown() {
        for (text, shown) in [
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m\u{7f}\r\0", "\\u009b31m\\u007f\\u000d\\u0000"),
            ("a\n\tb", "a\\u000a\\u0009b"),
            ("1\u{202e}2\u{2067}3\u{2028}4", "1\\u202e2\\u20673\\u20284"),
            ("Malmö\u{a0}“漢” 🛒 \\", "Malmö\u{a0}“漢” 🛒 \\"),
        ] {
            assert_eq!(on_line(text), shown);
        }
    }

    #[test]
    fn json_stays_the_json_that_it_was() {
        let value = serde_json::json!({ "a\u{9b}": ["\u{7f}\u{1b}[2J\n", "\u{202e}"] });
        for text in [value.to_string(), format!("{value:#}\n")] {
            let shown = on_lines(&text);
            assert!(!shown.contains(['\u{7f}', '\u{9b}', '\u{202e}']), "{shown}");
            let read: Result<serde_json::Value, _> = serde_json::from_str(&shown);
            assert!(read.is_ok_and(|read| read == value), "{shown}");
        }
    }
    #[test]
    fn columns_are_as_wide_as_what_is_shown() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        let rows = [row(["\u{202e}a\n", "1"]), row(["Malmö", "2"])];
        let shown = "NAME           NUMBER\n\\u202ea\\u000a  1\nMalmö          2\n";
        assert_eq!(table(["NAME", "NUMBER"], &rows), shown);
    }
}
