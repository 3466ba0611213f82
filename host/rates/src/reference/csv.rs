//! Reads the CSV of the ECB: a header of currencies, and a row for each day.
//!
//! The daily file separates values with `, ` and spells its date out; the file of all days separates them with `,` and
//! has ISO dates. Both end each line with a separator, so their last column has no name and no values. The order of the
//! columns has changed over the years, so a column is recognised by its name.

use csv::{ReaderBuilder, StringRecord, Trim};
use tillgate_engine::rate::Currency;

use super::draft::{Draft, Place, Quoted, is_code};
use super::text::{Lines, shown};
use super::{MAX_COLUMNS, Quote};

/// The values that the ECB writes for a currency that is not quoted.
const NOT_QUOTED: [&str; 2] = ["N/A", ""];

pub(super) fn read(text: &str, draft: &mut Draft) {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let mut lines = Lines::of(text.as_bytes());
    let mut header: Option<Header> = None;
    let mut row = StringRecord::new();
    // The crate counts lines as well, but omits empty ones and those that end in CR LF.
    while reader.read_record(&mut row).unwrap_or(false) {
        let start = row.position().map_or(0, |position| position.byte());
        let line = lines.line_from(usize::try_from(start).unwrap_or(usize::MAX));
        let Some(header) = &header else {
            header = Header::read(line, &row, draft);
            match header {
                Some(_) => continue,
                None => return,
            }
        };
        if !header.read_day(line, &row, draft) {
            return;
        }
    }
}

#[derive(PartialEq)]
enum Column {
    /// The quotes of a currency.
    Quotes(Currency),
    /// The quotes of a currency that this service does not know.
    Unknown(String),
    /// Something else: nothing, or a remark.
    Other,
}

/// The columns of a file, without the date.
struct Header {
    columns: Vec<Column>,
}

impl Header {
    fn read(line: usize, row: &StringRecord, draft: &mut Draft) -> Option<Self> {
        let mut names = row.iter();
        let first = names.next().unwrap_or_default();
        if !first.eq_ignore_ascii_case("Date") {
            let message = format!(
                "must be the header of the ECB's CSV, which begins with Date, and not {}",
                shown(first)
            );
            draft.fault(Place::Line(line), message);
            return None;
        }
        if row.len() > MAX_COLUMNS {
            draft.fault(Place::Line(line), "must have at most 1,000 columns");
            return None;
        }
        let mut columns: Vec<Column> = Vec::new();
        for name in names {
            columns.push(match Quoted::parse(name) {
                Quoted::Known(currency) if columns.contains(&Column::Quotes(currency)) => {
                    draft.fault(Place::OnLine(line, name), "must not appear twice");
                    Column::Other
                }
                Quoted::Known(currency) => Column::Quotes(currency),
                Quoted::Euro => {
                    draft.fault(
                        Place::OnLine(line, name),
                        "must not have a rate: rates are per 1 EUR",
                    );
                    Column::Other
                }
                Quoted::Unknown if is_code(name) => Column::Unknown(name.to_owned()),
                Quoted::Unknown => Column::Other,
            });
        }
        if !columns.iter().any(|it| matches!(it, Column::Quotes(_))) {
            draft.fault(
                Place::Line(line),
                "must name a currency that this service knows",
            );
            return None;
        }
        Some(Self { columns })
    }

    /// Reads the row of a day and returns whether to go on.
    fn read_day(&self, line: usize, row: &StringRecord, draft: &mut Draft) -> bool {
        let (expected, found) = (self.columns.len() + 1, row.len());
        if found != expected {
            let message = format!("must have {expected} values, like the header, not {found}");
            draft.fault(Place::Line(line), message);
        }
        let mut values = row.iter();
        let date = draft.date(
            Place::OnLine(line, "Date"),
            values.next().unwrap_or_default(),
        );
        let mut quotes = Vec::new();
        for (column, value) in self.columns.iter().zip(values) {
            if NOT_QUOTED.contains(&value) {
                continue;
            }
            let currency = match column {
                Column::Quotes(currency) => *currency,
                Column::Unknown(code) => {
                    draft.skip(code);
                    continue;
                }
                Column::Other => continue,
            };
            if let Some(rate) = draft.rate(Place::OnLine(line, currency.as_str()), value) {
                quotes.push(Quote { currency, rate });
            }
        }
        draft.add(date, quotes)
    }
}
