//! The module's calls over bytes, which every face offers in its own form.
//!
//! A call is a line that names it, a newline, and a JSON text:
//!
//! | call | line | text | answer |
//! |---|---|---|---|
//! | prepare | `catalog` | a catalog | a [`Prepared`] |
//! | | `project` | a project | a [`Prepared`] |
//! | evaluate a catalog | `condition ID` | `given.md` 2.2 | `ItemDecisionDto` |
//! | | `project` | `given.md` 2.3 | `ItemDecisionDto` |
//! | | `basket` | a basket | a basket's decision |
//! | evaluate a project | `project` | `given.md` 2.3, whose `projectId` was resolved to this project | `ItemDecisionDto` |
//! | either, explained | `explain ` and one of these lines | the same | the same, each result with its `explanation` |
//! | any of these | `lenient ` and its line | the same, unknown members are ignored | the same |
//! | any of the first four | `record ` or `record-denials `, and its line | the same | what a decision log needs ([`crate::record`]), a newline, and the same |
//! | evaluate many by a catalog | `condition ID`, `project UUID` | rows ([`Decider::decide_many`]) | the distinct outcomes, and which each row has |
//! | evaluate many by a project | `project` | rows | the same |
//! | rates | none | many calls of rate math | their answers |
//! | tests | none | a condition, project or catalog with its tests | which of them fail |
//! | signature | none | what to sign or verify | the signature, or whether it is valid |
//! | findings | none | a rule | what is wrong with it |
//! | compare | none | two versions of a rule | whether they decide the same |
//!
//! The answer is appended to a buffer: one byte, [`OK`] or [`FAILED`], and a JSON text. [`abi`] passes both in linear
//! memory, `js` in strings.

pub mod abi;
#[cfg(target_arch = "wasm32")]
pub mod js;

use crate::catalog::{BasketRequest, Catalog, decide_on};
use crate::condition::ConditionRequest;
use crate::error::{Code, Error, Fault};
use crate::explain::Explain;
use crate::json::{Document, Faults, MAX_VALUES, push, write_text};
use crate::many::Decider;
use crate::outcome::{MAX_ANSWER, Tally};
use crate::record::{Record, write_row};
use crate::restriction::{Project, ProjectId, ProjectRequest};
use crate::restriction_checks::Checks;

/// The first byte of an answer.
pub const OK: u8 = b'0';

/// The first byte of an error.
pub const FAILED: u8 = b'1';

/// A line that names a call.
#[derive(Clone, Copy, Debug)]
pub struct Line<'l> {
    /// The call, such as `condition beer`.
    pub name: &'l str,
    /// True if the line has the word `explain`: each result says what was compared.
    pub explain: bool,
    /// True if the line has the word `lenient`: unknown members are ignored.
    pub lenient: bool,
    /// Set by the words `record` and `record-denials`: the rows for a decision log come before the answer.
    pub record: Option<Record>,
}

impl<'l> Line<'l> {
    /// Reads a line.
    #[must_use]
    #[inline]
    pub fn of(line: &'l str) -> Self {
        let mut read = Self {
            name: line,
            explain: false,
            lenient: false,
            record: None,
        };
        loop {
            let explain = read.name.strip_prefix("explain ");
            let lenient = read.name.strip_prefix("lenient ");
            let record = Record::split(read.name);
            if let Some(rest) = explain.filter(|_| !read.explain) {
                (read.name, read.explain) = (rest, true);
            } else if let Some(rest) = lenient.filter(|_| !read.lenient) {
                (read.name, read.lenient) = (rest, true);
            } else if let Some((record, rest)) = record.filter(|_| read.record.is_none()) {
                (read.name, read.record) = (rest, Some(record));
            } else {
                return read;
            }
        }
    }
}

/// A catalog or a project, prepared for many evaluations.
#[derive(Debug)]
pub enum Prepared {
    /// A catalog.
    Catalog(Catalog),
    /// The restrictions of one project.
    Project(Checks),
}

