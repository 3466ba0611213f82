//! The findings of every rule of a catalog. This is native only: the module has none of it.

use super::rule::write;
use crate::catalog::Catalog;
use crate::condition::{ConditionId, EntityCondition, Scope};
use crate::draft::Draft;
use crate::error::Error;
use crate::json::{Document, Faults};
use crate::restriction::{Project, ProjectId, read_project_id};

/// The id of a rule of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleId {
    /// A condition, by its scope and id.
    Condition(Scope, ConditionId),
    /// A project, by its id.
    Project(ProjectId),
}

/// A rule that has findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linted {
    /// The id of the rule.
    pub rule: RuleId,
    /// The findings, as a JSON array that is not empty. Their places are in the document of the rule.
    pub findings: Vec<u8>,
}

/// Returns the rules of a catalog that have findings, in the order of the catalog. If a global condition and a
/// condition of the tenant have the same id, the tenant's has the finding.
///
/// # Errors
/// [`Code::Invalid`](crate::Code::Invalid) with every fault of the catalog.
pub fn lint(text: &[u8]) -> Result<Vec<Linted>, Error> {
    let document = Document::parse_without_number_text(text, usize::MAX)?;
    Catalog::read(&document, Faults::default())?;
    let root = document.root();
    let mut faults = Faults::default();
    let elements = |key| root.member(key).unwrap_or_default().children();
    let mut conditions = |key, scope| {
        let conditions = elements(key);
        let conditions =
            conditions.filter_map(|node| EntityCondition::from_catalog(node, scope, &mut faults));
        conditions.collect::<Vec<_>>()
    };
    let global = conditions("global", Scope::Global);
    let tenant = conditions("tenant", Scope::Tenant);
    let by_id: std::collections::BTreeMap<_, _> = global
        .iter()
        .map(|condition| (&condition.id, condition))
        .collect();
    let mut linted = Vec::new();
    let mut add = |rule, draft: &Draft<'_>| {
        let mut findings = Vec::new();
        write(draft, &mut findings);
        if findings != b"[]" {
            linted.push(Linted { rule, findings });
        }
    };
    for condition in global.iter().chain(&tenant) {
        let other = by_id.get(&condition.id).map(|other| (*other).clone());
        let other = other.filter(|_| condition.scope == Scope::Tenant);
        let rule = RuleId::Condition(condition.scope, condition.id.clone());
        add(rule, &Draft::Condition(Some(condition.clone()), other));
    }
    for node in elements("projects") {
        let id = node.member("projectId");
        let id = id.and_then(|id| read_project_id(id, &mut faults));
        let project = Project::read(node, &mut faults);
        if let Some(id) = id {
            add(RuleId::Project(id), &Draft::Project(Some(project)));
        }
    }
    faults.none_or_error()?;
    Ok(linted)
}
