//! Prints a plan: for people, a line for each resource with its changes below; for programs, JSON.

use std::fmt::Write as _;

use serde::Serialize;
use tillgate_base::egress::with_urls_shown;

use super::apply::Outcome;
use super::changes::{Difference, Differences};
use super::document::Named;
use super::host::Host;
use super::kind::Kind;
use super::order::Rank;
use super::plan::{Action, Left, Plan, Step};
use crate::output::on_line;

/// The most differences printed for a resource, the most names of what stays, and the most characters of a value.
const MAX_DIFFERENCES: usize = 10;
const MAX_NAMES: usize = 10;
const MAX_VALUE: usize = 60;

/// The numbers of resources that are created, changed, taken over and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    create: usize,
    change: usize,
    adopt: usize,
    delete: usize,
}

impl Counts {
    pub(super) fn of(steps: &[(Rank, Step<'_>)]) -> Self {
        let count = |action| {
            steps
                .iter()
                .filter(|(_, step)| step.action == action)
                .count()
        };
        Self {
            create: count(Action::Create),
            change: count(Action::Change),
            adopt: count(Action::Adopt),
            delete: count(Action::Delete),
        }
    }

    /// Returns the counts in words: `1 created, 2 changed`.
    pub(super) fn words(self, words: [&str; 4]) -> String {
        let counts = [self.create, self.change, self.adopt, self.delete];
        let parts = counts
            .into_iter()
            .zip(words)
            .filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        parts.join(", ")
    }
}

/// The words for planned actions, and for completed ones.
pub(super) const TO_DO: [&str; 4] = ["to create", "to change", "to take over", "to delete"];
pub(super) const DONE: [&str; 4] = ["created", "changed", "taken over", "deleted"];

/// The host and the manager of a plan, and the number of files.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) host: &'a Host,
    pub(super) me: &'a str,
    pub(super) files: usize,
}

/// The result of a plan.
#[derive(Clone, Copy)]
pub(super) enum Became<'a> {
    /// It was only shown.
    Shown,
    /// It was tried, with the reasons why the host would refuse it.
    Refused(&'a [String]),
    Made(&'a Outcome),
}

/// Returns a plan for people.
pub(super) fn text(about: About<'_>, steps: &[(Rank, Step<'_>)], plan: &Plan<'_>) -> String {
    let About { host, me, files } = about;
    let (tenant, address) = (&host.tenant, &host.address);
    let mut text = String::new();
    for (_, step) in steps {
        let mark = match step.action {
            Action::Create => "+ create",
            Action::Change => "~ change",
            Action::Adopt => "= adopt ",
            Action::Delete => "- delete",
        };
        let name = Named(step.kind, &step.id).to_string();
        let _ = writeln!(text, "{mark}  {}{}", on_line(&name), owner(step, me));
        write_differences(step.kind, &step.differences, &mut text);
    }
    let of = format!(
        "{files} {} and the tenant {tenant} at {address}",
        plural(files, "file")
    );
    let _ = if steps.is_empty() {
        writeln!(text, "{of} are the same")
    } else {
        writeln!(text, "{of} differ: {}", Counts::of(steps).words(TO_DO))
    };
    if !plan.prunable.is_empty() {
        let _ = writeln!(
            text,
            "in no file, and deleted only with --prune: {}",
            names(&plan.prunable)
        );
    }
    if !plan.left.is_empty() {
        let _ = writeln!(
            text,
            "in no file, and not made by {me}, so it stays: {}",
            names(&plan.left)
        );
    }
    text
}

/// Returns the program that manages a changed resource, unless it is `me`. A change by hand removes its name.
fn owner(step: &Step<'_>, me: &str) -> String {
    let owner = owner_of(step);
    match (step.action, step.kind) {
        (Action::Change, kind) if kind != Kind::Rates && owner != Some(me) => match owner {
            Some(other) => format!(" (managed by {other})"),
            None => " (made or changed by hand)".to_owned(),
        },
        _ => String::new(),
    }
}

fn owner_of<'s>(step: &'s Step<'_>) -> Option<&'s str> {
    step.present.as_ref()?.managed_by.as_deref()
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}

fn names(left: &[Left]) -> String {
    let name = |left: &Left| {
        let name = Named(left.kind, &left.id).to_string();
        let name = on_line(&name);
        match left.rates {
            Some(count) => format!("{name} ({count} {})", plural(count, "rate")),
            None => name.into_owned(),
        }
    };
    let mut names: Vec<String> = left.iter().take(MAX_NAMES).map(name).collect();
    if left.len() > MAX_NAMES {
        names.push(format!("and {} more", left.len() - MAX_NAMES));
    }
    names.join(", ")
}

