//! The reference rates of the European Central Bank, read from the documents that it publishes (`rates.md`, "Reference
//! rates"): the daily XML, the XML of 90 days or of all days, the daily CSV, the CSV of all days, or a zip file of one
//! of them.
//!
//! Parsing is pure: bytes become a [`Document`] or every fault in them. `import` refuses a document of the future and
//! sets its rates at a business unit, `schedule` fetches and imports one every day, and `ages` reports when that did
//! not happen.
//!
//! A document is read or refused as a whole. What the ECB leaves out is no fault. A currency without a value on a day
//! (`N/A`, empty or absent) is not quoted. A day without any value is one on which nothing was published. A currency
//! that this service does not know, because it left ISO 4217 when its country adopted the euro, is skipped.

pub(super) mod ages;
mod archive;
mod csv;
mod draft;
pub(super) mod import;
pub(super) mod schedule;
mod text;
mod xml;

use jiff::civil::Date;
pub use tillgate_api::rate::DocumentType;
use tillgate_engine::Fault;
use tillgate_engine::rate::{Currency, Rate};

use self::draft::Draft;

/// The most days of a document; the ECB has published about 260 a year since 1999.
const MAX_DAYS: usize = 20_000;

/// The most columns of a CSV; the file of all days has 43.
const MAX_COLUMNS: usize = 1_000;

/// The days of a document: at least one, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    newest: Day,
    earlier: Vec<Day>,
    skipped: Vec<String>,
}

/// The rates that were published on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    /// The date.
    pub date: Date,
    /// At least one quote, each currency once, by code.
    pub quotes: Vec<Quote>,
}

/// A rate: 1 EUR = `rate` `currency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The currency; never the euro.
    pub currency: Currency,
    /// The rate, with the digits of the document.
    pub rate: Rate,
}

impl Document {
    /// Parses a document.
    ///
    /// # Errors
    /// Every fault, at most 100 and one that says that there are more, with the path `$.document`. A message begins
    /// with its place in the document, if it has one: `line 3, SEK: must be greater than 0`.
    pub fn parse(kind: DocumentType, document: &[u8]) -> Result<Self, Vec<Fault>> {
        let mut draft = Draft::default();
        let read = match kind {
            DocumentType::Zip => archive::unpacked(document)
                .and_then(|document| read(DocumentType::detect(&document), &document, &mut draft)),
            DocumentType::Xml | DocumentType::Csv => read(kind, document, &mut draft),
        };
        if let Err(message) = read {
            draft.fault_of_document(message);
        }
        draft.finish()
    }

    /// Returns the newest day.
    #[must_use]
    pub const fn newest(&self) -> &Day {
        &self.newest
    }

    /// Returns all days, newest first.
    pub fn days(&self) -> impl Iterator<Item = &Day> {
        std::iter::once(&self.newest).chain(&self.earlier)
    }

    /// Returns the currencies that it quotes, but not on its newest day, and those that this service does not know, by
    /// code.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

/// Reads a document that is text.
fn read(kind: DocumentType, document: &[u8], draft: &mut Draft) -> Result<(), String> {
    let text = text::checked(kind, document)?;
    match kind {
        DocumentType::Xml => xml::read(text, draft),
        DocumentType::Csv | DocumentType::Zip => csv::read(text, draft),
    }
    Ok(())
}
