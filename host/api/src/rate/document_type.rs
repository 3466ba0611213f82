//! The formats of a document of reference rates, as the European Central Bank publishes it.

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The format of a document.
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
    /// Returns the type of a document, by its first bytes.
    #[must_use]
    pub fn detect(document: &[u8]) -> Self {
        if starts_as_zip(document) {
            return Self::Zip;
        }
        if starts_as_markup(document) {
            Self::Xml
        } else {
            Self::Csv
        }
    }

    /// Returns the media type, as in `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Xml => "application/xml",
            Self::Csv => "text/csv",
            Self::Zip => "application/zip",
        }
    }
}

/// Returns whether a document is a zip file, by its first bytes: those of an entry, or of the end of an empty file.
#[must_use]
pub fn starts_as_zip(document: &[u8]) -> bool {
    document.starts_with(b"PK\x03\x04") || document.starts_with(b"PK\x05\x06")
}

/// Returns whether the first character other than a space is a `<`.
#[must_use]
pub fn starts_as_markup(document: &[u8]) -> bool {
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    document.trim_ascii_start().starts_with(b"<")
}
