//! A condition or project: its document as it is stored and as the module decides with it, its tests, and who manages it.
//!
//! The tests and the manager decide nothing: the module prepares, and the catalog has, the document without them
//! (`conditions.md`, "Beyond an answer"). Each form of the document has its own version, so that after a change of
//! tests alone nothing is prepared or fetched again. `rule_json.rs` splits the text into its parts.

use std::sync::OnceLock;

use bytes::Bytes;
use tillgate_api::Body;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::engine::Document;
use tillgate_base::error::{Error, Result};
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::json::{self, Faults, Node};
use tillgate_engine::restriction::ProjectId;
use tillgate_engine::tests;

use super::document::{array, document, to_json};
use super::rule_json::RuleJson;

/// A condition, and its JSON for answers.
#[derive(Debug)]
pub struct StoredCondition {
    /// The condition.
    pub condition: EntityCondition,
    /// Its JSON.
    pub text: RuleJson,
    /// The document that the module prepares when it is the only condition with its id.
    document: OnceLock<Document>,
}

impl StoredCondition {
    /// Reads the condition of a PUT's body, as it will be stored, and whether it keeps the existing tests, `before`.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body.
    pub(super) fn from_put(
        id: ConditionId,
        scope: Scope,
        body: &Body,
        before: Option<&Bytes>,
    ) -> Result<(Self, bool)> {
        let document = json::Document::parse(body)?;
        let faults = Faults::lenient(body.lenient);
        let read = tests::condition_from_put(id, scope, &document, faults);
        let ((condition, tests), managed_by) = with_label(read, document.root())?;
        let keeps_tests = document.root().member("tests").is_none();
        let kept = before.filter(|_| keeps_tests);
        let text = RuleJson::of(&condition, managed_by.as_ref(), &tests, kept)?;
        Ok((Self::with_text(condition, text), keeps_tests))
    }

    fn with_text(condition: EntityCondition, text: RuleJson) -> Self {
        Self {
            condition,
            text,
            document: OnceLock::new(),
        }
    }

    /// Returns the document that the module prepares when it is the only condition with its id.
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

    /// Returns the rule that the module decides with, as an element of a list.
    pub(super) fn rule(&self) -> [Bytes; 1] {
        [self.text.rule().clone()]
    }

    /// Reads the condition of a record.
    pub(super) fn read(json: Bytes, scope: Scope) -> Result<Self> {
        let text = RuleJson::new(json);
        let document = json::Document::parse(text.rule())?;
        let mut faults = Faults::default();
        let read = EntityCondition::from_catalog(document.root(), scope, &mut faults);
        faults.none_or_error()?;
        let condition =
            read.ok_or_else(|| Error::Bug("a stored condition is malformed".to_owned()))?;
        Ok(Self::with_text(condition, text))
    }
}

/// A project, and its JSON for answers.
#[derive(Debug)]
pub struct StoredProject {
    /// Its id.
    pub id: ProjectId,
    /// The document that the module prepares.
    pub document: Document,
    /// Its JSON.
    pub text: RuleJson,
}

impl StoredProject {
    /// Reads the project of a PUT's body, as it will be stored, and whether it keeps the existing tests, `before`.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the body.
    pub(super) fn from_put(
        id: ProjectId,
        body: &Body,
        before: Option<&Bytes>,
    ) -> Result<(Self, bool)> {
        let document = json::Document::parse(body)?;
        let faults = Faults::lenient(body.lenient);
        let read = tests::project_from_put(id, &document, faults);
        let ((project, tests), managed_by) = with_label(read, document.root())?;
        let keeps_tests = document.root().member("tests").is_none();
        let kept = before.filter(|_| keeps_tests);
        let text = RuleJson::of(&project, managed_by.as_ref(), &tests, kept)?;
        Ok((Self::with_text(id, text), keeps_tests))
    }

    /// Reads the project of a record.
    pub(super) fn read(id: ProjectId, json: Bytes) -> Self {
        Self::with_text(id, RuleJson::new(json))
    }

    fn with_text(id: ProjectId, text: RuleJson) -> Self {
        Self {
            id,
            document: Document::project(text.rule().clone()),
            text,
        }
    }

    /// Returns the JSON of `{ "restrictions": [...] }`.
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

/// Adds who manages it to what was read of a body, or returns the faults of both.
fn with_label<T>(
    read: Result<T, tillgate_engine::Error>,
    body: Node<'_, '_>,
) -> Result<(T, Option<ManagedBy>)> {
    let mut faults = Faults::default();
    let label = ManagedBy::read(body, &mut faults).flatten();
    match (read, faults.none_or_error()) {
        (Ok(read), Ok(())) => Ok((read, label)),
        (Ok(_), Err(error)) | (Err(error), Ok(())) => Err(error.into()),
        (Err(mut error), Err(of_label)) => {
            error.faults.extend(of_label.faults);
            Err(error.into())
        }
    }
}
