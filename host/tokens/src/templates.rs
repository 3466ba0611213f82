//! Registration templates: the claims that clients of a piece of software must have, and the roles that they get.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_api::problem::{TEMPLATE_EXISTS, TEMPLATE_NOT_FOUND};
use tillgate_base::data::etag::{self, Preconditions, Written};
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Caller, NO_TENANT, TenantId};

use super::client_id::Software;
use super::counts::{self, Counts};
use super::members::{RoleReference, name_schema, roles_schema, schema_of_claims, title_schema};
use super::schema::{MAX_SCHEMA, Schema};
use super::{Tokens, tenants};

/// A template that a request creates or replaces.
#[derive(Clone, Debug)]
pub struct NewTemplate {
    /// The software that registers with it.
    pub software: Software,
    /// The name that people see.
    pub name: String,
    /// The JSON Schema of the claims, as sent.
    pub claims_schema: Box<RawValue>,
    /// The roles that a client gets.
    pub roles: Vec<String>,
    /// The program that manages it.
    pub managed_by: Option<ManagedBy>,
}

/// A registration template.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    #[schemars(schema_with = "name_schema")]
    software_id: String,
    #[schemars(schema_with = "name_schema")]
    software_version: String,
    #[schemars(schema_with = "title_schema")]
    name: String,
    #[schemars(schema_with = "schema_of_claims")]
    pub(super) claims_schema: Box<RawValue>,
    #[schemars(schema_with = "roles_schema")]
    roles: Vec<RoleReference>,
    /// The program that manages the template, if this is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    managed_by: Option<ManagedBy>,
}

impl Template {
    /// Returns the ids of the roles that a client gets.
    pub(super) fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|role| role.role_id.as_str())
    }
}

impl Template {
    /// Returns what the template adds to the counts of its tenant.
    fn counted(&self) -> Result<Counts> {
        let json = serde_json::to_vec(self).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(Counts {
            templates: 1,
            template_bytes: i64::try_from(json.len()).unwrap_or(i64::MAX),
            ..Counts::default()
        })
    }
}

impl From<NewTemplate> for Template {
    fn from(new: NewTemplate) -> Self {
        let roles = new.roles.into_iter().map(RoleReference::new).collect();
        let Software { id, version } = new.software;
        Self {
            software_id: id,
            software_version: version,
            name: new.name,
            claims_schema: new.claims_schema,
            roles,
            managed_by: new.managed_by,
        }
    }
}

/// Returns the key prefix of a tenant's templates, or of the global ones.
fn prefix(tenant: Option<&TenantId>) -> String {
    format!("template/{}/", tenant.map_or(NO_TENANT, TenantId::as_str))
}

pub(super) fn key(tenant: Option<&TenantId>, software: &Software) -> String {
    format!("{}{}/{}", prefix(tenant), software.id, software.version)
}

impl Tokens {
    /// Creates a tenant's template, or a global one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for its schema or roles, [`Error::Denied`], [`Error::Conflict`] when it exists.
    pub async fn create_template(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        new: NewTemplate,
    ) -> Result<Template> {
        let is_new = |stored: Option<&Template>| match stored {
            None => Ok(()),
            Some(_) => Err(Error::Conflict(
                TEMPLATE_EXISTS,
                "a template for this software already exists".to_owned(),
            )),
        };
        let (_, template) = self.write_template(caller, tenant, new, is_new).await?;
        Ok(template)
    }

    /// Creates or replaces a tenant's template, or a global one. Clients that registered with it stay as they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] for its schema or roles, [`Error::Denied`], [`Error::Outdated`].
    pub async fn put_template(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        new: NewTemplate,
        preconditions: &Preconditions,
    ) -> Result<(Written, Template)> {
        let check = |stored: Option<&Template>| {
            let etag = stored.map(etag::of_json).transpose()?;
            preconditions.check(etag.as_ref())
        };
        self.write_template(caller, tenant, new, check).await
    }

    /// Writes a template if `check` allows the stored one to be replaced.
    async fn write_template(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        new: NewTemplate,
        check: impl Fn(Option<&Template>) -> Result<()>,
    ) -> Result<(Written, Template)> {
        caller.require_tenant(tenant.map_or(NO_TENANT, TenantId::as_str))?;
        self.check_grant(caller, tenant, &new.roles)?;
        let text = new.claims_schema.get().to_owned();
        self.workers.run(move || Schema::compile(&text)).await??;
        let key = key(tenant, &new.software);
        let template = Template::from(new);
        let plan = async || {
            let mut change = Change::default();
            let read: Option<Versioned<Template>> = self.records.get(&key).await?;
            check(read.as_ref().map(|read| &read.record))?;
            if let Some(read) = &read
                && etag::of_json(&read.record)? == etag::of_json(&template)?
            {
                return Ok((change, Written::Unchanged));
            }
            let replaced = read.as_ref().map(|read| &read.record);
            self.count_template(&mut change, caller, tenant, replaced, &template)
                .await?;
            change.expect(&key, read.as_ref());
            change.put(&key, &template)?;
            Ok((change, Written::new(read.is_some())))
        };
        let written = self.records.change(plan).await?;
        Ok((written, template))
    }

