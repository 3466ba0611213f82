//! The order of the steps of a plan: what others refer to before what refers to it, parents before their children, and
//! deletions last, in the opposite order.

use std::collections::BTreeSet;

use super::folder::Files;
use super::kind::Kind;
use super::plan::{Action, Plan, Step};
use super::tree::Tree;

/// Steps of one rank do not depend on each other, and may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(usize, usize);

/// Sorts the steps of a plan, and returns each with its rank.
pub(super) fn ranked<'f>(plan: &mut Plan<'f>, files: &Files, tree: &Tree) -> Vec<(Rank, Step<'f>)> {
    let steps = std::mem::take(&mut plan.steps);
    let own: BTreeSet<&String> = files
        .get(&Kind::Conditions)
        .into_iter()
        .flatten()
        .map(|(id, _)| id)
        .collect();
    let mut ranked: Vec<_> = steps
        .into_iter()
        .map(|step| (rank(&step, &own, tree), step))
        .collect();
    ranked.sort_by(|(a, one), (b, other)| (a, one.kind, &one.id).cmp(&(b, other.kind, &other.id)));
    ranked
}

fn rank(step: &Step<'_>, own_conditions: &BTreeSet<&String>, tree: &Tree) -> Rank {
    let kinds = Kind::ALL.len();
    let place = Kind::ALL
        .iter()
        .position(|kind| *kind == step.kind)
        .unwrap_or_default();
    let depth = match step.kind {
        Kind::BusinessUnits => tree.depth(&step.id).unwrap_or_default(),
        _ => 0,
    };
    if step.action != Action::Delete {
        return Rank(place, depth);
    }
    // A tenant's condition may take the id of a global one only once that is gone.
    if step.kind == Kind::GlobalConditions && own_conditions.contains(&step.id) {
        return Rank(place, depth);
    }
    Rank(2 * kinds - place, usize::MAX - depth)
}
