//! Roles: those that are built in, and those that the platform makes.

use serde::Serialize;
use tillgate_engine::Fault;

use super::caller::Caller;
use super::ledger::{Change, Kept};
use super::permission::{Permission, Permissions, built_in, built_in_roles};
use super::registry::StoredRole;
use super::tenant::TenantId;
use super::{ROLE, Tokens};
use crate::error::{Error, Result};
use crate::etag::{self, Preconditions, Written};
use crate::follow::Follow;

/// A role as it is answered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    role_id: String,
    permissions: Vec<&'static str>,
    built_in: bool,
}

impl Role {
    fn new(id: &str, permissions: Permissions, built_in: bool) -> Self {
        let permissions = permissions.iter().map(Permission::as_str).collect();
        Self {
            role_id: id.to_owned(),
            permissions,
            built_in,
        }
    }
}

impl Tokens {
    /// Every role: those that are built in, then the others by id.
    #[must_use]
    pub fn roles(&self) -> Vec<Role> {
        let standard = built_in_roles().filter_map(|id| Some(Role::new(id, built_in(id)?, true)));
        let roles = self.registry.roles();
        standard
            .chain(roles.iter().map(|(id, held)| Role::new(id, held, false)))
            .collect()
    }

    /// One role.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn role(&self, id: &str) -> Result<Role> {
        let held = self.registry.roles().get(id);
        let role = held.map(|held| Role::new(id, held, built_in(id).is_some()));
        role.ok_or_else(no_role)
    }

    /// Makes a role, or has it hold something else from now on.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a role that is built in; [`Error::Denied`] for more than is the caller's to hand out;
    /// [`Error::Outdated`].
    pub async fn put_role(
        &self,
        caller: &Caller,
        role: &str,
        permissions: Permissions,
        preconditions: &Preconditions,
    ) -> Result<(Written, Role)> {
        self.may_write_role(caller, role)?;
        Self::outranks(caller, permissions)?;
        let key = format!("{ROLE}{role}");
        let plan = async || {
            let mut change = Change::default();
            let read = self.ledger.get::<StoredRole>(&key).await?;
            hold(preconditions, role, read.as_ref())?;
            change.rests_on(&key, read.as_ref());
            change.put(&key, &StoredRole::new(permissions))?;
            change.tell(&key);
            let written = if read.is_some() {
                Written::Replaced
            } else {
                Written::Created
            };
            Ok((change, written))
        };
        let written = self.ledger.change(plan).await?;
        let held = permissions
            .iter()
            .map(Permission::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        tracing::info!(target: "audit", action = "role.put", role, held, by = &*caller.subject);
        self.registry.catch_up().await?;
        Ok((written, Role::new(role, permissions, false)))
    }

    /// Removes a role; clients that have it keep its name and get nothing from it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`], [`Error::Conflict`] for a role that is built in.
    pub async fn delete_role(
        &self,
        caller: &Caller,
        role: &str,
        preconditions: &Preconditions,
    ) -> Result<()> {
        self.may_write_role(caller, role)?;
        let key = format!("{ROLE}{role}");
        let plan = async || {
            let mut change = Change::default();
            let read = self.ledger.get::<StoredRole>(&key).await?;
            if read.is_none() {
                return Err(no_role());
            }
            hold(preconditions, role, read.as_ref())?;
            change.rests_on(&key, read.as_ref());
            change.delete(&key);
            change.tell(&key);
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        tracing::info!(target: "audit", action = "role.deleted", role, by = &*caller.subject);
        self.registry.catch_up().await
    }

    fn may_write_role(&self, caller: &Caller, role: &str) -> Result<()> {
        if !caller.platform {
            return Err(Error::Denied("roles are the platform's".to_owned()));
        }
        if built_in(role).is_some() {
            return Err(Error::Conflict(format!("the role {role} is built in")));
        }
        Ok(())
    }

    /// Nothing, when the caller may give these roles to clients of a tenant (`None`: of any, by a global template).
    ///
    /// # Errors
    /// [`Error::Invalid`] naming each role that is not there; [`Error::Denied`] for one that is the platform's.
    pub(super) fn may_give(
        &self,
        caller: &Caller,
        tenant: Option<&TenantId>,
        roles: &[String],
    ) -> Result<()> {
        let known = self.registry.roles();
        let mut unknown = Vec::new();
        let mut held = Permissions::default();
        for (index, role) in roles.iter().enumerate() {
            match known.get(role) {
                Some(permissions) => held = held.union(permissions),
                None => unknown.push(Fault {
                    path: format!("$.roles[{index}].roleId"),
                    message: format!("names a role that is not there: {role}").into(),
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
                .is_some_and(|held| held != held.without_platform_only())
        };
        if !platform && let Some(role) = roles.iter().find(reserved) {
            let detail = format!("the role {role} is for the platform's own clients");
            return Err(Error::Denied(detail));
        }
        Self::outranks(caller, held)
    }
}

fn no_role() -> Error {
    Error::NotFound("there is no role of this id".to_owned())
}

/// Nothing, when the role is as the caller asks for.
fn hold(preconditions: &Preconditions, role: &str, read: Option<&Kept<StoredRole>>) -> Result<()> {
    let answered = read.map(|read| Role::new(role, read.record.permissions(), false));
    let etag = answered.map(|role| etag::of_json(&role)).transpose()?;
    preconditions.hold(etag.as_ref())
}
