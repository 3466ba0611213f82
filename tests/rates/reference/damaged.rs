//! Refused documents of reference rates, with their messages: entirely different files, damaged documents, and
//! documents with too much of something.

use tillgate_rates::reference::Day;
use tillgate_rates::reference::DocumentType::{self, Csv, Xml};

use super::{days, parse};
use crate::support::ecb;

/// Returns the daily XML with one text replaced by another.
fn xml(from: &str, to: &str) -> Vec<u8> {
    let xml = ecb::daily_xml(&days()[0]);
    assert!(xml.contains(from), "{from}");
    xml.replace(from, to).into_bytes()
}

/// Returns the CSV of all days with one text replaced by another.
fn csv(from: &str, to: &str) -> Vec<u8> {
    let csv = ecb::history_csv(&days(), &["BGN"]);
    assert!(csv.contains(from), "{from}");
    csv.replace(from, to).into_bytes()
}

#[test]
fn a_damaged_document_is_refused_whole_and_every_fault_is_named() {
    let utf16: Vec<u8> = "\u{feff}Date,USD\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let long = "x".repeat(1_000);
    let rows: Vec<(DocumentType, Vec<u8>, &[&str])> = vec![
        // Entirely different files.
        (Xml, b"".into(), &["is empty"]),
        (Csv, b"\xEF\xBB\xBF \r\n".into(), &["is empty"]),
        (Csv, b"PK\x03\x04\x14\0".into(), &["is a zip file: unzip it first"]),
        (Csv, b"\x1F\x8B\x08\0".into(), &["is a gzip file: unpack it first"]),
        (Csv, utf16.clone(), &["must be UTF-8, and not UTF-16"]),
        (Xml, utf16[2..].into(), &["must be UTF-8, and not UTF-16"]),
        (Csv, b"Date,USD\n2026-11-20,\xB9.2".into(), &["line 2: must be UTF-8"]),
        (Xml, b"<!DOCTYPE HTML><title>503".into(), &["is a web page, not a document of rates"]),
        (Csv, b"\n<html><body>".into(), &["is a web page, not a document of rates"]),
        (
            Xml,
            b"<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN'><html/>".into(),
            &["must be the XML of the ECB: unknown variant `html`, expected `Envelope`"],
        ),
        (Xml, csv("USD", "USD"), &["is not XML, although its content type says so"]),
        (Csv, xml("USD", "USD"), &["is XML, although its content type says CSV"]),
        (Csv, b"{\"rates\":[]}".into(), &[
            "line 1: must be the header of the ECB's CSV, which begins with Date, and not {\"rates\":[]}",
        ]),
        (Csv, b"Date;USD;SEK\n2026-11-20;1,149;11,05\n".into(), &[
            "line 1: must be the header of the ECB's CSV, which begins with Date, and not Date;USD;SEK",
        ]),
        (Csv, b"KEY,FREQ,CURRENCY,TIME_PERIOD,OBS_VALUE\r\n".into(), &[
            "line 1: must be the header of the ECB's CSV, which begins with Date, and not KEY",
        ]),
        (Xml, b"<rss><channel/></rss>".into(), &["must be the XML of the ECB: unknown variant `rss`, expected `Envelope`"]),
        (Xml, format!("<{long}/>").into(), &["must be the XML of the ECB: unknown variant `xxx…"]),
        // Invalid XML, or XML beyond the limits.
        (Xml, b"<?xml version='1.0'?>\n".into(), &["must be the XML of the ECB: …"]),
        (Xml, xml("</gesmes:Envelope>\n", ""), &["must be the XML of the ECB: …"]),
        (Xml, xml("\t\t</Cube>", ""), &["must be the XML of the ECB: ill-formed document: …"]),
        (Xml, xml("'USD' rate='1.1490'/>\n\t\t</Cube>\n\t</Cube>\n</gesmes:Envelope>\n", "'US"), &[
            "must be the XML of the ECB: syntax error: …",
        ]),
        (Xml, xml("1.1490", "&one;"), &["must be the XML of the ECB: …"]),
        (Xml, xml("</gesmes:Envelope>\n", "</gesmes:Envelope>\n<gesmes:Envelope/>"), &["must end with its Envelope"]),
        (Xml, xml("</gesmes:Envelope>\n", "</gesmes:Envelope>\nand more"), &["must end with its Envelope"]),
        (Xml, xml("rate='1.1490'", "rate='1.1490' rate='1.1491'"), &[
            "must be the XML of the ECB: error while parsing attribute: …",
        ]),
        (Xml, xml("rate='1.1490'", "rate=1.1490"), &[
            "must be the XML of the ECB: error while parsing attribute: …",
        ]),
        // Invalid rates.
        (Xml, xml("rate='1.1490'", ""), &["must be the XML of the ECB: missing field `@rate`"]),
        (Xml, xml("currency='USD' ", ""), &["must be the XML of the ECB: missing field `@currency`"]),
        (Xml, xml("'USD'", "'usd'"), &["day 2026-11-20, usd: must be a code such as SEK"]),
        (Xml, xml("'USD'", "'SEK'"), &["day 2026-11-20, SEK: must not appear twice"]),
        (Xml, xml("'USD'", "'EUR'"), &["day 2026-11-20, EUR: must not have a rate: rates are per 1 EUR"]),
        (Xml, xml("1.1490", "N/A"), &["day 2026-11-20, USD: must be a decimal such as 11.05"]),
        (Xml, xml("<Cube time='2026-11-20'>", "<Cube>"), &["must be the XML of the ECB: missing field `@time`"]),
        (Xml, xml("2026-11-20", "yesterday"), &["day yesterday: must be a date from 1999 on, such as 2026-11-20"]),
        (Xml, ecb::history_xml(&[days()[0].clone(), days()[0].clone()]).into(), &[
            "day 2026-11-20: must not appear twice",
        ]),
        (Xml, ecb::history_xml(&[]).into(), &["has no rates"]),
        (Xml, ecb::history_xml(&[ecb::day("2026-12-25")]).into(), &["has no rates"]),
        (Xml, ecb::daily_xml(&ecb::day("2026-11-20 USD 1")).replace("USD", "HRK").into(), &[
            "has no rate of a currency that this service knows",
        ]),
        // The same faults in CSV.
        (Csv, b"Date,USD,\n".into(), &["has no rates"]),
        (Csv, b"Date,USD,\n2026-12-25,N/A,\n".into(), &["has no rates"]),
        (Csv, b"Date,HRK,\n2022-12-30,7.53,\n".into(), &["line 1: must name a currency that this service knows"]),
        (Csv, csv("JPY", "USD"), &["line 1, USD: must not appear twice"]),
        (Csv, csv("BGN", "EUR"), &["line 1, EUR: must not have a rate: rates are per 1 EUR"]),
        (Csv, csv("2026-11-19", "2026-11-31"), &[
            "line 3, Date: must be a date from 1999 on, such as 2026-11-20",
        ]),
        (Csv, csv("2026-11-19", "0026-11-19"), &[
            "line 3, Date: must be a date from 1999 on, such as 2026-11-20",
        ]),
        (Csv, csv("2026-11-19", "20 November 2026"), &[
            "line 3, Date: must not appear twice",
        ]),
        (Csv, csv("1.1502", "0"), &["line 3, USD: must be greater than 0"]),
        (Csv, csv("1.1502", "-1.1502"), &["line 3, USD: must be greater than 0"]),
        (Csv, csv("1.1502", "1.1502001"), &["line 3, USD: must have at most six decimals"]),
        (Csv, csv("1.1502", "1234567890123456"), &["line 3, USD: must have at most 15 significant digits"]),
        (Csv, csv("1.1502", "1,1502"), &["line 3: must have 7 values, like the header, not 8", 
        ]),
        (Csv, csv("1.2187,1.9558,\n", "1.2"), &["line 4: must have 7 values, like the header, not 5"]),
        (Csv, csv("180.2", "\"180.2"), &[
            "line 2: must have 7 values, like the header, not 3",
            "line 2, JPY: must be a decimal such as 11.05",
        ]),
        // All faults at once.
        (Csv, b"Date,USD,USD\r\n\r\nnever,-1,x\r\n2026-11-20,-,0,0\r\n".into(), &[
            "line 1, USD: must not appear twice",
            "line 3, Date: must be a date from 1999 on, such as 2026-11-20",
            "line 3, USD: must be greater than 0",
            "line 4: must have 3 values, like the header, not 4",
            "line 4, USD: must be a decimal such as 11.05",
        ]),
    ];
    for (kind, document, expected) in rows {
        let text = String::from_utf8_lossy(&document);
        let faults = parse(kind, &document).expect_err(&text);
        let is_expected = faults.len() == expected.len()
            && faults
                .iter()
                .zip(expected)
                .all(|(fault, expected)| is_as(fault, expected));
        assert!(is_expected, "{text}\n{faults:#?}\nand not {expected:#?}");
    }
}

