//! Writes events (WHATWG HTML, 9.2.6) so that readers that break the standard see the messages and nothing else.
//!
//! An empty line ends an event. Some readers (Python's `httpx-sse`) yield one at each empty line once they know an id,
//! even where the standard says that there is none: after a comment, and after an id without data. Hence no empty line
//! follows a comment.

use std::fmt::Write as _;

use warp::sse;

/// A comment that shows that a connection is alive.
pub(super) const HEARTBEAT: &str = ":heartbeat\n";

/// Adds an event: its id, its name unless it is a message, and its data. Without data, the event only moves the id
/// after which a reader resumes.
pub(super) fn add_event(text: &mut String, id: &str, name: Option<&str>, data: Option<&str>) {
    let mut event = sse::Event::default().id(id);
    if let Some(name) = name {
        event = event.event(name);
    }
    if let Some(data) = data {
        event = event.data(data);
    }
    // Writing to a text never fails.
    let _ = write!(text, "{event}");
}

/// Adds a comment that says that there is nothing more to send for now, and which id to resume from. The readers of
/// this project know it (`egress/events.rs`, `js/src/shared/event-stream.js`).
pub(super) fn add_cursor(text: &mut String, cursor: &str) {
    let _ = writeln!(text, ": cursor {cursor}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_end_with_an_empty_line() {
        let mut text = HEARTBEAT.to_owned();
        add_event(&mut text, "1", None, Some("one"));
        add_cursor(&mut text, "2");
        add_event(&mut text, "3", Some("reset"), Some("{}"));
        add_event(&mut text, "4", None, None);
        let expected =
            ":heartbeat\ndata:one\nid:1\n\n: cursor 2\nevent:reset\ndata:{}\nid:3\n\nid:4\n\n";
        assert_eq!(text, expected);
    }
}
