//! Administration of clients: listing, authorizing, revoking and deleting them, renewing their secrets, setting their
//! roles.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::problem::{CLIENT_EXISTS, CLIENT_NOT_FOUND, CLIENT_REVOKED};
use tillgate_base::data::etag::{self, Etag, Preconditions};
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::records::{Change, PAGE, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, Caller, TenantId};
use tillgate_base::observe::audit::Line;

use super::client::{AnsweredClient, Client, Credentials, Status, StatusChange, random_secret};
use super::client_id::is_id;
use super::counts::{self, Counts};
use super::{Tokens, client_key};

/// The most pages of a tenant's list that one request searches for clients with a status.
const MAX_PAGES: usize = 20;

/// The number of clients, of at most 64 KiB each, that are read at once, and the bytes after which a page ends.
const READ_AT_ONCE: usize = 32;
const MAX_BYTES: usize = 4 << 20;

/// The bytes that a page takes while it is read and answered.
pub(super) const PAGE_BYTES: usize = 4 * MAX_BYTES;

/// A page of a list of a tenant.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "{T}s")]
pub struct ListPage<T> {
    /// The items of this page. A page may have fewer than `limit`, or none, although more follow.
    pub items: Vec<T>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A client's entry in its tenant's list.
#[derive(Debug, Deserialize, Serialize)]
struct ListEntry {
    status: Status,
}

fn list_prefix(tenant: &TenantId) -> String {
    format!("of/{tenant}/")
}

/// Adds a client's record and its entry in its tenant's list to the change.
pub(super) fn put(change: &mut Change, client: &Client) -> Result<()> {
    let key = client_key(&client.id);
    change.put(&key, client)?;
    let entry = ListEntry {
        status: client.status,
    };
    change.put(
        &format!("{}{}", list_prefix(&client.tenant), client.id),
        &entry,
    )?;
    change.notify(&key);
    Ok(())
}

/// Adds the removal of a client to the change, which expects the client as it was read.
pub(super) async fn plan_removal(
    records: &Records,
    change: &mut Change,
    client: &Versioned<Client>,
) -> Result<()> {
    let Client { id, tenant, .. } = &client.record;
    let key = client_key(id);
    change.expect(&key, Some(client));
    change.delete(&key);
    change.delete(&format!("{}{id}", list_prefix(tenant)));
    change.notify(&key);
    counts::plan(records, change, Some(tenant), -counted(&client.record)).await?;
    plan_not_pending(records, change, &client.record).await
}

/// Returns what a client adds to the counts of its tenant.
pub(super) const fn counted(client: &Client) -> Counts {
    match client.status {
        Status::Pending => Counts::PENDING_CLIENT,
        Status::Authorized | Status::Revoked => Counts::CLIENT,
    }
}

/// Subtracts a client, if it is pending, from the pending clients of its address.
async fn plan_not_pending(records: &Records, change: &mut Change, client: &Client) -> Result<()> {
    if let (Status::Pending, Some(from)) = (client.status, client.pending_from) {
        counts::plan_pending_from(records, change, &client.tenant, (from, -1)).await?;
    }
    Ok(())
}

/// Returns the audit line of a client.
pub(super) fn line(tenant: &TenantId, client: &str) -> Line {
    Line {
        tenant: Some(tenant.clone()),
        client: Some(client.to_owned()),
        ..Line::default()
    }
}

fn etag_of(client: &Client) -> Result<Etag> {
    etag::of_json(&AnsweredClient::from(client.clone()))
}

pub(super) fn already_exists() -> Error {
    Error::Conflict(
        CLIENT_EXISTS,
        "a client with these claims already exists".to_owned(),
    )
}

fn is_revoked() -> Error {
    Error::Conflict(
        CLIENT_REVOKED,
        "a revoked client cannot be changed back".to_owned(),
    )
}

impl Tokens {
    /// Returns clients of a tenant, by id, after the one that `cursor` names.
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
    ) -> Result<ListPage<AnsweredClient>> {
        caller.require_tenant(tenant.as_str())?;
        let prefix = list_prefix(tenant);
        let mut after = cursor.map(|id| format!("{prefix}{id}"));
        let (mut items, mut bytes) = (Vec::new(), 0);
        for _ in 0..MAX_PAGES {
            // A page that is filtered by status may have few matches, so many entries are read at once.
            let wanted = limit.saturating_sub(items.len());
            let count = if status.is_some() {
                PAGE
            } else {
                wanted.min(PAGE)
            };
            let page = self.records.scan(&prefix, after.as_deref(), count).await?;
            let mut ids = Vec::new();
            let mut visited = 0;
            for (key, entry) in &page.entries {
                if ids.len() == wanted {
                    break;
                }
                visited += 1;
                after = Some(key.clone());
                let listed = decode_entry::<ListEntry>(key, entry)?.record;
                if status.is_none_or(|status| status == listed.status) {
                    ids.push(key.strip_prefix(&prefix).unwrap_or(key).to_owned());
                }
            }
            for ids in ids.chunks(READ_AT_ONCE) {
                let keys: Vec<String> = ids.iter().map(|id| client_key(id)).collect();
                bytes += self.read_clients(&keys, &mut items).await?;
                if bytes > MAX_BYTES {
                    let next = ids.last().cloned();
                    return Ok(ListPage { items, next });
                }
            }
            if !page.more && visited == page.entries.len() {
                return Ok(ListPage { items, next: None });
            }
            if items.len() >= limit {
                break;
            }
        }
        let next = after.and_then(|key| key.strip_prefix(&prefix).map(str::to_owned));
        Ok(ListPage { items, next })
    }

