//! What is measured of deliveries: what became of them, how long attempts took, and what is in memory for them.

use std::sync::Arc;

use super::send::Outcome;
use crate::observe::metrics::{AGE_OF_MEMORY, Counter, Histogram, MemoryUse, Metrics, Sample};
use crate::webhooks::Webhooks;
use crate::webhooks::events::delivery::Status;

/// See the module's documentation.
#[derive(Debug)]
pub(in crate::webhooks) struct Measured {
    delivered: Counter,
    retrying: Counter,
    failed: Counter,
    held: Counter,
    given_up: Counter,
    successes: Histogram,
    failures: Histogram,
}

impl Measured {
    pub(in crate::webhooks) fn new(metrics: &Metrics) -> Self {
        let outcomes = metrics.counters(
            "tillgate_deliveries",
            "Workers of deliveries by outcome: delivered, retrying, failed (by its last attempt), held (its webhook is \
             disabled) or given_up (its webhook was removed, or disabled for too long)",
            ["outcome"],
        );
        let attempts = metrics.histograms(
            "tillgate_delivery_attempt_duration",
            "How long attempts to deliver took, by whether they succeeded",
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

    /// An attempt was made, and this became of the delivery.
    pub(in crate::webhooks) fn attempted(&self, status: Status, outcome: &Outcome) {
        let durations = match outcome.has_succeeded() {
            true => &self.successes,
            false => &self.failures,
        };
        durations.record(outcome.attempt.took());
        let count = match status {
            Status::Delivered => &self.delivered,
            Status::Failed => &self.failed,
            _ => &self.retrying,
        };
        count.inc();
    }

    /// A delivery is held.
    pub(in crate::webhooks) fn held(&self) {
        self.held.inc();
    }

    /// A delivery was given up without an attempt.
    pub(in crate::webhooks) fn given_up(&self) {
        self.given_up.inc();
    }
}

/// Registers what is known of what is in memory.
pub(in crate::webhooks) fn measure(webhooks: &Arc<Webhooks>) {
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
        let held = |kind, count| MemoryUse {
            kind,
            count,
            bytes: None,
        };
        let (tenants, all) = webhooks.caches.size();
        vec![
            held("webhook_tenants", tenants),
            held("webhooks", all),
            held("webhook_lanes", webhooks.lanes.count()),
            held("bearer_tokens", webhooks.identity.bearers()),
        ]
    });
}
