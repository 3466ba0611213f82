//! The tests of a whole catalog: those of every condition and project in it, each decided by the rules in force in the
//! catalog.

use std::borrow::Cow;

use super::{Beside, By, Report, Tests, stored};
use crate::catalog::Catalog;
use crate::condition::ConditionId;
use crate::json::{Faults, Node};
use crate::restriction::ProjectId;

/// A catalog, and the tests of its documents.
#[derive(Debug)]
pub struct CatalogTests<'a> {
    catalog: Catalog,
    /// In the order of the catalog: the conditions of the platform, those of the tenant, and the projects.
    documents: Vec<DocumentTests<'a>>,
}

/// The tests of one condition or project of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentTests<'a> {
    /// The id, as in the catalog.
    pub id: Cow<'a, str>,
    of: Of,
    /// The tests.
    pub tests: Tests<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    Condition(ConditionId),
    Project(ProjectId),
}

impl DocumentTests<'_> {
    /// Returns `condition` or `project`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.of {
            Of::Condition(_) => "condition",
            Of::Project(_) => "project",
        }
    }
}

impl<'a> CatalogTests<'a> {
    /// Reads the answer of `GET /api/v1/catalog?tests=true`, or a document of its shape, and collects faults.
    pub fn read(node: Node<'_, 'a>, faults: &mut Faults) -> Self {
        let catalog = Catalog::from_node(node, faults);
        let mut documents = Vec::new();
        for (key, id) in [
            ("global", "id"),
            ("tenant", "id"),
            ("projects", "projectId"),
        ] {
            for document in node.member(key).unwrap_or_default().children() {
                documents.extend(DocumentTests::read(document, id, faults));
            }
        }
        Self { catalog, documents }
    }

    /// Runs all tests, and returns a report for each document that has any.
    pub fn run(&self) -> impl Iterator<Item = (&DocumentTests<'a>, Report<'_, 'a>)> {
        self.documents.iter().map(|document| {
            let by = match &document.of {
                Of::Condition(id) => By::Condition(id, &self.catalog),
                Of::Project(id) => By::Project(self.catalog.project(*id)),
            };
            (document, document.tests.run(by))
        })
    }
}

impl<'a> DocumentTests<'a> {
    /// Reads the tests of an element of a catalog; `None` without any, or if its id has a fault, which is known
    /// already.
    fn read(node: Node<'_, 'a>, id: &str, faults: &mut Faults) -> Option<Self> {
        node.member(stored::NAME)?;
        let text = node.member(id)?.text()?;
        let (of, beside) = match id {
            "id" => (Of::Condition(ConditionId::new(text)?), Beside::Condition),
            _ => {
                let id = ProjectId::new(text)?;
                (Of::Project(id), Beside::Project(Some(id)))
            }
        };
        Some(Self {
            id: text.clone(),
            of,
            tests: Tests::read(node, beside, faults),
        })
    }
}
