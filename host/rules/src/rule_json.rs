//! The JSON of a condition or project in parts: the rule that decides, the label of who manages it, and its tests.
//!
//! They are stored in this order, as members of one object, the last two only if there are any. So the record of a document
//! with neither is what it always was, and a host of an earlier version takes the label for a member to ignore.

use bytes::Bytes;
use serde::Serialize;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::Result;
use tillgate_engine::tests::{self, Tests};

use super::document::to_json;

/// The start of the label, which ends in a quote.
const LABEL: &[u8] = b",\"managedBy\":\"";

/// The JSON of a condition or project.
#[derive(Debug)]
pub struct RuleJson {
    /// The rule that decides.
    rule: Bytes,
    /// `,"managedBy":"..."`; `None` if nobody manages it.
    label: Option<Bytes>,
    /// Its tests, a JSON array; `None` without any.
    tests: Option<Bytes>,
    rule_etag: Etag,
    tested_etag: Etag,
    etag: Etag,
}

impl RuleJson {
    /// Splits a stored document into its parts.
    pub(super) fn new(json: Bytes) -> Self {
        let etag = etag::of_text(&json);
        let (open, tests) = match tests::split(&json) {
            Some((open, tests)) => (open, Some(tests)),
            None => (json.strip_suffix(b"}").unwrap_or(&json), None),
        };
        let (open, label) = split_label(open);
        if label.is_none() && tests.is_none() {
            return Self {
                rule: json,
                label: None,
                tests: None,
                rule_etag: etag.clone(),
                tested_etag: etag.clone(),
                etag,
            };
        }
        let rule = [open, b"}"].concat();
        let rule_etag = etag::of_text(&rule);
        // Copied, so that no part keeps the others in memory.
        let mut text = Self {
            rule: rule.into(),
            label: label.map(Bytes::copy_from_slice),
            tests: tests.map(Bytes::copy_from_slice),
            tested_etag: rule_etag.clone(),
            rule_etag,
            etag,
        };
        if text.tests.is_some() {
            text.tested_etag = match text.label {
                None => text.etag.clone(),
                Some(_) => etag::of_text(&joined(text.tested_pieces())),
            };
        }
        text
    }

    /// Makes what will be stored of a PUT, with its own tests or with those that are kept.
    pub(super) fn of(
        document: &impl Serialize,
        managed_by: Option<&ManagedBy>,
        tests: &Tests<'_>,
        kept: Option<&Bytes>,
    ) -> Result<Self> {
        let mut json = to_json(document)?;
        if let Some(label) = managed_by
            && json.pop() == Some(b'}')
        {
            json.extend_from_slice(LABEL);
            json.extend_from_slice(label.as_str().as_bytes());
            json.extend_from_slice(b"\"}");
        }
        match kept {
            None => tests.append_to(&mut json),
            Some(kept) => {
                json.pop();
                json.extend_from_slice(b",\"tests\":");
                json.extend_from_slice(kept);
                json.push(b'}');
            }
        }
        Ok(Self::new(json.into()))
    }

    /// Returns its entity tag.
    #[must_use]
    pub const fn etag(&self) -> &Etag {
        &self.etag
    }

    /// Returns the entity tag of the rule.
    pub(super) const fn rule_etag(&self) -> &Etag {
        &self.rule_etag
    }

    /// Returns the entity tag of the rule and its tests.
    pub(super) const fn tested_etag(&self) -> &Etag {
        &self.tested_etag
    }

    pub(super) const fn rule(&self) -> &Bytes {
        &self.rule
    }

    pub(super) const fn tests(&self) -> Option<&Bytes> {
        self.tests.as_ref()
    }

    /// Returns it as it is stored and answered.
    #[must_use]
    pub fn json(&self) -> Bytes {
        match (&self.label, &self.tests) {
            (None, None) => self.rule.clone(),
            _ => joined(self.pieces()),
        }
    }

    /// Returns it in pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Bytes> + use<> {
        self.with(self.label.clone())
    }

    /// Returns the rule and its tests, in pieces.
    pub(super) fn tested_pieces(&self) -> impl Iterator<Item = Bytes> + use<> {
        self.with(None)
    }

    fn with(&self, label: Option<Bytes>) -> impl Iterator<Item = Bytes> + use<> {
        let tests = self.tests.clone();
        let pieces = match (&label, &tests) {
            (None, None) => [Some(self.rule.clone()), None, None, None, None],
            _ => [
                Some(self.rule.slice(..self.rule.len().saturating_sub(1))),
                label,
                tests.as_ref().map(|_| Bytes::from_static(b",\"tests\":")),
                tests,
                Some(Bytes::from_static(b"}")),
            ],
        };
        pieces.into_iter().flatten()
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.pieces().map(|piece| piece.len()).sum()
    }
}

fn joined(pieces: impl Iterator<Item = Bytes>) -> Bytes {
    let mut json = Vec::new();
    pieces.for_each(|piece| json.extend_from_slice(&piece));
    json.into()
}

/// Splits a document without its last brace into the part before the label, and the label with its name. Only a
/// document with a label ends in a quote there: all others end in an object or a list.
fn split_label(open: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = open
        .strip_suffix(b"\"")
        .and_then(|rest| rest.iter().rposition(|byte| *byte == b'"'))
        .and_then(|quote| (quote + 1).checked_sub(LABEL.len()));
    match at.and_then(|at| open.split_at_checked(at)) {
        Some((before, label)) if label.starts_with(LABEL) => (before, Some(label)),
        _ => (open, None),
    }
}
