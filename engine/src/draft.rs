//! A single rule, in force or not yet: a condition, with the condition of the other scope that has its id, or a
//! project.
//!
//! The rule is `{ "condition": condition, "other"?: condition or null }` or `{ "project": project }`. `other` is the
//! condition of the other scope. If only one of the two has a `scope`, the other one has the opposite scope; if neither
//! does, `condition` is `TENANT`.

use crate::condition::{EntityCondition, Rule, Scope};
use crate::error::Error;
use crate::json::{Document, Faults, MAX_VALUES, Node};
use crate::restriction::Project;

/// A single rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draft<'a> {
    /// A condition, and the condition of the other scope with the same id.
    Condition(Option<EntityCondition>, Option<EntityCondition>),
    /// A project; `None` if the tenant does not have it.
    Project(Option<Project<'a>>),
}

impl<'a> Draft<'a> {
    /// Reads a rule and collects faults. Returns `None` unless there is either a condition or a project.
    #[inline(never)]
    pub fn read(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Self> {
        let node = faults.object_with(node, &["condition", "other", "project"])?;
        match (node.member("condition"), node.member("project")) {
            (Some(condition), None) => {
                let (own, said) = read_condition(Some(condition), faults);
                let (other, others) = read_condition(node.member("other"), faults);
                let mut draft = (own, other);
                set_scopes(&mut draft, said, others);
                if let (Some(node), (Some(own), Some(other))) = (node.member("other"), &draft) {
                    if own.id != other.id {
                        faults.add(node, "must have the id of the condition");
                    }
                    if own.scope == other.scope {
                        faults.add(node, "must be of the other scope");
                    }
                }
                Some(Self::Condition(draft.0, draft.1))
            }
            (None, Some(project)) if project.is_null() => Some(Self::Project(None)),
            (None, Some(project)) => Some(Self::Project(Some(Project::read(project, faults)))),
            _ => {
                faults.add(node, "must have either a condition or a project");
                None
            }
        }
    }

    /// Returns the condition's id and the rule that decides it: the rule of the tenant's condition if that is enabled,
    /// otherwise of the global one if that is (`conditions.md`, "Conditions").
    #[must_use]
    pub fn in_force(&self) -> Option<(&str, Rule)> {
        let Self::Condition(condition, other) = self else {
            return None;
        };
        let both = [condition, other].into_iter().flatten();
        let mut enabled = both.filter(|condition| condition.enabled);
        let first = enabled.next()?;
        let decides = match (first.scope, enabled.next()) {
            (Scope::Global, Some(own)) => own,
            _ => first,
        };
        Some((decides.id.as_str(), decides.rule))
    }
}

/// Reads a JSON text, and returns its faults as an error. `run` reads the document, and does the rest if that has no
/// faults.
#[inline(never)]
pub(crate) fn with_document(
    text: &[u8],
    run: &mut dyn FnMut(Node<'_, '_>, &mut Faults),
) -> Result<(), Error> {
    let document = Document::parse_without_number_text(text, MAX_VALUES)?;
    let mut faults = Faults::default();
    run(document.root(), &mut faults);
    faults.none_or_error()
}

/// Reads a condition that may be missing, and the scope that it states.
#[inline(never)]
fn read_condition(
    node: Option<Node<'_, '_>>,
    faults: &mut Faults,
) -> (Option<EntityCondition>, Option<Scope>) {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return (None, None);
    };
    let scope = node.member("scope");
    let said = match scope.and_then(Node::text).map(AsRef::as_ref) {
        Some("GLOBAL") => Some(Scope::Global),
        Some("TENANT") => Some(Scope::Tenant),
        _ => None,
    };
    if let (Some(scope), None) = (scope, said) {
        faults.add(scope, "must be GLOBAL or TENANT");
    }
    (
        EntityCondition::from_catalog(node, Scope::Tenant, faults),
        said,
    )
}

/// Sets the scopes of two conditions: each has the scope that it states, or else the opposite of the other's.
fn set_scopes(
    (own, other): &mut (Option<EntityCondition>, Option<EntityCondition>),
    said: Option<Scope>,
    others: Option<Scope>,
) {
    let opposite = |scope| match scope {
        Scope::Global => Scope::Tenant,
        Scope::Tenant => Scope::Global,
    };
    let scope = said.or(others.map(opposite)).unwrap_or(Scope::Tenant);
    if let Some(own) = own {
        own.scope = scope;
    }
    if let Some(other) = other {
        other.scope = others.unwrap_or(opposite(scope));
    }
}