    /// Counts a new or replaced template in the change, within the quotas. A new one may create its tenant.
    async fn count_template(
        &self,
        change: &mut Change,
        caller: &Caller,
        tenant: Option<&TenantId>,
        replaced: Option<&Template>,
        template: &Template,
    ) -> Result<()> {
        if let (Some(tenant), None) = (tenant, replaced) {
            self.ensure_tenant(change, caller, tenant).await?;
        }
        let before = replaced.map(Template::counted).transpose()?;
        let more = template.counted()? - before.unwrap_or_default();
        let counts = counts::plan(&self.records, change, tenant, more).await?;
        let limits = &self.limits;
        if tenant.is_none() {
            return Ok(());
        }
        if more.templates > 0 && counts.templates > limits.templates {
            return Err(Error::quota("templates", limits.templates));
        }
        if more.template_bytes > 0 && counts.template_bytes > limits.template_bytes {
            let bytes = limits.template_bytes;
            return Err(Error::quota("bytes of templates", bytes));
        }
        Ok(())
    }

    /// Returns the size of a tenant's templates, or of the global ones, in bytes.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn template_bytes(&self, tenant: Option<&TenantId>) -> Result<usize> {
        let counts = counts::of(&self.records, tenant).await?;
        let number = |count: i64| usize::try_from(count).unwrap_or_default();
        Ok(match counts.template_bytes {
            // Earlier versions did not count the bytes.
            ..=0 => MAX_SCHEMA * number(counts.templates),
            bytes => number(bytes),
        })
    }

    /// Returns a tenant's templates, or the global ones, by software.
    ///
    /// # Errors
    /// [`Error::Denied`].
    pub async fn templates(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
    ) -> Result<Vec<Template>> {
        caller.require_tenant(tenant.map_or(NO_TENANT, TenantId::as_str))?;
        let templates = self.records.all::<Template>(&prefix(tenant)).await?;
        Ok(templates
            .into_iter()
            .map(|(_, template)| template)
            .collect())
    }

    /// Returns one template.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`].
    pub async fn template(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        software: &Software,
    ) -> Result<Template> {
        caller.require_tenant(tenant.map_or(NO_TENANT, TenantId::as_str))?;
        let read = self.records.get::<Template>(&key(tenant, software)).await?;
        read.map(|read| read.record)
            .ok_or_else(|| unknown_template(&software.id, &software.version))
    }

    /// Removes a template. Clients that registered with it stay.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Outdated`].
    pub async fn delete_template(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        software: &Software,
        preconditions: &Preconditions,
    ) -> Result<()> {
        caller.require_tenant(tenant.map_or(NO_TENANT, TenantId::as_str))?;
        let key = key(tenant, software);
        let plan = async || {
            let mut change = Change::default();
            let read = self
                .records
                .get::<Template>(&key)
                .await?
                .ok_or_else(|| unknown_template(&software.id, &software.version))?;
            preconditions.check(Some(&etag::of_json(&read.record)?))?;
            change.expect(&key, Some(&read));
            change.delete(&key);
            let fewer = -read.record.counted()?;
            counts::plan(&self.records, &mut change, tenant, fewer).await?;
            Ok((change, ()))
        };
        self.records.change(plan).await
    }

    /// Makes the change expect a tenant, and the template that its clients of this software register with. Returns the
    /// template and its key.
    ///
    /// # Errors
    /// [`Error::Invalid`] when either does not exist.
    pub(super) async fn plan_template(
        &self,
        change: &mut Change,
        tenant: &TenantId,
        using_global_template: bool,
        software: &Software,
    ) -> Result<(String, Versioned<Template>)> {
        tenants::plan_existing(&self.records, change, tenant).await?;
        let key = key((!using_global_template).then_some(tenant), software);
        let Some(template) = self.records.get::<Template>(&key).await? else {
            let whose = if using_global_template {
                "global template"
            } else {
                "template of the tenant"
            };
            let message = format!("no {whose} exists for this softwareId and softwareVersion");
            return Err(Error::invalid("$", message));
        };
        change.expect(&key, Some(&template));
        Ok((key, template))
    }
}

pub(super) fn unknown_template(id: &str, version: &str) -> Error {
    Error::missing(TEMPLATE_NOT_FOUND, format!("{id} {version}"))
}
