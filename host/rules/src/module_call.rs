//! The call of the module that makes a decision, and the documents that it needs. It tells whether the decision would keep
//! other requests waiting.

use std::borrow::Cow;

use tillgate_base::engine::{Call, Decided, Document, EvaluateOptions, Lease};
use tillgate_base::error::{Error, Result};
use tillgate_engine::restriction::{MAX_RESTRICTIONS, ProjectId};

use super::TenantCatalog;

/// A decision is made at once if it prepares no document longer than this and takes no more work than this. Others are
/// made off the threads that serve.
const MAX_PREPARED: usize = 64 << 10;
const MAX_WORK: usize = 1 << 22;

/// The fewest bytes of a restriction in a project's document.
const RESTRICTION_BYTES: usize = 40;

/// The question that a request asks.
#[derive(Clone, Debug)]
pub struct Question {
    /// The subject of the decision.
    pub about: About,
    /// The options of the decision.
    pub options: EvaluateOptions,
}

/// The subject of a decision.
#[derive(Clone, Debug)]
pub enum About {
    /// One item, by the condition with this id.
    Condition(String),
    /// One item, by the project that the request names.
    Project,
    /// A basket.
    Basket,
}

#[derive(Debug)]
pub(super) struct ModuleCall<'c> {
    kind: Kind<'c>,
    options: EvaluateOptions,
    /// An upper limit of what the module compares, which is the bytes of a basket times those of its project, and of
    /// what its explanations repeat of the request.
    work: usize,
}

#[derive(Debug)]
enum Kind<'c> {
    Condition(Cow<'c, Document>, String),
    Project(Cow<'c, Document>),
    Basket(Cow<'c, Document>, Option<Cow<'c, Document>>),
}

/// The parts of a request that find the documents. The module reports the faults of a request.
#[derive(Default, serde::Deserialize)]
struct Named<'r> {
    #[serde(borrow, rename = "projectId")]
    project_id: Option<Cow<'r, str>>,
    #[serde(borrow, default)]
    items: Vec<NamedItem<'r>>,
}

#[derive(serde::Deserialize)]
struct NamedItem<'r> {
    #[serde(borrow, default, rename = "conditionIds")]
    condition_ids: Vec<Cow<'r, str>>,
}

impl<'c> ModuleCall<'c> {
    /// Plans the decision about a request, with what a tenant sees.
    #[must_use]
    pub(super) fn new(catalog: &'c TenantCatalog, question: Question, request: &[u8]) -> Self {
        let named = || serde_json::from_slice(request).unwrap_or_default();
        let id_of = |named: &Named<'_>| ProjectId::new(named.project_id.as_deref()?);
        let project_of = |id: ProjectId| {
            let project = catalog.project(id)?;
            Some(Cow::Borrowed(&project.document))
        };
        let Question { about, options } = question;
        let explain = options.explain;
        let mut work = 0;
        let kind = match about {
            About::Condition(id) => Kind::Condition(catalog.document_of(&id), id),
            About::Project => {
                let project = id_of(&named()).and_then(project_of);
                if let Some(project) = project.as_ref().filter(|_| explain) {
                    let checks = project.text().len() / RESTRICTION_BYTES;
                    work = checks.min(MAX_RESTRICTIONS) * request.len();
                }
                // In a document of conditions, which has no project, every project is unreachable.
                Kind::Project(project.unwrap_or_else(|| catalog.document_of_all([])))
            }
            About::Basket => {
                let named = named();
                let project = id_of(&named).and_then(project_of);
                work = project
                    .as_ref()
                    .map_or(0, |project| project.text().len() * request.len());
                let ids = named.items.iter().flat_map(|item| &item.condition_ids);
                if explain {
                    // Each explanation may repeat the customer's licenses.
                    work += ids.clone().count() * request.len();
                }
                let conditions = catalog.document_of_all(ids.map(|id| &**id));
                Kind::Basket(conditions, project)
            }
        };
        Self {
            kind,
            options,
            work,
        }
    }

    /// Returns whether an instance makes the decision so fast that others need not wait for it.
    #[must_use]
    pub(super) fn is_short(&self, instance: &Lease<'_>) -> bool {
        let is_short =
            |document: &Document| document.text().len() <= MAX_PREPARED || instance.has(document);
        let documents_are_short = match &self.kind {
            Kind::Condition(document, _) | Kind::Project(document) => is_short(document),
            Kind::Basket(conditions, project) => {
                is_short(conditions) && project.as_deref().is_none_or(is_short)
            }
        };
        documents_are_short && self.work <= MAX_WORK
    }

    /// Has an instance make the decision.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault of the request; [`Error::NotFound`] naming a condition that is not in force.
    pub(super) fn decide(&self, instance: Lease<'_>, request: &[u8]) -> Result<Decided> {
        let call = match &self.kind {
            Kind::Condition(document, id) => Call::Condition(document, id),
            Kind::Project(document) => Call::Project(document),
            Kind::Basket(conditions, project) => Call::Basket(conditions, project.as_deref()),
        };
        let decided = instance.evaluate(call, self.options, request);
        decided.map_err(|error| match (Error::from(error), &self.kind) {
            (Error::NotFound(code, _), Kind::Condition(_, id)) => {
                Error::NotFound(code, format!("no condition {id:?} is in force"))
            }
            (error, _) => error,
        })
    }

    /// Converts it into a call that no longer needs the catalog.
    #[must_use]
    pub(super) fn into_owned(self) -> ModuleCall<'static> {
        let owned = |document: Cow<'_, Document>| Cow::Owned(document.into_owned());
        let kind = match self.kind {
            Kind::Condition(document, id) => Kind::Condition(owned(document), id),
            Kind::Project(document) => Kind::Project(owned(document)),
            Kind::Basket(conditions, project) => {
                Kind::Basket(owned(conditions), project.map(owned))
            }
        };
        ModuleCall {
            kind,
            options: self.options,
            work: self.work,
        }
    }

    /// Returns the subject that it is counted under.
    #[must_use]
    pub(super) const fn subject(&self) -> Subject {
        match self.kind {
            Kind::Condition(..) => Subject::Condition,
            Kind::Project(_) => Subject::Project,
            Kind::Basket(..) => Subject::Basket,
        }
    }
}

/// The subject that a decision is counted under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// One item, by a condition.
    Condition,
    /// One item, by a project.
    Project,
    /// A basket.
    Basket,
}
