//! The memory use of conditions and projects, for the operators of the host.

use std::sync::Arc;

use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::per_tenant::PerTenant;
use tillgate_base::observe::metrics::{AGE_OF_MEMORY, MemoryUse, Sample};

use super::Conditions;
use super::cache::PartitionCache;
use super::tenants::Tenant;
use parking_lot::RwLock;

impl Conditions {
    /// Returns how many tenants are in memory.
    #[must_use]
    pub fn held_tenants(&self) -> usize {
        let tenants = self.tenants.read();
        tenants.all().len()
    }

    /// Registers the metrics of what is in memory, and its age for the readiness of the host.
    pub(super) fn measure(&self) {
        let app = &self.app;
        let global = Arc::downgrade(&self.global);
        app.readiness.rests_on(app.config.max_stale, move |now| {
            let age = global
                .upgrade()
                .map(|global| global.subscription().age(now));
            age.unwrap_or_default()
        });
        let (global, tenants) = (Arc::clone(&self.global), Arc::clone(&self.tenants));
        app.metrics.collect_memory(move || held(&global, &tenants));
        let (global, tenants) = (Arc::clone(&self.global), Arc::clone(&self.tenants));
        let clock = Arc::clone(&app.clock);
        app.metrics.collect(AGE_OF_MEMORY, move || {
            let now = clock.now();
            let tenants = tenants.read();
            let caches = tenants.all().map(|tenant| tenant.own()).chain([&global]);
            let ages = caches.filter_map(|cache| cache.subscription().age_if_used(now));
            let oldest = ages.max().unwrap_or_default().as_secs_f64();
            vec![Sample::new([("kind", "conditions")], oldest)]
        });
    }
}

/// Returns the memory use of the platform and of tenants.
fn held(global: &PartitionCache, tenants: &RwLock<PerTenant<Tenant>>) -> Vec<MemoryUse> {
    let tenants = tenants.read();
    let own = tenants.all().map(|tenant| tenant.own().content());
    let mut conditions = (0, 0);
    let mut projects = (0, 0);
    for content in own.chain([global.content()]) {
        conditions.0 += content.conditions.size();
        conditions.1 += content.condition_bytes;
        projects.0 += content.projects.size();
        projects.1 += content.project_bytes;
    }
    let held = |kind, (count, bytes)| MemoryUse {
        kind,
        count,
        bytes: Some(bytes),
    };
    let tenants = MemoryUse {
        kind: "tenants",
        count: tenants.all().len(),
        bytes: None,
    };
    vec![
        held("conditions", conditions),
        held("projects", projects),
        tenants,
    ]
}