    /// Adds those clients with these keys that still exist, and returns the number of bytes read.
    async fn read_clients(
        &self,
        keys: &[String],
        clients: &mut Vec<AnsweredClient>,
    ) -> Result<usize> {
        if keys.is_empty() {
            return Ok(0);
        }
        let (now, mut bytes) = (self.clock.now(), 0);
        for (key, entry) in keys.iter().zip(self.records.entries(keys).await?) {
            let Some(entry) = entry else { continue };
            let client = decode_entry::<Client>(key, &entry)?.record;
            bytes += entry.value.len();
            clients.extend(client.exists(now).then(|| client.into()));
        }
        Ok(bytes)
    }

    /// Returns one client.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`].
    pub async fn client(&self, caller: &Caller, tenant: &TenantId, id: &str) -> Result<Client> {
        caller.require_tenant(tenant.as_str())?;
        Ok(self.find_client(tenant, id).await?.record)
    }

    /// Authorizes or revokes a client. Returns the client, and whether it has changed.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Conflict`] where the status does not allow it.
    pub async fn change_status(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        wanted: StatusChange,
    ) -> Result<(Client, bool)> {
        caller.require_tenant(tenant.as_str())?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.find_client(tenant, id).await?;
            self.require_grantable(caller, &read.record)?;
            let was = read.record.status;
            let status = was.after(wanted).ok_or_else(is_revoked)?;
            if status == was {
                return Ok((change, (read.record, false)));
            }
            change.expect(&client_key(id), Some(&read));
            if was == Status::Pending {
                counts::plan(&self.records, &mut change, Some(tenant), -Counts::PENDING).await?;
                plan_not_pending(&self.records, &mut change, &read.record).await?;
            }
            let client = Client {
                status,
                pending_until: None,
                pending_from: None,
                last_modified_by: Some(By::caller(caller)),
                ..read.record
            };
            put(&mut change, &client)?;
            Ok((change, (client, true)))
        };
        let (client, has_changed) = self.records.change(plan).await?;
        if has_changed {
            self.registry.catch_up().await?;
        }
        Ok((client, has_changed))
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
        caller.require_tenant(tenant.as_str())?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.find_client(tenant, id).await?;
            self.require_grantable(caller, &read.record)?;
            preconditions.check(Some(&etag_of(&read.record)?))?;
            plan_removal(&self.records, &mut change, &read).await?;
            Ok((change, ()))
        };
        self.records.change(plan).await?;
        self.registry.catch_up().await
    }

    /// Gives a client a new secret. Its previous secrets stay valid for `overlap`, or for the configured time.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Conflict`] for a revoked client.
    pub async fn renew_secret(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        overlap: Option<Duration>,
    ) -> Result<Credentials> {
        caller.require_tenant(tenant.as_str())?;
        let overlap = overlap.unwrap_or(self.limits.secret_overlap);
        let secret = random_secret()?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.find_client(tenant, id).await?;
            self.require_grantable(caller, &read.record)?;
            if read.record.status == Status::Revoked {
                return Err(is_revoked());
            }
            change.expect(&client_key(id), Some(&read));
            let (mut client, now) = (read.record, self.clock.now());
            client.renew_secret(self.pepper.hash_secret(&secret), now, now.plus(overlap));
            client.last_modified_by = Some(By::caller(caller));
            put(&mut change, &client)?;
            Ok((change, ()))
        };
        self.records.change(plan).await?;
        Ok(Credentials {
            client_id: id.to_owned(),
            client_secret: secret,
        })
    }

    /// Replaces the roles of a client. Returns the client, and whether it has changed.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::NotFound`], [`Error::Outdated`], [`Error::Invalid`] naming a role that does not exist.
    pub async fn set_roles(
        &self,
        caller: &Caller,
        tenant: &TenantId,
        id: &str,
        roles: &[String],
        preconditions: &Preconditions,
    ) -> Result<(Client, bool)> {
        caller.require_tenant(tenant.as_str())?;
        self.check_grant(caller, Some(tenant), roles)?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.find_client(tenant, id).await?;
            self.require_grantable(caller, &read.record)?;
            preconditions.check(Some(&etag_of(&read.record)?))?;
            if read.record.roles == roles {
                return Ok((change, (read.record, false)));
            }
            change.expect(&client_key(id), Some(&read));
            let client = Client {
                roles: roles.to_vec(),
                last_modified_by: Some(By::caller(caller)),
                ..read.record
            };
            put(&mut change, &client)?;
            Ok((change, (client, true)))
        };
        let changed = self.records.change(plan).await?;
        self.registry.catch_up().await?;
        Ok(changed)
    }

    /// Returns a client of a tenant as it is stored.
    async fn find_client(&self, tenant: &TenantId, id: &str) -> Result<Versioned<Client>> {
        let read = if is_id(id) {
            self.records.get::<Client>(&client_key(id)).await?
        } else {
            None
        };
        let now = self.clock.now();
        let read = read.filter(|read| read.record.tenant == *tenant && read.record.exists(now));
        read.ok_or_else(|| Error::missing(CLIENT_NOT_FOUND, id))
    }

    /// Checks that the caller may change this client. A caller that renews a client's secret can act as the client, so
    /// the caller must be able to grant the client's permissions.
    fn require_grantable(&self, caller: &Caller, client: &Client) -> Result<()> {
        caller.require_grantable(self.registry.permissions_of(client))
    }
}
