//! Server-sent events as a client reads them (WHATWG HTML, 9.2.6), bounded in time and size.
//!
//! The crates that parse them buffer an event without a limit. This parser does not reconnect and ignores `retry`: its
//! caller has a token to renew first, and knows what it has read.

use std::mem;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::time::timeout;

use super::error::{EgressError, failure};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The start of a comment that carries an id, after its colon.
const CURSOR: &[u8] = b" cursor ";

/// The limits of a stream of events.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// The longest time without an event or a heartbeat.
    pub silence: Duration,
    /// The largest event, in bytes.
    pub max_event: usize,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type; `message` unless the stream says otherwise.
    pub name: String,
    /// Its data; several lines are joined.
    pub data: String,
}

/// A stream of events.
#[derive(Debug)]
pub struct EventStream {
    response: reqwest::Response,
    limits: StreamLimits,
    parser: Parser,
    /// The bytes that have arrived but are not parsed yet.
    rest: Bytes,
    has_received: bool,
}

impl EventStream {
    pub(super) fn new(response: reqwest::Response, limits: StreamLimits) -> Self {
        Self {
            response,
            limits,
            parser: Parser::default(),
            rest: Bytes::new(),
            has_received: false,
        }
    }

    /// Returns the next event, or `None` when the stream has ended.
    ///
    /// # Errors
    /// When nothing more can be read.
    pub async fn next(&mut self) -> Result<Option<Event>, EgressError> {
        let StreamLimits { silence, max_event } = self.limits;
        loop {
            if let Some(event) = self.parser.take(&mut self.rest, max_event)? {
                return Ok(Some(event));
            }
            let chunk = timeout(silence, self.response.chunk()).await;
            let chunk = chunk.map_err(|_| EgressError::Silent(silence))?;
            match chunk.map_err(|cause| failure(cause, silence))? {
                Some(chunk) => self.rest = chunk,
                None => return Ok(None),
            }
            self.has_received = true;
        }
    }

    /// Returns the id from which to resume after the events read so far; empty if the stream has named none.
    #[must_use]
    pub fn last_id(&self) -> &str {
        &self.parser.last_id
    }

    /// Returns whether anything has arrived, even a heartbeat.
    #[must_use]
    pub const fn has_received(&self) -> bool {
        self.has_received
    }
}

/// Parses the events of a text that arrives in pieces.
#[derive(Debug, Default)]
struct Parser {
    last_id: String,
    /// The line whose end has not arrived.
    line: Vec<u8>,
    /// The number of bytes of the event that have arrived.
    size: usize,
    name: String,
    data: String,
    id: Option<String>,
    is_after_first_line: bool,
    is_after_carriage_return: bool,
}

