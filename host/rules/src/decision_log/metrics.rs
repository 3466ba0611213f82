//! The metrics of the log: what was written, what waits and what is missing, and a warning while it is incomplete.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tillgate_base::observe::metrics::{MetricFamily, Metrics, Sample};
use tillgate_base::observe::readiness::Warning;

use super::DecisionLog;

/// Registers the metrics of the log. If there is none, all counts are 0.
pub fn measure(log: Option<&Arc<DecisionLog>>, metrics: &Metrics) {
    let collect = |family: MetricFamily, count: fn(&DecisionLog) -> u64| {
        let log = log.map(Arc::downgrade);
        metrics.collect(family, move || {
            let log = log.as_ref().and_then(Weak::upgrade);
            vec![Sample::count([], log.map_or(0, |log| count(&log)))]
        });
    };
    let lines = MetricFamily::counter(
        "tillgate_decision_log_lines",
        "Lines that were written to the decision log",
    );
    collect(lines, |log| log.queue.lines.load(Ordering::Relaxed));
    let missing = MetricFamily::counter(
        "tillgate_decision_log_missing",
        "Decisions that are missing from the decision log because there was no room for them to wait",
    );
    collect(missing, |log| log.queue.all_missing.load(Ordering::Relaxed));
    let waiting = MetricFamily::gauge(
        "tillgate_decision_log_waiting",
        "Size of the lines that wait to be written to the decision log",
    );
    collect(waiting.bytes(), |log| {
        u64::try_from(log.queue.bytes()).unwrap_or(u64::MAX)
    });
}

impl DecisionLog {
    /// Warns while nothing can be written, or while decisions are missing that the log does not report yet; counts these.
    pub fn warning(&self) -> Option<Warning> {
        let missing = self.queue.missing().map_or(0, |missing| missing.decisions);
        let why = match (self.queue.is_failing(), missing) {
            (false, 0) => return None,
            (true, _) => "decisions wait because they cannot be written to their log",
            (false, _) => "decisions are missing from their log: more are made than can be written",
        };
        let count = usize::try_from(missing).unwrap_or(usize::MAX);
        Some(Warning { count, why })
    }
}
