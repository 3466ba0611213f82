//! Laws of reading: a written document reads back, and no bytes make the reader panic.

use proptest::prelude::*;
use tillgate_engine::rate::{Currency, Rate};
use tillgate_rates::reference::DocumentType::{Csv, Xml};
use tillgate_rates::reference::{Day, Document, Quote};

use super::{codes, days, parse};
use crate::support::ecb;

/// Days with some currencies each, newest first.
fn some_days() -> impl Strategy<Value = Vec<Day>> {
    let codes = ["AUD", "CHF", "IDR", "ISK", "JPY", "SEK", "USD", "ZAR"];
    let rate = (1_u64..1_000_000_000_000_000, 0_u32..=6).prop_map(|(digits, decimals)| {
        let digits = format!("{digits:0>7}");
        let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let point = if fraction.is_empty() { "" } else { "." };
        Rate::parse(&format!("{whole}{point}{fraction}")).unwrap()
    });
    let day = proptest::collection::btree_map(proptest::sample::select(codes.to_vec()), rate, 1..8);
    let days = proptest::collection::btree_map(0_i32..20_000, day, 1..8);
    days.prop_map(|days| {
        let days = days.into_iter().rev();
        days.map(|(after, quotes)| Day {
            date: jiff::civil::date(1999, 1, 1) + jiff::Span::new().days(after),
            quotes: quotes
                .into_iter()
                .map(|(code, rate)| Quote {
                    currency: Currency::parse(code).unwrap(),
                    rate,
                })
                .collect(),
        })
        .collect()
    })
}

/// Changes of a document's bytes: the position, the number of removed bytes, and the inserted bytes.
fn mutations() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let put = prop_oneof![
        any::<Vec<u8>>(),
        prop::sample::select(vec![
            "<", "'", "\"", ",", "\n", "&", "<Cube>", "</Cube>", "0", "]]>", "<!--"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..20, put), 0..6)
}

/// Asserts the properties of every document that is read.
fn check(document: &Document) {
    let days: Vec<&Day> = document.days().collect();
    assert_eq!(days[0], document.newest());
    assert!(days.windows(2).all(|pair| pair[0].date > pair[1].date));
    for day in days {
        let codes = codes(day);
        assert!(!codes.is_empty() && !codes.contains(&"EUR"));
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(days in some_days()) {
        prop_assert_eq!(parse(Xml, ecb::history_xml(&days)), Ok(days.clone()));
        prop_assert_eq!(parse(Csv, ecb::history_csv(&days, &["HRK"])), Ok(days.clone()));
        let newest = vec![days[0].clone()];
        prop_assert_eq!(parse(Xml, ecb::daily_xml(&days[0])), Ok(newest.clone()));
        prop_assert_eq!(parse(Csv, ecb::daily_csv(&days[0])), Ok(newest));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        for kind in [Xml, Csv] {
            if let Ok(document) = Document::parse(kind, &bytes) {
                check(&document);
            }
        }
    }

    #[test]
    fn no_change_of_a_document_makes_the_reader_panic(changes in mutations(), which in 0_usize..4) {
        let days = days();
        let mut bytes = match which {
            0 => ecb::daily_xml(&days[0]),
            1 => ecb::history_xml(&days),
            2 => ecb::daily_csv(&days[0]),
            _ => ecb::history_csv(&days, &["BGN"]),
        }
        .into_bytes();
        for (place, out, put) in changes {
            let start = place.index(bytes.len() + 1);
            let end = (start + out).min(bytes.len());
            bytes.splice(start..end, put);
        }
        for kind in [Xml, Csv] {
            if let Ok(document) = Document::parse(kind, &bytes) {
                check(&document);
            }
        }
    }
}
