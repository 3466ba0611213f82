//! Tests in a stored document are found again, whatever the rule and the tests contain, and numbers keep their text.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;
use serde_json::json;
use tillgate_engine::condition::{ConditionId, Scope};
use tillgate_engine::json::{Document, Faults};
use tillgate_engine::restriction::ProjectId;
use tillgate_engine::tests::{condition_from_put, project_from_put, split};

/// Texts that look like the JSON around tests.
fn text() -> impl Strategy<Value = String> {
    let odd = [",\"tests\":[", "tests", "}}]}", "\\", "\"", ",", "[", "a"];
    proptest::collection::vec(proptest::sample::select(odd.to_vec()), 1..6)
        .prop_map(|parts| parts.concat())
}

/// Returns a project as it is stored, with and without its tests.
fn stored(body: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let id = ProjectId::new("3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001").unwrap();
    let document = Document::parse(body).unwrap();
    let (project, tests) = project_from_put(id, &document, Faults::lenient(true)).unwrap();
    let without = serde_json::to_vec(&project).unwrap();
    let mut with = without.clone();
    tests.append_to(&mut with);
    (without, with)
}

proptest! {
    #[test]
    fn a_project_and_its_tests_are_found_in_what_is_stored(
        name in text(),
        value in text(),
        test in text(),
        count in 0_usize..4,
    ) {
        let test = |number: usize| json!({
            "name": format!("{test}{number}"),
            "request": { "item": { "id": test, "additionalProperties": { "tests": test } } },
            "expect": { "decision": "ALLOW", "reasons": [] },
        });
        let tests: Vec<_> = (0..count).map(test).collect();
        let restriction = json!({ "type": "WHITELIST", "propertyName": value, "allowedValues": ["a", "tests", value] });
        let body = json!({ "name": name, "restrictions": [restriction], "tests": tests }).to_string();
        let (without, with) = stored(body.as_bytes());
        prop_assert_eq!(split(&without), None);
        let Some((rule, found)) = split(&with) else {
            prop_assert_eq!((count, &with), (0, &without));
            return Ok(());
        };
        prop_assert_eq!([rule, b"}"].concat(), without);
        let found: serde_json::Value = serde_json::from_slice(found).unwrap();
        prop_assert_eq!(found.as_array().unwrap().len(), count);
        prop_assert_eq!(stored(&with).1, with);
    }
}

#[test]
fn the_numbers_of_a_request_are_kept_beside_members_that_are_not_read() {
    let body = r#"{"a":[1.50,2],"restrictions":[],"b":{"c":-0.0,"d":"7.1"},"tests":[{"name":"x","request":{"item":{"id":"i","additionalProperties":{"p":1.10,"q":2,"r":1e2}}},"expect":{"decision":"ALLOW"}}],"e":3.3}"#;
    let (_, stored) = stored(body.as_bytes());
    let stored = String::from_utf8(stored).unwrap();
    assert!(stored.contains(r#"{"p":1.10,"q":2,"r":1e2}"#), "{stored}");
    // Two names are mistaken for `b` at first, so the whole document is read again.
    let again = body.replace("\"b\":", "\"xay\":1,\"xby\":2.5,\"b\":");
    assert_eq!(stored.as_bytes(), self::stored(again.as_bytes()).1);
}

#[test]
fn a_condition_without_tests_is_written_as_ever() {
    let id = || ConditionId::new("beer").unwrap();
    for tests in ["", ",\"tests\":[]"] {
        let body = format!(
            r#"{{"rule":"AGE_RESTRICTION","condition_value":{{"minimum_age":18}}{tests}}}"#
        );
        let document = Document::parse(body.as_bytes()).unwrap();
        let (condition, tests) =
            condition_from_put(id(), Scope::Tenant, &document, Faults::default()).unwrap();
        let mut json = serde_json::to_vec(&condition).unwrap();
        tests.append_to(&mut json);
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"id":"beer","rule":"AGE_RESTRICTION","scope":"TENANT","enabled":true,"condition_value":{"minimum_age":18}}"#
        );
    }
}
