//! What is seen of the record from outside: what was written, what was dropped and why, and a warning while it is not whole.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::queue::Dropped;
use super::{Conditions, DecisionLog};
use crate::conditions::choice::Choice;
use crate::observe::metrics::{MetricFamily, Sample};
use crate::observe::readiness::Warning;

/// What becomes of what tills hand in, as it is counted.
const HANDED_IN: [&str; 3] = ["written", "repeated", "left_out"];

impl Conditions {
    /// Registers what is known of the record. Where there is none, all counts are 0.
    pub(in crate::conditions) fn measure_record(&self) {
        let written = MetricFamily::counter(
            "tillgate_decision_log_lines",
            "Lines that were written to the record of decisions",
        );
        self.collect_of_record(written, |log| {
            let written = log.map_or(0, |log| log.shared.written.load(Ordering::Relaxed));
            vec![Sample::count([], written)]
        });
        let dropped = MetricFamily::counter(
            "tillgate_decision_log_dropped",
            "Decisions that the record lacks, by reason",
        );
        self.collect_of_record(dropped, |log| {
            let counts = match log {
                Some(log) => log.shared.queue.dropped(),
                None => Dropped::ALL.map(|why| (why, 0)),
            };
            let sample =
                |(why, count): (Dropped, u64)| Sample::count([("reason", why.as_str())], count);
            counts.map(sample).into()
        });
        let errors = MetricFamily::counter(
            "tillgate_decision_log_errors",
            "Attempts to write to the record of decisions that failed",
        );
        self.collect_of_record(errors, |log| {
            let errors = log.map_or(0, |log| log.shared.errors.load(Ordering::Relaxed));
            vec![Sample::count([], errors)]
        });
        let waiting = MetricFamily::gauge(
            "tillgate_decision_log_waiting",
            "What the decisions take that wait to be written to the record",
        );
        self.collect_of_record(waiting.bytes(), |log| {
            let bytes = log.map_or(0, |log| log.shared.queue.bytes());
            vec![Sample::count([], bytes)]
        });
        let handed_in = MetricFamily::counter(
            "tillgate_decision_log_handed_in",
            "Decisions that tills have handed in, by what became of them",
        );
        self.collect_of_record(handed_in, |log| {
            let mut samples = Vec::new();
            for (index, outcome) in HANDED_IN.into_iter().enumerate() {
                let counts = log.and_then(|log| log.shared.handed_in_counts.get(index));
                let count = counts.map_or(0, |count| count.load(Ordering::Relaxed));
                samples.push(Sample::count([("outcome", outcome)], count));
            }
            samples
        });
        self.warn();
    }

    fn collect_of_record(
        &self,
        family: MetricFamily,
        samples: fn(Option<&DecisionLog>) -> Vec<Sample>,
    ) {
        let log = self.decision_log.as_ref().map(Arc::downgrade);
        self.app.metrics.collect(family, move || {
            let log = log.as_ref().and_then(std::sync::Weak::upgrade);
            samples(log.as_deref())
        });
    }

    /// Warns while decisions cannot be written, or tenants want a record that this host does not write.
    fn warn(&self) {
        let log = self.decision_log.as_ref().map(Arc::downgrade);
        let tenants = Arc::clone(&self.tenants);
        self.app.readiness.warn("decision_log", move |_| {
            let (count, why) = match &log {
                Some(log) => {
                    let log = log.upgrade().filter(|log| log.shared.is_failing())?;
                    let why = "decisions wait because they cannot be written to their record";
                    let count = usize::try_from(log.shared.waiting());
                    (count.unwrap_or(usize::MAX), why)
                }
                None => {
                    let tenants = tenants.read();
                    let wants = tenants
                        .all()
                        .filter(|tenant| tenant.own().current().on_record() != Choice::None);
                    let why = "tenants want decisions on record, and this host has no record";
                    (wants.count(), why)
                }
            };
            (count > 0 || log.is_some()).then_some(Warning { count, why })
        });
    }
}
