//! Rows are decided like separate requests about the same items. The rows come from all vectors.

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

use serde_json::{Value, json};
use tillgate_engine::face::{Line, Prepared};

#[path = "../../tests/support/vector.rs"]
mod vector;

use vector::{Call, Vector};

fn many(prepared: &Prepared, line: &str, rows: &[Value]) -> Value {
    let request = json!({ "rows": rows }).to_string();
    let mut out = Vec::new();
    let decided = prepared.evaluate_many(Line::of(line), request.as_bytes(), &mut out);
    decided.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(out[0], b'0');
    serde_json::from_slice(&out[1..]).unwrap()
}

/// Returns a row that asks what the request asks, and the line that names the condition or the project.
fn row(line: &str, call: &str, request: &Value) -> Option<(Value, String)> {
    let mut row = json!({ "id": request["item"]["id"] });
    let (members, of, call) = match call {
        "project" if line == "project" => (&["additionalProperties"][..], "/item", call.to_owned()),
        "project" => {
            let id = request["projectId"].as_str().unwrap();
            (
                &["additionalProperties"][..],
                "/item",
                format!("project {id}"),
            )
        }
        _ if call.starts_with("condition ") => (
            &["customer_age", "licenses"][..],
            "/context/customer",
            call.to_owned(),
        ),
        _ => return None,
    };
    for member in members {
        if let Some(value) = request.pointer(of).and_then(|of| of.get(*member)) {
            row[*member] = value.clone();
        }
    }
    Some((row, call))
}

/// Returns a vector that decides about one item: prepared, as a row, with the line and the expected answer.
fn asked(vector: &Vector) -> Option<(Prepared, Value, String, Value)> {
    let Call::Prepare {
        line,
        document,
        evaluate: Some((call, request)),
    } = &vector.call
    else {
        return None;
    };
    let answer = vector.answer.strip_prefix(b"0")?;
    let request = serde_json::from_slice(request).ok()?;
    let (row, call) = row(line, call, &request)?;
    let prepared = Prepared::new(line, document).unwrap();
    Some((prepared, row, call, serde_json::from_slice(answer).unwrap()))
}

#[test]
fn a_row_is_decided_as_a_request_about_its_item() {
    let mut asked_for = 0;
    for vector in vector::all() {
        let Some((prepared, row, call, answer)) = asked(&vector) else {
            continue;
        };
        let decided = many(&prepared, &call, &[row.clone(), row]);
        assert_eq!(decided["rows"], json!([0, 0]), "{}", vector.name);
        let outcome = &decided["outcomes"][0];
        assert_eq!(outcome["results"], answer["results"], "{}", vector.name);
        assert_eq!(outcome["allow"], answer["allow"], "{}", vector.name);
        let results = answer["results"].as_array().unwrap().iter();
        let decisions = results.map(|result| result["decision"].as_str().unwrap());
        let worst = decisions.max_by_key(|decision| {
            ["ALLOW", "SOFT_DENY", "HARD_DENY"]
                .iter()
                .position(|one| one == decision)
        });
        assert_eq!(
            outcome["decision"],
            worst.unwrap_or("ALLOW"),
            "{}",
            vector.name
        );
        asked_for += 1;
    }
    assert!(asked_for > 300, "{asked_for}");
}

#[test]
fn ten_thousand_rows_share_their_outcomes() {
    let catalog = br#"{"global":[],"tenant":[{"id":"beer","rule":"AGE_RESTRICTION","condition_value":{"minimum_age":18}}]}"#;
    let prepared = Prepared::new("catalog", catalog).unwrap();
    let rows: Vec<Value> = (0..10_000)
        .map(|number| json!({ "id": number.to_string(), "customer_age": number % 151 }))
        .collect();
    let decided = many(&prepared, "condition beer", &rows);
    assert_eq!(decided["outcomes"].as_array().unwrap().len(), 2);
    let expected: Vec<i32> = (0..10_000)
        .map(|number| i32::from(number % 151 >= 18))
        .collect();
    assert_eq!(decided["rows"], json!(expected));
}
