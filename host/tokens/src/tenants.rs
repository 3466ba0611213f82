//! Tenants. A client registers for a tenant that an operator has created.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_api::problem::{TENANT_NOT_FOUND, TENANT_UNKNOWN};
use tillgate_api::schema::{tenant_id, time};
use tillgate_base::data::etag::{self, Preconditions, Written};
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::data::tenant::{StoredTenant, TENANT, TenantSettings, key};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Caller, Permission, TenantId};

use super::Tokens;
use super::members::{title_schema, tolerance_schema};

/// Makes the change expect a tenant.
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

/// A tenant.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    #[schemars(schema_with = "tenant_id")]
    tenant_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "title_schema")]
    name: Option<String>,
    // A number that keeps the digits that it was written with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tolerance_schema")]
    rate_tolerance_percent: Option<Box<RawValue>>,
    #[schemars(schema_with = "time")]
    created_at: String,
}

impl Tenant {
    fn new(id: String, stored: StoredTenant) -> Result<Self> {
        let created_at = stored.created.to_millis_text();
        let tolerance = stored.settings.rate_tolerance_percent;
        let tolerance = tolerance.map(RawValue::from_string).transpose();
        Ok(Self {
            tenant_id: id,
            name: stored.settings.name,
            rate_tolerance_percent: tolerance.map_err(|cause| Error::Bug(cause.to_string()))?,
            created_at,
        })
    }
}

impl Tokens {
    /// Creates a tenant, or replaces its settings.
    ///
    /// # Errors
    /// [`Error::Outdated`].
    pub async fn put_tenant(
        &self,
        tenant: &TenantId,
        settings: &TenantSettings,
        preconditions: &Preconditions,
    ) -> Result<(Written, Tenant)> {
        let key = key(tenant);
        let plan = async || {
            let mut change = Change::default();
            let read: Option<Versioned<StoredTenant>> = self.records.get(&key).await?;
            let answered = |read: &Versioned<StoredTenant>| {
                etag::of_json(&Tenant::new(tenant.to_string(), read.record.clone())?)
            };
            preconditions.check(read.as_ref().map(answered).transpose()?.as_ref())?;
            if let Some(read) = read
                .as_ref()
                .filter(|read| read.record.settings == *settings)
            {
                return Ok((change, (Written::Unchanged, read.record.clone())));
            }
            change.expect(&key, read.as_ref());
            let created = read
                .as_ref()
                .map_or_else(|| self.clock.now(), |read| read.record.created);
            let settings = settings.clone();
            let stored = StoredTenant { settings, created };
            change.put(&key, &stored)?;
            Ok((change, (Written::new(read.is_some()), stored)))
        };
        let (written, stored) = self.records.change(plan).await?;
        Ok((written, Tenant::new(tenant.to_string(), stored)?))
    }

    /// Returns one tenant.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn tenant(&self, tenant: &TenantId) -> Result<Tenant> {
        let read: Option<Versioned<StoredTenant>> = self.records.get(&key(tenant)).await?;
        let read = read.ok_or_else(|| Error::missing(TENANT_NOT_FOUND, tenant))?;
        Tenant::new(tenant.to_string(), read.record)
    }

    /// Refuses a user whose tenant does not exist, because an issuer may name any. A client's tenant exists, or the
    /// client could not have registered. While the store is unavailable, nobody is refused.
    ///
    /// # Errors
    /// [`Error::Denied`] naming the tenant.
    pub(super) async fn require_existing_tenant(&self, caller: &Caller) -> Result<()> {
        if caller.is_user() && matches!(self.tenant(&caller.tenant).await, Err(Error::NotFound(..)))
        {
            let tenant = &caller.tenant;
            return Err(Error::Denied(
                TENANT_UNKNOWN,
                format!("the token names the tenant {tenant}, which does not exist here"),
            ));
        }
        Ok(())
    }

    /// Returns every tenant, by id.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn tenants(&self) -> Result<Vec<Tenant>> {
        let tenants = self.records.all::<StoredTenant>(TENANT).await?;
        let tenants = tenants.into_iter();
        tenants
            .map(|(id, stored)| Tenant::new(id, stored))
            .collect()
    }

    /// Makes the change expect a tenant or create it, as an operator's template does (`tokens.md`, "Life of a client").
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
            change.put(&key, &StoredTenant::new(self.clock.now()))?;
        }
        Ok(())
    }
}
