//! Software statements (`tokens.md`, "Life of a client", 2): creating them, withdrawing them, and finding the one that
//! a client presents. `statement.rs` defines them.
//!
//! A statement serves any number of clients until it expires or is withdrawn: one is enough for a fleet of tills.
//! Withdrawing it does not stop clients that have registered with it.

use bytes::Bytes;
use tillgate_api::problem::SOFTWARE_STATEMENT_NOT_FOUND;
use tillgate_base::data::records::{Change, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Caller, TenantId};
use tillgate_base::jobs::{CLOCK_SKEW, Work};
use tillgate_base::observe::audit::Line;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::client_id;
use super::expiry::{Expiry, STATEMENTS};
use super::statement::{
    AnsweredStatement, NewStatement, Statement, StatementClaims, TYPE, claimed_id, digest,
    platform_only, unknown_statement,
};
use super::{ListPage, Tokens};

fn prefix(tenant: &TenantId) -> String {
    format!("statement/{tenant}/")
}

fn key(tenant: &TenantId, jti: Uuid) -> String {
    format!("{}{jti}", prefix(tenant))
}

/// Returns the audit line of a statement.
pub(super) fn line(tenant: &TenantId, jti: Uuid) -> Line {
    Line {
        tenant: Some(tenant.clone()),
        statement: Some(jti),
        ..Line::default()
    }
}

pub(super) fn unknown_id(jti: impl std::fmt::Display) -> Error {
    Error::missing(SOFTWARE_STATEMENT_NOT_FOUND, jti)
}

#[derive(Debug)]
pub(super) struct PresentedStatement {
    pub(super) tenant: TenantId,
    pub(super) jti: Uuid,
    pub(super) record: Statement,
}

impl Tokens {
    /// Creates a statement for clients of a tenant. Returns its id and the JWT.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault; [`Error::Denied`], also when it approves what the caller cannot grant.
    pub async fn create_statement(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        new: NewStatement,
    ) -> Result<(Uuid, String)> {
        caller.require_tenant(tenant.as_str())?;
        if client_id::encode(&new.claims, &new.software, tenant).is_none() {
            let rule = "make a client id longer than 255 characters";
            return Err(Error::invalid("$.claims", rule));
        }
        let (jti, now) = (Uuid::new_v4(), self.clock.now());
        let iat = now.seconds();
        let exp = iat.saturating_add(new.lifetime.as_secs());
        let claims = StatementClaims {
            iss: &self.issuer,
            aud: &self.registration_endpoint,
            jti: &jti.to_string(),
            iat,
            nbf: iat,
            exp,
            tenant_id: tenant,
            software_id: &new.software.id,
            software_version: &new.software.version,
            using_global_template: new.using_global_template,
            claims: &new.claims,
            auto_approve: new.auto_approve,
        };
        let text = self.keys.sign(TYPE, &claims).await?;
        let (key, until) = (key(tenant, jti), Timestamp(exp.saturating_mul(1_000_000)));
        let plan = async || {
            let mut change = Change::default();
            let approves = self.plan_approval(&mut change, caller, tenant, &new);
            let statement = Statement {
                software: new.software.clone(),
                using_global_template: new.using_global_template,
                claims: new.claims.clone(),
                approves: approves.await?,
                issued: now,
                until,
                sha256: digest(&text),
            };
            change.expect::<Statement>(&key, None);
            change.put(&key, &statement)?;
            change.enqueue(STATEMENTS, &format!("{tenant}/{jti}"), until, Bytes::new());
            Ok((change, ()))
        };
        self.records.change(plan).await?;
        Ok((jti, text))
    }