impl Parser {
    /// Takes bytes up to the end of an event.
    fn take(&mut self, bytes: &mut Bytes, max: usize) -> Result<Option<Event>, EgressError> {
        while let Some(first) = bytes.first() {
            // The line already ended with its carriage return.
            if mem::take(&mut self.is_after_carriage_return) && *first == b'\n' {
                bytes.advance(1);
                continue;
            }
            let end = bytes.iter().position(|byte| b"\r\n".contains(byte));
            let part = bytes.split_to(end.unwrap_or(bytes.len()));
            self.size += part.len();
            if self.size > max {
                return Err(EgressError::EventTooLarge(max));
            }
            self.line.extend_from_slice(&part);
            if end.is_none() {
                break;
            }
            self.is_after_carriage_return = bytes.get_u8() == b'\r';
            let line = mem::take(&mut self.line);
            let is_first = !mem::replace(&mut self.is_after_first_line, true);
            match line.as_slice() {
                [] => match self.end_event() {
                    None => {}
                    event => return Ok(event),
                },
                // A comment belongs to no event: many of them may come before an empty line.
                [b':', comment @ ..] => {
                    self.size -= line.len();
                    self.read_comment(comment);
                }
                line if is_first => {
                    self.read_line(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line))
                }
                line => self.read_line(line),
            }
        }
        Ok(None)
    }

    /// Reads the cursor in a comment of a host of this project: there was nothing to send up to it.
    fn read_comment(&mut self, comment: &[u8]) {
        let cursor = comment.strip_prefix(CURSOR);
        if let Some(Ok(cursor)) = cursor.map(std::str::from_utf8)
            && !cursor.contains('\0')
        {
            cursor.clone_into(&mut self.last_id);
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            _ => {}
        }
    }

    /// Ends an event at an empty line, and returns it if it has data.
    fn end_event(&mut self) -> Option<Event> {
        self.size = 0;
        if let Some(id) = self.id.take() {
            self.last_id = id;
        }
        let (name, mut data) = (mem::take(&mut self.name), mem::take(&mut self.data));
        data.pop()?;
        let name = if name.is_empty() {
            "message".to_owned()
        } else {
            name
        };
        Some(Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the events of a text in pieces, each with the id to resume from after it, and the last id.
    fn events<'t>(pieces: impl IntoIterator<Item = &'t [u8]>) -> (Vec<(Event, String)>, String) {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for piece in pieces {
            let mut rest = Bytes::copy_from_slice(piece);
            while let Ok(Some(event)) = parser.take(&mut rest, 1_000) {
                events.push((event, parser.last_id.clone()));
            }
        }
        (events, parser.last_id)
    }

    fn event(name: &str, data: &str, id: &str) -> (Event, String) {
        let (name, data) = (name.to_owned(), data.to_owned());
        (Event { name, data }, id.to_owned())
    }

    const TEXT: &str = "\u{feff}: heartbeat\nid: 1\ndata: one\n\nid:2\nretry: 9\n\n\
                        event: reset\ndata\ndata: {}\nid: a\0b\n\ndata:  påsk\nid\n\nid: 7\n\ndata: cut off\nid: 8\n";

    #[test]
    fn events_are_read_as_the_standard_says() {
        let expected = vec![
            event("message", "one", "1"),
            event("reset", "\n{}", "2"),
            event("message", " påsk", ""),
        ];
        for end in ["\n", "\r\n", "\r"] {
            let text = TEXT.replace('\n', end);
            assert_eq!(
                events([text.as_bytes()]),
                (expected.clone(), "7".to_owned())
            );
        }
    }

    #[test]
    fn a_comment_may_say_where_to_go_on() {
        let text = "data: one\nid: 1\n\n: cursor 2\n:heartbeat\n: cursor\ndata: two\n\n";
        let expected = vec![event("message", "one", "1"), event("message", "two", "2")];
        assert_eq!(events([text.as_bytes()]), (expected, "2".to_owned()));
    }

    #[test]
    fn an_event_may_have_so_many_bytes_and_no_more() {
        let mut parser = Parser::default();
        let mut take = |text: &'static str| {
            let mut bytes = Bytes::from_static(text.as_bytes());
            parser.take(&mut bytes, 10)
        };
        assert!(matches!(take("data: 1234\n\n"), Ok(Some(_))));
        for _ in 0..3 {
            assert!(matches!(take(": a while\n"), Ok(None)), "of no event");
        }
        assert!(matches!(take("data: 1"), Ok(None)));
        assert!(matches!(take("23\n"), Ok(None)));
        let error = take("99");
        assert!(
            matches!(error, Err(EgressError::EventTooLarge(10))),
            "{error:?}"
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_text_is_cut(cuts in prop::collection::vec(0..TEXT.len(), 0..9)) {
            for end in ["\n", "\r\n"] {
                let text = TEXT.replace('\n', end);
                let (mut cuts, mut start, mut pieces) = (cuts.clone(), 0, Vec::new());
                cuts.sort_unstable();
                for cut in cuts.into_iter().chain([text.len()]) {
                    pieces.push(text.as_bytes().get(start..cut).unwrap_or_default());
                    start = cut;
                }
                prop_assert_eq!(events(pieces), events([text.as_bytes()]));
            }
        }
    }
}
