//! Properties of the rate math that hold for all rates, where the vectors only have examples; and its limits.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod numbers;
mod used;

use proptest::prelude::*;

use tillgate_engine::error::Error;
use tillgate_engine::rate::{self, *};
use tillgate_engine::signature;

fn answer(request: &str) -> Result<String, Error> {
    let mut out = Vec::new();
    rate::text::answer(request.as_bytes(), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn ten_thousand_calls_are_answered_and_one_more_is_not() {
    let request = |count: usize| {
        let calls = vec![r#"{"op":"opposite","rate":"11.05"}"#; count];
        format!(r#"{{"calls":[{}]}}"#, calls.join(","))
    };
    let answers = answer(&request(10_000)).unwrap();
    assert_eq!(answers.matches("0.090498").count(), 10_000);
    let error = answer(&request(10_001)).unwrap_err();
    assert_eq!(error.to_string(), "$.calls must have 1 to 10,000 calls");
}

#[test]
fn an_error_leaves_no_part_of_an_answer() {
    let request = br#"{"calls":[{"op":"opposite","rate":"2"},{"op":"opposite","rate":"0"}]}"#;
    let mut out = b"before".to_vec();
    assert!(rate::text::answer(request, &mut out).is_err());
    assert!(signature::text::answer(request, &mut out).is_err());
    assert_eq!(out, b"before");
}

#[test]
fn endless_digits_and_exponents_are_read_in_one_pass() {
    let million = "0".repeat(1_000_000);
    let nines = "9".repeat(1_000_000);
    for one in [
        format!("1.{million}"),
        format!("1{million}e-1000000"),
        format!("0.{million}1e1000001"),
    ] {
        assert_eq!(Rate::parse(&one).unwrap().to_string(), "1");
    }
    for text in [
        format!("1e{nines}"),
        format!("1e-{nines}"),
        format!("{nines}e-{nines}"),
        format!("0.{nines}e{nines}"),
        format!("1{million}"),
        format!("1.{million}1"),
    ] {
        assert!(Rate::parse(&text).is_err() && Amount::parse(&text).is_err());
        assert!(Value::parse(&text).is_err() && Percentage::parse(&text).is_err());
    }
}

#[test]
fn a_shared_key_is_never_shown() {
    let key = signature::SharedKey::parse("sixteen or more characters").unwrap();
    assert_eq!(format!("{key:?}"), "SharedKey");
}

/// Returns `units` ÷ 10^`decimals` as the shortest text.
fn shortest(units: i128, decimals: usize) -> String {
    let digits = format!("{units:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{whole}{point}{fraction}")
}

fn any_markup() -> impl Strategy<Value = Percentage> {
    (0..1_000_000_i128).prop_map(|units| Percentage::parse(&shortest(units, 4)).unwrap())
}

proptest! {
    #[test]
    fn a_malformed_request_is_an_error(text in "[\\[\\]{}\",:0-9a-z.eE+-]{0,60}", member in any::<String>()) {
        prop_assert!(answer(&text).is_err());
        prop_assert!(signature::text::answer(text.as_bytes(), &mut Vec::new()).is_err());
        let member = serde_json::to_string(&member).unwrap();
        let request = format!(
            r#"{{"calls":[{{"op":"convert","amount":{member},"rate":{member},"currency":{member}}}]}}"#
        );
        prop_assert!(answer(&request).is_err());
    }
}
