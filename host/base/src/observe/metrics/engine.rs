//! Metrics of the module's pool: its instances, those that trapped, and the memory that they take.

use std::sync::Arc;

use super::{MemoryUse, MetricFamily, Metrics, Sample};
use crate::engine::{EnginePool, EngineStatus};

impl Metrics {
    /// Registers the metrics of a pool, for as long as the pool exists.
    pub fn measure_engine(&self, pool: &Arc<EnginePool>) {
        let collect = |family: MetricFamily, samples: fn(&EngineStatus) -> Vec<Sample>| {
            let pool = Arc::downgrade(pool);
            self.collect(family, move || {
                let status = pool.upgrade().map(|pool| pool.status());
                status.map(|status| samples(&status)).unwrap_or_default()
            });
        };
        let instances = MetricFamily::gauge(
            "tillgate_engine_instances",
            "Instances of the module, in use and idle",
        );
        collect(instances, |now| {
            vec![
                Sample::count([("state", "in_use")], now.in_use),
                Sample::count([("state", "idle")], now.idle),
            ]
        });
        let made = MetricFamily::counter(
            "tillgate_engine_instances_made",
            "Instances of the module that were created",
        );
        collect(made, |now| vec![Sample::count([], now.made)]);
        let traps = MetricFamily::counter(
            "tillgate_engine_traps",
            "Instances of the module that trapped or exceeded a limit",
        );
        collect(traps, |now| vec![Sample::count([], now.failed)]);
        let pool = Arc::downgrade(pool);
        self.collect_memory(move || {
            let Some(now) = pool.upgrade().map(|pool| pool.status()) else {
                return Vec::new();
            };
            vec![
                MemoryUse {
                    kind: "instances",
                    count: now.idle + now.in_use,
                    bytes: Some(now.memory),
                },
                MemoryUse {
                    kind: "prepared_documents",
                    count: now.prepared,
                    bytes: Some(now.prepared_bytes),
                },
            ]
        });
    }
}
