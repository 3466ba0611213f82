//! What administrators do with clients: look at them, authorize, revoke, delete, renew their secret, give them roles.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::client::{Client, Status, Verdict, random_secret};
use super::ledger::{Change, Kept, Ledger, PAGE, read};
use super::tenant::TenantId;
use super::{Credentials, Tokens, client_key};
use crate::error::{Error, Result};
use crate::etag::{self, Preconditions};
use crate::follow::Follow;

/// How many pages of a tenant's list are looked through for clients of a status before the answer ends.
const MAX_PAGES: usize = 20;

/// Some clients, or software statements, of a tenant.
#[derive(Clone, Debug, Serialize)]
pub struct ListPage {
    /// Each of them, by id.
    pub items: Vec<serde_json::Value>,
    /// Where the next page begins, when there may be one. A page may be short of what was asked for, even empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A client's line in its tenant's list.
#[derive(Debug, Deserialize, Serialize)]
struct Listed {
    status: Status,
}

/// The prefix of a tenant's list.
fn list_prefix(tenant: &TenantId) -> String {
    format!("of/{tenant}/")
}

/// Plans a client's record, and its line in its tenant's list.
pub(super) fn put(change: &mut Change, client: &Client) -> Result<()> {
    let key = client_key(&client.id);
    change.put(&key, client)?;
    let listed = Listed {
        status: client.status,
    };
    change.put(
        &format!("{}{}", list_prefix(&client.tenant), client.id),
        &listed,
    )?;
    change.tell(&key);
    Ok(())
}

/// Plans that a client goes, as it was read.
pub(super) async fn plan_removal(
    ledger: &Ledger,
    change: &mut Change,
    client: &Kept<Client>,
) -> Result<()> {
    let Client {
        id, tenant, status, ..
    } = &client.record;
    let key = client_key(id);
    change.rests_on(&key, Some(client));
    change.delete(&key);
    change.delete(&format!("{}{id}", list_prefix(tenant)));
    change.tell(&key);
    if *status == Status::Pending {
        count_pending(ledger, change, tenant, -1).await?;
    }
    Ok(())
}

/// Plans that a tenant has one pending client more or less; answers how many it will have.
pub(super) async fn count_pending(
    ledger: &Ledger,
    change: &mut Change,
    tenant: &TenantId,
    difference: i64,
) -> Result<u64> {
    let key = format!("pending/{tenant}");
    let read: Option<Kept<u64>> = ledger.get(&key).await?;
    change.rests_on(&key, read.as_ref());
    let count = read
        .map_or(0, |read| read.record)
        .saturating_add_signed(difference);
    change.put(&key, &count)?;
    Ok(count)
}

/// A line for whoever asks later what happened to a client.
pub(super) fn audit(action: &str, client: &str, tenant: &TenantId, by: &str) {
    tracing::info!(target: "audit", action, client, %tenant, by);
}

pub(super) fn taken() -> Error {
    Error::Conflict("there is a client of these claims already".to_owned())
}

impl Tokens {
    /// Clients of a tenant, by id, after the one that `cursor` names.
    ///
    /// # Errors
    /// [`Error::Denied`].
    pub async fn clients(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        status: Option<Status>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<ListPage> {
        self.rules(caller, tenant.as_str())?;
        let prefix = list_prefix(tenant);
        let mut after = cursor.map(|id| format!("{prefix}{id}"));
        let mut items = Vec::new();
        for _ in 0..MAX_PAGES {
            // With a status, most lines may be of others: look at many at once.
            let wanted = limit.saturating_sub(items.len());
            let most = if status.is_some() {
                PAGE
            } else {
                wanted.min(PAGE)
            };
            let page = self.ledger.scan(&prefix, after.as_deref(), most).await?;
            let mut ids = Vec::new();
            let mut looked_at = 0;
            for (key, entry) in &page.entries {
                if ids.len() == wanted {
                    break;
                }
                looked_at += 1;
                after = Some(key.clone());
                let listed = read::<Listed>(key, entry)?.record;
                if status.is_none_or(|status| status == listed.status) {
                    ids.push(client_key(key.strip_prefix(&prefix).unwrap_or(key)));
                }
            }
            items.extend(self.seen(&ids).await?);
            if !page.more && looked_at == page.entries.len() {
                return Ok(ListPage { items, next: None });
            }
            if items.len() >= limit {
                break;
            }
        }
        let next = after.and_then(|key| key.strip_prefix(&prefix).map(str::to_owned));
        Ok(ListPage { items, next })
    }

    /// Those of these clients that are there, as administrators see them.
    async fn seen(&self, keys: &[String]) -> Result<Vec<serde_json::Value>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let mut seen = Vec::with_capacity(keys.len());
        for (key, entry) in keys.iter().zip(self.ledger.entries(keys).await?) {
            let client = entry.map(|entry| read::<Client>(key, &entry)).transpose()?;
            seen.extend(
                client
                    .filter(|c| c.record.is_there(now))
                    .map(|c| c.record.to_json()),
            );
        }
        Ok(seen)
    }

