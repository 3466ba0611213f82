//! Software statements (`tokens.md`, "Life of a client", 2): making them, withdrawing them, and finding the one that a
//! client shows. What one is and says stands in `statement.rs`.
//!
//! A statement serves any number of clients until it expires or is withdrawn: one is enough for a fleet of tills.
//! Withdrawing it stops no client that has registered with it.

use uuid::Uuid;

use super::caller::Caller;
use super::client_id;
use super::ledger::{Change, Kept, read};
use super::registration::{no_template, no_tenant};
use super::statement::{
    NewStatement, Statement, StatementClaims, TYPE, digest, name_of, no_statement, reserved,
};
use super::templates::{self, Template};
use super::tenant::TenantId;
use super::tenants::{self, StoredTenant};
use super::tidier::{SKEW, Tidier};
use super::{ListPage, STATEMENTS, Tokens};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::store::Job;

/// The prefix of a tenant's statements.
fn prefix(tenant: &TenantId) -> String {
    format!("statement/{tenant}/")
}

/// The key of a statement.
fn key(tenant: &TenantId, jti: Uuid) -> String {
    format!("{}{jti}", prefix(tenant))
}

/// A line for whoever asks later what happened to a statement.
fn audit(action: &str, tenant: &TenantId, jti: Uuid, by: &str) {
    tracing::info!(target: "audit", action, statement = %jti, %tenant, by);
}

/// The statement that a client shows.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) tenant: TenantId,
    pub(super) jti: Uuid,
    pub(super) record: Statement,
}

impl Tokens {
    /// Makes a statement for clients of a tenant; answers the JWT.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming what is wrong, [`Error::Denied`], also for approving what is not the caller's to give.
    pub async fn create_statement(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        new: NewStatement,
    ) -> Result<String> {
        self.rules(caller, tenant.as_str())?;
        if client_id::encode(&new.claims, &new.software, tenant).is_none() {
            let rule = "make a client id of over 255 characters";
            return Err(Error::invalid("$.claims", rule));
        }
        let (jti, now) = (Uuid::new_v4(), self.clock.now());
        let iat = now.seconds();
        let exp = iat.saturating_add(new.life.as_secs());
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
        let text = self.sign(TYPE, &claims).await?;
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
            change.rests_on::<Statement>(&key, None);
            change.put(&key, &statement)?;
            change.enqueue(STATEMENTS, &format!("{tenant}/{jti}"), until);
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        audit("statement.created", tenant, jti, &caller.subject);
        Ok(text)
    }

    /// Plans that tenant and template are there; answers what clients of the template get without being asked, when the
    /// statement approves them.
    async fn plan_approval(
        &self,
        change: &mut Change,
        caller: &Caller,
        tenant: &TenantId,
        new: &NewStatement,
    ) -> Result<Option<Vec<String>>> {
        let tenant_key = tenants::key(tenant);
        let there: Option<Kept<StoredTenant>> = self.ledger.get(&tenant_key).await?;
        if there.is_none() {
            return Err(no_tenant());
        }
        change.rests_on(&tenant_key, there.as_ref());
        let owner = (!new.using_global_template).then_some(tenant);
        let key = templates::key(owner, &new.software);
        let template: Option<Kept<Template>> = self.ledger.get(&key).await?;
        let Some(template) = template else {
            return Err(no_template(new.using_global_template));
        };
        change.rests_on(&key, Some(&template));
        if !new.auto_approve {
            return Ok(None);
        }
        let roles: Vec<String> = template.record.roles().map(str::to_owned).collect();
        let held = self.registry.permissions(&roles, tenant);
        Self::outranks(caller, held)?;
        Ok(Some(reserved(held).map(str::to_owned).collect()))
    }

    /// Statements of a tenant, by id, after the one that `cursor` names.
    ///
    /// # Errors
    /// [`Error::Denied`].
    pub async fn statements(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<ListPage> {
        self.rules(caller, tenant.as_str())?;
        let prefix = prefix(tenant);
        let after = cursor.map(|jti| format!("{prefix}{jti}"));
        let page = self.ledger.scan(&prefix, after.as_deref(), limit).await?;
        let now = self.clock.now();
        let mut items = Vec::with_capacity(page.entries.len());
        for (key, entry) in &page.entries {
            let statement = read::<Statement>(key, entry)?.record;
            if statement.is_there(now) {
                items.push(statement.to_json(key.strip_prefix(&prefix).unwrap_or(key)));
            }
        }
        let last = page.entries.last().filter(|_| page.more);
        let next = last.and_then(|(key, _)| key.strip_prefix(&prefix).map(str::to_owned));
        Ok(ListPage { items, next })
    }

    /// Withdraws a statement: no client registers with it from now on.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`].
    pub async fn withdraw_statement(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        jti: Uuid,
    ) -> Result<()> {
        self.rules(caller, tenant.as_str())?;
        let key = key(tenant, jti);
        let plan = async || {
            let mut change = Change::default();
            let read = self.ledger.get::<Statement>(&key).await?;
            let now = self.clock.now();
            let read = read.filter(|read| read.record.is_there(now));
            if read.is_none() {
                let detail = "there is no software statement of this id";
                return Err(Error::NotFound(detail.to_owned()));
            }
            change.rests_on(&key, read.as_ref());
            change.delete(&key);
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        audit("statement.withdrawn", tenant, jti, &caller.subject);
        Ok(())
    }

    /// Finds the statement that a client shows, and plans that it is still there.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is none, or not any more.
    pub(super) async fn plan_statement(&self, change: &mut Change, text: &str) -> Result<Shown> {
        let (tenant, jti) = name_of(text).ok_or_else(no_statement)?;
        let key = key(&tenant, jti);
        let read: Option<Kept<Statement>> = self.ledger.get(&key).await?;
        let now = self.clock.now();
        let ours = |read: &Kept<Statement>| {
            read.record.is_there(now) && read.record.sha256 == digest(text)
        };
        let read = read.filter(ours).ok_or_else(no_statement)?;
        change.rests_on(&key, Some(&read));
        Ok(Shown {
            tenant,
            jti,
            record: read.record,
        })
    }
}

impl Tidier {
    /// Removes a statement that has expired.
    pub(super) async fn remove_statement(&self, job: &Job) -> Result<()> {
        let named = job.id.split_once('/').and_then(|(tenant, jti)| {
            let tenant = TenantId::new(tenant)?;
            Some((tenant, Uuid::try_parse(jti).ok()?))
        });
        let plan = async || {
            let mut change = Change::default();
            change.settle(STATEMENTS, job);
            let Some((tenant, jti)) = &named else {
                return Ok((change, false));
            };
            let key = key(tenant, *jti);
            let read = self.ledger.get::<Statement>(&key).await?;
            let late = self.clock.now().plus(SKEW);
            let expired = read.filter(|read| !read.record.is_there(late));
            if expired.is_some() {
                change.rests_on(&key, expired.as_ref());
                change.delete(&key);
            }
            Ok((change, expired.is_some()))
        };
        if self.ledger.change(plan).await?
            && let Some((tenant, jti)) = named
        {
            audit("statement.expired", &tenant, jti, "the host");
        }
        Ok(())
    }
}
