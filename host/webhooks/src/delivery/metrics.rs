//! The metrics of deliveries: their outcomes, the durations of attempts, and what is in memory for them.

use std::sync::Arc;

use tillgate_base::observe::metrics::{
    AGE_OF_MEMORY, Counter, Histogram, MemoryUse, Metrics, Sample,
};

use super::answer::AttemptResult;
use crate::Webhooks;
use crate::events::delivery_record::Status;

#[derive(Debug)]
pub(crate) struct DeliveryMetrics {
    delivered: Counter,
    retrying: Counter,
    failed: Counter,
    held: Counter,
    given_up: Counter,
    successes: Histogram,
    failures: Histogram,
}

impl DeliveryMetrics {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let outcomes = metrics.counters(
            "tillgate_deliveries",
            "Deliveries by outcome: delivered, retrying, failed (by its last attempt), held (its webhook is \
             disabled) or given_up (its webhook was removed, or disabled for too long)",
            ["outcome"],
        );
        let attempts = metrics.histograms(
            "tillgate_delivery_attempt_duration",
            "Duration of delivery attempts, by success",
            ["succeeded"],
            Histogram::long,
        );
        Self {
            delivered: outcomes.with(["delivered"]),
            retrying: outcomes.with(["retrying"]),
            failed: outcomes.with(["failed"]),
            held: outcomes.with(["held"]),
            given_up: outcomes.with(["given_up"]),
            successes: attempts.with(["true"]),
            failures: attempts.with(["false"]),
        }
    }

    /// Counts the outcome of a delivery after an attempt, and records how long the attempt took.
    pub(crate) fn attempted(&self, status: Status, result: &AttemptResult) {
        let durations = if result.has_succeeded() {
            &self.successes
        } else {
            &self.failures
        };
        durations.record(result.attempt.took());
        let count = match status {
            Status::Delivered => &self.delivered,
            Status::Failed => &self.failed,
            _ => &self.retrying,
        };
        count.inc();
    }

    /// Counts a delivery that is held.
    pub(crate) fn held(&self) {
        self.held.inc();
    }

    /// Counts a delivery that was given up without an attempt.
    pub(crate) fn given_up(&self) {
        self.given_up.inc();
    }
}

/// Registers the metrics of what is in memory.
pub(crate) fn collect(webhooks: &Arc<Webhooks>) {
    let metrics = &webhooks.app.metrics;
    let weak = Arc::downgrade(webhooks);
    metrics.collect(AGE_OF_MEMORY, move || {
        let age = weak.upgrade().map(|it| it.caches.age(it.app.clock.now()));
        let age = age.unwrap_or_default().as_secs_f64();
        vec![Sample::new([("kind", "webhooks")], age)]
    });
    let weak = Arc::downgrade(webhooks);
    metrics.collect_memory(move || {
        let Some(webhooks) = weak.upgrade() else {
            return Vec::new();
        };
        let memory_use = |kind, count| MemoryUse {
            kind,
            count,
            bytes: None,
        };
        let (tenants, all) = webhooks.caches.size();
        vec![
            memory_use("webhook_tenants", tenants),
            memory_use("webhooks", all),
            memory_use("webhook_limiters", webhooks.limiters.count()),
            memory_use("webhook_targets", webhooks.targets.count()),
            memory_use("publishing_tenants", webhooks.admission.tenants()),
            memory_use("bearer_tokens", webhooks.identity.bearers()),
            memory_use("webhook_counts", webhooks.recorder.counted()),
            memory_use("webhook_events", webhooks.events.count()),
            memory_use("event_waiters", webhooks.waiters.reserved()),
        ]
    });
}
