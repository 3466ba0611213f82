//! How a client comes to be: it registers itself, and goes again when nobody looks at it for too long.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tillgate_engine::Fault;

use super::client::{Client, Status, random_secret};
use super::client_id::{self, Claims, Software};
use super::clients;
use super::ledger::{Change, Kept, Ledger};
use super::templates::{self, Template};
use super::tenant::TenantId;
use super::tenants::{self, StoredTenant};
use super::{PENDING, Tokens, client_key};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::store::Job;
use crate::worker::Task;

/// How many clients are cleaned up at once.
const BATCH: usize = 100;

/// How far a job's due time may be ahead of this host's clock.
const SKEW: Duration = Duration::from_secs(60);

/// How long to wait when a tenant has too many pending clients: somebody must look at them.
const PENDING_RETRY: Duration = Duration::from_secs(60 * 60);

/// What a client says of itself (`given.md` 2.7).
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its software.
    pub software: Software,
    /// Whether the global template of that software is meant, or its tenant's.
    pub using_global_template: bool,
    /// The tenant it wants to be of.
    pub tenant: TenantId,
    /// Its claims.
    pub claims: Claims,
}

/// What a client is told, once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    client_id: String,
    client_secret: String,
    software_id: String,
    software_version: String,
    tenant_id: TenantId,
    status: Status,
}

impl Tokens {
    /// Counts a registration of a peer.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn count_registration(&self, peer: IpAddr) -> Result<()> {
        let counted = self.registrations.count(peer, self.clock.now());
        counted.map_err(|retry_after| Error::TooMany {
            detail: "too many registrations from this address".to_owned(),
            retry_after,
        })
    }

    /// Registers a client: pending, until an administrator has looked.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming what is wrong, [`Error::Conflict`] when the client is there, [`Error::TooMany`] when
    /// too many of its tenant are pending.
    pub async fn register(&self, registration: Registration) -> Result<Registered> {
        let Registration {
            software,
            using_global_template,
            tenant,
            claims,
        } = registration;
        let id = client_id::encode(&claims, &software, &tenant)
            .ok_or_else(|| Error::invalid("$.claims", "make a client id of over 255 characters"))?;
        let owner = (!using_global_template).then_some(&tenant);
        let template_key = templates::key(owner, &software);
        let secret = random_secret()?;
        let plan = async || {
            let mut change = Change::default();
            let key = tenants::key(&tenant);
            let there: Option<Kept<StoredTenant>> = self.ledger.get(&key).await?;
            if there.is_none() {
                return Err(Error::invalid("$.tenantId", "names no tenant"));
            }
            change.rests_on(&key, there.as_ref());
            let template: Option<Kept<Template>> = self.ledger.get(&template_key).await?;
            let Some(template) = template else {
                return Err(no_template(using_global_template));
            };
            change.rests_on(&template_key, Some(&template));
            let text = template.record.claims_schema.get();
            let schema = self
                .schemas
                .of(&template_key, template.revision, text)
                .await?;
            schema.check(&claims)?;
            let now = self.clock.now();
            let client = Client {
                id: id.clone(),
                tenant: tenant.clone(),
                software: software.clone(),
                claims: claims.clone(),
                roles: template.record.roles().map(str::to_owned).collect(),
                status: Status::Pending,
                registered: now,
                pending_until: Some(now.plus(self.limits.pending)),
                secrets: vec![self.pepper.seal(&secret)],
            };
            self.plan_pending(&mut change, &client, now).await?;
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        clients::audit("client.registered", &id, &tenant, "itself");
        Ok(Registered {
            client_id: id,
            client_secret: secret,
            software_id: software.id,
            software_version: software.version,
            tenant_id: tenant,
            status: Status::Pending,
        })
    }

    /// Plans a pending client, in place of one that was pending for too long and is not cleaned up yet.
    async fn plan_pending(&self, change: &mut Change, new: &Client, now: Timestamp) -> Result<()> {
        let key = client_key(&new.id);
        let old = self.ledger.get::<Client>(&key).await?;
        if old.as_ref().is_some_and(|old| old.record.is_there(now)) {
            return Err(clients::taken());
        }
        change.rests_on(&key, old.as_ref());
        if old.is_none() {
            let limit = self.limits.pending_clients;
            let pending = clients::count_pending(&self.ledger, change, &new.tenant, 1).await?;
            if pending > limit {
                let detail = "too many clients of this tenant are pending".to_owned();
                return Err(Error::TooMany {
                    detail,
                    retry_after: PENDING_RETRY,
                });
            }
        }
        if let Some(until) = new.pending_until {
            change.enqueue(PENDING, &new.id, until);
        }
        clients::put(change, new)
    }
}

fn no_template(global: bool) -> Error {
    let whose = if global {
        "global template"
    } else {
        "template of the tenant"
    };
    let message = format!("there is no {whose} for this softwareId and softwareVersion");
    Error::Invalid(vec![Fault {
        path: "$".to_owned(),
        message: message.into(),
    }])
}

/// Removes clients that were pending for too long.
#[derive(Debug)]
pub(super) struct Tidier {
    ledger: Ledger,
    clock: Arc<dyn Clock>,
}

impl Tidier {
    pub(super) const fn new(ledger: Ledger, clock: Arc<dyn Clock>) -> Self {
        Self { ledger, clock }
    }

    async fn remove(&self, job: &Job) -> Result<()> {
        let plan = async || {
            let mut change = Change::default();
            change.settle(PENDING, job);
            let Some(client) = self.ledger.get::<Client>(&client_key(&job.id)).await? else {
                return Ok((change, None));
            };
            let late = self.clock.now().plus(SKEW);
            if client.record.is_there(late) {
                return Ok((change, None));
            }
            clients::plan_removal(&self.ledger, &mut change, &client).await?;
            Ok((change, Some(client.record)))
        };
        match self.ledger.change(plan).await {
            Ok(None) => Ok(()),
            Ok(Some(gone)) => {
                clients::audit("client.expired", &gone.id, &gone.tenant, "the host");
                Ok(())
            }
            // Another worker has the job, or the client has registered again.
            Err(Error::Conflict(_)) => Ok(()),
            Err(cause) => Err(cause),
        }
    }
}

impl Task for Tidier {
    async fn run(&self) -> Result<Option<Timestamp>> {
        loop {
            let due = self.ledger.claim(PENDING, BATCH).await?;
            for job in &due.jobs {
                self.remove(job).await?;
            }
            if due.jobs.len() < BATCH {
                return Ok(due.next_due);
            }
        }
    }
}
