//! The built-in roles and their permissions (`tokens.md`, "Permissions").

use super::{Permission as P, Permissions};

/// The role with every permission, in every tenant; only clients of the platform's tenant can have it.
pub const OPERATOR: &str = "platform.operator";

const TEMPLATES: &[P] = &[P::TemplatesCreate, P::TemplatesRead, P::TemplatesDelete];
const STATEMENTS: &[P] = &[P::StatementsCreate, P::StatementsRead, P::StatementsDelete];
const CLIENTS: &[P] = &[P::ClientsRead, P::ClientsUpdate, P::ClientsDelete];

/// The name of each role, and the lists of its permissions.
const BUILT_IN: &[(&str, &[&[P]])] = &[
    ("ecs.viewer", &[ECS_READ]),
    ("ecs.editor", &[ECS_READ, ECS_WRITE]),
    (
        "ecs.evaluator",
        &[&[
            P::ConditionEvaluate,
            P::ProjectRestrictionEvaluate,
            P::DecisionReport,
        ]],
    ),
    ("exr.viewer", &[&[P::RateRead]]),
    ("exr.editor", &[&[P::RateRead], EXR_WRITE]),
    (
        "exr.subscriber",
        &[&[P::RatesChangedSubscribe, P::InitialStateCreate]],
    ),
    ("exe.viewer", &[EXE_READ]),
    (
        "exe.editor",
        &[EXE_READ, &[P::WebhookWrite, P::DeliveryReplay]],
    ),
    ("exe.publisher", &[&[P::EventPublish]]),
    ("iam.template-admin", &[TEMPLATES]),
    ("iam.statements-admin", &[STATEMENTS]),
    ("iam.client-admin", &[CLIENTS]),
    ("iam.clients-admin", &[CLIENTS]),
    (
        "iam.admin",
        &[TEMPLATES, STATEMENTS, CLIENTS, &[P::DecisionLogWrite]],
    ),
];

const ECS_READ: &[P] = &[P::ConditionRead, P::ProjectRead];
const ECS_WRITE: &[P] = &[P::ConditionWrite, P::ConditionDelete, P::ProjectWrite];
const EXR_WRITE: &[P] = &[
    P::RateWrite,
    P::BusinessUnitRead,
    P::BusinessUnitWrite,
    P::ReferenceRateImport,
];
const EXE_READ: &[P] = &[P::WebhookRead, P::DeliveryRead];

/// Returns the permissions of a built-in role, or `None` if no built-in role has this name.
#[must_use]
pub fn built_in(role: &str) -> Option<Permissions> {
    if role == OPERATOR {
        return Some(Permissions::all());
    }
    let (_, lists) = BUILT_IN.iter().find(|(name, _)| *name == role)?;
    Some(lists.iter().copied().flatten().copied().collect())
}

/// Returns the first built-in role that has a permission. Among the roles of a system, the least privileged comes
/// first.
#[must_use]
pub fn built_in_with(permission: P) -> &'static str {
    let has = |lists: &[&[P]]| lists.iter().any(|list| list.contains(&permission));
    let role = BUILT_IN.iter().find(|(_, lists)| has(lists));
    role.map_or(OPERATOR, |(name, _)| name)
}

/// Returns the names of the built-in roles.
pub fn built_in_roles() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).chain([OPERATOR])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_permission_a_role_is_known_that_has_it() {
        for permission in P::ALL.iter().copied() {
            let role = built_in_with(permission);
            let of_role = built_in(role).unwrap_or_default();
            assert!(of_role.contains(permission), "{role} {permission}");
            assert_eq!(role == OPERATOR, permission.platform_only(), "{permission}");
        }
    }
}
