//! Roles: the built-in ones, and those that the platform defines.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{PLATFORM_ONLY, ROLE_BUILT_IN, ROLE_NOT_FOUND, ROLE_RESERVED};
use tillgate_api::schema::made_by;
use tillgate_base::data::etag::{self, Preconditions, Written};
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{
    By, Caller, Permission, Permissions, TenantId, built_in, built_in_roles,
};
use tillgate_engine::Fault;

use super::members::{name_schema, permissions_schema};
use super::registry::StoredRole;
use super::{ROLE, Tokens};

/// A role.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    #[schemars(schema_with = "name_schema")]
    role_id: String,
    #[schemars(schema_with = "permissions_schema")]
    pub(super) permissions: Vec<String>,
    /// `true` if the role comes with the service and cannot be changed.
    built_in: bool,
    /// The program that manages the role, if this is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<ManagedBy>,
    /// The caller who last changed the role. Only clients of the platform's tenant see this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "made_by")]
    last_modified_by: Option<By>,
}

/// A role as a request states it.
#[derive(Clone, Debug)]
pub struct NewRole {
    /// The names of its permissions.
    pub permissions: BTreeSet<String>,
    /// The program that manages it.
    pub managed_by: Option<ManagedBy>,
}

impl Role {
    fn built_in(id: &str) -> Option<Self> {
        let permissions = built_in(id)?.iter().map(Permission::as_str);
        Some(Self {
            role_id: id.to_owned(),
            permissions: permissions.map(str::to_owned).collect(),
            built_in: true,
            managed_by: None,
            last_modified_by: None,
        })
    }

    fn stored(id: &str, stored: &StoredRole) -> Self {
        Self {
            role_id: id.to_owned(),
            permissions: stored.permissions.clone(),
            built_in: false,
            managed_by: stored.managed_by.clone(),
            last_modified_by: stored.last_modified_by.clone(),
        }
    }

    /// Hides who changed the role, except from callers of the platform's tenant.
    fn seen_by(self, caller: &Caller) -> Self {
        let last_modified_by = self.last_modified_by.filter(|_| caller.platform);
        Self {
            last_modified_by,
            ..self
        }
    }
}

impl Tokens {
    /// Returns every role as a caller sees it: the built-in ones, then the others by id.
    #[must_use]
    pub fn roles(&self, caller: &Caller) -> Vec<Role> {
        let roles = self.registry.roles();
        let stored = roles.iter().map(|(id, stored)| Role::stored(id, stored));
        built_in_roles()
            .filter_map(Role::built_in)
            .chain(stored.map(|role| role.seen_by(caller)))
            .collect()
    }

    /// Returns one role as a caller sees it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn role(&self, caller: &Caller, id: &str) -> Result<Role> {
        let roles = self.registry.roles();
        let stored = roles.stored(id).map(|stored| Role::stored(id, stored));
        let stored = stored.map(|role| role.seen_by(caller));
        Role::built_in(id)
            .or(stored)
            .ok_or_else(|| unknown_role(id))
    }

    /// Creates or replaces a role. Permissions that no route here requires are stored and have no effect.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a built-in role; [`Error::Denied`] for more than the caller can grant;
    /// [`Error::Outdated`].
    pub async fn put_role(
        &self,
        caller: &Caller,
        role: &str,
        new: NewRole,
        preconditions: &Preconditions,
    ) -> Result<(Written, Role)> {
        Self::check_write(caller, role)?;
        let stored = StoredRole {
            permissions: new.permissions.into_iter().collect(),
            managed_by: new.managed_by,
            last_modified_by: Some(By::caller(caller)),
        };
        caller.require_grantable(stored.permissions())?;
        let key = format!("{ROLE}{role}");
        let plan = async || {
            let mut change = Change::default();
            let read = self.records.get::<StoredRole>(&key).await?;
            check_preconditions(preconditions, role, read.as_ref())?;
            if let Some(read) = read.as_ref().filter(|read| read.record.permits_as(&stored)) {
                return Ok((
                    change,
                    (Written::Unchanged, Role::stored(role, &read.record)),
                ));
            }
            change.expect(&key, read.as_ref());
            change.put(&key, &stored)?;
            change.notify(&key);
            let written = Written::new(read.is_some());
            Ok((change, (written, Role::stored(role, &stored))))
        };
        let put = self.records.change(plan).await?;
        self.registry.catch_up().await?;
        Ok(put)
    }

    /// Removes a role. Clients that have it keep its id and get nothing from it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`], [`Error::Conflict`] for a built-in role.
    pub async fn delete_role(
        &self,
        caller: &Caller,
        role: &str,
        preconditions: &Preconditions,
    ) -> Result<()> {
        Self::check_write(caller, role)?;
        let key = format!("{ROLE}{role}");
        let plan = async || {
            let mut change = Change::default();
            let read = self.records.get::<StoredRole>(&key).await?;
            if read.is_none() {
                return Err(unknown_role(role));
            }
            check_preconditions(preconditions, role, read.as_ref())?;
            change.expect(&key, read.as_ref());
            change.delete(&key);
            change.notify(&key);
            Ok((change, ()))
        };
        self.records.change(plan).await?;
        self.registry.catch_up().await
    }

    fn check_write(caller: &Caller, role: &str) -> Result<()> {
        if !caller.platform {
            return Err(Error::Denied(
                PLATFORM_ONLY,
                "only the platform's administrators may change roles".to_owned(),
            ));
        }
        if built_in(role).is_some() {
            return Err(Error::Conflict(
                ROLE_BUILT_IN,
                format!("the role {role} is built in"),
            ));
        }
        Ok(())
    }

    /// Checks that the caller may give these roles to clients of a tenant (for `None`, of any, by a global template).
    ///
    /// # Errors
    /// [`Error::Invalid`] naming each role that does not exist; [`Error::Denied`] for one reserved for the platform.
    pub(super) fn check_grant(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        roles: &[String],
    ) -> Result<()> {
        let known = self.registry.roles();
        let mut unknown = Vec::new();
        let mut all = Permissions::default();
        for (index, role) in roles.iter().enumerate() {
            match known.get(role) {
                Some(permissions) => all = all.union(permissions),
                None => unknown.push(Fault {
                    path: format!("$.roles[{index}].roleId"),
                    message: format!("is not the id of a role: {role}").into(),
                }),
            }
        }
        if !unknown.is_empty() {
            return Err(Error::Invalid(unknown));
        }
        let platform = tenant.is_some_and(|tenant| self.registry.is_platform(tenant));
        let reserved = |role: &&String| {
            known
                .get(role)
                .is_some_and(|permissions| permissions != permissions.without_platform_only())
        };
        if !platform && let Some(role) = roles.iter().find(reserved) {
            let detail = format!("the role {role} is for the platform's own clients");
            return Err(Error::Denied(ROLE_RESERVED, detail));
        }
        caller.require_grantable(all)
    }
}

fn unknown_role(id: &str) -> Error {
    Error::missing(ROLE_NOT_FOUND, id)
}

fn check_preconditions(
    preconditions: &Preconditions,
    role: &str,
    read: Option<&Versioned<StoredRole>>,
) -> Result<()> {
    let answered = read.map(|read| Role::stored(role, &read.record));
    let etag = answered.map(|role| etag::of_json(&role)).transpose()?;
    preconditions.check(etag.as_ref())
}
