//! What commands print to stdout: tables for people, JSON for programs. Errors and logs go to stderr.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};

use serde_json::Value;

/// A text member of an answer; a dash if it is missing.
pub(super) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or("-")
}

/// Rows below their titles, aligned in columns.
pub(super) fn table<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let title = titles.get(column).map_or(0, |title| title.len());
        cells.map(String::len).fold(title, usize::max)
    });
    let mut table = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
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

/// Prints to stdout. A closed pipe is not an error.
pub(super) fn print(output: &str) -> Result<(), String> {
    print_on(output).map(|_| ())
}

/// Prints to stdout. Answers whether stdout is still open: a pipe may have been closed.
pub(super) fn print_on(output: &str) -> Result<bool, String> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(output.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(cause) => Err(cause.to_string()),
    }
}
