//! The reference rates of the European Central Bank, read from the documents it publishes (`rates.md`, "Reference
//! rates"): the daily XML, the XML of 90 days or of all days, the daily CSV and the CSV of all days, or a zip file of one of
//! them.
//!
//! Pure: bytes become a [`Document`] or every fault in them. Fetching a document, refusing one of the future, and
//! setting its rates at a business unit is left to the import, `schedule` has it done every day, and `ages` tells when that
//! did not happen.
//!
//! A document is refused whole or read whole. What the ECB leaves out is no fault: a currency without a value that day
//! (`N/A`, empty or absent) is not quoted, a day without any value is one on which nothing was published, and a
//! currency that this service does not know, because it left ISO 4217 with its country's move to the euro, is skipped.

pub(super) mod ages;
mod archive;
mod csv;
mod draft;
pub(super) mod import;
pub(super) mod schedule;
mod text;
mod xml;

use jiff::civil::Date;
use tillgate_engine::Fault;
use tillgate_engine::rate::{Currency, Rate};

use self::draft::Draft;

/// The most days of a document; the ECB has published about 260 a year since 1999.
const MAX_DAYS: usize = 20_000;

/// The most columns of a CSV; that of all days has 43.
const MAX_COLUMNS: usize = 1_000;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentType {
    /// `eurofxref-daily.xml`, `eurofxref-hist-90d.xml`, `eurofxref-hist.xml`.
    Xml,
    /// `eurofxref.csv`, `eurofxref-hist.csv`.
    Csv,
    /// `eurofxref.zip`, `eurofxref-hist.zip`: one of the others in a zip file.
    Zip,
}

impl DocumentType {
    /// The type of a document by its first bytes.
    #[must_use]
    pub fn detect(document: &[u8]) -> Self {
        if archive::starts_as_zip(document) {
            return Self::Zip;
        }
        if text::starts_as_markup(document) {
            Self::Xml
        } else {
            Self::Csv
        }
    }

    /// The media type, as in `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Xml => "application/xml",
            Self::Csv => "text/csv",
            Self::Zip => "application/zip",
        }
    }
}

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
    /// Every fault, at most 100 and one that says that there are more, with the path `$.document`. The message begins
    /// with the line and the currency, if it is about one: `line 3, SEK: must be greater than 0`.
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

    /// The newest day.
    #[must_use]
    pub const fn newest(&self) -> &Day {
        &self.newest
    }

    /// All days, newest first.
    pub fn days(&self) -> impl Iterator<Item = &Day> {
        std::iter::once(&self.newest).chain(&self.earlier)
    }

    /// Currencies that it has quotes of and that are not quoted on its newest day, and those that this service does not
    /// know, by code.
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
