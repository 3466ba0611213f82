//! Writes the log to stderr, one line per event. Events contain text from elsewhere, such as the answers of receivers,
//! so control characters are escaped; only the log's own colors stay.

use std::io::{self, Write};

use tillgate_client::output::on_line;

/// The beginning of a color, and the colors and styles of the log (ECMA-48, "Select graphic rendition").
const COLOR: &str = "\u{1b}[";
const COLORS: &[&str] = &["0", "1", "2", "3", "31", "32", "33", "34", "35"];

/// Writes events to stderr. Each call of `write` is one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogWriter {
    pub(super) has_colors: bool,
}

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = line(text.strip_suffix('\n').unwrap_or(&text), self.has_colors);
        io::stderr().write_all((line + "\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns an event on one line, with its colors.
fn line(event: &str, has_colors: bool) -> String {
    let mut pieces = event.split(COLOR);
    let mut line = on_line(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        line += &match piece.split_once('m') {
            Some((color, rest)) if has_colors && COLORS.contains(&color) => {
                format!("{COLOR}{color}m{}", on_line(rest))
            }
            _ => on_line(&format!("{COLOR}{piece}")).into_owned(),
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn colors_of_the_log_stay_and_nothing_else_is_acted_on() {
        let event = "\u{1b}[2m12:00\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m a\u{1b}[2J\n\u{9b}b\u{202e}\u{1b}[8mc\u{1b}";
        let shown = "\u{1b}[2m12:00\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m a\\u001b[2J\\u000a\\u009bb\\u202e\\u001b[8mc\\u001b";
        assert_eq!(line(event, true), shown);
        assert_eq!(line(event, false), shown.replace('\u{1b}', "\\u001b"));
        assert_eq!(line("", true), "");
    }
}
