//! Limits that are too large for vectors; the documents are generated here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use serde_json::{Value, json};
use tillgate_engine::face::{Line, Prepared};

/// Returns a project with a whitelist of `values` values and one boolean restriction.
fn project(values: usize) -> String {
    let list = vec!["true"; values].join(",");
    format!(
        r#"{{"restrictions":[{{"type":"WHITELIST","propertyName":"p","allowedValues":[{list}]}},{{"type":"BOOLEAN","propertyName":"p","value":true}}]}}"#
    )
}

#[test]
fn a_project_has_at_most_100_000_values_over_all_its_restrictions() {
    assert!(Prepared::new("project", project(99_999).as_bytes()).is_ok());
    let error = Prepared::new("project", project(100_000).as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "$.restrictions must have at most 100000 values over all restrictions"
    );
}

const PROJECT_ID: &str = "3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001";

/// Makes a call; returns the length of the answer, or the text of the error.
fn evaluate(prepared: &Prepared, line: &str, request: &Value) -> Result<usize, String> {
    let mut out = Vec::new();
    prepared.evaluate(
        Line::of(line),
        request.to_string().as_bytes(),
        None,
        &mut out,
    );
    let (first, text) = out.split_first().unwrap();
    if *first == b'0' {
        return Ok(text.len());
    }
    let error: Value = serde_json::from_slice(text).unwrap();
    Err(format!("{} {}", error["path"], error["message"]))
}

fn evaluate_many(prepared: &Prepared, line: &str, rows: &[Value]) -> Result<(), String> {
    let (request, mut out) = (json!({ "rows": rows }).to_string(), b"before".to_vec());
    let decided = prepared.evaluate_many(Line::of(line), request.as_bytes(), &mut out);
    assert_eq!(
        decided.is_err(),
        out == b"before",
        "an error appends nothing"
    );
    decided.map_err(|error| error.to_string())
}

#[test]
fn an_explained_answer_has_at_most_16_mib_however_often_it_repeats_a_value() {
    let restriction = json!({ "type": "WHITELIST", "propertyName": "p", "allowedValues": ["x"], "exclusive": true });
    let project = json!({ "restrictions": vec![restriction; 1_000] }).to_string();
    let project = Prepared::new("project", project.as_bytes()).unwrap();
    let request = |length| {
        let item = json!({ "id": "a", "additionalProperties": { "p": "v".repeat(length) } });
        json!({ "projectId": PROJECT_ID, "item": item })
    };
    assert!(evaluate(&project, "project", &request(20_000)).is_ok());
    assert!(evaluate(&project, "explain project", &request(15_000)).is_ok());
    let message = r#""$.item" "must lead to an answer of at most 16 MiB""#;
    for length in [20_000, 200_000] {
        let refused = evaluate(&project, "explain project", &request(length));
        assert_eq!(refused.unwrap_err(), message);
    }
}

#[test]
fn an_explained_basket_has_an_answer_of_at_most_16_mib() {
    let condition = json!({ "id": "a", "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    let catalog = json!({ "global": [], "tenant": [condition] }).to_string();
    let catalog = Prepared::new("catalog", catalog.as_bytes()).unwrap();
    let item = json!({ "id": "i", "conditionIds": vec!["a"; 64] });
    let licenses = vec!["l".repeat(100); 10];
    let request =
        json!({ "items": vec![item; 1_000], "context": { "customer": { "licenses": licenses } } });
    assert!(evaluate(&catalog, "basket", &request).is_ok());
    assert_eq!(
        evaluate(&catalog, "explain basket", &request).unwrap_err(),
        r#""$.items" "must lead to an answer of at most 16 MiB""#
    );
}

#[test]
fn there_are_at_most_10_000_rows_whose_outcomes_have_at_most_16_mib() {
    let name = |number| format!("{number:0>250}");
    let restriction =
        |number| json!({ "type": "BOOLEAN", "propertyName": name(number), "value": true });
    let restrictions: Vec<Value> = (0..1_000).map(restriction).collect();
    let project = json!({ "restrictions": restrictions }).to_string();
    let project = Prepared::new("project", project.as_bytes()).unwrap();
    let row = |number| json!({ "id": "a", "additionalProperties": { name(number): true } });
    let rows: Vec<Value> = (0..60).map(row).collect();
    assert_eq!(
        evaluate_many(&project, "project", &rows).unwrap_err(),
        "$.rows must lead to an answer of at most 16 MiB"
    );
    let same = vec![row(0); 10_001];
    assert!(evaluate_many(&project, "project", &same[..10_000]).is_ok());
    assert_eq!(
        evaluate_many(&project, "project", &same).unwrap_err(),
        "$.rows must have at most 10000 rows"
    );
}