impl Prepared {
    /// Prepares a document.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all its faults.
    pub fn new(line: &str, document: &[u8]) -> Result<Self, Error> {
        let call = Line::of(line);
        let document = || Document::parse_without_number_text(document, usize::MAX);
        let mut faults = Faults::lenient(call.lenient);
        match call.name {
            "catalog" => Catalog::read(&document()?, faults).map(Self::Catalog),
            "project" => {
                let document = document()?;
                let project = Project::read(document.root(), &mut faults);
                faults.none_or_error()?;
                Ok(Self::Project(Checks::new(&project.restrictions)))
            }
            _ => Err(Error::new(
                Code::Invalid,
                "$",
                "the call must be catalog or project",
            )),
        }
    }

    /// Decides, appends the answer to `out`, and returns the counts of its results. `project` replaces the project that
    /// a basket names.
    pub fn evaluate(
        &self,
        call: Line<'_>,
        request: &[u8],
        project: Option<&Self>,
        out: &mut Vec<u8>,
    ) -> Tally {
        let document = match call.explain {
            // An explanation shows a number as it was sent.
            true => Document::parse(request),
            false => Document::parse_without_number_text(request, MAX_VALUES),
        };
        let begin = out.len();
        let decided = document.and_then(|read| self.decide(call, &read, project, out));
        decided.unwrap_or_else(|error| {
            out.truncate(begin);
            write_error(Err(error), out);
            Tally::default()
        })
    }

    /// Decides about a parsed request and appends the answer. After an error, discard the bytes already appended.
    fn decide(
        &self,
        call: Line<'_>,
        request: &Document<'_>,
        project: Option<&Self>,
        out: &mut Vec<u8>,
    ) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let root = request.root();
        let faults = Faults::lenient(call.lenient);
        out.push(OK);
        let begin = out.len();
        match (self, call.name) {
            (_, "project") => {
                let request = ProjectRequest::read(request, faults)?;
                let checks = match self {
                    Self::Project(checks) => Some(checks),
                    Self::Catalog(catalog) => catalog.project(request.project_id),
                };
                let decision = decide_on(checks, &request.item);
                if let Some(record) = call.record {
                    write_row(record, &decision, &[], Some(request.project_id), out);
                }
                match end_rows(call, begin, out) {
                    None => decision.write(out),
                    Some(limit) => Explain {
                        catalog: None,
                        customer: None,
                        checks,
                        limit,
                    }
                    .write_item(&decision, root, out)?,
                }
                tally.add(&decision.results);
            }
            (Self::Catalog(catalog), "basket") => {
                let request = BasketRequest::read(request, faults)?;
                let project = project.map(Self::checks).transpose()?;
                let decision = catalog.decide_basket(&request, project)?;
                if let Some(record) = call.record {
                    let project = request.project_id;
                    for item in &decision.items {
                        write_row(record, &item.decision, &item.unresolved, project, out);
                    }
                }
                match end_rows(call, begin, out) {
                    None => decision.write(out)?,
                    Some(limit) => Explain {
                        catalog: Some(catalog),
                        customer: request.customer.as_ref(),
                        checks: catalog.project_of(&request, project).flatten(),
                        limit,
                    }
                    .write_basket(&decision, root, out)?,
                }
                let items = decision.items.iter();
                items.for_each(|item| tally.add(&item.decision.results));
            }
            (Self::Catalog(catalog), _) => {
                let Some(id) = call.name.strip_prefix("condition ") else {
                    let calls = "the call must be condition ID, project or basket";
                    return Err(Error::new(Code::Invalid, "$", calls));
                };
                let request = ConditionRequest::read(request, faults)?;
                let decision = catalog.decide(id, &request)?;
                if let Some(record) = call.record {
                    write_row(record, &decision, &[], None, out);
                }
                match end_rows(call, begin, out) {
                    None => decision.write(out),
                    Some(limit) => Explain {
                        catalog: Some(catalog),
                        customer: request.customer.as_ref(),
                        checks: None,
                        limit,
                    }
                    .write_item(&decision, root, out)?,
                }
                tally.add(&decision.results);
            }
            (Self::Project(_), _) => {
                return Err(Error::new(Code::Invalid, "$", "the call must be project"));
            }
        }
        Ok(tally)
    }

    /// Returns the restrictions that replace those of a basket's project.
    fn checks(&self) -> Result<&Checks, Error> {
        match self {
            Self::Project(checks) => Ok(checks),
            Self::Catalog(_) => {
                let message = "the handle of the basket's project refers to a catalog";
                Err(Error::new(Code::UnknownHandle, "$", message))
            }
        }
    }

    /// Decides about many items at a time, and appends the answer to `out` unless there is an error.
    ///
    /// # Errors
    /// [`Code::Invalid`] with all faults of the request; [`Code::ConditionNotFound`] if no enabled condition has the id.
    pub fn evaluate_many(
        &self,
        call: Line<'_>,
        request: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        // Outcomes are neither explained nor logged.
        let is_plain = !call.explain && call.record.is_none();
        let decider = self.decider(if is_plain { call.name } else { "" })?;
        let begin = out.len();
        out.push(OK);
        let decided = decider.decide_many(request, Faults::lenient(call.lenient), out);
        decided.inspect_err(|_| out.truncate(begin))
    }

    /// Returns the condition or project that a line names to decide many items.
    fn decider(&self, line: &str) -> Result<Decider<'_>, Error> {
        let invalid = |path, message| Error::new(Code::Invalid, path, message);
        match self {
            Self::Project(checks) if line == "project" => Ok(Decider::Project(Some(checks))),
            Self::Project(_) => Err(invalid("$", "the call must be project")),
            Self::Catalog(catalog) => {
                if let Some(id) = line.strip_prefix("condition ") {
                    let (id, rule) = catalog.condition(id)?;
                    return Ok(Decider::Condition(id, rule));
                }
                let calls = "the call must be condition ID or project UUID";
                let id = line.strip_prefix("project ");
                let id = id.ok_or_else(|| invalid("$", calls))?;
                let id = ProjectId::new(id);
                let id = id.ok_or_else(|| invalid("$.projectId", ProjectId::RULE))?;
                Ok(Decider::Project(catalog.project(id)))
            }
        }
    }
}

