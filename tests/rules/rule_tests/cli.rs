//! `tillgate test`: the tests of a catalog without a host, as a pipeline runs them.

use std::io::{Seek, Write as _};
use std::process::Output;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::{Value, json};

use crate::support::host::Program;
use crate::support::wait::output;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the output of a command that succeeds.
fn done(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns a catalog of one condition with these tests.
fn catalog(tests: &Value) -> String {
    let condition = json!({
        "id": "games", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 }, "tests": tests,
    });
    json!({ "global": [], "tenant": [condition], "projects": [] }).to_string()
}

/// Runs `tillgate test` on a catalog that it reads from stdin.
fn test(catalog: &str, format: &str) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(catalog.as_bytes()).unwrap();
    file.rewind().unwrap();
    let mut command = Program::command();
    command.args(["test", "-", "--format", format]);
    command.stdin(file).output().unwrap()
}

fn aged(name: &str, age: u8) -> Value {
    let context = json!({ "customer": { "customer_age": age } });
    json!({ "name": name, "request": { "item": { "id": "a" }, "context": context }, "expect": { "decision": "ALLOW" } })
}

#[test]
fn the_tests_of_a_catalog_that_pass_end_with_0() {
    let passing = catalog(&json!([aged("eighteen", 18)]));
    assert_eq!(done(&test(&passing, "text")), "1 passed, 0 failed\n");
    assert_eq!(
        done(&test(&passing, "json")),
        "{\"passed\":1,\"failed\":[]}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.json").display().to_string();
    let run = || output(Program::command().args(["test", &file]));
    let missing = run();
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("cannot be read"));
    std::fs::write(&file, r#"{"global":[],"tenant":[]}"#).unwrap();
    assert_eq!(done(&run()), "0 passed, 0 failed\n");
}

#[test]
fn the_tests_of_a_catalog_that_fail_end_with_4_and_are_named_in_every_format() {
    let failing = catalog(&json!([aged("eighteen", 18), aged("<16> & \"more\"", 16)]));
    let run = |format: &str| {
        let output = test(&failing, format);
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout).to_owned()
    };
    assert_eq!(
        run("text"),
        "condition games, tests[1] \"<16> & \"more\"\": expected ALLOW, is HARD_DENY\n1 passed, 1 failed\n"
    );
    let json: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(
        (&json["passed"], json["failed"].as_array().unwrap().len()),
        (&json!(1), 1)
    );
    assert_eq!(json["failed"][0]["id"], "games");
    assert_eq!(json["failed"][0]["message"], "expected ALLOW, is HARD_DENY");

    let report = Report::deserialize_from_str(&run("junit")).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (2, 1, 0));
    let [suite] = &report.test_suites[..] else {
        panic!("{report:?}")
    };
    assert_eq!(suite.name.as_str(), "condition games");
    let names: Vec<&str> = suite
        .test_cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(names, ["eighteen", "<16> & \"more\""]);
    assert!(matches!(
        suite.test_cases[0].status,
        TestCaseStatus::Success { .. }
    ));
    let TestCaseStatus::NonSuccess { kind, message, .. } = &suite.test_cases[1].status else {
        panic!("{report:?}")
    };
    assert_eq!(*kind, NonSuccessKind::Failure);
    assert_eq!(
        message.as_ref().unwrap().as_str(),
        "expected ALLOW, is HARD_DENY"
    );
}

#[test]
fn a_catalog_or_a_test_that_is_malformed_ends_with_3_and_every_fault_is_said() {
    let nameless = json!([{ "request": {}, "expect": { "decision": "NEVER" } }]);
    let decision = "$.tenant[0].tests[0].expect.decision must be ALLOW, SOFT_DENY or HARD_DENY";
    for (catalog, faults) in [
        (
            catalog(&nameless),
            ["$.tenant[0].tests[0].name is required", decision],
        ),
        (
            "{}".to_owned(),
            ["$.global is required", "$.tenant is required"],
        ),
        (
            "nonsense".to_owned(),
            ["- is not a catalog with tests", "$ must be JSON"],
        ),
    ] {
        let output = test(&catalog, "junit");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
        assert_eq!(text(&output.stdout), "");
        let told = text(&output.stderr);
        assert!(faults.iter().all(|fault| told.contains(fault)), "{told}");
    }
}
