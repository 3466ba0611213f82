//! The certain and probable mistakes in a rule. Each finding has a sentence, and names every line that is part of it.
//!
//! The contract is `conditions.md`, "Beyond an answer". Findings are exact, because a project is a product of sets
//! (`product/`): a finding about a target (a property, or the item's id) is true of its restrictions, whatever the
//! other restrictions are. A finding decides nothing, and no answer depends on one.
//!
//! The request is `{ "condition": condition, "other"?: condition or null }` or `{ "project": project }`, as in
//! [`crate::draft`]. The answer is `{ "findings": [{ "kind", "message", "places", "witness"? }] }`, with the most
//! serious kinds first.

#[cfg(not(target_arch = "wasm32"))]
mod catalog;
mod condition;
mod look_alike;
mod project;
mod sentence;
mod suspicious;

#[cfg(not(target_arch = "wasm32"))]
pub use self::catalog::{Linted, RuleId, lint};
use self::sentence::write_sentence;
use crate::draft::{Draft, with_document};
use crate::error::Error;
use crate::json::{push, write_number};
use crate::product::{Choice, Target};

/// The most findings that are listed for a rule; one more says how many are left out.
pub const MAX_FINDINGS: usize = 100;

// The kinds of findings, the most serious first.

/// Nothing can be allowed.
const UNSATISFIABLE: &str = "UNSATISFIABLE";
/// A value is in a list that allows, and never allowed.
const PARTLY_DEAD: &str = "PARTLY_DEAD";
/// Leaving it out would change no decision.
const INEFFECTIVE: &str = "INEFFECTIVE";
/// It is probably a mistake.
const SUSPICIOUS: &str = "SUSPICIOUS";
/// The other scope has a condition with this id.
const SHADOWED: &str = "SHADOWED";

/// The findings of a rule, written as they are found.
struct Report<'o> {
    out: &'o mut Vec<u8>,
    count: usize,
    /// The kind of the first finding that is left out.
    left_out: &'static str,
}

impl Report<'_> {
    /// Begins a finding, up to its message. Returns whether the finding is listed.
    #[inline(never)]
    fn begin(&mut self, kind: &'static str) -> bool {
        self.count += 1;
        if self.count == MAX_FINDINGS + 1 {
            self.left_out = kind;
        }
        if self.count > MAX_FINDINGS {
            return false;
        }
        self.begin_any(kind);
        true
    }

    fn begin_any(&mut self, kind: &str) {
        push(if self.out.ends_with(b"}") { "," } else { "" }, self.out);
        push("{\"kind\":\"", self.out);
        push(kind, self.out);
        push("\",\"message\":\"", self.out);
    }

    /// Ends a finding, from its message on. `places` need no escaping in JSON.
    #[inline(never)]
    fn end(&mut self, places: &[&str], witness: Option<&[u8]>) {
        push("\",\"places\":[", self.out);
        for (number, place) in places.iter().enumerate() {
            push(if number > 0 { ",\"" } else { "\"" }, self.out);
            push(place, self.out);
            push("\"", self.out);
        }
        self.end_places(witness);
    }

    /// Ends a finding about some values of a target. `lines` are the positions of restrictions.
    #[inline(never)]
    fn end_about(
        &mut self,
        words: &str,
        target: Target<'_>,
        values: &[Choice<'_>],
        lines: &[usize],
        witness: Option<&[u8]>,
    ) {
        let is_one = match values.len() {
            0 => lines.len() == 1,
            count => count == 1,
        };
        write_sentence(words, target, values, is_one, self.out);
        push("\",\"places\":[", self.out);
        for (number, line) in lines.iter().enumerate() {
            push(if number > 0 { "," } else { "" }, self.out);
            push("\"$.restrictions[", self.out);
            write_number(*line, self.out);
            push("]\"", self.out);
        }
        self.end_places(witness);
    }

    fn end_places(&mut self, witness: Option<&[u8]>) {
        if let Some(witness) = witness {
            push("],\"witness\":", self.out);
            self.out.extend_from_slice(witness);
            push("}", self.out);
        } else {
            push("]}", self.out);
        }
    }
}

/// Appends the findings of a rule as a JSON array. A missing rule has no findings.
pub fn write(draft: &Draft<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut report = Report {
        out,
        count: 0,
        left_out: "",
    };
    match draft {
        Draft::Condition(Some(own), other) => condition::look_at(own, other.as_ref(), &mut report),
        Draft::Project(Some(own)) => project::look_at(own, &mut report),
        Draft::Condition(None, _) | Draft::Project(None) => {}
    }
    if let Some(more @ 1..) = report.count.checked_sub(MAX_FINDINGS) {
        report.begin_any(report.left_out);
        let (begin, end) = match more {
            1 => ("There is ", " more finding: correct these first."),
            _ => ("There are ", " more findings: correct these first."),
        };
        push(begin, report.out);
        write_number(more, report.out);
        push(end, report.out);
        report.end(&[], None);
    }
    report.out.push(b']');
}

/// Appends the findings of a rule as JSON, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the rule.
pub fn answer(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_document(text, &mut |root, faults| {
        let draft = Draft::read(root, faults);
        if let (Some(draft), true) = (draft, faults.is_empty()) {
            push("{\"findings\":", out);
            write(&draft, out);
            out.push(b'}');
        }
    })
}
