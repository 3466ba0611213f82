//! The XML of the ECB: `Envelope`, in it a `Cube`, in that a `Cube` with a `time` for each day, and in that a `Cube` with
//! a `currency` and a `rate` for each quote.
//!
//! Elements are recognised by their local names. Nothing is expanded or fetched: a document type is refused, and an
//! entity that XML itself does not define is a fault.

use std::borrow::Cow;
use std::ops::ControlFlow;

use jiff::civil::Date;
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use tillgate_engine::rate::Currency;

use super::Quote;
use super::draft::{Draft, Place, Quoted, is_code};
use super::text::{Lines, WEB_PAGE, shown};

/// The most attributes of an element; those of the ECB have two.
const MAX_ATTRIBUTES: usize = 16;

pub(super) fn read(text: &str, draft: &mut Draft) {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut lines = Lines::of(text.as_bytes());
    let mut envelope = Envelope {
        draft,
        depth: 0,
        is_closed: false,
        day: None,
    };
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let line = lines.line_at(start);
        let next = match reader.read_event() {
            Ok(event) => envelope.read(line, &event),
            Err(cause) => {
                let message = format!("must be XML: {}", shown(&cause.to_string()));
                envelope.refuse(line, message)
            }
        };
        if next.is_break() {
            return;
        }
    }
}

/// Where the reader is.
struct Envelope<'d> {
    draft: &'d mut Draft,
    /// How many elements are open.
    depth: usize,
    is_closed: bool,
    day: Option<OpenDay>,
}

/// The day that is being read.
struct OpenDay {
    date: Option<Date>,
    depth: usize,
    quotes: Vec<Quote>,
    currencies: Vec<Currency>,
}

/// The attributes of a `Cube` that mean something.
#[derive(Default)]
struct Attributes {
    time: Option<String>,
    currency: Option<String>,
    rate: Option<String>,
}

