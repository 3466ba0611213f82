//! `tillgate import-rates`: what it sends, and how it prints the answer.

use std::process::Output;

use crate::support::ecb;
use crate::support::host::Program;
use crate::support::script::{ScriptedHost, Then, response};
use crate::support::wait::output;

fn import(host: &ScriptedHost, document: impl AsRef<[u8]>, arguments: &[&str]) -> Output {
    let file = host.folder().join("document");
    std::fs::write(&file, document).unwrap();
    let mut command = Program::command();
    command
        .arg("import-rates")
        .arg(file)
        .arg("--credentials")
        .arg(host.credentials());
    output(command.args(arguments))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn answers(status: &str, body: &str) -> ScriptedHost {
    ScriptedHost::start([(response(status, "application/json", body), Then::Close)])
}

const IMPORTED: &str = r#"{"correlationId":"c-1","date":"2026-11-20","created":2,"updated":28,"unchanged":0,"stale":["ISK","RUB"]}"#;

#[test]
fn a_document_is_sent_as_it_is_with_its_type() {
    let day = ecb::day("2026-11-20 SEK 11.05 USD 1.149");
    let csv = format!("\u{feff}{}", ecb::daily_csv(&day)).into_bytes();
    let rows = [
        (ecb::daily_xml(&day).into_bytes(), "application/xml"),
        (ecb::zipped(&[("a", &csv)]), "application/zip"),
        (csv, "text/csv"),
    ];
    for (document, media_type) in rows {
        let host = answers("200 OK", IMPORTED);
        let arguments = ["--unit", "eu:1", "--type", "sales,PURCHASE", "--crosses"];
        let output = import(&host, &document, &arguments);
        assert_eq!(
            text(&output.stdout),
            "rates of 2026-11-20: 2 created, 28 updated, 0 unchanged\n\
             kept, but not in this document: ISK, RUB\ncorrelation id c-1\n"
        );
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let received = &host.received()[0];
        assert_eq!(
            received.line,
            "POST /api/v1/reference-rates/import?businessUnitId=eu%3A1&exchangeRateTypes=SALES,PURCHASE\
             &source=ECB&crosses=true HTTP/1.1"
        );
        assert_eq!(received.header("content-type"), Some(media_type));
        assert_eq!(received.body, document);
    }
}

#[test]
fn what_was_skipped_and_that_a_document_is_older_is_told() {
    let host = answers(
        "200 OK",
        r#"{"correlationId":"c-1","date":"2022-03-01","created":0,"updated":0,"unchanged":31,"stale":[],"skipped":["BGN","HRK"],"older":true,"filledDays":12}"#,
    );
    let output = import(&host, "Date,USD\n", &["--unit", "eu", "--type", "SALES"]);
    assert_eq!(
        text(&output.stdout),
        "rates of 2022-03-01: 0 created, 0 updated, 31 unchanged\n\
         older than the present rates, which stay: only their history is filled\n\
         added to the history: 12 days\nskipped, unknown or no longer quoted: BGN, HRK\n\
         correlation id c-1\n"
    );
}

#[test]
fn json_is_printed_as_the_host_wrote_it() {
    let host = answers("200 OK", IMPORTED);
    let output = import(
        &host,
        "Date,USD\n",
        &["--unit", "eu", "--type", "SALES", "--json"],
    );
    assert_eq!(text(&output.stdout), format!("{IMPORTED}\n"));
}

#[test]
fn a_dry_run_says_what_would_change() {
    let host = answers(
        "200 OK",
        r#"{"businessUnits":{"total":40,"affected":21,"shielded":3},"sample":[{"businessUnitId":"se-001","deletedRates":[{"exchangeRateType":"SALES","sourceCurrencyCode":"SEK","targetCurrencyCode":"EUR","rateValue":11.050,"rateValueWithMarkup":11.050}]}]}"#,
    );
    let output = import(
        &host,
        "Date,USD\n",
        &["--unit", "eu", "--type", "SALES", "--dry-run"],
    );
    assert_eq!(
        text(&output.stdout),
        "would change rates of 21 of 40 shops; 3 keep rates that are set nearer to them\n\
         se-001  deleted SALES 1 EUR = 11.050 SEK\nand 20 more\n"
    );
    let line = &host.received()[0].line;
    assert!(line.ends_with("&source=ECB&dryRun=true HTTP/1.1"), "{line}");
}

const LEFT_OUT: &str = r#"{"correlationId":"c-1","date":"2026-11-20","created":0,"updated":27,"unchanged":0,"stale":[],"deviations":[{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","old":11.050,"new":110.5,"percent":900,"hint":"DECIMAL_POINT"},{"exchangeRateType":"SALES","currencyIdFrom":"USD","currencyIdTo":"EUR","old":1.149,"new":0.870322,"percent":-24.2539,"hint":"INVERTED"},{"exchangeRateType":"SALES","currencyIdFrom":"TRY","currencyIdTo":"EUR","old":40,"new":50,"percent":25}]}"#;

#[test]
fn rates_that_were_left_out_are_named_and_change_the_exit_code() {
    let host = answers("200 OK", LEFT_OUT);
    let options = ["--unit", "eu", "--type", "SALES"];
    let output = import(&host, "Date,USD\n", &options);
    assert_eq!(
        text(&output.stdout),
        "rates of 2026-11-20: 0 created, 27 updated, 0 unchanged\ncorrelation id c-1\n\
         left out, because they exceed the tolerance:\n\
         \x20 SALES 1 EUR = 110.5 SEK instead of 11.050 (900 %, looks like a slipped decimal point)\n\
         \x20 SALES 1 EUR = 0.870322 USD instead of 1.149 (-24.2539 %, looks inverted)\n\
         \x20 SALES 1 EUR = 50 TRY instead of 40 (25 %)\n"
    );
    assert_eq!(output.status.code(), Some(3));
    let host = answers("200 OK", LEFT_OUT);
    let json = import(&host, "Date,USD\n", &[&options[..], &["--json"]].concat());
    assert_eq!(text(&json.stdout), format!("{LEFT_OUT}\n"));
    assert_eq!(json.status.code(), Some(3));
}

#[test]
fn what_is_meant_is_said_with_a_flag() {
    let host = answers("200 OK", IMPORTED);
    let options = ["--unit", "eu", "--type", "SALES", "--accept-deviation"];
    let output = import(&host, "Date,USD\n", &options);
    assert_eq!(output.status.code(), Some(0));
    let line = &host.received()[0].line;
    let query = "&source=ECB&acceptDeviation=true HTTP/1.1";
    assert!(line.ends_with(query), "{line}");
}

#[test]
fn a_dry_run_says_what_would_be_left_out() {
    let body = r#"{"businessUnits":{"total":40,"affected":0,"shielded":0},"sample":[],"deviations":[{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","old":11.05,"new":110.5,"percent":900,"hint":"DECIMAL_POINT"}]}"#;
    let host = answers("200 OK", body);
    let options = ["--unit", "eu", "--type", "SALES", "--dry-run"];
    let output = import(&host, "Date,USD\n", &options);
    assert_eq!(
        text(&output.stdout),
        "would change rates of 0 of 40 shops\nwould be left out, because they exceed the tolerance:\n\
         \x20 SALES 1 EUR = 110.5 SEK instead of 11.05 (900 %, looks like a slipped decimal point)\n"
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_refused_document_is_told_with_all_its_faults() {
    let one = r#"{"detail":"the request has faults: $.document is empty","message":["$.document is empty"]}"#;
    let two = r#"{"detail":"one; two","message":["$.document line 2, USD: one","$.document line 3, SEK: two"]}"#;
    let rows = [
        (
            one,
            "tillgate: the host answered 400 Bad Request: the request has faults: $.document is empty\n",
        ),
        (
            two,
            "tillgate: the host answered 400 Bad Request: 2 faults\n  $.document line 2, USD: one\n  $.document line 3, SEK: two\n",
        ),
    ];
    for (body, expected) in rows {
        let host = answers("400 Bad Request", body);
        let output = import(&host, "", &["--unit", "eu", "--type", "SALES"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("", expected));
    }
}

#[test]
fn a_file_that_no_host_would_accept_is_not_sent() {
    let host = answers("200 OK", IMPORTED);
    let large = import(
        &host,
        vec![b' '; (16 << 20) + 1],
        &["--unit", "eu", "--type", "SALES"],
    );
    assert_eq!(large.status.code(), Some(1));
    let told = text(&large.stderr);
    assert!(told.contains("is larger than 16 MiB"), "{told}");
    let mut command = Program::command();
    let missing = output(command.args([
        "import-rates",
        "no-such-file",
        "--unit",
        "eu",
        "--type",
        "SALES",
    ]));
    assert_eq!(missing.status.code(), Some(1));
    let told = text(&missing.stderr);
    assert!(
        told.starts_with("tillgate: no-such-file cannot be read: "),
        "{told}"
    );
    assert!(host.received().is_empty());
}
