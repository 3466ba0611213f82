//! A document while it is being read: the days so far and every fault.
//!
//! Both formats are read into a draft, so a date, a rate and a duplicate mean the same in each.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::{Date, date};
use tillgate_engine::Fault;
use tillgate_engine::error::MAX_FAULTS;
use tillgate_engine::rate::{Currency, Rate};

use super::text::shown;
use super::{Day, Document, MAX_DAYS, Quote};

/// The earliest date that is accepted: the ECB published its first rates in January 1999.
const FIRST: Date = date(1999, 1, 1);

#[derive(Default)]
pub(super) struct Draft {
    days: Vec<Day>,
    /// The number of days read, including those that are not in `days`.
    count: usize,
    dates: BTreeSet<Date>,
    faults: Vec<Fault>,
    /// The codes of currencies that this service does not know.
    unknown: BTreeSet<String>,
}

/// The meaning of a currency code.
pub(super) enum Quoted {
    /// A currency that this service knows.
    Known(Currency),
    /// Perhaps a currency that it does not know.
    Unknown,
    /// The euro, which is not quoted in itself.
    Euro,
}

impl Quoted {
    pub(super) fn parse(code: &str) -> Self {
        match Currency::parse(code) {
            Ok(currency) if currency.as_str() == "EUR" => Self::Euro,
            Ok(currency) => Self::Known(currency),
            Err(_) => Self::Unknown,
        }
    }
}

/// The place of a fault in a document. CSV has lines, XML has days.
#[derive(Clone, Copy)]
pub(super) enum Place<'d> {
    Line(usize),
    /// A line and a column.
    OnLine(usize, &'d str),
    Day(&'d str),
    /// A day and a currency.
    OnDay(&'d str, &'d str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::OnLine(line, what) => write!(f, "line {line}, {}", shown(what)),
            Self::Day(day) => write!(f, "day {}", shown(day)),
            Self::OnDay(day, what) => write!(f, "day {}, {}", shown(day), shown(what)),
        }
    }
}

impl Draft {
    pub(super) fn fault(&mut self, place: Place<'_>, message: impl Into<Cow<'static, str>>) {
        self.fault_of_document(format!("{place}: {}", message.into()));
    }

    pub(super) fn fault_of_document(&mut self, message: impl Into<Cow<'static, str>>) {
        let message = match self.faults.len() {
            0..MAX_FAULTS => message.into(),
            MAX_FAULTS => "has more faults than are listed".into(),
            _ => return,
        };
        let path = "$.document".to_owned();
        self.faults.push(Fault { path, message });
    }

    /// Notes that the document quotes a currency that this service does not know.
    pub(super) fn skip(&mut self, code: &str) {
        if !self.unknown.contains(code) {
            self.unknown.insert(code.to_owned());
        }
    }

    /// Parses the date of a day: 2026-11-20, or 20 November 2026 as in the daily CSV.
    pub(super) fn date(&mut self, place: Place<'_>, text: &str) -> Option<Date> {
        let date = Date::strptime("%Y-%m-%d", text).or_else(|_| Date::strptime("%d %B %Y", text));
        let Some(date) = date.ok().filter(|date| *date >= FIRST) else {
            self.fault(place, "must be a date from 1999 on, such as 2026-11-20");
            return None;
        };
        if !self.dates.insert(date) {
            self.fault(place, "must not appear twice");
            return None;
        }
        Some(date)
    }

    pub(super) fn rate(&mut self, place: Place<'_>, text: &str) -> Option<Rate> {
        Rate::parse(text)
            .map_err(|invalid| self.fault(place, invalid.as_str()))
            .ok()
    }

    /// Adds a day and returns whether to read on.
    pub(super) fn add(&mut self, date: Option<Date>, mut quotes: Vec<Quote>) -> bool {
        self.count += 1;
        if let Some(date) = date.filter(|_| !quotes.is_empty()) {
            quotes.sort_unstable_by_key(|quote| quote.currency);
            self.days.push(Day { date, quotes });
        }
        let fits = self.count <= MAX_DAYS;
        if !fits {
            self.fault_of_document("must have at most 20,000 days");
        }
        fits && self.faults.len() <= MAX_FAULTS
    }

    /// Returns the document, or the faults if there are any.
    pub(super) fn finish(mut self) -> Result<Document, Vec<Fault>> {
        self.days.sort_unstable_by_key(|day| Reverse(day.date));
        let mut days = std::mem::take(&mut self.days).into_iter();
        match days.next() {
            Some(newest) if self.faults.is_empty() => {
                let earlier: Vec<Day> = days.collect();
                let skipped = skipped(self.unknown, &newest, &earlier);
                return Ok(Document {
                    newest,
                    earlier,
                    skipped,
                });
            }
            None if self.faults.is_empty() => self.fault_of_document(self.why_empty()),
            _ => {}
        }
        Err(self.faults)
    }

    fn why_empty(&self) -> &'static str {
        if self.unknown.is_empty() {
            "has no rates"
        } else {
            "has no rate of a currency that this service knows"
        }
    }
}

/// Returns the currencies that are not quoted on the newest day, and those that this service does not know, by code.
fn skipped(unknown: BTreeSet<String>, newest: &Day, earlier: &[Day]) -> Vec<String> {
    let quotes = earlier.iter().flat_map(|day| &day.quotes);
    let mut quoted: BTreeSet<Currency> = quotes.map(|quote| quote.currency).collect();
    for quote in &newest.quotes {
        quoted.remove(&quote.currency);
    }
    let mut skipped = unknown;
    skipped.extend(quoted.iter().map(|currency| currency.as_str().to_owned()));
    skipped.into_iter().collect()
}

/// Returns whether a text looks like the code of a currency.
pub(super) fn is_code(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}
