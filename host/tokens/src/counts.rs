//! The counts of each tenant's clients and templates, for quotas. The commits that add or remove one update them.

use std::net::IpAddr;
use std::ops::{Add, Neg, Sub};

use serde::{Deserialize, Serialize};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::Result;
use tillgate_base::identity::{NO_TENANT, TenantId};

/// The number of clients and templates, or a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Counts {
    /// All clients, pending ones included.
    pub(super) clients: i64,
    pub(super) pending: i64,
    pub(super) templates: i64,
    /// The bytes of the templates' JSON.
    #[serde(default)]
    pub(super) template_bytes: i64,
}

impl Counts {
    pub(super) const CLIENT: Self = Self {
        clients: 1,
        pending: 0,
        templates: 0,
        template_bytes: 0,
    };
    pub(super) const PENDING: Self = Self {
        clients: 0,
        pending: 1,
        templates: 0,
        template_bytes: 0,
    };
    pub(super) const PENDING_CLIENT: Self = Self {
        clients: 1,
        pending: 1,
        templates: 0,
        template_bytes: 0,
    };
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            clients: self.clients + other.clients,
            pending: self.pending + other.pending,
            templates: self.templates + other.templates,
            template_bytes: self.template_bytes + other.template_bytes,
        }
    }
}

impl Neg for Counts {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            clients: -self.clients,
            pending: -self.pending,
            templates: -self.templates,
            template_bytes: -self.template_bytes,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

fn key(tenant: Option<&TenantId>) -> String {
    format!("counts/{}", tenant.map_or(NO_TENANT, TenantId::as_str))
}

/// Returns the counts of a tenant; without a tenant, those of the global templates.
pub(super) async fn of(records: &Records, tenant: Option<&TenantId>) -> Result<Counts> {
    let read: Option<Versioned<Counts>> = records.get(&key(tenant)).await?;
    Ok(read.map(|read| read.record).unwrap_or_default())
}

/// Adds a difference to the counts in the change, and returns the new counts.
pub(super) async fn plan(
    records: &Records,
    change: &mut Change,
    tenant: Option<&TenantId>,
    difference: Counts,
) -> Result<Counts> {
    let key = key(tenant);
    let read: Option<Versioned<Counts>> = records.get(&key).await?;
    change.expect(&key, read.as_ref());
    let before = read.map(|read| read.record).unwrap_or_default();
    let mut counts = before + difference;
    // Earlier versions did not count the bytes.
    counts.template_bytes = counts.template_bytes.max(0);
    change.put(&key, &counts)?;
    Ok(counts)
}

/// Adds a difference to the count of a tenant's pending clients from an address, and returns the new count.
pub(super) async fn plan_pending_from(
    records: &Records,
    change: &mut Change,
    tenant: &TenantId,
    (from, difference): (IpAddr, i64),
) -> Result<i64> {
    let key = format!("pending-from/{tenant}/{from}");
    let read: Option<Versioned<i64>> = records.get(&key).await?;
    change.expect(&key, read.as_ref());
    let count = read.map_or(0, |read| read.record) + difference;
    match count {
        ..=0 => change.delete(&key),
        count => change.put(&key, &count)?,
    }
    Ok(count)
}
