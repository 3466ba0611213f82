//! `apply --dry-run` asks the host whether it would refuse the plan. It compares the plan with the quotas of the
//! tenant, and sends changes of business units and rates as dry runs. A change that needs something that the plan
//! creates is not sent.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::apply::{Manner, body_of, failure_of, place, query_of};
use super::host::{AT_ONCE, Host};
use super::kind::{Kind, missing};
use super::order::Rank;
use super::plan::{Action, Step};
use crate::deviation::Deviation;
use crate::output::tell;
use crate::session::{Requires, segment};

/// The most rates named for a unit.
const MAX_NAMED: usize = 10;

/// The usage of a quota.
#[derive(Deserialize)]
struct Usage {
    used: u64,
    quota: u64,
}

/// Returns the reasons why the host would refuse a plan, a line for each.
///
/// # Errors
/// If the host cannot be asked.
pub(super) async fn refusals(
    host: &Host,
    steps: &[(Rank, Step<'_>)],
    manner: Manner<'_>,
) -> Result<Vec<String>, String> {
    let mut refusals = over_quota(host, steps).await?;
    let created = steps
        .iter()
        .filter(|(_, step)| step.action == Action::Create);
    let created: BTreeSet<_> = created
        .map(|(_, step)| (step.kind, step.id.as_str()))
        .collect();
    let is_created = |unit: &str| created.contains(&(Kind::BusinessUnits, unit));
    let tried = steps.iter().map(|(_, step)| step).filter(|step| {
        let file = step.file.map(|file| &file.says.document.members);
        let parent = file.and_then(|members| members.text("parentId"));
        match (step.kind, step.action) {
            // Taking over a resource keeps its values.
            (_, Action::Adopt) => false,
            (Kind::Rates, _) => step.present.is_some(),
            (Kind::BusinessUnits, Action::Change) => !parent.is_some_and(|unit| is_created(&unit)),
            _ => false,
        }
    });
    let mut may_try = BTreeMap::new();
    let tried: Vec<_> = tried
        .filter(|step| {
            *may_try
                .entry(step.kind)
                .or_insert_with(|| may_write(host, step.kind))
        })
        .collect();
    let tried = tried.into_iter().map(|step| attempt(host, step, manner));
    let mut answers = stream::iter(tried).buffered(AT_ONCE);
    while let Some(answer) = answers.next().await {
        refusals.extend(answer?);
    }
    Ok(refusals)
}

/// Returns whether the credentials permit dry runs of a kind, and tells the user if they do not.
fn may_write(host: &Host, kind: Kind) -> bool {
    let lacks = missing(kind.writing(), host.permissions);
    if let Some(permission) = lacks {
        tell(&format!(
            "cannot check if the host would refuse {kind}: these credentials lack the permission {permission}"
        ));
    }
    lacks.is_none()
}

/// Sends a change as a dry run, and returns the reasons why the host would refuse it.
async fn attempt(host: &Host, step: &Step<'_>, manner: Manner<'_>) -> Result<Vec<String>, String> {
    let (method, bodies) = match (step.kind, step.file) {
        (Kind::Rates, _) => (Method::POST, step.rates.bodies(manner.me)),
        (_, Some(file)) => (Method::PUT, vec![body_of(step, file, None, manner)]),
        (_, None) => return Ok(Vec::new()),
    };
    let path = match &step.present {
        Some(present) => present.path.clone(),
        None => host.path(step.kind, &step.id, None),
    };
    let query = match query_of(step.kind, manner) {
        "" => "?dryRun=true".to_owned(),
        query => format!("{query}&dryRun=true"),
    };
    let path = path + &query;
    let mut refusals = Vec::new();
    for body in bodies {
        let request = (&method, path.as_str());
        let answer = host
            .write(request, Requires::Nothing, Some(&body), true)
            .await
            .0?;
        match answer.body() {
            Ok(json) if manner.accept_deviation => drop(json),
            Ok(json) => refusals.extend(deviations(&json.text)?),
            Err(failure) => refusals.push(failure_of(failure)),
        }
    }
    let place = place(step);
    Ok(refusals
        .into_iter()
        .map(|refusal| format!("{place}: {refusal}"))
        .collect())
}

#[derive(Deserialize)]
struct DryRun<'j> {
    #[serde(borrow, default)]
    deviations: Vec<Deviation<'j>>,
}

fn deviations(answer: &str) -> Result<Vec<String>, String> {
    let dry_run: DryRun<'_> = serde_json::from_str(answer)
        .map_err(|cause| format!("the host did not return a dry run: {cause}"))?;
    let mut lines: Vec<String> = dry_run
        .deviations
        .iter()
        .take(MAX_NAMED)
        .map(|rate| {
            format!("{rate} is beyond the tolerance: --accept-deviation sets it all the same")
        })
        .collect();
    if let Some(more @ 1..) = dry_run.deviations.len().checked_sub(MAX_NAMED) {
        lines.push(format!("and {more} more rates"));
    }
    Ok(lines)
}

/// Returns a line for each quota that a plan would exceed.
async fn over_quota(host: &Host, steps: &[(Rank, Step<'_>)]) -> Result<Vec<String>, String> {
    let path = format!("/v1/tenants/{}/usage", segment(&host.tenant));
    // A host without the role `token` does not report usage.
    let Some((text, _)) = host.find(&path).await? else {
        return Ok(Vec::new());
    };
    let usage: BTreeMap<String, Usage> = {
        let all: BTreeMap<String, &RawValue> = serde_json::from_slice(&text)
            .map_err(|cause| format!("the host did not return the usage: {cause}"))?;
        let known = all.into_iter();
        known
            .filter_map(|(name, json)| Some((name, serde_json::from_str(json.get()).ok()?)))
            .collect()
    };
    let exceeded = |(name, kind): (&str, Kind)| {
        let (added, removed) = added_and_removed(kind, steps);
        let Usage { used, quota } = usage.get(name)?;
        let after = (used + added).saturating_sub(removed);
        (added > removed && after > *quota)
            .then(|| format!("{kind}: the tenant would have {after} and may have {quota} ({name})"))
    };
    let quotas = [
        ("templates", Kind::Templates),
        ("conditions", Kind::Conditions),
        ("projects", Kind::Projects),
        ("businessUnits", Kind::BusinessUnits),
        ("exchangeRates", Kind::Rates),
        ("webhooks", Kind::Webhooks),
    ];
    Ok(quotas.into_iter().filter_map(exceeded).collect())
}

/// Returns the numbers of resources of a kind that a plan adds and removes.
fn added_and_removed(kind: Kind, steps: &[(Rank, Step<'_>)]) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    for (_, step) in steps.iter().filter(|(_, step)| step.kind == kind) {
        match (kind, step.action) {
            (Kind::Rates, _) => {
                let new = step
                    .rates
                    .set
                    .iter()
                    .filter(|(_, _, before)| before.is_none());
                added += new.count();
                removed += step.rates.delete.len();
            }
            (_, Action::Create) => added += 1,
            (_, Action::Delete) => removed += 1,
            (_, Action::Change | Action::Adopt) => {}
        }
    }
    let count = |count| u64::try_from(count).unwrap_or(u64::MAX);
    (count(added), count(removed))
}
