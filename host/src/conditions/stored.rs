//! A condition or project as it is stored and answered, as the module decides with it, and its tests.
//!
//! Tests decide nothing: what the module prepares, and what the catalog has, is the document without them (`conditions.md`,
//! "Beyond an answer"). Both have a version, so that after a change of tests alone nothing is prepared or fetched again.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::json::{self, Faults};
use tillgate_engine::restriction::{Project, ProjectId};
use tillgate_engine::tests::{self, Tests};

use super::document::{array, document};
use crate::data::etag::{self, Etag};
use crate::engine::Document;
use crate::error::{Error, Result};

/// The JSON of a condition or project.
#[derive(Debug)]
pub struct Text {
    /// Without its tests.
    rule: Bytes,
    /// Its tests, a JSON array; `None` without any.
    tests: Option<Bytes>,
    rule_etag: Etag,
    etag: Etag,
}

impl Text {
    /// What is stored.
    pub(super) fn new(json: Bytes) -> Self {
        let etag = etag::of_text(&json);
        match tests::split(&json) {
            None => Self {
                rule: json,
                tests: None,
                rule_etag: etag.clone(),
                etag,
            },
            // Copied, so that neither keeps the other in memory.
            Some((rule, tests)) => {
                let rule = [rule, b"}"].concat();
                Self {
                    rule_etag: etag::of_text(&rule),
                    rule: rule.into(),
                    tests: Some(Bytes::copy_from_slice(tests)),
                    etag,
                }
            }
        }
    }

    /// What is put, as it will be stored.
    fn of(document: &impl Serialize, tests: &Tests<'_>) -> Result<Self> {
        let mut json = to_json(document)?;
        tests.append_to(&mut json);
        Ok(Self::new(json.into()))
    }

    /// Its entity tag.
    #[must_use]
    pub const fn etag(&self) -> &Etag {
        &self.etag
    }

    /// The entity tag of what is left without its tests.
    pub(super) const fn rule_etag(&self) -> &Etag {
        &self.rule_etag
    }

    /// Without its tests: what the module decides with.
    pub(super) const fn rule(&self) -> &Bytes {
        &self.rule
    }

    /// Whether it has tests.
    pub(super) const fn has_tests(&self) -> bool {
        self.tests.is_some()
    }

    /// As it is stored and answered.
    #[must_use]
    pub fn json(&self) -> Bytes {
        match self.tests {
            None => self.rule.clone(),
            Some(_) => {
                let mut json = Vec::with_capacity(self.size());
                self.pieces()
                    .for_each(|piece| json.extend_from_slice(&piece));
                json.into()
            }
        }
    }

    /// The same in pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Bytes> + use<> {
        let pieces = match &self.tests {
            None => [Some(self.rule.clone()), None, None, None],
            Some(tests) => [
                Some(self.rule.slice(..self.rule.len().saturating_sub(1))),
                Some(Bytes::from_static(b",\"tests\":")),
                Some(tests.clone()),
                Some(Bytes::from_static(b"}")),
            ],
        };
        pieces.into_iter().flatten()
    }

    /// The bytes of it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.pieces().map(|piece| piece.len()).sum()
    }
}

/// A condition, and how it is answered.
#[derive(Debug)]
pub struct StoredCondition {
    /// The condition.
    pub condition: EntityCondition,
    /// Its JSON.
    pub text: Text,
    /// What the module prepares when it is the only condition with its id.
    document: OnceLock<Document>,
}

impl StoredCondition {
    /// The condition of a PUT's body, as it will be stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body.
    pub(super) fn from_put(id: ConditionId, scope: Scope, body: &[u8]) -> Result<Self> {
        let document = json::Document::parse(body)?;
        let (condition, tests) = tests::condition_from_put(id, scope, &document)?;
        let text = Text::of(&condition, &tests)?;
        Ok(Self::with_text(condition, text))
    }

    fn with_text(condition: EntityCondition, text: Text) -> Self {
        Self {
            condition,
            text,
            document: OnceLock::new(),
        }
    }

    /// What the module prepares when it is the only condition with its id.
    pub(super) fn document(&self) -> &Document {
        self.document.get_or_init(|| {
            let (own, none) = (
                array([self.rule()].into_iter()),
                array::<[Bytes; 1]>([].into_iter()),
            );
            match self.condition.scope {
                Scope::Global => document(own, none),
                Scope::Tenant => document(none, own),
            }
        })
    }

    /// What the module decides with, as an element of a list.
    pub(super) fn rule(&self) -> [Bytes; 1] {
        [self.text.rule().clone()]
    }

    /// The condition of a record.
    pub(super) fn read(json: Bytes, scope: Scope) -> Result<Self> {
        let text = Text::new(json);
        let document = json::Document::parse(text.rule())?;
        let mut faults = Faults::default();
        let read = EntityCondition::from_catalog(document.root(), scope, &mut faults);
        faults.none_or_error()?;
        let condition =
            read.ok_or_else(|| Error::Bug("a stored condition is malformed".to_owned()))?;
        Ok(Self::with_text(condition, text))
    }
}

/// A project, and how it is answered.
#[derive(Debug)]
pub struct StoredProject {
    /// Its id.
    pub id: ProjectId,
    /// What the module prepares.
    pub document: Document,
    /// Its JSON.
    pub text: Text,
}

impl StoredProject {
    /// The project of a PUT's body, as it will be stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body.
    pub(super) fn from_put(id: ProjectId, body: &[u8]) -> Result<Self> {
        let document = json::Document::parse_members(body, Project::MEMBERS)?;
        let (project, tests) = tests::project_from_put(id, &document)?;
        Text::of(&project, &tests).map(|text| Self::with_text(id, text))
    }

    /// The project of a record.
    pub(super) fn read(id: ProjectId, json: Bytes) -> Self {
        Self::with_text(id, Text::new(json))
    }

    fn with_text(id: ProjectId, text: Text) -> Self {
        Self {
            id,
            document: Document::project(text.rule().clone()),
            text,
        }
    }

    /// The JSON of `{ "restrictions": [...] }`.
    ///
    /// # Errors
    /// [`Error::Bug`] when the stored project is malformed.
    pub fn restrictions(&self) -> Result<Bytes> {
        #[derive(serde::Deserialize, serde::Serialize)]
        struct Restrictions<'a> {
            #[serde(borrow)]
            restrictions: &'a serde_json::value::RawValue,
        }
        let read: Restrictions<'_> = serde_json::from_slice(self.text.rule())
            .map_err(|cause| Error::Bug(cause.to_string()))?;
        to_json(&read).map(Bytes::from)
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))
}
