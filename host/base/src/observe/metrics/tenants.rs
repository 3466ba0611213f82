//! Counts by tenant, if that is switched on: at most [`MAX_TENANTS`] by name, those that ask first, and all others
//! together.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use prometheus_client::registry::Registry;
use tillgate_engine::outcome::Decision;

use super::{Counter, Counters, counters};

/// The most tenants that are named.
pub const MAX_TENANTS: usize = 1_000;

/// The label of the others; no tenant can have that name.
const OTHERS: &str = "(other)";

/// The decisions that are counted.
const DECISIONS: [Decision; 3] = [Decision::Allow, Decision::SoftDeny, Decision::HardDeny];

/// The metrics of all tenants.
#[derive(Debug)]
pub struct Tenants {
    requests: Counters<1>,
    decisions: Counters<2>,
    named: RwLock<HashMap<Box<str>, Arc<Tenant>>>,
    others: Arc<Tenant>,
}

/// The counters of a tenant.
#[derive(Debug)]
struct Tenant {
    requests: Counter,
    decisions: [Counter; DECISIONS.len()],
}

impl Tenants {
    pub fn new(registry: &Mutex<Registry>) -> Self {
        let requests = counters(
            registry,
            "tillgate_tenant_requests",
            "Requests with a valid token by tenant",
            ["tenant"],
        );
        let decisions = counters(
            registry,
            "tillgate_tenant_decisions",
            "Decisions by tenant and decision",
            ["tenant", "decision"],
        );
        Self {
            others: tenant(&requests, &decisions, OTHERS),
            requests,
            decisions,
            named: RwLock::default(),
        }
    }

    /// Counts a request.
    pub fn count_request(&self, tenant: &str) {
        self.of(tenant).requests.inc();
    }

    /// Counts decisions.
    pub fn count_decisions(&self, tenant: &str, decision: Decision, count: u64) {
        let tenant = self.of(tenant);
        let mut counters = DECISIONS.iter().zip(&tenant.decisions);
        if let Some((_, counter)) = counters.find(|(counted, _)| **counted == decision) {
            counter.inc_by(count);
        }
    }

    fn of(&self, tenant: &str) -> Arc<Tenant> {
        let known = {
            let named = self.named.read();
            match named.get(tenant) {
                Some(known) => Some(known),
                None if named.len() >= MAX_TENANTS => Some(&self.others),
                None => None,
            }
            .cloned()
        };
        known.unwrap_or_else(|| {
            let mut named = self.named.write();
            if named.len() >= MAX_TENANTS && !named.contains_key(tenant) {
                return Arc::clone(&self.others);
            }
            let new = || self::tenant(&self.requests, &self.decisions, tenant);
            Arc::clone(named.entry(tenant.into()).or_insert_with(new))
        })
    }
}

/// Returns the counters of a tenant, which exist from then on.
fn tenant(requests: &Counters<1>, decisions: &Counters<2>, name: &str) -> Arc<Tenant> {
    let name = name.to_owned();
    Arc::new(Tenant {
        decisions: DECISIONS.map(|decision| {
            let decision = decision.as_str().to_owned();
            decisions.with([name.clone(), decision])
        }),
        requests: requests.with([name]),
    })
}
