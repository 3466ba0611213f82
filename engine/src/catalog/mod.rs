//! A tenant's view of the rules: the conditions in force and the projects, and their decisions about an item or a
//! basket.
//!
//! Evaluation considers only enabled conditions: the tenant's first, then the global one (`conditions.md`,
//! "Conditions"). They are resolved once, when the catalog is built, so a decision is one lookup.

mod basket;

pub use self::basket::{
    BasketDecision, BasketItem, BasketItemDecision, BasketRequest, MAX_CONDITIONS, MAX_ITEMS,
    MAX_RESULTS,
};
use crate::condition::{ConditionId, ConditionRequest, EntityCondition, Rule, Scope};
use crate::error::{Code, Error};
use crate::index::{Index, Seed};
use crate::json::{Document, Faults, Node};
use crate::outcome::{ItemDecision, Outcome, Reason, Subject};
use crate::restriction::{Item, Project, ProjectId, ProjectRequest, read_project_id};
use crate::restriction_checks::Checks;

/// The members of a catalog: the rules that decide, and a host's description of the whole.
const MEMBERS: [&str; 6] = [
    "global", "tenant", "projects", "tenantId", "digest", "engine",
];

/// The rules that a tenant sees.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The conditions in force.
    conditions: Vec<(ConditionId, Rule)>,
    /// The position of each condition in `conditions`, by its id.
    by_id: Index,
    /// Sorted by id.
    projects: Vec<(ProjectId, Checks)>,
}

impl Catalog {
    /// Reads `{ "global": [condition], "tenant": [condition], "projects"?: [project] }`, the answer of
    /// `GET /api/v1/catalog`. `faults` determines whether unknown members are ignored.
    ///
    /// # Errors
    /// [`Code::Invalid`] with a fault for every invalid member.
    pub fn read(document: &Document<'_>, mut faults: Faults) -> Result<Self, Error> {
        let catalog = Self::from_node(document.root(), &mut faults);
        faults.none_or_error()?;
        Ok(catalog)
    }

    /// Reads a catalog from a value in a document, and collects faults.
    pub(crate) fn from_node(node: Node<'_, '_>, faults: &mut Faults) -> Self {
        let mut conditions = Vec::new();
        let mut projects = Vec::new();
        if let Some(root) = faults.object_with(node, &MEMBERS) {
            for (key, scope) in [("global", Scope::Global), ("tenant", Scope::Tenant)] {
                let list = faults.required(root, key);
                let Some(list) = list.and_then(|list| faults.array(list)) else {
                    continue;
                };
                reject_duplicate_ids(list, faults);
                conditions.extend(
                    list.children()
                        .filter_map(|node| EntityCondition::from_catalog(node, scope, faults)),
                );
            }
            let list = root.member("projects").and_then(|list| faults.array(list));
            for node in list.unwrap_or_default().children() {
                let Some(node) = faults.object(node) else {
                    continue;
                };
                let member = faults.required(node, "projectId");
                let id = member.and_then(|id| read_project_id(id, faults));
                let project = Project::read(node, faults);
                let (Some(member), Some(id)) = (member, id) else {
                    continue;
                };
                match projects.binary_search_by_key(&id, |(id, _)| *id) {
                    Ok(_) => faults.add(member, "is a duplicate"),
                    Err(index) => projects.insert(index, (id, Checks::new(&project.restrictions))),
                }
            }
        }
        Self {
            projects,
            ..Self::from_conditions(&conditions)
        }
    }

    /// Creates a catalog of conditions, without projects.
    #[must_use]
    pub fn from_conditions(conditions: &[EntityCondition]) -> Self {
        let mut catalog = Self {
            by_id: Index::new(Seed::of(
                conditions.iter().map(|condition| condition.id.as_str()),
            )),
            ..Self::default()
        };
        for scope in [Scope::Tenant, Scope::Global] {
            let in_force = conditions
                .iter()
                .filter(|condition| condition.enabled && condition.scope == scope);
            for condition in in_force {
                let next = catalog.conditions.len();
                if catalog.by_id.get_or_insert(condition.id.as_str(), next) == next {
                    catalog
                        .conditions
                        .push((condition.id.clone(), condition.rule));
                }
            }
        }
        catalog
    }

    /// Decides about an item by one condition.
    ///
    /// # Errors
    /// [`Code::ConditionNotFound`] if no enabled condition has the id; [`Code::Invalid`] if it is not a valid id.
    pub fn decide<'a>(
        &'a self,
        condition_id: &str,
        request: &'a ConditionRequest<'_>,
    ) -> Result<ItemDecision<'a>, Error> {
        let (id, rule) = self.condition(condition_id)?;
        Ok(ItemDecision {
            id: &request.item_id,
            results: vec![rule.decide(id, request.customer.as_ref())],
        })
    }

    /// Returns the condition in force with this id, or the error that there is none.
    #[inline]
    pub(crate) fn condition(&self, id: &str) -> Result<(&str, Rule), Error> {
        self.in_force(id).ok_or_else(|| not_in_force(id))
    }

    /// Returns the condition in force with this id, if there is one.
    pub(crate) fn in_force(&self, id: &str) -> Option<(&str, Rule)> {
        let (id, rule) = self.conditions.get(self.by_id.get(id)?)?;
        Some((id.as_str(), *rule))
    }

    pub(crate) fn project(&self, id: ProjectId) -> Option<&Checks> {
        let found = self
            .projects
            .binary_search_by_key(&id, |(id, _)| *id)
            .ok()?;
        self.projects.get(found).map(|(_, checks)| checks)
    }

    /// Decides about an item by a project's restrictions; a project that is not in the catalog is unreachable.
    #[must_use]
    pub fn decide_on_project<'a>(&'a self, request: &'a ProjectRequest<'_>) -> ItemDecision<'a> {
        decide_on(self.project(request.project_id), &request.item)
    }
}

#[cold]
fn not_in_force(id: &str) -> Error {
    if ConditionId::is_id(id) {
        let message = "matches no enabled condition";
        Error::new(Code::ConditionNotFound, "$.conditionId", message)
    } else {
        Error::new(Code::Invalid, "$.conditionId", ConditionId::RULE)
    }
}

/// Adds a fault for each id that an earlier condition of the list has: a choice between the two would be a guess.
fn reject_duplicate_ids(conditions: Node<'_, '_>, faults: &mut Faults) {
    let ids = || conditions.children().filter_map(|node| node.member("id"));
    let texts = ids().filter_map(|id| id.text()).map(|text| text.as_ref());
    let mut seen = Index::new(Seed::of(texts));
    for (number, id) in ids().enumerate() {
        if id
            .text()
            .is_some_and(|text| seen.get_or_insert(text, number) != number)
        {
            faults.add(id, "is a duplicate");
        }
    }
}

/// Decides about an item by the restrictions of a project; `None` stands for an unreachable project.
#[must_use]
pub fn decide_on<'a>(checks: Option<&'a Checks>, item: &'a Item<'_>) -> ItemDecision<'a> {
    let mut results = Vec::new();
    decide_into(checks, item, &mut results);
    ItemDecision {
        id: &item.id,
        results,
    }
}

/// Decides like [`decide_on`], and appends the results to `results`.
pub(crate) fn decide_into<'a>(
    checks: Option<&'a Checks>,
    item: &Item<'_>,
    results: &mut Vec<Outcome<'a>>,
) {
    match checks {
        Some(checks) => checks.decide(item, results),
        None => results.push(Outcome {
            subject: Subject::Restriction(None),
            reason: Some(Reason::ProjectUnreachable),
        }),
    }
}
