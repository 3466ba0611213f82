//! Registration: a client registers itself, and is removed if it stays pending for too long.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{RATE_LIMITED, TOO_MUCH_WAITING};
use tillgate_api::schema::tenant_id;
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Secret, TenantId, network};
use tillgate_base::jobs::{CLOCK_SKEW, Work};
use tillgate_base::observe::audit::Line;
use uuid::Uuid;

use super::client::{Client, Status, random_secret};
use super::client_id::{self, Claims, Software};
use super::clients;
use super::expiry::{Expiry, PENDING};
use super::members::{client_id_schema, name_schema, secret_schema};
use super::{Tokens, client_key, counts};

/// The retry delay when a tenant has too many pending clients: an administrator must act first.
const PENDING_RETRY: Duration = Duration::from_secs(60 * 60);

/// The registration request of a client (`given.md` 2.7).
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its software.
    pub software: Software,
    /// `true` for the global template of the software, `false` for the tenant's.
    pub using_global_template: bool,
    /// The tenant that the client registers for.
    pub tenant: TenantId,
    /// Its claims.
    pub claims: Claims,
    /// The software statement that the client presents, if any.
    pub statement: Option<String>,
}

/// A client that has registered.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RegisteredClient")]
pub struct Registered {
    #[schemars(schema_with = "client_id_schema")]
    client_id: String,
    #[schemars(schema_with = "secret_schema")]
    client_secret: Secret,
    #[schemars(schema_with = "name_schema")]
    software_id: String,
    #[schemars(schema_with = "name_schema")]
    software_version: String,
    #[schemars(schema_with = "tenant_id")]
    tenant_id: TenantId,
    status: Status,
    /// The statement that it has presented.
    #[serde(skip)]
    statement: Option<Uuid>,
}

impl Registered {
    /// Returns the audit line of the registration.
    pub(super) fn line(&self) -> Line {
        Line {
            status: Some(self.status.as_str()),
            statement: self.statement,
            ..clients::line(&self.tenant_id, &self.client_id)
        }
    }
}

