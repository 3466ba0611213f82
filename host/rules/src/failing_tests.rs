//! Runs the tests beside a rule in the module: those of a document before it is stored, and those of tenants that may
//! fail after a change of a global condition (`conditions.md`, "Beyond an answer").

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use tillgate_base::app::App;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::Fault;
use tillgate_engine::condition::ConditionId;
use tillgate_store::Partition;

use super::Conditions;
use super::cache::condition_key;
use super::rule_json::RuleJson;
use super::stored::StoredCondition;

/// The most partitions to list at once.
const PARTITIONS: usize = 500;

/// The most tenants whose conditions are read at once.
const READS: usize = 32;

/// The handling of a document whose tests fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailingTests {
    /// It is not stored.
    #[default]
    Refuse,
    /// It is stored all the same.
    Accept,
}

/// The rule whose tests the module runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beside<'a> {
    /// A condition, and the condition of the other scope that has its id.
    Condition(Option<&'a RuleJson>),
    Project,
}

/// Runs the tests of a document before it is stored. Returns how many fail.
///
/// # Errors
/// [`Error::FailingTests`] naming each failing test, unless failing tests are accepted.
pub(super) fn test(
    app: &App,
    beside: Beside<'_>,
    text: &RuleJson,
    on_failing: OnFailingTests,
) -> Result<usize> {
    let failing = failing(app, beside, text)?;
    if failing.is_empty() || on_failing == OnFailingTests::Accept {
        return Ok(failing.len());
    }
    let name = |failed: Failed| {
        // Quoted as in JSON: a name may have quotes.
        let name = serde_json::Value::from(failed.name);
        Fault {
            path: format!("$.tests[{}]", failed.index),
            message: format!("{name}: {}", failed.message).into(),
        }
    };
    Err(Error::FailingTests(failing.into_iter().map(name).collect()))
}

/// The module's report on a failing test.
#[derive(serde::Deserialize)]
struct Failed {
    index: usize,
    name: String,
    message: String,
}

/// The tenants and tests that a global condition would concern.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GlobalConditionDryRun")]
pub struct Concerned {
    /// The number of tenants with stored data.
    pub tenants: usize,
    /// The number of tests that would fail in tenants' own conditions with this id.
    pub failing_tests: usize,
}

#[derive(serde::Deserialize)]
struct Report {
    failed: Vec<Failed>,
}

/// Returns the failing tests of a document. If it has no tests, the module is not asked.
fn failing(app: &App, beside: Beside<'_>, text: &RuleJson) -> Result<Vec<Failed>> {
    if text.tests().is_none() {
        return Ok(Vec::new());
    }
    let name: &[u8] = match beside {
        Beside::Condition(_) => b"{\"condition\":",
        Beside::Project => b"{\"project\":",
    };
    let mut request = vec![Bytes::copy_from_slice(name)];
    request.extend(text.tested_pieces());
    if let Beside::Condition(Some(other)) = beside {
        request.extend([Bytes::from_static(b",\"other\":"), other.rule().clone()]);
    }
    request.push(Bytes::from_static(b"}"));
    let request: Vec<&[u8]> = request.iter().map(|piece| &**piece).collect();
    let answer = app.engine.tests(&request)?;
    let report: Report =
        serde_json::from_slice(&answer).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(report.failed)
}

impl Conditions {
    /// Returns how many tests of tenants' own conditions with this id fail under the current global one. It checks
    /// every tenant, in memory or not, with one read each, and the module runs their tests. Returns `None` when the
    /// store is unavailable: the change took effect, and is answered as such.
    pub async fn failing_tests_of_tenants(
        &self,
        id: &ConditionId,
        global: Option<Arc<StoredCondition>>,
    ) -> Option<usize> {
        let concerned = self.concerned(id, global).await;
        concerned
            .inspect_err(|cause| {
                tracing::warn!(%id, %cause, "the tests of tenants were not run after a change of a global condition");
            })
            .ok()
            .map(|concerned| concerned.failing_tests)
    }

    /// Counts whom a global condition concerns, among all tenants.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(super) async fn concerned(
        &self,
        id: &ConditionId,
        global: Option<Arc<StoredCondition>>,
    ) -> Result<Concerned> {
        let (app, key) = (Arc::clone(&self.app), condition_key(id.as_str()));
        let count = async move {
            let global = global.as_ref().map(|stored| &stored.text);
            count(&app, &key, global).await
        };
        self.app.workers.run_task(count).await?
    }
}

/// Counts the tenants with stored data, and the failing tests of their conditions under `key`.
async fn count(app: &Arc<App>, key: &str, global: Option<&RuleJson>) -> Result<Concerned> {
    let (mut count, mut after) = (Concerned::default(), None::<Partition>);
    loop {
        let name = after.as_ref().map(Partition::as_str);
        let page = app.store.partitions(name, PARTITIONS).await?;
        let is_whole = page.len() == PARTITIONS;
        after = page.last().cloned();
        let tenants = page
            .into_iter()
            .filter(|partition| TenantId::of_partition(partition).is_some());
        let read = |partition| async move { app.records(partition).get_bytes(key).await };
        let mut entries = stream::iter(tenants.map(read)).buffer_unordered(READS);
        while let Some(entry) = entries.try_next().await? {
            count.tenants += 1;
            if let Some(entry) = entry {
                let own = RuleJson::new(entry.value);
                count.failing_tests += failing(app, Beside::Condition(global), &own)?.len();
            }
        }
        if !is_whole {
            return Ok(count);
        }
    }
}
