//! Metrics of the queues.

use std::sync::Arc;

use tillgate_store::clock::Timestamp;

use super::Runner;
use super::queue::QueueStatus;
use crate::observe::metrics::{MetricFamily, Metrics, Sample};

impl Runner {
    /// Registers the metrics of the queues, for as long as the runner exists.
    pub fn measure(self: &Arc<Self>, metrics: &Metrics) {
        let running = MetricFamily::gauge(
            "tillgate_queue_jobs_running",
            "Jobs that run on this host, by queue",
        );
        self.collect(metrics, running, |labels, queue, _| {
            Sample::count(labels, queue.running)
        });
        let waiting = MetricFamily::gauge(
            "tillgate_queue_partitions_waiting",
            "Partitions with due jobs that wait for a free place on this host, by queue",
        );
        self.collect(metrics, waiting, |labels, queue, _| {
            Sample::count(labels, queue.waiting_partitions)
        });
        let oldest = MetricFamily::gauge(
            "tillgate_queue_oldest_due",
            "The time for which the longest of these has been waiting, by queue; 0 if none is",
        );
        self.collect(metrics, oldest.seconds(), |labels, queue, now| {
            let waited = queue.waiting_since.map(|since| now.since(since));
            Sample::new(labels, waited.unwrap_or_default().as_secs_f64())
        });
        let failures = MetricFamily::counter(
            "tillgate_queue_failures",
            "Attempts at jobs that failed, by queue",
        );
        self.collect(metrics, failures, |labels, queue, _| {
            Sample::count(labels, queue.failures)
        });
        let dead_letters = MetricFamily::counter(
            "tillgate_queue_dead_lettered",
            "Jobs that became dead letters because they failed too often, by queue",
        );
        self.collect(metrics, dead_letters, |labels, queue, _| {
            Sample::count(labels, queue.dead_lettered)
        });
        let dead_letters = MetricFamily::gauge(
            "tillgate_queue_dead_letters",
            "Present dead letters, by queue, in the tenants that this host checks",
        );
        self.collect(metrics, dead_letters, |labels, queue, _| {
            Sample::count(labels, queue.dead_letters)
        });
    }

    /// Collects a sample of each queue at each scrape.
    fn collect(
        self: &Arc<Self>,
        metrics: &Metrics,
        family: MetricFamily,
        sample: fn([(&'static str, &'static str); 1], &QueueStatus, Timestamp) -> Sample,
    ) {
        let runner = Arc::downgrade(self);
        metrics.collect(family, move || {
            let Some(runner) = runner.upgrade() else {
                return Vec::new();
            };
            let now = runner.clock.now();
            let queues = runner.status();
            let samples = queues.iter();
            let samples = samples.map(|queue| sample([("queue", queue.queue)], queue, now));
            samples.collect()
        });
    }
}
