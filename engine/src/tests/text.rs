//! Runs tests from JSON to JSON.
//!
//! The request is `{ "condition": C, "other"?: C | null }` or `{ "project": P }`, with the tests in the condition or
//! project. The answer is `{ "passed", "failed": [{ "index", "name", "expected": { "decision", "reasons"? }, "actual":
//! { "decision", "reasons" }, "message" }] }`. `{ "catalog": K }` runs the tests of every condition and project of a
//! catalog; each failure then begins with the `kind` of its document, `condition` or `project`, and its `id`.
//!
//! A condition's `scope` is `TENANT` unless it says `GLOBAL`. `other` is the condition of the other scope with the same
//! id; its tests are not run. The tenant's condition decides a test if it is enabled, otherwise the global one if that
//! is; if neither is, `actual` is `NOT_FOUND`. The document may be a draft.

use super::{Beside, By, CatalogTests, DocumentTests, Failure, Report, Tests, write_verdict};
use crate::catalog::Catalog;
use crate::condition::{EntityCondition, Scope};
use crate::error::Error;
use crate::json::{Document, Faults, Node, push, write_number, write_text};
use crate::restriction::{Project, read_project_id};
use crate::restriction_checks::Checks;

/// Runs the tests of a document, and appends the report as JSON, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the document and its tests.
pub fn answer(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let document = Document::parse_up_to(request, usize::MAX)?;
    let mut faults = Faults::default();
    let members = ["condition", "other", "project", "catalog"];
    if let Some(root) = faults.object_with(document.root(), &members) {
        let given = ["condition", "project", "catalog"].map(|key| root.member(key));
        match given {
            [Some(condition), None, None] => run_condition(root, condition, &mut faults, out),
            [None, Some(project), None] => run_project(project, &mut faults, out),
            [None, None, Some(catalog)] => run_catalog(catalog, &mut faults, out),
            _ => faults.add(root, "must have one of condition, project and catalog"),
        }
    }
    faults.none_or_error()
}

fn run_condition(root: Node<'_, '_>, node: Node<'_, '_>, faults: &mut Faults, out: &mut Vec<u8>) {
    let scope = read_scope(node, faults);
    let condition = EntityCondition::from_catalog(node, scope, faults);
    let tests = Tests::read(node, Beside::Condition, faults);
    let other = root.member("other").filter(|other| !other.is_null());
    let opposite = match scope {
        Scope::Global => Scope::Tenant,
        Scope::Tenant => Scope::Global,
    };
    let other = other.and_then(|node| {
        let other = EntityCondition::from_catalog(node, opposite, faults)?;
        let has_id = condition.as_ref().is_none_or(|own| own.id == other.id);
        if let Some(id) = node.member("id").filter(|_| !has_id) {
            faults.add(id, "must be the id of the condition");
        }
        Some(other)
    });
    let Some(condition) = condition.filter(|_| faults.is_empty()) else {
        return;
    };
    let id = condition.id.clone();
    let both: Vec<_> = [Some(condition), other].into_iter().flatten().collect();
    let catalog = Catalog::from_conditions(&both);
    write(&[(None, tests.run(By::Condition(&id, &catalog)))], out);
}

fn run_project(node: Node<'_, '_>, faults: &mut Faults, out: &mut Vec<u8>) {
    let project = Project::read(node, faults);
    let id = node.member("projectId");
    let id = id.and_then(|id| read_project_id(id, faults));
    let tests = Tests::read(node, Beside::Project(id), faults);
    if faults.is_empty() {
        let checks = Checks::new(&project.restrictions);
        write(&[(None, tests.run(By::Project(Some(&checks))))], out);
    }
}

fn run_catalog(node: Node<'_, '_>, faults: &mut Faults, out: &mut Vec<u8>) {
    let catalog = CatalogTests::read(node, faults);
    if faults.is_empty() {
        write_catalog(&catalog, out);
    }
}

/// Runs the tests of a catalog, and appends the report as JSON.
pub fn write_catalog(catalog: &CatalogTests<'_>, out: &mut Vec<u8>) {
    let reports = catalog.run();
    let reports: Vec<_> = reports
        .map(|(document, report)| (Some(document), report))
        .collect();
    write(&reports, out);
}

/// Returns the scope that a condition states; a draft belongs to its tenant.
fn read_scope(condition: Node<'_, '_>, faults: &mut Faults) -> Scope {
    let Some(member) = condition.member("scope") else {
        return Scope::Tenant;
    };
    match member.text().map(|text| text.as_ref()) {
        Some("GLOBAL") => return Scope::Global,
        Some("TENANT") => {}
        _ => faults.add(member, "must be GLOBAL or TENANT"),
    }
    Scope::Tenant
}

/// Appends reports about the tests of documents. Each document is named if there may be others.
fn write(reports: &[(Option<&DocumentTests<'_>>, Report<'_, '_>)], out: &mut Vec<u8>) {
    let passed: usize = reports.iter().map(|(_, report)| report.passed).sum();
    push("{\"passed\":", out);
    write_number(passed, out);
    push(",\"failed\":[", out);
    let mut before = "{";
    for (document, report) in reports {
        for failure in &report.failed {
            push(before, out);
            before = ",{";
            if let Some(document) = document {
                push("\"kind\":\"", out);
                push(document.kind(), out);
                push("\",\"id\":\"", out);
                // The id of a condition or project never needs escaping.
                push(&document.id, out);
                push("\",", out);
            }
            write_failure(failure, out);
        }
    }
    push("]}", out);
}

/// Appends a failure without its opening brace.
fn write_failure(failure: &Failure<'_, '_>, out: &mut Vec<u8>) {
    push("\"index\":", out);
    write_number(failure.index, out);
    push(",\"name\":", out);
    write_text(&failure.test.name, out);
    push(",\"expected\":", out);
    let expected = &failure.test.expected;
    write_verdict(expected.decision.as_str(), expected.reasons.as_deref(), out);
    push(",\"actual\":", out);
    match &failure.actual {
        Some(actual) => write_verdict(actual.decision.as_str(), Some(&actual.reasons), out),
        None => write_verdict("NOT_FOUND", Some(&[]), out),
    }
    push(",\"message\":\"", out);
    failure.write_message(out);
    push("\"}", out);
}
