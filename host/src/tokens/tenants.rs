//! Tenants. A client registers for a tenant that an operator has created.

use serde::{Deserialize, Serialize};

use super::Tokens;
use crate::clock::Timestamp;
use crate::data::etag::{self, Preconditions, Written};
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};
use crate::identity::{Caller, Permission, TenantId};

const TENANT: &str = "tenant/";

/// The key of a tenant.
pub(super) fn key(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}")
}

/// A tenant as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct StoredTenant {
    name: Option<String>,
    created: Timestamp,
}

impl StoredTenant {
    pub(super) const fn new(name: Option<String>, created: Timestamp) -> Self {
        Self { name, created }
    }
}

/// Plans to expect a tenant.
///
/// # Errors
/// [`Error::Invalid`] when it does not exist.
pub(super) async fn plan_existing(
    records: &Records,
    change: &mut Change,
    tenant: &TenantId,
) -> Result<()> {
    let key = key(tenant);
    let Some(read) = records.get::<StoredTenant>(&key).await? else {
        return Err(Error::invalid("$.tenantId", "is not the id of a tenant"));
    };
    change.expect(&key, Some(&read));
    Ok(())
}

/// A tenant as it is answered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    tenant_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    created_at: String,
}

impl Tenant {
    fn new(id: String, stored: StoredTenant) -> Self {
        let created_at = stored.created.to_millis_text();
        Self {
            tenant_id: id,
            name: stored.name,
            created_at,
        }
    }
}

impl Tokens {
    /// Creates a tenant, or renames it.
    ///
    /// # Errors
    /// [`Error::Outdated`].
    pub async fn put_tenant(
        &self,
        tenant: &TenantId,
        name: Option<&str>,
        preconditions: &Preconditions,
    ) -> Result<(Written, Tenant)> {
        let key = key(tenant);
        let plan = async || {
            let mut change = Change::default();
            let read: Option<Versioned<StoredTenant>> = self.records.get(&key).await?;
            let answered = |read: &Versioned<StoredTenant>| {
                etag::of_json(&Tenant::new(tenant.to_string(), read.record.clone()))
            };
            preconditions.check(read.as_ref().map(answered).transpose()?.as_ref())?;
            change.expect(&key, read.as_ref());
            let created = read
                .as_ref()
                .map_or_else(|| self.clock.now(), |read| read.record.created);
            let stored = StoredTenant::new(name.map(str::to_owned), created);
            change.put(&key, &stored)?;
            Ok((change, (Written::new(read.is_some()), stored)))
        };
        let (written, stored) = self.records.change(plan).await?;
        Ok((written, Tenant::new(tenant.to_string(), stored)))
    }

    /// One tenant.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn tenant(&self, tenant: &TenantId) -> Result<Tenant> {
        let read: Option<Versioned<StoredTenant>> = self.records.get(&key(tenant)).await?;
        let found = read.map(|read| Tenant::new(tenant.to_string(), read.record));
        found.ok_or_else(|| Error::NotFound("no tenant has this id".to_owned()))
    }

    /// Every tenant, by id.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn tenants(&self) -> Result<Vec<Tenant>> {
        let tenants = self.records.all::<StoredTenant>(TENANT).await?;
        Ok(tenants
            .into_iter()
            .map(|(id, stored)| Tenant::new(id, stored))
            .collect())
    }

    /// Plans to expect a tenant, or to create it: an operator's template does (`tokens.md`, "Life of a client").
    pub(super) async fn ensure_tenant(
        &self,
        change: &mut Change,
        caller: &Caller,
        tenant: &TenantId,
    ) -> Result<()> {
        let key = key(tenant);
        let read: Option<Versioned<StoredTenant>> = self.records.get(&key).await?;
        change.expect(&key, read.as_ref());
        if read.is_none() {
            caller.require(Permission::TenantsWrite)?;
            change.put(&key, &StoredTenant::new(None, self.clock.now()))?;
        }
        Ok(())
    }
}