    /// One client.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`].
    pub async fn client(&self, caller: &Caller, tenant: &TenantId, id: &str) -> Result<Client> {
        self.rules(caller, tenant.as_str())?;
        Ok(self.kept(tenant, id).await?.record)
    }

    /// Authorizes or revokes a client.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Conflict`] where the status does not allow it.
    pub async fn judge(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        verdict: Verdict,
    ) -> Result<Client> {
        self.rules(caller, tenant.as_str())?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.kept(tenant, id).await?;
            self.may_change(caller, &read.record)?;
            let was = read.record.status;
            let status = was.after(verdict).ok_or_else(|| {
                Error::Conflict("a client that was revoked stays revoked".to_owned())
            })?;
            if status == was {
                return Ok((change, (false, read.record)));
            }
            change.rests_on(&client_key(id), Some(&read));
            if was == Status::Pending {
                count_pending(&self.ledger, &mut change, tenant, -1).await?;
            }
            let client = Client {
                status,
                pending_until: None,
                ..read.record
            };
            put(&mut change, &client)?;
            Ok((change, (true, client)))
        };
        let (changed, client) = self.ledger.change(plan).await?;
        if changed {
            let action = match verdict {
                Verdict::Authorize => "client.authorized",
                Verdict::Revoke => "client.revoked",
            };
            audit(action, id, tenant, &caller.subject);
            self.registry.catch_up().await?;
        }
        Ok(client)
    }

    /// Removes a client.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Outdated`].
    pub async fn delete_client(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        preconditions: &Preconditions,
    ) -> Result<()> {
        self.rules(caller, tenant.as_str())?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.kept(tenant, id).await?;
            self.may_change(caller, &read.record)?;
            preconditions.hold(Some(&etag::of_json(&read.record.to_json())?))?;
            plan_removal(&self.ledger, &mut change, &read).await?;
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        audit("client.deleted", id, tenant, &caller.subject);
        self.registry.catch_up().await
    }

    /// Gives a client a new secret; those before it stay valid for `overlap`, or as long as is configured.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Conflict`] for a client that was revoked.
    pub async fn renew_secret(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        overlap: Option<Duration>,
    ) -> Result<Credentials> {
        self.rules(caller, tenant.as_str())?;
        let overlap = overlap.unwrap_or(self.limits.secret_overlap);
        let secret = random_secret()?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.kept(tenant, id).await?;
            self.may_change(caller, &read.record)?;
            if read.record.status == Status::Revoked {
                return Err(Error::Conflict(
                    "a client that was revoked stays revoked".to_owned(),
                ));
            }
            change.rests_on(&client_key(id), Some(&read));
            let (mut client, now) = (read.record, self.clock.now());
            client.renew_secret(self.pepper.seal(&secret), now, now.plus(overlap));
            put(&mut change, &client)?;
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        audit("client.secret_renewed", id, tenant, &caller.subject);
        Ok(Credentials {
            client_id: id.to_owned(),
            client_secret: secret,
        })
    }

    /// Gives a client these roles, in place of those it has.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Outdated`], [`Error::Invalid`] naming a role that is not there.
    pub async fn set_roles(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        roles: &[String],
        preconditions: &Preconditions,
    ) -> Result<Client> {
        self.rules(caller, tenant.as_str())?;
        self.may_give(caller, Some(tenant), roles)?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.kept(tenant, id).await?;
            self.may_change(caller, &read.record)?;
            preconditions.hold(Some(&etag::of_json(&read.record.to_json())?))?;
            change.rests_on(&client_key(id), Some(&read));
            let client = Client {
                roles: roles.to_vec(),
                ..read.record
            };
            put(&mut change, &client)?;
            Ok((change, client))
        };
        let client = self.ledger.change(plan).await?;
        audit("client.roles_set", id, tenant, &caller.subject);
        self.registry.catch_up().await?;
        Ok(client)
    }

    /// A client of a tenant as it is kept.
    async fn kept(&self, tenant: &TenantId, id: &str) -> Result<Kept<Client>> {
        let fits = id.len() <= super::client_id::MAX_ID && !id.contains('\0');
        let read = if fits {
            self.ledger.get::<Client>(&client_key(id)).await?
        } else {
            None
        };
        let now = self.clock.now();
        let read = read.filter(|read| read.record.tenant == *tenant && read.record.is_there(now));
        read.ok_or_else(|| Error::NotFound("there is no client of this id".to_owned()))
    }

    /// Nothing, when the caller may change this client: whoever may renew the secret of a client has what it has.
    fn may_change(&self, caller: &Caller, client: &Client) -> Result<()> {
        Self::outranks(caller, self.registry.permissions_of(client))
    }
}