fn write_differences(kind: Kind, differences: &Differences, text: &mut String) {
    for Difference {
        path,
        before,
        after,
    } in differences.all.iter().take(MAX_DIFFERENCES)
    {
        let change = match (before, after) {
            (Some(before), Some(after)) => {
                format!("{} -> {}", shown(kind, before), shown(kind, after))
            }
            (None, Some(after)) => format!("+ {}", shown(kind, after)),
            (Some(before), None) => format!("- {}", shown(kind, before)),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "      {}: {change}", on_line(path));
    }
    let more = differences.more + differences.all.len().saturating_sub(MAX_DIFFERENCES);
    if more > 0 {
        let _ = writeln!(text, "      and {more} more");
    }
}

/// Returns a value on one line, cut if it is long, and without what may be a secret in a URL.
fn shown(kind: Kind, json: &str) -> String {
    let value = match kind {
        Kind::Webhooks => with_urls_shown(json),
        _ => json.to_owned(),
    };
    let value = on_line(&value);
    match value.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}...", value.get(..end).unwrap_or_default()),
        None => value.into_owned(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanJson<'p> {
    tenant_id: &'p str,
    url: &'p str,
    managed_by: &'p str,
    files: usize,
    counts: Counts,
    /// The whole plan was carried out.
    done: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    errors: &'p [String],
    steps: Vec<StepJson<'p>>,
    prunable: Vec<LeftJson<'p>>,
    left: Vec<LeftJson<'p>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepJson<'p> {
    action: &'static str,
    kind: &'static str,
    id: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'p str>,
    /// The program that manages the resource; none after a change by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'p str>,
    /// The step was completed; left out if the plan was not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<bool>,
    differences: Vec<Difference>,
    /// The number of further differences.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeftJson<'p> {
    kind: &'static str,
    id: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<usize>,
}

const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Returns a plan for programs, with its result if it was not only shown: `{ tenantId, url, managedBy, files, counts,
/// done, errors?, steps, prunable, left }`.
pub(super) fn json(
    about: About<'_>,
    steps: &[(Rank, Step<'_>)],
    plan: &Plan<'_>,
    became: Became<'_>,
) -> Result<String, String> {
    let (outcome, errors) = match became {
        Became::Shown => (None, &[][..]),
        Became::Refused(refusals) => (None, refusals),
        Became::Made(outcome) => (Some(outcome), outcome.failures.as_slice()),
    };
    let steps_json = steps.iter().enumerate().map(|(index, (_, step))| StepJson {
        action: match step.action {
            Action::Create => "CREATE",
            Action::Change => "CHANGE",
            Action::Adopt => "ADOPT",
            Action::Delete => "DELETE",
        },
        kind: step.kind.folder(),
        id: &step.id,
        file: step.file.map(|file| file.name.as_str()),
        managed_by: owner_of(step),
        done: outcome.map(|outcome| outcome.done.contains(&index)),
        differences: step
            .differences
            .all
            .iter()
            .map(|one| hidden(step.kind, one))
            .collect(),
        more: step.differences.more,
    });
    let json = PlanJson {
        tenant_id: &about.host.tenant,
        url: &about.host.address,
        managed_by: about.me,
        files: about.files,
        counts: Counts::of(steps),
        done: outcome.is_some() && errors.is_empty(),
        errors,
        steps: steps_json.collect(),
        prunable: plan.prunable.iter().map(left_json).collect(),
        left: plan.left.iter().map(left_json).collect(),
    };
    let json = serde_json::to_string(&json).map_err(|cause| cause.to_string())?;
    Ok(json + "\n")
}

fn left_json(left: &Left) -> LeftJson<'_> {
    LeftJson {
        kind: left.kind.folder(),
        id: &left.id,
        managed_by: left.managed_by.as_deref(),
        rates: left.rates,
    }
}

/// Returns a difference without what may be a secret in a URL.
fn hidden(kind: Kind, difference: &Difference) -> Difference {
    let mut difference = difference.clone();
    if kind == Kind::Webhooks {
        let hide =
            |json: &mut Option<String>| *json = json.take().map(|json| with_urls_shown(&json));
        hide(&mut difference.before);
        hide(&mut difference.after);
    }
    difference
}