/// Returns whether a message is the expected one; an expected text that ends with `…` is a prefix.
fn is_as(message: &str, expected: &str) -> bool {
    let start = expected.strip_suffix('…');
    start.map_or(message == expected, |start| {
        message.len() < 300 && message.starts_with(start)
    })
}

#[test]
fn a_document_with_too_much_of_something_is_refused() {
    let days = (0..20_001).map(|day| {
        let date = jiff::civil::date(1999, 1, 4) + jiff::Span::new().days(day);
        ecb::day(&format!("{date} USD 1.1"))
    });
    let days: Vec<Day> = days.collect();
    let message = "must have at most 20,000 days";
    let faults = parse(Csv, ecb::history_csv(&days, &[])).unwrap_err();
    assert_eq!(faults, [message]);
    let faults = parse(Xml, ecb::history_xml(&days)).unwrap_err();
    assert_eq!(faults, [message]);
    assert!(parse(Csv, ecb::history_csv(&days[1..], &[])).is_ok());
    let wide = format!("Date{}\n", ",HRK".repeat(1_000));
    assert_eq!(
        parse(Csv, wide).unwrap_err(),
        ["line 1: must have at most 1,000 columns"]
    );
    let faults = parse(Csv, format!("Date,USD\n{}", "never,0\n".repeat(80))).unwrap_err();
    assert_eq!(faults.len(), 101);
    assert_eq!(faults[100], "has more faults than are listed");
}
