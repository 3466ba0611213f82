//! Tests beside a rule: requests that a condition or project must answer in a certain way, kept in its document.
//!
//! `tests: [{ "name", "request", "expect": { "decision", "reasons"? } }]` (`conditions.md`, "Beyond an answer"). They decide
//! nothing: [`crate::catalog`] and [`crate::check`] do not read them. Decisions and the set of their reasons are compared, not
//! bytes, so a test stays right when answers get more members. `read.rs` reads them, `run.rs` runs those of a
//! document and `catalog.rs` all of a catalog, `stored.rs` says where they are in a stored document, `text.rs` runs them from
//! JSON to JSON.

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
use crate::decision::{Decision, Reason};
use crate::json::push;
use crate::restriction::{Item, ProjectId};

/// The most tests of a condition or project.
pub const MAX_TESTS: usize = 200;

/// The most bytes of all of them as JSON: 64 KiB.
pub const MAX_BYTES: usize = 64 << 10;

/// The longest name of a test, in characters.
pub const MAX_NAME: usize = 256;

/// How deeply a test's request may be nested: it is part of documents that may not be nested more deeply than
/// [`crate::json::MAX_DEPTH`].
pub const MAX_LEVELS: usize = 16;

/// What tests stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A condition: requests are bodies of `POST /api/v1/conditions/{conditionId}/evaluate`.
    Condition,
    /// A project: requests are bodies of `POST /api/v1/project-restrictions/evaluate`. A `projectId` in them must be this
    /// one; a draft may have none.
    Project(Option<ProjectId>),
}

/// A decision and its reasons, in any order: what a test expects, or what is answered.
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
    /// Names it among its document's tests.
    pub name: Cow<'a, str>,
    /// What is decided.
    request: Request<'a>,
    /// What must be decided; without reasons, any will do.
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
    /// As they are written: compact, members in the order of the contract, each request as it was given.
    json: Vec<u8>,
}

impl<'a> Tests<'a> {
    /// All, in the order of the document.
    #[must_use]
    pub fn all(&self) -> &[Test<'a>] {
        &self.all
    }

    /// Appends them to the JSON of the condition or project that they are beside, as its last member. Without any, the
    /// document stays as it is.
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
