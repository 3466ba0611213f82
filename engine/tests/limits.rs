//! Limits that are too large for vectors: the documents are generated here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use tillgate_engine::face::Prepared;

/// A project with a whitelist of that many values, and one boolean restriction.
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
