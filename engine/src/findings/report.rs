//! The list of findings, as JSON.

use super::sentence::write_sentence;
use crate::json::{push, write_number};
use crate::product::{Choice, Target};

/// The most findings that are listed for a rule; one more says how many are left out.
pub const MAX_FINDINGS: usize = 100;

// The kinds of findings, the most serious first.

/// Nothing can be allowed.
pub(super) const UNSATISFIABLE: &str = "UNSATISFIABLE";
/// A value is in a list that allows, and never allowed.
pub(super) const PARTLY_DEAD: &str = "PARTLY_DEAD";
/// Leaving it out would change no decision.
pub(super) const INEFFECTIVE: &str = "INEFFECTIVE";
/// It is probably a mistake.
pub(super) const SUSPICIOUS: &str = "SUSPICIOUS";
/// The other scope has a condition with this id.
pub(super) const SHADOWED: &str = "SHADOWED";

/// The findings of a rule, written as they are found.
pub(super) struct Report<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) count: usize,
    /// The kind of the first finding that is left out.
    pub(super) left_out: &'static str,
}

impl Report<'_> {
    /// Begins a finding, up to its message. Returns whether the finding is listed.
    #[inline(never)]
    pub(super) fn begin(&mut self, kind: &'static str) -> bool {
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

    pub(super) fn begin_any(&mut self, kind: &str) {
        push(if self.out.ends_with(b"}") { "," } else { "" }, self.out);
        push("{\"kind\":\"", self.out);
        push(kind, self.out);
        push("\",\"message\":\"", self.out);
    }

    /// Ends a finding, from its message on. `places` need no escaping in JSON.
    #[inline(never)]
    pub(super) fn end(&mut self, places: &[&str], witness: Option<&[u8]>) {
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
    pub(super) fn end_about(
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
