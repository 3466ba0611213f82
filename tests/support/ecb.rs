//! Writes documents of reference rates as the European Central Bank does, with its separators and padding. Reading
//! them is tested elsewhere.

use std::io::{Cursor, Write};

use tillgate_engine::rate::{Currency, Rate};
use tillgate_rates::reference::{Day, Quote};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Parses a day from a line of text: `2026-11-20 SEK 11.05 USD 1.149`.
pub fn day(line: &str) -> Day {
    let mut words = line.split_whitespace();
    let date = words.next().unwrap().parse().unwrap();
    let mut quotes = Vec::new();
    while let (Some(code), Some(rate)) = (words.next(), words.next()) {
        quotes.push(Quote {
            currency: Currency::parse(code).unwrap(),
            rate: Rate::parse(rate).unwrap(),
        });
    }
    Day { date, quotes }
}

/// Writes `eurofxref-daily.xml`: indented, attributes in single quotes, trailing zeros in rates.
pub fn daily_xml(day: &Day) -> String {
    let mut cubes = format!("\t\t<Cube time='{}'>\n", day.date);
    for Quote { currency, rate } in &day.quotes {
        let (code, rate) = (currency.as_str(), padded(*rate));
        cubes += &format!("\t\t\t<Cube currency='{code}' rate='{rate}'/>\n");
    }
    envelope(&format!("\n\t<Cube>\n{cubes}\t\t</Cube>\n\t</Cube>\n"))
}

/// Writes `eurofxref-hist-90d.xml` and `eurofxref-hist.xml`: all days on one line, attributes in double quotes.
pub fn history_xml(days: &[Day]) -> String {
    let mut cubes = String::new();
    for day in days {
        cubes += &format!("<Cube time=\"{}\">", day.date);
        for Quote { currency, rate } in &day.quotes {
            let code = currency.as_str();
            cubes += &format!("<Cube currency=\"{code}\" rate=\"{rate}\"/>");
        }
        cubes += "</Cube>";
    }
    envelope(&format!("<Cube>{cubes}</Cube>"))
}

fn envelope(content: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gesmes:Envelope \
         xmlns:gesmes=\"http://www.gesmes.org/xml/2002-08-01\" \
         xmlns=\"http://www.ecb.int/vocabulary/2002-08-01/eurofxref\">\n\t\
         <gesmes:subject>Reference rates</gesmes:subject>\n\t<gesmes:Sender>\n\t\t\
         <gesmes:name>European Central Bank</gesmes:name>\n\t</gesmes:Sender>{content}</gesmes:Envelope>\n"
    )
}

/// Writes `eurofxref.csv`: separated by a comma and a space, also after the last column, with the date spelled out.
pub fn daily_csv(day: &Day) -> String {
    let mut lines = [
        "Date, ".to_owned(),
        day.date.strftime("%d %B %Y, ").to_string(),
    ];
    for Quote { currency, rate } in &day.quotes {
        lines[0] += &format!("{}, ", currency.as_str());
        lines[1] += &format!("{}, ", padded(*rate));
    }
    format!("{}\n{}\n", lines[0], lines[1])
}

/// Writes `eurofxref-hist.csv`: a comma after every value, and `N/A` for currencies that were not quoted. The columns
/// in `left` are currencies that are no longer quoted, with a value on the oldest day.
pub fn history_csv(days: &[Day], left: &[&str]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for quote in days.iter().flat_map(|day| &day.quotes) {
        if !columns.contains(&quote.currency.as_str()) {
            columns.push(quote.currency.as_str());
        }
    }
    let header = columns.iter().chain(left);
    let mut text = format!(
        "Date,{}\n",
        header.map(|code| format!("{code},")).collect::<String>()
    );
    for (index, day) in days.iter().enumerate() {
        text += &format!("{},", day.date);
        for code in &columns {
            let quote = day
                .quotes
                .iter()
                .find(|quote| quote.currency.as_str() == *code);
            text += &quote.map_or("N/A,".to_owned(), |quote| format!("{},", quote.rate));
        }
        let value = if index + 1 == days.len() {
            "1.9558,"
        } else {
            "N/A,"
        };
        text += &value.repeat(left.len());
        text.push('\n');
    }
    text
}

/// Returns a rate with at least five digits, as the ECB publishes it: `1.1490`, `180.20`, `26350.00`.
fn padded(rate: Rate) -> String {
    let text = rate.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let decimals = 5_usize.saturating_sub(whole.len()).max(2);
    format!("{whole}.{fraction:0<decimals$}")
}

/// Writes `eurofxref-hist.zip`: a zip file of these entries, deflated.
pub fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let deflated =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, content) in entries {
        zip.start_file(name, deflated).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
