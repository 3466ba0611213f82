//! The calls of the module over bytes, which every face offers in its own form.
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
//! | rates | none | many calls of rate math | their answers |
//! | signature | none | what to sign or verify | the signature, or whether it is valid |
//!
//! The answer is appended to a buffer: one byte, [`OK`] or [`FAILED`], and a JSON text. [`abi`] passes both in linear
//! memory, `js` in strings.

pub mod abi;
#[cfg(target_arch = "wasm32")]
pub mod js;

use serde::Serialize;

use crate::catalog::{BasketRequest, Catalog, decide_on};
use crate::check::Checks;
use crate::condition::ConditionRequest;
use crate::decision::Tally;
use crate::error::{Code, Error};
use crate::json::{Document, Faults, MAX_VALUES};
use crate::restriction::{Project, ProjectRequest};

/// The first byte of an answer.
pub const OK: u8 = b'0';

/// The first byte of an error.
pub const FAILED: u8 = b'1';

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
        match line {
            "catalog" => Catalog::read(&Document::parse_without_number_text(document, usize::MAX)?)
                .map(Self::Catalog),
            "project" => {
                let document = Document::parse_without_number_text(document, usize::MAX)?;
                let mut faults = Faults::default();
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

    /// Decides; the answer is appended to `out`, and what is to be counted of it is returned. `project` replaces the
    /// project that a basket names.
    pub fn evaluate(
        &self,
        line: &str,
        request: &[u8],
        project: Option<&Self>,
        out: &mut Vec<u8>,
    ) -> Tally {
        let document = Document::parse_without_number_text(request, MAX_VALUES);
        let decided = document.and_then(|read| self.decide(line, &read, project, out));
        decided.unwrap_or_else(|error| {
            write_error(Err(error), out);
            Tally::default()
        })
    }

    /// Decides about a parsed request; appends the answer unless there is an error.
    fn decide(
        &self,
        line: &str,
        request: &Document<'_>,
        project: Option<&Self>,
        out: &mut Vec<u8>,
    ) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        match (self, line) {
            (Self::Project(checks), "project") => {
                let request = ProjectRequest::read(request)?;
                let decision = decide_on(Some(checks), &request.item);
                tally.add(&decision.results);
                out.push(OK);
                decision.write(out);
            }
            (Self::Catalog(catalog), "project") => {
                let request = ProjectRequest::read(request)?;
                let decision = catalog.decide_on_project(&request);
                tally.add(&decision.results);
                out.push(OK);
                decision.write(out);
            }
            (Self::Catalog(catalog), "basket") => {
                let request = BasketRequest::read(request)?;
                let project = match project {
                    None => None,
                    Some(Self::Project(checks)) => Some(checks),
                    Some(Self::Catalog(_)) => {
                        let message = "the handle of the basket's project refers to a catalog";
                        return Err(Error::new(Code::UnknownHandle, "$", message));
                    }
                };
                let decision = catalog.decide_basket(&request, project)?;
                let begin = out.len();
                out.push(OK);
                decision.write(out).inspect_err(|_| out.truncate(begin))?;
                let items = decision.items.iter();
                items.for_each(|item| tally.add(&item.decision.results));
            }
            (Self::Catalog(catalog), _) => {
                let Some(id) = line.strip_prefix("condition ") else {
                    let calls = "the call must be condition ID, project or basket";
                    return Err(Error::new(Code::Invalid, "$", calls));
                };
                let request = ConditionRequest::read(request)?;
                let decision = catalog.decide(id, &request)?;
                tally.add(&decision.results);
                out.push(OK);
                decision.write(out);
            }
            (Self::Project(_), _) => {
                return Err(Error::new(Code::Invalid, "$", "the call must be project"));
            }
        }
        Ok(tally)
    }
}

/// Rate math, many calls at a time ([`crate::rate::text`]); the answer is appended to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the request.
pub fn rates(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::rate::text::answer)
}

/// Makes or verifies a webhook's signature ([`crate::signature::text`]); the answer is appended to `out`.
///
/// # Errors
/// [`Code::Invalid`] with all faults of the request.
pub fn signature(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_status(request, out, crate::signature::text::answer)
}

/// Appends [`OK`] and the answer of `run`; nothing if there is an error.
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

/// Appends an answer.
fn write(answer: &impl Serialize, out: &mut Vec<u8>) {
    out.push(OK);
    // Writing to memory cannot fail, nor can a value without maps.
    let _ = serde_json::to_writer(out, answer);
}

/// Appends [`FAILED`] and the error, if there is one.
fn write_error(result: Result<(), Error>, out: &mut Vec<u8>) {
    if let Err(error) = result {
        out.push(FAILED);
        let _ = serde_json::to_writer(out, &error);
    }
}