    /// Makes the change expect the tenant and the template. If the statement approves its clients, returns the
    /// platform-only permissions that clients of the template get without further approval.
    async fn plan_approval(
        &self,
        change: &mut Change,
        caller: &Caller,
        tenant: &TenantId,
        new: &NewStatement,
    ) -> Result<Option<Vec<String>>> {
        let template = self.plan_template(change, tenant, new.using_global_template, &new.software);
        let (_, template) = template.await?;
        if !new.auto_approve {
            return Ok(None);
        }
        let roles: Vec<String> = template.record.roles().map(str::to_owned).collect();
        let permissions = self.registry.permissions(&roles, tenant);
        caller.require_grantable(permissions)?;
        Ok(Some(
            platform_only(permissions).map(str::to_owned).collect(),
        ))
    }

    /// Returns statements of a tenant, by id, after the one that `cursor` names.
    ///
    /// # Errors
    /// [`Error::Denied`].
    pub async fn statements(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<ListPage<AnsweredStatement>> {
        caller.require_tenant(tenant.as_str())?;
        let prefix = prefix(tenant);
        let after = cursor.map(|jti| format!("{prefix}{jti}"));
        let page = self.records.scan(&prefix, after.as_deref(), limit).await?;
        let now = self.clock.now();
        let mut items = Vec::with_capacity(page.entries.len());
        for (key, entry) in &page.entries {
            let statement = decode_entry::<Statement>(key, entry)?.record;
            if statement.is_valid(now) {
                items.push(statement.answered(key.strip_prefix(&prefix).unwrap_or(key)));
            }
        }
        let last = page.entries.last().filter(|_| page.more);
        let next = last.and_then(|(key, _)| key.strip_prefix(&prefix).map(str::to_owned));
        Ok(ListPage { items, next })
    }

    /// Withdraws a statement: no client can register with it from now on.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`].
    pub async fn withdraw_statement(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        jti: Uuid,
    ) -> Result<()> {
        caller.require_tenant(tenant.as_str())?;
        let key = key(tenant, jti);
        let plan = async || {
            let mut change = Change::default();
            let read = self.records.get::<Statement>(&key).await?;
            let now = self.clock.now();
            let read = read.filter(|read| read.record.is_valid(now));
            if read.is_none() {
                return Err(unknown_id(jti));
            }
            change.expect(&key, read.as_ref());
            change.delete(&key);
            Ok((change, ()))
        };
        self.records.change(plan).await
    }

    /// Finds the statement that a client presents, and makes the change expect it.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not, or is no longer, a statement of this service.
    pub(super) async fn plan_statement(
        &self,
        change: &mut Change,
        text: &str,
    ) -> Result<PresentedStatement> {
        let (tenant, jti) = claimed_id(text).ok_or_else(unknown_statement)?;
        let key = key(&tenant, jti);
        let read: Option<Versioned<Statement>> = self.records.get(&key).await?;
        let now = self.clock.now();
        let ours = |read: &Versioned<Statement>| {
            read.record.is_valid(now) && read.record.sha256 == digest(text)
        };
        let read = read.filter(ours).ok_or_else(unknown_statement)?;
        change.expect(&key, Some(&read));
        Ok(PresentedStatement {
            tenant,
            jti,
            record: read.record,
        })
    }
}

impl Expiry {
    /// Removes a statement that has expired.
    pub(super) async fn remove_statement(&self, work: &Work) -> Result<()> {
        let named = work.job.id.split_once('/').and_then(|(tenant, jti)| {
            let tenant = TenantId::new(tenant)?;
            Some((tenant, Uuid::try_parse(jti).ok()?))
        });
        let plan = async || {
            let mut change = Change::default();
            work.settle(&mut change);
            let Some((tenant, jti)) = &named else {
                return Ok((change, false));
            };
            let key = key(tenant, *jti);
            let read = self.records.get::<Statement>(&key).await?;
            let late = self.clock.now().plus(CLOCK_SKEW);
            let expired = read.filter(|read| !read.record.is_valid(late));
            if expired.is_some() {
                change.expect(&key, expired.as_ref());
                change.delete(&key);
            }
            Ok((change, expired.is_some()))
        };
        if self.records.change(plan).await?
            && let Some((tenant, jti)) = named
        {
            line(&tenant, jti).write_own("statement.expired");
        }
        Ok(())
    }
}