/// Ends the rows for a decision log that begin at `begin`, if they were asked for. Returns the greatest length of `out`
/// with an explained answer; `None` if the answer is not explained.
#[inline(never)]
fn end_rows(call: Line<'_>, begin: usize, out: &mut Vec<u8>) -> Option<usize> {
    if call.record.is_some() {
        // This replaces the comma before the first row.
        match out.get_mut(begin) {
            Some(first) => *first = b'[',
            None => out.push(b'['),
        }
        push("]\n", out);
    }
    call.explain.then_some(out.len() + MAX_ANSWER)
}

/// Does rate math, many calls at a time ([`crate::rate::text`]), and appends the answer to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the request.
pub fn rates(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::rate::text::answer)
}

/// Makes or verifies a webhook's signature ([`crate::signature::text`]), and appends the answer to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the request.
pub fn signature(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::signature::text::answer)
}

/// Finds what is wrong with a rule ([`crate::findings`]), and appends the answer to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the rule.
pub fn findings(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::findings::answer)
}

/// Compares the decisions of two versions of a rule ([`crate::compare`]), and appends the answer to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the request.
pub fn compare(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::compare::answer)
}

/// Runs the tests of a condition, a project or a catalog ([`crate::tests::text`]), and appends the report to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the document and its tests.
pub fn tests(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::tests::text::answer)
}

/// Appends [`OK`] and the answer of `run`, or nothing if there is an error.
fn with_status(
    request: &[u8],
    out: &mut Vec<u8>,
    run: fn(&[u8], &mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let start = out.len();
    out.push(OK);
    let answered = run(request, out);
    if answered.is_err() {
        out.truncate(start);
    }
    answered
}

/// Appends [`FAILED`] and the error, if there is one. It is written by hand, in a fifth of a serializer's code.
fn write_error(result: Result<(), Error>, out: &mut Vec<u8>) {
    let Err(error) = result else { return };
    out.push(FAILED);
    push("{\"code\":\"", out);
    push(error.name(), out);
    push("\",", out);
    error
        .faults
        .iter()
        .take(1)
        .for_each(|first| write_fault(first, out));
    push(",\"faults\":[", out);
    for (index, fault) in error.faults.iter().enumerate() {
        push(if index == 0 { "{" } else { ",{" }, out);
        write_fault(fault, out);
        push("}", out);
    }
    push("]}", out);
}

/// Appends the members of a fault.
fn write_fault(fault: &Fault, out: &mut Vec<u8>) {
    push("\"path\":", out);
    write_text(&fault.path, out);
    push(",\"message\":", out);
    write_text(&fault.message, out);
}
