//! Tests beside a rule: requests that a condition or project must answer in a certain way, kept in its document.
//!
//! The member is `tests: [{ "name", "request", "expect": { "decision", "reasons"? } }]` (`conditions.md`, "Beyond an
//! answer"). Tests decide nothing: [`crate::catalog`] and [`crate::restriction_checks`] do not read them. Decisions and the set of
//! their reasons are compared, not bytes, so a test stays right when answers get more members. `read.rs` reads tests,
//! `run.rs` runs those of a document and `catalog.rs` those of a catalog, `stored.rs` finds them in a stored document,
//! and `text.rs` runs them from JSON to JSON.

mod catalog;
mod put;
mod read;
mod run;
mod stored;
pub mod text;

use std::borrow::Cow;

pub use self::catalog::{CatalogTests, DocumentTests};
pub use self::put::{condition_from_put, project_from_put};
pub use self::run::{By, Failure, Report};
pub use self::stored::split;
use crate::condition::ConditionRequest;
use crate::json::push;
use crate::outcome::{Decision, Reason};
use crate::restriction::{Item, ProjectId};

/// The most tests of a condition or project.
pub const MAX_TESTS: usize = 200;

/// The most bytes of all tests of a document as JSON: 64 KiB.
pub const MAX_BYTES: usize = 64 << 10;

/// The longest name of a test, in characters.
pub const MAX_NAME: usize = 256;

/// The deepest nesting of a test's request, in levels. The request is part of documents that may not be nested more
/// deeply than [`crate::json::MAX_DEPTH`].
pub const MAX_LEVELS: usize = 16;

/// The kind of document that tests stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A condition: requests are bodies of `POST /api/v1/conditions/{conditionId}/evaluate`.
    Condition,
    /// A project: requests are bodies of `POST /api/v1/project-restrictions/evaluate`. A `projectId` in them must be
    /// this id; a draft may have no id.
    Project(Option<ProjectId>),
}

/// A decision and its reasons, in any order: those that a test expects, or those of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<R> {
    /// The worst of all results.
    pub decision: Decision,
    /// The reasons against the item.
    pub reasons: R,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test<'a> {
    /// The name, which is unique among its document's tests.
    pub name: Cow<'a, str>,
    request: Request<'a>,
    /// The expected verdict; without reasons, any will do.
    pub expected: Verdict<Option<Vec<Reason>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Request<'a> {
    Condition(ConditionRequest<'a>),
    Project(Item<'a>),
}

/// The tests of a condition or project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tests<'a> {
    /// In the order of the document.
    all: Vec<Test<'a>>,
    /// The tests as they are written: compact, with members in the order of the contract and each request as it was
    /// given.
    json: Vec<u8>,
}

impl<'a> Tests<'a> {
    /// Returns all tests, in the order of the document.
    #[must_use]
    pub fn all(&self) -> &[Test<'a>] {
        &self.all
    }

    /// Appends the tests to the JSON of the condition or project that they stand beside, as its last member. Without
    /// any, the document stays as it is.
    pub fn append_to(&self, document: &mut Vec<u8>) {
        if self.all.is_empty() || document.pop() != Some(b'}') {
            return;
        }
        document.extend_from_slice(stored::MEMBER);
        document.extend_from_slice(&self.json);
        document.push(b'}');
    }
}

/// Appends a decision and its reasons as JSON.
fn write_verdict(decision: &str, reasons: Option<&[Reason]>, out: &mut Vec<u8>) {
    push("{\"decision\":\"", out);
    push(decision, out);
    push("\"", out);
    if let Some(reasons) = reasons {
        push(",\"reasons\":[", out);
        for (index, reason) in reasons.iter().enumerate() {
            push(if index == 0 { "\"" } else { ",\"" }, out);
            push(reason.as_str(), out);
            push("\"", out);
        }
        push("]", out);
    }
    push("}", out);
}
