//! Carries out a plan: one write for each resource, which takes effect only if the host still has what the plan was
//! made from.
//!
//! A lost write is repeated: had it taken effect, the version would differ, and the host would have what the file says.
//! Only a webhook cannot be created twice without harm, so that is not repeated. It need not be, since the next `apply`
//! finds the webhook by its name. The first failure ends the run: what was done stays, and the next run does the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, stream};
use reqwest::Method;
use reqwest::header::HeaderValue;
use tillgate_base::data::managed_by;

use super::changes::Differences;
use super::document::Named;
use super::folder::File;
use super::host::{AT_ONCE, Host};
use super::kind::Kind;
use super::order::Rank;
use super::plan::{Action, Step};
use super::secrets::{Revealed, json};
use crate::answer::Failure;
use crate::output::on_line;
use crate::progress::ProgressLine;
use crate::session::{Requires, segment};

/// The options for carrying out a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub(super) me: &'a str,
    pub(super) accept_deviation: bool,
    pub(super) accept_failing_tests: bool,
}

/// The secrets that steps send, by webhook name.
pub(super) type SecretsOf = BTreeMap<String, Revealed>;

/// Fetches the secrets that the steps of a plan send.
///
/// # Errors
/// A line for each missing secret.
pub(super) fn secrets_of(steps: &[(Rank, Step<'_>)]) -> Result<SecretsOf, Vec<String>> {
    let (mut secrets, mut missing) = (SecretsOf::new(), Vec::new());
    for (_, step) in steps {
        if let (Kind::Webhooks, Some(file)) = (step.kind, step.file) {
            match step.secrets.reveal() {
                Ok(revealed) => drop(secrets.insert(step.id.clone(), revealed)),
                Err(cause) => missing.push(format!("{}: {cause}", file.name)),
            }
        }
    }
    if missing.is_empty() {
        Ok(secrets)
    } else {
        Err(missing)
    }
}

/// The result of carrying out a plan.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The completed steps, by their index in the plan.
    pub(super) done: BTreeSet<usize>,
    /// A line for each failure; empty if the whole plan was carried out.
    pub(super) failures: Vec<String>,
}

/// Carries out a plan.
pub(super) async fn apply(
    host: &Host,
    steps: &[(Rank, Step<'_>)],
    secrets: &SecretsOf,
    manner: Manner<'_>,
) -> Outcome {
    let (mut progress, mut outcome, mut first) = (ProgressLine::begin(), Outcome::default(), 0);
    let has_failed = AtomicBool::new(false);
    for rank in steps.chunk_by(|(a, _), (b, _)| a == b) {
        let made = rank.iter().zip(first..).map(|((_, step), index)| {
            let has_failed = &has_failed;
            async move {
                if has_failed.load(Ordering::Relaxed) {
                    return None;
                }
                let made = make(host, step, secrets, manner).await;
                has_failed.fetch_or(made.is_err(), Ordering::Relaxed);
                let made = made.map_err(|cause| format!("{}: {cause}", place(step)));
                Some(made.map(|()| index))
            }
        });
        let mut made = stream::iter(made).buffer_unordered(AT_ONCE);
        while let Some(made) = made.next().await {
            match made {
                Some(Ok(index)) => drop(outcome.done.insert(index)),
                Some(Err(failure)) => outcome.failures.push(failure),
                None => {}
            }
            progress.print(|| format!("{} of {} written", outcome.done.len(), steps.len()));
        }
        if !outcome.failures.is_empty() {
            break;
        }
        first += rank.len();
    }
    progress.end();
    outcome.failures.sort_unstable();
    outcome
}

/// Returns the file of a step, or the name of its resource if there is none.
pub(super) fn place(step: &Step<'_>) -> String {
    match step.file {
        Some(file) => file.name.clone(),
        None => on_line(&Named(step.kind, &step.id).to_string()).into_owned(),
    }
}

async fn make(
    host: &Host,
    step: &Step<'_>,
    secrets: &SecretsOf,
    manner: Manner<'_>,
) -> Result<(), String> {
    match (step.kind, step.action, step.file) {
        (Kind::Rates, ..) => change_rates(host, step, manner).await,
        (_, Action::Delete, _) => delete(host, step).await,
        (_, _, Some(file)) => {
            let body = body_of(step, file, secrets.get(&step.id), manner);
            put(host, step, &body, manner).await
        }
        (_, _, None) => Ok(()),
    }
}

/// Returns the body that makes a resource match its file.
pub(super) fn body_of(
    step: &Step<'_>,
    file: &File,
    secrets: Option<&Revealed>,
    manner: Manner<'_>,
) -> Vec<u8> {
    let mut members = file.says.document.members.clone();
    if let Some(secrets) = secrets {
        secrets.add_to(&mut members);
    }
    // A PUT that does not mention tests keeps those of the host.
    if step.kind.has_tests() && members.get("tests").is_none() {
        members.set("tests", b"[]".to_vec());
    }
    members.set(managed_by::MEMBER, json(&manner.me));
    members.to_json()
}

/// Returns the query of a write of this kind.
pub(super) const fn query_of(kind: Kind, manner: Manner<'_>) -> &'static str {
    match kind {
        Kind::BusinessUnits | Kind::Rates if manner.accept_deviation => "?acceptDeviation=true",
        _ if kind.has_tests() && manner.accept_failing_tests => "?failingTests=accept",
        _ => "",
    }
}

/// Returns why a write failed, with this command's options in place of the parameters that a message names.
pub(super) fn failure_of(failure: Failure) -> String {
    let message = String::from(failure);
    message.replace("acceptDeviation=true", "--accept-deviation")
}

async fn put(host: &Host, step: &Step<'_>, json: &[u8], manner: Manner<'_>) -> Result<(), String> {
    let query = query_of(step.kind, manner);
    let path = match &step.present {
        Some(present) => present.path.clone(),
        None => host.path(step.kind, &step.id, None),
    };
    let path = format!("{path}{query}");
    let etag = step
        .present
        .as_ref()
        .map(|present| version(present.etag.as_ref()));
    let (method, requires) = match (step.kind, etag.transpose()?) {
        (_, Some(etag)) => (Method::PUT, Requires::Version(etag)),
        (Kind::Webhooks, None) => (Method::POST, Requires::Nothing),
        (_, None) => (Method::PUT, Requires::Absence),
    };
    let repeats = method == Method::PUT;
    let (answer, is_repeated) = host
        .write((&method, &path), requires, Some(json), repeats)
        .await;
    let answer = answer?;
    if !answer.is_outdated() {
        answer.body().map_err(failure_of)?;
        return Ok(());
    }
    if is_repeated && is_as_planned(host, step).await? {
        Ok(())
    } else {
        Err(outdated())
    }
}

/// Returns whether a resource matches its file.
async fn is_as_planned(host: &Host, step: &Step<'_>) -> Result<bool, String> {
    let there = host
        .again(step.kind, &step.id, step.present.as_ref())
        .await?;
    let there = there.as_ref().map(|present| &present.document.members);
    let says = step.file.map(|file| &file.says.document.members);
    Ok(match (there, says) {
        (Some(there), Some(says)) => Differences::between(there, says).all.is_empty(),
        (there, says) => there == says,
    })
}

async fn delete(host: &Host, step: &Step<'_>) -> Result<(), String> {
    let Some(present) = &step.present else {
        return Ok(());
    };
    let requires = Requires::Version(version(present.etag.as_ref())?);
    let mut path = present.path.clone();
    if step.kind == Kind::BusinessUnits {
        // Its rates are deleted with it, and its own version does not cover them.
        let rates = version(present.rates_etag.as_ref())?.to_str();
        path += &format!("?ifRatesMatch={}", segment(rates.unwrap_or_default()));
    }
    let request = (&Method::DELETE, path.as_str());
    let answer = host.write(request, requires, None, true).await.0?;
    if answer.is_outdated() {
        return Err(outdated());
    }
    if !answer.is_missing() {
        answer.body()?;
    }
    Ok(())
}

/// Changes the rates of a unit, in one write unless there are very many.
async fn change_rates(host: &Host, step: &Step<'_>, manner: Manner<'_>) -> Result<(), String> {
    let path = host.path(Kind::Rates, &step.id, None);
    let path = path + query_of(step.kind, manner);
    let mut etag = match &step.present {
        Some(present) => present.etag.clone(),
        // The unit has just been created, with no rates.
        None => host
            .rates_of(&step.id)
            .await?
            .filter(|present| present.rates.is_empty())
            .and_then(|present| present.etag),
    };
    let bodies = step.rates.bodies(manner.me);
    for (index, body) in bodies.iter().enumerate() {
        let requires = Requires::Version(version(etag.as_ref())?);
        let (answer, is_repeated) = host
            .write((&Method::POST, &path), requires, Some(body), true)
            .await;
        let mut answer = answer?;
        if !answer.is_outdated() {
            // Reading the version again would accept what others have written since.
            etag = answer.etag.take();
            answer.body().map_err(failure_of)?;
            if etag.is_none() && index + 1 < bodies.len() {
                let unit = on_line(&step.id);
                return Err(format!(
                    "the host does not return the version of the rates of the business unit {unit}, so the rest of them \
                     cannot be set: is it older than this command, or does a proxy remove ETag?"
                ));
            }
            continue;
        }
        let is_done = match host.rates_of(&step.id).await? {
            Some(present) => step.rates.is_made(&present.rates, manner.me),
            None => false,
        };
        if is_repeated && is_done {
            return Ok(());
        }
        let (unit, all) = (on_line(&step.id), bodies.len());
        let when = match index {
            0 => "since the plan was made".to_owned(),
            made => format!("after {made} of {all} requests that set them"),
        };
        return Err(format!(
            "the rates of the business unit {unit} were changed by someone else {when}"
        ));
    }
    Ok(())
}

fn version(etag: Option<&HeaderValue>) -> Result<&HeaderValue, String> {
    etag.ok_or_else(outdated)
}

fn outdated() -> String {
    "was changed by someone else since the plan was made".to_owned()
}
