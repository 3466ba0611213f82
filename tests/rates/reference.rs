//! Reading the documents of the European Central Bank. `damaged.rs` has the documents that are refused and the
//! messages; `properties.rs` has the laws for all documents and all bytes.

use tillgate_rates::reference::DocumentType::{Csv, Xml, Zip};
use tillgate_rates::reference::{Day, Document, DocumentType};

use crate::support::ecb;

mod archive;
mod damaged;
mod properties;

/// Returns three days as they might be published, newest first. The krona was not quoted on the second one.
fn days() -> Vec<Day> {
    [
        "2026-11-20 IDR 20274.71 JPY 180.2 SEK 11.05 USD 1.149",
        "2026-11-19 IDR 20300.5 JPY 179.95 USD 1.1502",
        "2021-06-03 JPY 133.71 SEK 10.1213 USD 1.2187",
    ]
    .map(ecb::day)
    .to_vec()
}

fn parse(kind: DocumentType, document: impl AsRef<[u8]>) -> Result<Vec<Day>, Vec<String>> {
    let document = document.as_ref();
    match Document::parse(kind, document) {
        Ok(document) => Ok(document.days().cloned().collect()),
        Err(faults) => Err(faults
            .into_iter()
            .map(|fault| {
                assert_eq!(fault.path, "$.document");
                fault.message.into_owned()
            })
            .collect()),
    }
}

#[test]
fn the_daily_documents_are_read() {
    for day in days() {
        let expected = Ok(vec![day.clone()]);
        assert_eq!(parse(Xml, ecb::daily_xml(&day)), expected);
        assert_eq!(parse(Csv, ecb::daily_csv(&day)), expected);
    }
    let daily = ecb::daily_xml(&days()[0]);
    assert!(
        daily.contains("<Cube currency='USD' rate='1.1490'/>"),
        "{daily}"
    );
    let daily = ecb::daily_csv(&days()[2]);
    assert_eq!(
        daily,
        "Date, JPY, SEK, USD, \n03 June 2021, 133.71, 10.1213, 1.2187, \n"
    );
}

#[test]
fn the_documents_of_many_days_are_read_newest_first_in_whatever_order_they_are() {
    let (newest_first, mut reversed) = (days(), days());
    reversed.reverse();
    for days in [&newest_first, &reversed] {
        let expected = Ok(newest_first.clone());
        assert_eq!(parse(Xml, ecb::history_xml(days)), expected);
        assert_eq!(parse(Csv, ecb::history_csv(days, &[])), expected);
        let windows = ecb::history_csv(days, &[]).replace('\n', "\r\n");
        assert_eq!(parse(Csv, windows), expected);
    }
    let history = ecb::history_csv(&newest_first, &["BGN"]);
    assert!(
        history.contains("\n2026-11-19,20300.5,179.95,N/A,1.1502,N/A,\n"),
        "{history}"
    );
    let newest = Document::parse(Csv, history.as_bytes()).unwrap();
    assert_eq!(*newest.newest(), newest_first[0]);
}

#[test]
fn currencies_that_left_the_list_are_ignored() {
    let left = [
        "BGN", "HRK", "CYP", "LTL", "EEK", "ROL", "TRL", "MTL", "SIT", "SKK", "LVL",
    ];
    assert_eq!(parse(Csv, ecb::history_csv(&days(), &left)), Ok(days()));
    let xml = ecb::daily_xml(&days()[0]).replace("'IDR' rate='20274.71'", "'BGN' rate='1.9558'");
    let codes: Vec<Vec<&str>> = parse(Xml, xml).unwrap().iter().map(codes).collect();
    assert_eq!(codes, [["JPY", "SEK", "USD"]]);
}

#[test]
fn currencies_of_which_no_rate_is_set_are_named() {
    let skipped = |kind, document: &str| {
        let document = Document::parse(kind, document.as_bytes()).unwrap();
        document.skipped().join(" ")
    };
    // Withdrawn from ISO 4217, withdrawn from the list, and missing on the newest day; a column without a value means
    // nothing.
    let csv = "Date,BGN,CYP,RUB,SEK,Remark,USD,\n2026-11-20,N/A,N/A,N/A,N/A,x,1.149,\n\
               2026-11-19,1.9558,N/A,N/A,11.05,x,1.15,\n2022-03-01,1.9558,N/A,117.201,10.1,x,1.11,\n";
    assert_eq!(skipped(Csv, csv), "BGN RUB SEK");
    let xml = ecb::history_xml(&days()).replace("\"IDR\"", "\"HRK\"");
    assert_eq!(skipped(Xml, &xml), "HRK");
    assert_eq!(skipped(Xml, &ecb::history_xml(&days()[1..])), "SEK");
    assert_eq!(skipped(Xml, &ecb::daily_xml(&days()[0])), "");
}

fn codes(day: &Day) -> Vec<&'static str> {
    let quotes = day.quotes.iter();
    quotes.map(|quote| quote.currency.as_str()).collect()
}

#[test]
fn a_day_on_which_nothing_was_published_is_none() {
    let csv = "Date,USD,SEK,\n2026-12-28,N/A,N/A,\n2026-12-25,,,\n2026-12-24,1.15,,\n";
    let expected = Ok(vec![ecb::day("2026-12-24 USD 1.15")]);
    assert_eq!(parse(Csv, csv), expected);
    let xml = ecb::history_xml(&[ecb::day("2026-12-25"), ecb::day("2026-12-24 USD 1.15")]);
    assert_eq!(parse(Xml, xml), expected);
}

#[test]
fn columns_are_what_their_names_say() {
    let csv = "Date,Remark,SEK,USD\n2026-11-20,\"one, two\",11.050,1.149000000\n";
    let expected = Ok(vec![ecb::day("2026-11-20 SEK 11.05 USD 1.149")]);
    assert_eq!(parse(Csv, csv), expected);
    let csv = "\n\ndate,USD,SEK\n\n\"20 November 2026\",\"1.149\",11.05";
    assert_eq!(parse(Csv, csv), expected);
}

#[test]
fn a_byte_order_mark_and_escaped_characters_change_nothing() {
    let day = &days()[0];
    let expected = Ok(vec![day.clone()]);
    for (kind, text) in [(Xml, ecb::daily_xml(day)), (Csv, ecb::daily_csv(day))] {
        assert_eq!(parse(kind, format!("\u{feff}{text}")), expected);
    }
    let xml = ecb::daily_xml(day)
        .replace("'USD'", " ' USD&#x20;'")
        .replace("1.1490", "&#49;.149")
        .replace(
            "European",
            "<!-- of --> &amp; &lt;European <![CDATA[<Cube>]]>",
        );
    assert_eq!(parse(Xml, xml), expected);
}

#[test]
fn the_type_of_a_document_is_told_by_its_first_bytes() {
    let rows: [(&[u8], DocumentType, &str); 6] = [
        (b" \r\n<?xml ?>", Xml, "application/xml"),
        (b"\xEF\xBB\xBF<gesmes:Envelope>", Xml, "application/xml"),
        (b"Date, USD", Csv, "text/csv"),
        (b"", Csv, "text/csv"),
        (b"PK\x03\x04", Zip, "application/zip"),
        (b"PK\x05\x06", Zip, "application/zip"),
    ];
    for (document, kind, media_type) in rows {
        let detected = DocumentType::detect(document);
        assert_eq!((detected, detected.media_type()), (kind, media_type));
    }
}
