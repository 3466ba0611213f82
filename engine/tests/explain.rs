//! Tests of explanations that vectors cannot hold: they change nothing else, and numbers that some languages write
//! differently.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "nothing outside can reach a test, and it reads what it needs of a vector"
)]

use serde_json::Value;
use tillgate_engine::face::{Line, Prepared};
use tillgate_engine::outcome::Tally;

#[path = "../../tests/support/vector.rs"]
mod vector;

use vector::Call;

fn ask(prepared: &Prepared, line: &str, request: &[u8]) -> (String, Tally) {
    let mut out = Vec::new();
    let tally = prepared.evaluate(Line::of(line), request, None, &mut out);
    (String::from_utf8(out).unwrap(), tally)
}

/// Removes the explanations from an answer; returns how many results had one.
fn remove_explanations(answer: &mut Value) -> usize {
    let results = |item: &mut Value| {
        let results = item["results"].as_array_mut().unwrap().iter_mut();
        results
            .filter_map(|result| result.as_object_mut().unwrap().remove("explanation"))
            .count()
    };
    match answer.get_mut("items") {
        Some(items) => items.as_array_mut().unwrap().iter_mut().map(results).sum(),
        None => results(answer),
    }
}

#[test]
fn an_explanation_is_all_that_an_explained_answer_has_beside_the_ordinary_one() {
    let mut results = 0;
    for vector in vector::all() {
        let Call::Prepare {
            line,
            document,
            evaluate: Some((call, request)),
        } = &vector.call
        else {
            continue;
        };
        let Ok(prepared) = Prepared::new(line, document) else {
            continue;
        };
        let (ordinary, tally) = ask(&prepared, call, request);
        let explained = ask(&prepared, &format!("explain {call}"), request);
        if call.starts_with("explain ") {
            assert!(explained.0.starts_with('1'), "{}", vector.name);
            continue;
        }
        if ordinary.starts_with('1') {
            assert_eq!(explained.0, ordinary, "{}", vector.name);
            continue;
        }
        assert_eq!(explained.1, tally, "{}", vector.name);
        let ordinary: Value = serde_json::from_str(&ordinary[1..]).unwrap();
        let mut explained: Value = serde_json::from_str(&explained.0[1..]).unwrap();
        let count: u32 = tally.0.as_flattened().iter().sum();
        assert_eq!(remove_explanations(&mut explained), count as usize);
        assert_eq!(explained, ordinary, "{}", vector.name);
        results += count;
    }
    assert!(results > 500, "{results}");
}

#[test]
fn a_number_is_explained_exactly_as_it_was_sent() {
    let project =
        br#"{"restrictions":[{"type":"WHITELIST","propertyName":"p","allowedValues":["1.10"]}]}"#;
    let prepared = Prepared::new("project", project).unwrap();
    for number in [
        "1.10",
        "-0",
        "1e2",
        "1E+2",
        "0.000",
        "123456789012345678901",
        "-9223372036854775808",
    ] {
        // A number inside a string, or before the explained one, must not be taken for it.
        let request = format!(
            r#"{{"projectId":"3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001","item":{{"id":"-3.1\"4","additionalProperties":{{"weight":7.50,"q":2.0,"p":{number}}}}}}}"#
        );
        let (answer, _) = ask(&prepared, "explain project", request.as_bytes());
        let explanation = format!(
            r#""explanation":{{"restrictionIndex":0,"propertyName":"p","value":{number},"wants":["1.10"],"wantsCount":1}}"#
        );
        assert!(answer.contains(&explanation), "{answer}");
    }
}
