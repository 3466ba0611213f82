//! Runs tests: decides each request by the rule that the evaluate call would use, and compares the verdict with the
//! expected one.

use super::{Request, Test, Tests, Verdict};
use crate::catalog::{Catalog, decide_on};
use crate::condition::ConditionId;
use crate::json::push;
use crate::outcome::{ItemDecision, Reason};
use crate::restriction_checks::Checks;

/// The result of running tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<'t, 'a> {
    /// The number of tests that passed.
    pub passed: usize,
    /// The tests that failed, in order.
    pub failed: Vec<Failure<'t, 'a>>,
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure<'t, 'a> {
    /// Its position among the tests, from 0.
    pub index: usize,
    /// The test.
    pub test: &'t Test<'a>,
    /// The actual verdict; `None` if the condition is not in force.
    pub actual: Option<Verdict<Vec<Reason>>>,
}

/// The rule that decides.
#[derive(Clone, Copy, Debug)]
pub enum By<'c> {
    /// The condition in force with this id. The catalog has all conditions with the id, of either scope.
    Condition(&'c ConditionId, &'c Catalog),
    /// A project; `None` if it is unreachable.
    Project(Option<&'c Checks>),
}

impl By<'_> {
    fn decide(self, request: &Request<'_>) -> Option<Verdict<Vec<Reason>>> {
        match (self, request) {
            (By::Condition(id, catalog), Request::Condition(request)) => {
                let decided = catalog.decide(id.as_str(), request).ok();
                decided.map(|decided| Verdict::of(&decided))
            }
            (By::Project(checks), Request::Project(item)) => {
                Some(Verdict::of(&decide_on(checks, item)))
            }
            _ => None,
        }
    }
}

impl<'a> Tests<'a> {
    /// Runs the tests.
    #[must_use]
    pub fn run(&self, by: By<'_>) -> Report<'_, 'a> {
        let mut failed = Vec::new();
        for (index, test) in self.all.iter().enumerate() {
            let actual = by.decide(&test.request);
            if !actual.as_ref().is_some_and(|actual| test.expects(actual)) {
                failed.push(Failure {
                    index,
                    test,
                    actual,
                });
            }
        }
        Report {
            passed: self.all.len() - failed.len(),
            failed,
        }
    }
}

impl Test<'_> {
    fn expects(&self, actual: &Verdict<Vec<Reason>>) -> bool {
        let reasons = self.expected.reasons.as_ref();
        self.expected.decision == actual.decision
            && reasons.is_none_or(|reasons| {
                let is_expected = |reason| reasons.contains(reason);
                let is_actual = |reason| actual.reasons.contains(reason);
                actual.reasons.iter().all(is_expected) && reasons.iter().all(is_actual)
            })
    }
}

impl Verdict<Vec<Reason>> {
    /// Returns the verdict of an answer: each of its reasons once, in the order of its results.
    fn of(decided: &ItemDecision<'_>) -> Self {
        let mut reasons = Vec::new();
        for reason in decided.results.iter().filter_map(|result| result.reason) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Self {
            decision: decided.decision(),
            reasons,
        }
    }
}

impl Failure<'_, '_> {
    /// Returns the expected and the actual verdict: `expected HARD_DENY, is ALLOW`.
    #[must_use]
    pub fn message(&self) -> String {
        let mut message = Vec::new();
        self.write_message(&mut message);
        String::from_utf8(message).unwrap_or_default()
    }

    /// Appends the message, which needs no escaping in JSON.
    pub(super) fn write_message(&self, out: &mut Vec<u8>) {
        let expected = &self.test.expected;
        push("expected ", out);
        push(expected.decision.as_str(), out);
        let Some(actual) = &self.actual else {
            return push(", but the condition is not in force", out);
        };
        let is_of_reasons = expected.decision == actual.decision;
        let reasons = expected.reasons.as_deref().filter(|_| is_of_reasons);
        push_reasons(reasons, out);
        push(", is ", out);
        push(actual.decision.as_str(), out);
        push_reasons(reasons.map(|_| actual.reasons.as_slice()), out);
    }
}

/// Appends ` with REASON and REASON`, or ` without a reason`.
fn push_reasons(reasons: Option<&[Reason]>, out: &mut Vec<u8>) {
    if reasons.is_some_and(<[Reason]>::is_empty) {
        push(" without a reason", out);
    }
    for (index, reason) in reasons.into_iter().flatten().enumerate() {
        push(if index == 0 { " with " } else { " and " }, out);
        push(reason.as_str(), out);
    }
}