impl Tokens {
    /// Counts a registration from this address.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn count_registration(&self, peer: IpAddr) -> Result<()> {
        let counted = self.registrations.count(peer, self.clock.now());
        counted.map_err(|retry_after| Error::TooMany {
            code: RATE_LIMITED,
            detail: "too many registrations from this address".to_owned(),
            retry_after,
        })
    }

    /// Registers a client: pending until an administrator acts, or authorized when a statement approves it.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every fault, [`Error::Conflict`] when the client exists, [`Error::TooMany`] when too
    /// many clients of its tenant are pending, in total or from its address.
    pub async fn register(&self, registration: Registration, peer: IpAddr) -> Result<Registered> {
        let secret = random_secret()?;
        let plan = async || {
            let mut change = Change::default();
            let statement = match &registration.statement {
                Some(text) => Some(self.plan_statement(&mut change, text).await?),
                None => None,
            };
            let claims = match &statement {
                Some(found) => found.record.merge_claims(&found.tenant, &registration)?,
                None => registration.claims.clone(),
            };
            let roles = self.plan_roles(&mut change, &registration, &claims).await?;
            let mut client = self.pending(&registration, claims, roles, &secret)?;
            client.pending_from = Some(network(peer));
            let permissions = self.registry.permissions_of(&client);
            if let Some(found) = &statement
                && found.record.approves(permissions)?
            {
                client.status = Status::Authorized;
                client.pending_until = None;
                client.pending_from = None;
            }
            self.plan_client(&mut change, &client).await?;
            Ok((change, (client, statement.map(|found| found.jti))))
        };
        let (client, statement) = self.records.change(plan).await?;
        if client.status == Status::Authorized {
            self.registry.catch_up().await?;
        }
        Ok(Registered {
            client_id: client.id,
            client_secret: secret,
            software_id: client.software.id,
            software_version: client.software.version,
            tenant_id: client.tenant,
            status: client.status,
            statement,
        })
    }

    /// Makes the change expect the tenant and the template, checks the claims, and returns the client's roles.
    async fn plan_roles(
        &self,
        change: &mut Change,
        registration: &Registration,
        claims: &Claims,
    ) -> Result<Vec<String>> {
        let Registration {
            software,
            using_global_template,
            tenant,
            ..
        } = registration;
        let template = self.plan_template(change, tenant, *using_global_template, software);
        let (key, template) = template.await?;
        let text = template.record.claims_schema.get();
        let schema = self
            .schemas
            .of(&self.workers, &key, (template.revision, text))
            .await?;
        let claims = claims.clone();
        self.workers.run(move || schema.check(&claims)).await??;
        Ok(template.record.roles().map(str::to_owned).collect())
    }

    /// Creates a pending client.
    fn pending(
        &self,
        registration: &Registration,
        claims: Claims,
        roles: Vec<String>,
        secret: &Secret,
    ) -> Result<Client> {
        let (software, tenant) = (&registration.software, &registration.tenant);
        let id = client_id::encode(&claims, software, tenant).ok_or_else(|| {
            Error::invalid("$.claims", "make a client id longer than 255 characters")
        })?;
        let now = self.clock.now();
        Ok(Client {
            id,
            tenant: tenant.clone(),
            software: software.clone(),
            claims,
            roles,
            status: Status::Pending,
            registered: now,
            pending_until: Some(now.plus(self.limits.pending_lifetime)),
            pending_from: None,
            last_modified_by: None,
            secrets: vec![self.pepper.hash_secret(secret)],
        })
    }

    /// Adds a new client to the change, in place of one that was pending for too long and has not been removed yet.
    async fn plan_client(&self, change: &mut Change, new: &Client) -> Result<()> {
        let key = client_key(&new.id);
        let old = self.records.get::<Client>(&key).await?;
        if old
            .as_ref()
            .is_some_and(|old| old.record.exists(new.registered))
        {
            return Err(clients::already_exists());
        }
        change.expect(&key, old.as_ref());
        self.plan_counts(change, old.map(|old| old.record).as_ref(), new)
            .await?;
        if let Some(until) = new.pending_until {
            change.enqueue(PENDING, &new.id, until, Bytes::new());
        }
        clients::put(change, new)
    }

    /// Counts a new client in the change, in place of one that was pending for too long.
    async fn plan_counts(
        &self,
        change: &mut Change,
        old: Option<&Client>,
        new: &Client,
    ) -> Result<()> {
        let (records, limits, tenant) = (&self.records, &self.limits, &new.tenant);
        let before = old.map(clients::counted).unwrap_or_default();
        let difference = clients::counted(new) - before;
        let counts = counts::plan(records, change, Some(tenant), difference).await?;
        if difference.clients > 0 && counts.clients > limits.clients {
            let quota = usize::try_from(limits.clients).unwrap_or_default();
            return Err(Error::quota("clients", quota));
        }
        if difference.pending > 0 && counts.pending > limits.pending_clients {
            return Err(too_many_pending(
                "too many clients of this tenant are pending",
            ));
        }
        let gone = old.and_then(|old| old.pending_from);
        if gone == new.pending_from {
            return Ok(());
        }
        if let Some(from) = gone {
            counts::plan_pending_from(records, change, tenant, (from, -1)).await?;
        }
        if let Some(from) = new.pending_from {
            let count = counts::plan_pending_from(records, change, tenant, (from, 1)).await?;
            if count > limits.pending_clients_per_address {
                let detail = "too many clients of this tenant are pending that were registered from this address";
                return Err(too_many_pending(detail));
            }
        }
        Ok(())
    }
}

fn too_many_pending(detail: &str) -> Error {
    Error::TooMany {
        code: TOO_MUCH_WAITING,
        detail: detail.to_owned(),
        retry_after: PENDING_RETRY,
    }
}

impl Expiry {
    /// Removes a client that was pending for too long.
    pub(super) async fn remove_pending(&self, work: &Work) -> Result<()> {
        let plan = async || {
            let mut change = Change::default();
            work.settle(&mut change);
            let Some(client) = self
                .records
                .get::<Client>(&client_key(&work.job.id))
                .await?
            else {
                return Ok((change, None));
            };
            let late = self.clock.now().plus(CLOCK_SKEW);
            if client.record.exists(late) {
                return Ok((change, None));
            }
            clients::plan_removal(&self.records, &mut change, &client).await?;
            Ok((change, Some(client.record)))
        };
        if let Some(gone) = self.records.change(plan).await? {
            clients::line(&gone.tenant, &gone.id).write_own("client.expired");
        }
        Ok(())
    }
}
