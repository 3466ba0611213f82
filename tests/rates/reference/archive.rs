//! Zip files that contain a document: those that are unpacked, and those that are refused.

use std::io::{Cursor, Write};

use tillgate_rates::reference::DocumentType::{Csv, Zip};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{days, parse};
use crate::support::ecb;

/// Returns a zip file of one entry, stored without compression.
fn stored(content: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file("eurofxref.csv", stored).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap().into_inner()
}

/// Changes two bytes at these offsets in the local header of an entry and in its header in the central directory.
fn with_field(mut zip: Vec<u8>, [local, central]: [usize; 2], value: u16) -> Vec<u8> {
    for (magic, offset) in [(b"PK\x03\x04", local), (b"PK\x01\x02", central)] {
        let at = zip.windows(4).position(|at| at == magic).unwrap() + offset;
        zip[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    zip
}

#[test]
fn a_zip_file_of_one_document_is_read_whatever_its_name() {
    let csv = ecb::history_csv(&days(), &["BGN"]);
    let xml = ecb::history_xml(&days());
    for zip in [
        ecb::zipped(&[("eurofxref-hist.csv", csv.as_bytes())]),
        ecb::zipped(&[("../../etc/passwd", csv.as_bytes())]),
        ecb::zipped(&[("a/b.txt", xml.as_bytes())]),
        stored(csv.as_bytes()),
    ] {
        assert_eq!(parse(Zip, zip), Ok(days()));
    }
}

#[test]
fn what_macos_adds_to_a_zip_file_is_passed_over() {
    let csv = ecb::history_csv(&days(), &[]);
    let (csv, attributes) = (csv.as_bytes(), b"\0\x05\x16\x07".as_slice());
    let (document, added) = (
        ("eurofxref.csv", csv),
        ("__MACOSX/._eurofxref.csv", attributes),
    );
    let folder = ("__MACOSX/", b"".as_slice());
    for entries in [vec![document, added], vec![folder, added, document]] {
        assert_eq!(parse(Zip, ecb::zipped(&entries)), Ok(days()));
    }
    let other = ("other.csv", csv);
    for (entries, count) in [(vec![document, added, other], 2), (vec![added], 0)] {
        let message = format!("must be a zip file of one document, not of {count}");
        assert_eq!(parse(Zip, ecb::zipped(&entries)), Err(vec![message]));
    }
}

#[test]
fn a_zip_file_of_anything_else_is_refused() {
    let csv = ecb::history_csv(&days(), &[]);
    let csv = csv.as_bytes();
    let one = ecb::zipped(&[("eurofxref.csv", csv)]);
    let names: Vec<String> = (0..100).map(|index| index.to_string()).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), csv)).collect();
    let large = vec![b' '; (16 << 20) + 1];
    let damaged = {
        let mut stored = stored(csv);
        let at = stored.windows(4).position(|at| at == b"Date").unwrap();
        stored[at] = b'd';
        stored
    };
    let rows: Vec<(Vec<u8>, &str)> = vec![
        (
            csv.to_vec(),
            "is not a zip file, although its content type says so",
        ),
        (
            Vec::new(),
            "is not a zip file, although its content type says so",
        ),
        (
            ecb::zipped(&[]),
            "must be a zip file of one document, not of 0",
        ),
        (
            ecb::zipped(&[("a", csv), ("b", csv)]),
            "must be a zip file of one document, not of 2",
        ),
        (
            ecb::zipped(&many),
            "must be a zip file of one document, not of many",
        ),
        (
            ecb::zipped(&[("a", &large)]),
            "is a zip file of more than 16 MiB when unpacked",
        ),
        (ecb::zipped(&[("a", &one)]), "is a zip file: unzip it first"),
        (ecb::zipped(&[("a", b"")]), "is empty"),
        (ecb::zipped(&[("a", b"Date,USD\n")]), "has no rates"),
        (
            with_field(one.clone(), [6, 8], 1),
            "is a zip file with a password: send it without one",
        ),
        (
            with_field(one.clone(), [8, 10], 12),
            "is a zip file with a compression other than deflate",
        ),
        (
            one[..one.len() - 30].to_vec(),
            "is a zip file that cannot be read: …",
        ),
        (damaged, "is a zip file that cannot be read: …"),
        (
            b"PK\x03\x04".to_vec(),
            "is a zip file that cannot be read: …",
        ),
    ];
    for (zip, expected) in rows {
        let faults = parse(Zip, zip).unwrap_err();
        let start = expected.strip_suffix('…').unwrap_or(expected);
        assert!(
            faults.len() == 1 && faults[0].starts_with(start),
            "{faults:?}, and not {expected}"
        );
    }
    // The unpacked document may be as large as an upload.
    let mut fits = csv.to_vec();
    fits.resize(16 << 20, b'\n');
    assert_eq!(parse(Zip, ecb::zipped(&[("a", &fits)])), Ok(days()));
    assert_eq!(
        parse(Csv, one).unwrap_err(),
        ["is a zip file: unzip it first"]
    );
}

#[test]
fn no_change_of_a_zip_file_makes_the_reader_panic() {
    let one = ecb::zipped(&[("eurofxref.csv", ecb::history_csv(&days(), &[]).as_bytes())]);
    for at in 0..one.len() {
        for value in [0, 1, 0x7F, 0xFF] {
            let mut changed = one.clone();
            changed[at] = value;
            drop(parse(Zip, changed));
        }
        drop(parse(Zip, &one[..at]));
    }
}
