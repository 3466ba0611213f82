//! What is counted of decisions: outcomes by rule, how long the module took, and refusals.
//!
//! An answer is JSON that the module has written, and is not parsed for this: the members that name an outcome are looked
//! for. A text that a request brought along cannot be taken for one of them, since a quote in it is escaped.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use bytes::Bytes;
use memchr::memmem::Finder;
use tillgate_engine::decision::Decision;

use super::Question;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::observe::metrics::{Counter, Histogram, Metrics, Tenants};

/// The rules that results name.
const RULES: [&str; 3] = [
    "AGE_RESTRICTION",
    "LICENSE_REQUIREMENT",
    "PROJECT_RESTRICTION",
];

const DECISIONS: [Decision; 3] = [Decision::Allow, Decision::SoftDeny, Decision::HardDeny];

/// What comes before a result's decision, and before its rule.
static DECISION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"decision\":\""));
static RULE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"rule\":\""));

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// By rule and decision.
    decisions: [[Counter; DECISIONS.len()]; RULES.len()],
    condition: Histogram,
    project: Histogram,
    basket: Histogram,
    invalid: Counter,
    not_found: Counter,
    failed: Counter,
    tenants: Option<Arc<Tenants>>,
}

/// How often each decision was made, by rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally([[u64; DECISIONS.len()]; RULES.len()]);

impl Outcomes {
    pub(super) fn new(metrics: &Metrics) -> Self {
        let decisions = metrics.counters(
            "tillgate_decisions",
            "Results of decisions by rule and decision; one about a basket has many",
            ["rule", "decision"],
        );
        let durations = metrics.histograms(
            "tillgate_decision_duration",
            "How long the module took for a decision, by what was asked: a condition, a project or a basket",
            ["asked"],
            Histogram::short,
        );
        let refused = metrics.counters(
            "tillgate_decisions_refused",
            "Requests for decisions without one, by reason",
            ["reason"],
        );
        Self {
            decisions: RULES
                .map(|rule| DECISIONS.map(|decision| decisions.with([rule, decision.as_str()]))),
            condition: durations.with(["condition"]),
            project: durations.with(["project"]),
            basket: durations.with(["basket"]),
            invalid: refused.with(["invalid"]),
            not_found: refused.with(["not_found"]),
            failed: refused.with(["failed"]),
            tenants: metrics.tenants().cloned(),
        }
    }

    /// Has a decision made, and counts it when there is one.
    pub(super) fn measure(
        &self,
        asked: &Question,
        tenant: &TenantId,
        decide: impl FnOnce() -> Option<Result<Bytes>>,
    ) -> Option<Result<Bytes>> {
        let begin = Instant::now();
        let decided = decide()?;
        let took = begin.elapsed();
        match asked {
            Question::Condition(_) => self.condition.record(took),
            Question::Project => self.project.record(took),
            Question::Basket => self.basket.record(took),
        }
        match &decided {
            Ok(answer) => self.count(asked, tenant, answer),
            Err(Error::Invalid(_)) => drop(self.invalid.inc()),
            Err(Error::NotFound(_)) => drop(self.not_found.inc()),
            Err(_) => drop(self.failed.inc()),
        }
        Some(decided)
    }

    fn count(&self, asked: &Question, tenant: &TenantId, answer: &[u8]) {
        let Tally(tally) = Tally::of(asked, answer);
        for (counters, counts) in self.decisions.iter().zip(tally) {
            for (counter, count) in counters.iter().zip(counts).filter(|(_, count)| *count > 0) {
                counter.inc_by(count);
            }
        }
        if let Some(tenants) = &self.tenants {
            for (index, decision) in DECISIONS.into_iter().enumerate() {
                let counts = tally.iter().filter_map(|counts| counts.get(index));
                tenants.count_decisions(tenant.as_str(), decision, counts.sum());
            }
        }
    }
}

impl Tally {
    /// The results of an answer.
    fn of(asked: &Question, answer: &[u8]) -> Self {
        let mut tally = Self::default();
        let mut rest = answer;
        if matches!(asked, Question::Basket) {
            // It begins with a decision of its own.
            rest = after(rest, &DECISION).unwrap_or_default();
        }
        while let Some(decision) = after(rest, &DECISION) {
            let Some(rule) = after(decision, &RULE) else {
                break;
            };
            tally.add(decision, rule);
            rest = rule;
        }
        tally
    }

    /// Counts a result whose decision and rule begin these texts.
    fn add(&mut self, decision: &[u8], rule: &[u8]) {
        let rule = RULES
            .iter()
            .position(|name| rule.starts_with(name.as_bytes()));
        let mut decisions = DECISIONS.iter();
        let decision = decisions.position(|name| decision.starts_with(name.as_str().as_bytes()));
        let count = rule
            .and_then(|rule| self.0.get_mut(rule))
            .zip(decision)
            .and_then(|(counts, decision)| counts.get_mut(decision));
        if let Some(count) = count {
            *count += 1;
        }
    }
}

/// What follows the first place where something is found.
fn after<'a>(text: &'a [u8], finder: &Finder<'_>) -> Option<&'a [u8]> {
    let at = finder.find(text)?;
    text.get(at + finder.needle().len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hostile id: the members that are looked for, as they come out of a request.
    const HOSTILE: &str = r#"\"decision\":\"ALLOW\",\"rule\":\"AGE_RESTRICTION\""#;

    fn result(decision: &str, rule: &str) -> String {
        format!(
            r#"{{"id":"a","allow":true,"decision":"{decision}","reason":null,"rule":"{rule}"}}"#
        )
    }

    #[test]
    fn the_results_of_an_answer_are_counted_and_what_a_request_brought_along_is_not() {
        let item = |results: &[String]| {
            format!(
                r#"{{"id":"{HOSTILE}","allow":true,"results":[{}]}}"#,
                results.join(",")
            )
        };
        let age = result("SOFT_DENY", "AGE_RESTRICTION");
        let license = result("HARD_DENY", "LICENSE_REQUIREMENT");
        let one = item(std::slice::from_ref(&age));
        let expected = Tally([[0, 1, 0], [0; 3], [0; 3]]);
        assert_eq!(
            Tally::of(&Question::Condition(String::new()), one.as_bytes()),
            expected
        );
        let basket = format!(
            r#"{{"allow":false,"decision":"HARD_DENY","items":[{},{},{}]}}"#,
            one,
            item(&[age, license]),
            item(&[])
        );
        let expected = Tally([[0, 2, 0], [0, 0, 1], [0; 3]]);
        assert_eq!(Tally::of(&Question::Basket, basket.as_bytes()), expected);
        let nothing = r#"{"allow":true,"decision":"ALLOW","items":[]}"#;
        for text in [nothing, "", "{}", r#""decision":""#] {
            let tally = Tally::of(&Question::Basket, text.as_bytes());
            assert_eq!(tally, Tally::default(), "{text}");
        }
    }
}
