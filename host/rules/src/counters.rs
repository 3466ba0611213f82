//! Counts decisions: their results by rule and decision, which the module returns beside its answer, the time that the
//! module took, and refusals.

use std::sync::Arc;
use std::time::Instant;

use tillgate_base::engine::Decided;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::observe::metrics::{Counter, Histogram, Metrics, Tenants};
use tillgate_engine::outcome::{Decision, RULES, Tally};

use super::module_call::Subject;

#[derive(Debug)]
pub(super) struct DecisionCounters {
    /// By rule and decision.
    decisions: [[Counter; Decision::ALL.len()]; RULES.len()],
    condition: Histogram,
    project: Histogram,
    basket: Histogram,
    invalid: Counter,
    not_found: Counter,
    failed: Counter,
    tenants: Option<Arc<Tenants>>,
}

impl DecisionCounters {
    pub(super) fn new(metrics: &Metrics) -> Self {
        let decisions = metrics.counters(
            "tillgate_decisions",
            "Results of decisions, by rule and decision; a decision about a basket has many results",
            ["rule", "decision"],
        );
        let durations = metrics.histograms(
            "tillgate_decision_duration",
            "Duration of decisions in the module, by subject: a condition, a project or a basket",
            ["asked"],
            Histogram::short,
        );
        let refused = metrics.counters(
            "tillgate_decisions_refused",
            "Requests for decisions that got none, by reason",
            ["reason"],
        );
        Self {
            decisions: RULES.map(|rule| {
                Decision::ALL.map(|decision| decisions.with([rule, decision.as_str()]))
            }),
            condition: durations.with(["condition"]),
            project: durations.with(["project"]),
            basket: durations.with(["basket"]),
            invalid: refused.with(["invalid"]),
            not_found: refused.with(["not_found"]),
            failed: refused.with(["failed"]),
            tenants: metrics.tenants().cloned(),
        }
    }

    /// Makes a decision, and counts it.
    pub(super) fn measure(
        &self,
        subject: Subject,
        tenant: &TenantId,
        decide: impl FnOnce() -> Result<Decided>,
    ) -> Result<Decided> {
        let begin = Instant::now();
        let decided = decide();
        let took = begin.elapsed();
        match subject {
            Subject::Condition => self.condition.record(took),
            Subject::Project => self.project.record(took),
            Subject::Basket => self.basket.record(took),
        }
        match &decided {
            Ok(decided) => self.count(tenant, decided.tally),
            Err(Error::Invalid(_)) => drop(self.invalid.inc()),
            Err(Error::NotFound(..)) => drop(self.not_found.inc()),
            Err(_) => drop(self.failed.inc()),
        }
        decided
    }

    fn count(&self, tenant: &TenantId, Tally(tally): Tally) {
        for (counters, counts) in self.decisions.iter().zip(tally) {
            for (counter, count) in counters.iter().zip(counts).filter(|(_, count)| *count > 0) {
                counter.inc_by(count.into());
            }
        }
        if let Some(tenants) = &self.tenants {
            for (index, decision) in Decision::ALL.into_iter().enumerate() {
                let counts = tally.iter().filter_map(|counts| counts.get(index));
                let sum = counts.map(|count| u64::from(*count)).sum();
                tenants.count_decisions(tenant.as_str(), decision, sum);
            }
        }
    }
}
