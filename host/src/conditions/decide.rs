//! Decisions: finds the documents that the module decides with.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use tillgate_engine::restriction::ProjectId;

use super::{StoredProject, TenantCatalog};
use crate::engine::{Call, Document, EngineError, EnginePool};
use crate::error::{Error, Result};

/// A decision that prepares no document longer than this, and whose basket's bytes times its project's bytes are not more
/// than that, keeps nobody waiting: others are made off the threads that serve.
const MAX_PREPARED: usize = 64 << 10;
const MAX_BASKET: usize = 1 << 22;

/// What is asked.
#[derive(Clone, Debug)]
pub enum Question {
    /// One item, the condition with this id.
    Condition(String),
    /// One item, the project that the request names.
    Project,
    /// A basket.
    Basket,
}

/// What a decision may prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayPrepare {
    /// What keeps nobody waiting.
    Short,
    /// Anything.
    Anything,
}

/// Decides; `None` when it would keep others waiting and may not.
///
/// # Errors
/// [`Error::Invalid`] naming every fault of the request, [`Error::NotFound`] when no such condition is in force.
pub fn decide(
    engine: &EnginePool,
    catalog: &TenantCatalog,
    question: &Question,
    request: &[u8],
    may_prepare: MayPrepare,
) -> Option<Result<Bytes>> {
    let most = match may_prepare {
        MayPrepare::Short => MAX_PREPARED,
        MayPrepare::Anything => usize::MAX,
    };
    let decided = match question {
        Question::Condition(id) => {
            let document = catalog.document_of(id);
            engine.evaluate_within(Call::Condition(&document, id), request, most)
        }
        Question::Project => {
            let project = named_project(catalog, request);
            // To conditions, which have no project, every project is unreachable.
            let none = || catalog.document_of_all([]);
            let document = project.map_or_else(none, |project| Cow::Borrowed(&project.document));
            engine.evaluate_within(Call::Project(&document), request, most)
        }
        Question::Basket => {
            let project = named_project(catalog, request);
            let project = project.map(|project| &project.document);
            let work = project.map_or(0, |project| project.text().len() * request.len());
            if may_prepare == MayPrepare::Short && work > MAX_BASKET {
                return None;
            }
            let document = basket_document(catalog, request);
            engine.evaluate_within(Call::Basket(&document, project), request, most)
        }
    };
    match decided {
        Err(EngineError::Unprepared) => None,
        decided => Some(decided.map_err(Error::from)),
    }
}

/// The conditions that a basket names: a document that holds all of them that the tenant sees.
fn basket_document<'a>(catalog: &'a TenantCatalog, request: &[u8]) -> Cow<'a, Document> {
    #[derive(serde::Deserialize)]
    struct Basket<'a> {
        #[serde(borrow)]
        items: Vec<Item<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Item<'a> {
        #[serde(borrow, default, rename = "conditionIds")]
        condition_ids: Vec<Cow<'a, str>>,
    }
    if !catalog.is_large() {
        return Cow::Borrowed(catalog.document());
    }
    match serde_json::from_slice::<Basket<'_>>(request) {
        Ok(basket) => {
            let ids = basket.items.iter().flat_map(|item| &item.condition_ids);
            catalog.document_of_all(ids.map(|id| &**id))
        }
        // What the module makes of it is up to the module.
        Err(_) => Cow::Borrowed(catalog.document()),
    }
}

/// The project that a request names, when the tenant has it. The module reports the other faults of a request.
fn named_project<'a>(catalog: &'a TenantCatalog, request: &[u8]) -> Option<&'a Arc<StoredProject>> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "projectId")]
        project_id: Cow<'a, str>,
    }
    let named: Named<'_> = serde_json::from_slice(request).ok()?;
    catalog.project(ProjectId::new(&named.project_id)?)
}
