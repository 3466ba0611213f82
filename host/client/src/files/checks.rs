//! Finds contradictions between the files and the host, or among the files, before anything is written.

use std::collections::BTreeMap;

use super::existing::{Existing, Present};
use super::folder::{File, Files};
use super::kind::Kind;
use super::plan::Plan;
use super::tree::Tree;
use super::webhook;

/// Returns the tree of business units as it will be after the plan.
pub(super) fn tree(files: &Files, existing: &Existing, plan: &Plan<'_>) -> Tree {
    let mut tree = Tree::default();
    for unit in of_kind(existing, Kind::BusinessUnits).values() {
        tree.add(&unit.document);
    }
    for file in files
        .get(&Kind::BusinessUnits)
        .into_iter()
        .flat_map(BTreeMap::values)
    {
        tree.put(&file.says.document, &file.name);
    }
    for unit in plan.deleted(Kind::BusinessUnits) {
        tree.delete(&unit);
    }
    tree
}

/// Returns a line for each contradiction.
pub(super) fn problems(
    files: &Files,
    existing: &Existing,
    plan: &Plan<'_>,
    tree: &Tree,
    me: &str,
) -> Vec<String> {
    let mut problems = tree.problems();
    for (kind, files_of_kind) in files {
        for (id, file) in files_of_kind {
            problems.extend(match kind {
                Kind::Conditions => fault_of_condition(id, file, files, existing, plan),
                Kind::Rates => fault_of_rates(id, file, files, existing, tree),
                Kind::Webhooks => {
                    let present = of_kind(existing, Kind::Webhooks).get(id);
                    webhook::fault_of_password(file, present)
                }
                _ => None,
            });
        }
    }
    if let Some(webhooks) = files.get(&Kind::Webhooks) {
        let present = of_kind(existing, Kind::Webhooks);
        let is_mine = |present: &Present| present.managed_by.as_deref() == Some(me);
        problems.extend(webhook::faults_of_names(existing, |name| {
            webhooks.contains_key(name) || present.get(name).is_some_and(is_mine)
        }));
    }
    problems
}

fn of_kind(existing: &Existing, kind: Kind) -> &BTreeMap<String, Present> {
    const NONE: &BTreeMap<String, Present> = &BTreeMap::new();
    existing.all.get(&kind).unwrap_or(NONE)
}

/// Reports a tenant's condition with the id of a global condition, which it can never use (`given.md` 2.1).
fn fault_of_condition(
    id: &str,
    file: &File,
    files: &Files,
    existing: &Existing,
    plan: &Plan<'_>,
) -> Option<String> {
    let global = files
        .get(&Kind::GlobalConditions)
        .and_then(|global| global.get(id));
    if let Some(global) = global {
        return Some(format!(
            "{}: $.id is the id of a global condition too, in {}",
            file.name, global.name
        ));
    }
    let is_taken = existing.global_conditions.contains(id);
    let is_freed = plan.deleted(Kind::GlobalConditions).contains(id);
    (is_taken && !is_freed).then(|| format!("{}: $.id is the id of a global condition", file.name))
}

fn fault_of_rates(
    unit: &str,
    file: &File,
    files: &Files,
    existing: &Existing,
    tree: &Tree,
) -> Option<String> {
    // Without the folder of units, the host's units are known by their rates.
    let exists = if files.contains_key(&Kind::BusinessUnits) {
        tree.has(unit)
    } else {
        of_kind(existing, Kind::Rates).contains_key(unit)
    };
    (!exists).then(|| {
        format!(
            "{}: $.businessUnitId names no business unit: {unit}",
            file.name
        )
    })
}