impl Envelope<'_> {
    fn read(&mut self, line: usize, event: &Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Start(element) => self.open(line, element),
            Event::End(_) => self.close(line),
            // Empty elements are expanded.
            Event::Empty(_) | Event::Comment(_) | Event::PI(_) => ControlFlow::Continue(()),
            Event::Text(text) if text.trim_ascii().is_empty() => ControlFlow::Continue(()),
            Event::Text(_) | Event::CData(_) if self.depth > 0 => ControlFlow::Continue(()),
            Event::Text(_) | Event::CData(_) => self.refuse(line, "must not have text here"),
            Event::GeneralRef(name) => {
                let is_defined = name.is_char_ref()
                    || quick_xml::escape::resolve_xml_entity(name.as_ref()).is_some();
                match is_defined && self.depth > 0 {
                    true => ControlFlow::Continue(()),
                    false => self.refuse(line, "must not have an entity here"),
                }
            }
            Event::Decl(declaration) => self.check_encoding(line, declaration),
            Event::DocType(name) => {
                let name = name.trim_ascii_start().as_bytes();
                match name.get(..4) {
                    Some(html) if html.eq_ignore_ascii_case(b"html") => {
                        self.draft.fault_of_document(WEB_PAGE);
                        ControlFlow::Break(())
                    }
                    _ => self.refuse(line, "must not have a document type (DOCTYPE)"),
                }
            }
            Event::Eof => {
                if self.depth > 0 {
                    self.fault(line, "ends too early: elements are still open");
                } else if !self.is_closed {
                    self.fault(line, "must have an Envelope");
                }
                ControlFlow::Break(())
            }
        }
    }

    fn check_encoding(&mut self, line: usize, declaration: &BytesDecl<'_>) -> ControlFlow<()> {
        match declaration.encoding() {
            Some(Ok(name)) if !name.eq_ignore_ascii_case("UTF-8") => {
                self.refuse(line, format!("must be UTF-8, and not {}", shown(&name)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn open(&mut self, line: usize, element: &BytesStart<'_>) -> ControlFlow<()> {
        let name = element.local_name();
        let name: &str = name.as_ref();
        if self.depth == 0 && (self.is_closed || name != "Envelope") {
            let message = format!(
                "must be the one Envelope of the ECB's reference rates, and not {}",
                shown(name)
            );
            return self.refuse(line, message);
        }
        self.depth += 1;
        match self.attributes(line, element) {
            Some(attributes) if name == "Cube" => self.open_cube(line, attributes),
            Some(_) => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
        }
    }

    /// The attributes of an element; nothing if they cannot be read.
    fn attributes(&mut self, line: usize, element: &BytesStart<'_>) -> Option<Attributes> {
        let mut found = Attributes::default();
        // The crate's own check of duplicates takes time that grows with the square of their number.
        for (index, attribute) in element.attributes().with_checks(false).enumerate() {
            if index == MAX_ATTRIBUTES {
                self.fault(line, "must have at most 16 attributes");
                return None;
            }
            let read = attribute
                .map_err(quick_xml::Error::from)
                .and_then(|it| Ok((it.key, it.normalized_value(XmlVersion::Explicit1_0)?)));
            let (key, value) = match read {
                Ok(read) => read,
                Err(cause) => {
                    let message = format!("must be XML: {}", shown(&cause.to_string()));
                    self.fault(line, message);
                    return None;
                }
            };
            let slot = match key.as_ref() {
                "time" => &mut found.time,
                "currency" => &mut found.currency,
                "rate" => &mut found.rate,
                _ => continue,
            };
            if slot.replace(value.trim_ascii().to_owned()).is_some() {
                self.fault(line, "must have each attribute once");
                return None;
            }
        }
        Some(found)
    }

    fn open_cube(&mut self, line: usize, attributes: Attributes) -> ControlFlow<()> {
        match (attributes.time, attributes.currency, attributes.rate) {
            (None, None, None) => {}
            (Some(time), None, None) => {
                let date = self.draft.date(Place::of(line, "time"), &time);
                if self.day.is_some() {
                    return self.refuse(line, "must not be a day within a day");
                }
                self.day = Some(OpenDay {
                    date,
                    depth: self.depth,
                    quotes: Vec::new(),
                    currencies: Vec::new(),
                });
            }
            (None, Some(code), Some(rate)) => return self.quote(line, &code, &rate),
            _ => self.fault(line, "must have a time, or a currency and a rate"),
        }
        ControlFlow::Continue(())
    }

    fn quote(&mut self, line: usize, code: &str, rate: &str) -> ControlFlow<()> {
        let place = Place::of(line, code);
        let Some(day) = &mut self.day else {
            self.draft.fault(place, "must be within a day");
            return ControlFlow::Continue(());
        };
        match Quoted::parse(code) {
            Quoted::Known(currency) if day.currencies.contains(&currency) => {
                self.draft.fault(place, "must not be there twice");
            }
            Quoted::Known(currency) => {
                day.currencies.push(currency);
                if let Some(rate) = self.draft.rate(place, rate) {
                    day.quotes.push(Quote { currency, rate });
                }
            }
            Quoted::Euro => {
                let message = "must not be quoted: rates are of 1 EUR";
                self.draft.fault(place, message);
            }
            Quoted::Unknown if is_code(code) => self.draft.skip(code),
            Quoted::Unknown => {
                let place = Place::of(line, "currency");
                self.draft.fault(place, "must be a code such as SEK");
            }
        }
        ControlFlow::Continue(())
    }

    fn close(&mut self, line: usize) -> ControlFlow<()> {
        let closed = self.day.take_if(|day| day.depth == self.depth);
        self.depth -= 1;
        self.is_closed = self.depth == 0;
        match closed.is_none_or(|day| self.draft.add(line, day.date, day.quotes)) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn fault(&mut self, line: usize, message: impl Into<Cow<'static, str>>) {
        self.draft.fault(Place::line(line), message);
    }

    /// A fault after which nothing can be read.
    fn refuse(&mut self, line: usize, message: impl Into<Cow<'static, str>>) -> ControlFlow<()> {
        self.fault(line, message);
        ControlFlow::Break(())
    }
}
