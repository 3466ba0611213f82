//! What every request needs to know, in memory and as fresh as the store: keys, roles, and what clients may do.
//!
//! A client is read when it is first needed and kept in a [`Slot`] from then on; following the changes of the partition
//! keeps slots, roles and keys as they are in the store (`follow.rs`). A token that was verified holds its client's
//! slot, so asking it again costs no look-up, and revoking works at once. Unknown ids leave nothing behind.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use arc_swap::{ArcSwap, ArcSwapOption};
use serde::{Deserialize, Serialize};

use super::client::{Client, Status};
use super::keyring::KeyRing;
use super::keys::StoredKeys;
use super::ledger::{Ledger, PAGE, read};
use super::permission::{OPERATOR, Permission, Permissions, built_in};
use super::tenant::TenantId;
use super::{CLIENT, KEYS, ROLE, client_key};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::follow::{Changed, Follow, Follower};
use crate::store::Entry;

/// A role that is not built in, as it is kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct StoredRole {
    /// The names of what it holds.
    pub(super) permissions: Vec<String>,
}

impl StoredRole {
    pub(super) fn new(permissions: Permissions) -> Self {
        let names = permissions
            .iter()
            .map(|permission| permission.as_str().to_owned());
        Self {
            permissions: names.collect(),
        }
    }

    /// What it holds; a name that this version does not know holds nothing.
    pub(super) fn permissions(&self) -> Permissions {
        self.permissions
            .iter()
            .filter_map(|name| Permission::from_name(name))
            .collect()
    }
}

/// The roles that are not built in.
#[derive(Debug, Default)]
pub(super) struct Roles(BTreeMap<String, Permissions>);

impl Roles {
    pub(super) fn get(&self, role: &str) -> Option<Permissions> {
        built_in(role).or_else(|| self.0.get(role).copied())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Permissions)> {
        self.0
            .iter()
            .map(|(role, permissions)| (role.as_str(), *permissions))
    }

    /// What a client of these roles may do. A tenant's own client never gets what is the platform's, whatever its roles
    /// have become since it got them (`tokens.md`, "Permissions").
    pub(super) fn of(&self, roles: &[String], platform: bool) -> Permissions {
        let own = roles.iter().filter(|role| platform || *role != OPERATOR);
        let held = own
            .filter_map(|role| self.get(role))
            .fold(Permissions::default(), Permissions::union);
        if platform {
            held
        } else {
            held.without_platform_only()
        }
    }
}

/// What a client may do now.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) id: Arc<str>,
    pub(super) tenant: TenantId,
    pub(super) authorized: bool,
    pub(super) platform: bool,
    pub(super) permissions: Permissions,
    pub(super) registered: Timestamp,
    roles: Vec<String>,
}

/// Where a client's standing is found; empty once the client is gone.
pub(super) type Slot = ArcSwapOption<Standing>;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Registry {
    ledger: Ledger,
    follower: Follower,
    platform: TenantId,
    keys: ArcSwap<KeyRing>,
    roles: ArcSwap<Roles>,
    clients: RwLock<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    slots: HashMap<Arc<str>, Arc<Slot>>,
    /// Counts what was taken in: what was read before may be stale.
    taken_in: u64,
}

impl Registry {
    pub(super) fn new(
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        platform: TenantId,
        keys: &StoredKeys,
    ) -> Result<Self> {
        let (store, partition) = (Arc::clone(ledger.store()), ledger.partition().clone());
        let follower = Follower::new(store, partition, clock);
        Ok(Self {
            ledger,
            follower,
            platform,
            keys: ArcSwap::from_pointee(KeyRing::new(keys)?),
            roles: ArcSwap::default(),
            clients: RwLock::default(),
        })
    }

    pub(super) fn keys(&self) -> arc_swap::Guard<Arc<KeyRing>> {
        self.keys.load()
    }

    pub(super) fn roles(&self) -> arc_swap::Guard<Arc<Roles>> {
        self.roles.load()
    }

    pub(super) fn is_platform(&self, tenant: &TenantId) -> bool {
        *tenant == self.platform
    }

    /// What a client would be able to do with the roles it has.
    pub(super) fn permissions_of(&self, client: &Client) -> Permissions {
        self.permissions(&client.roles, &client.tenant)
    }

    /// What a client of a tenant can do with some roles.
    pub(super) fn permissions(&self, roles: &[String], tenant: &TenantId) -> Permissions {
        self.roles().of(roles, self.is_platform(tenant))
    }

    /// The slot of a client, `None` when there is no such client.
    pub(super) async fn slot(&self, id: &str) -> Result<Option<Arc<Slot>>> {
        loop {
            let taken_in = {
                let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = clients.slots.get(id) {
                    return Ok(Some(Arc::clone(slot)));
                }
                clients.taken_in
            };
            let Some(client) = self.ledger.get::<Client>(&client_key(id)).await? else {
                return Ok(None);
            };
            let standing = self.standing(client.record);
            let mut clients = self.write();
            // Something changed while this was read: it may have been this client.
            if clients.taken_in == taken_in {
                let new = || Arc::new(Slot::from_pointee(standing));
                let slot = clients.slots.entry(Arc::from(id)).or_insert_with(new);
                return Ok(Some(Arc::clone(slot)));
            }
        }
    }

    fn standing(&self, client: Client) -> Standing {
        Standing {
            permissions: self.permissions_of(&client),
            id: client.id.into(),
            platform: self.is_platform(&client.tenant),
            tenant: client.tenant,
            authorized: client.status == Status::Authorized,
            registered: client.registered,
            roles: client.roles,
        }
    }

    async fn take_in_keys(&self) -> Result<()> {
        let keys = self.ledger.get::<StoredKeys>(KEYS).await?;
        let keys = keys.ok_or_else(|| Error::Bug("the signing keys are gone".to_owned()))?;
        self.keys.store(Arc::new(KeyRing::new(&keys.record)?));
        Ok(())
    }

    async fn take_in_roles(&self) -> Result<()> {
        let roles = self.ledger.all::<StoredRole>(ROLE).await?;
        let roles = roles
            .into_iter()
            .map(|(role, stored)| (role, stored.permissions()));
        let roles = Roles(roles.collect());
        let mut clients = self.write();
        // Whoever reads a client right now gives it what the old roles hold: it must read again.
        clients.taken_in = clients.taken_in.wrapping_add(1);
        for slot in clients.slots.values() {
            if let Some(standing) = slot.load_full() {
                let permissions = roles.of(&standing.roles, standing.platform);
                slot.store(Some(Arc::new(standing.with(permissions))));
            }
        }
        // Under the lock: what is put into a slot after this is of the new roles.
        self.roles.store(Arc::new(roles));
        Ok(())
    }

    /// Reads again those of these clients that are in memory.
    async fn take_in_clients(&self, ids: &[Arc<str>]) -> Result<()> {
        for ids in ids.chunks(PAGE) {
            let keys: Vec<String> = ids.iter().map(|id| client_key(id)).collect();
            let entries = self.ledger.entries(&keys).await?;
            for (id, entry) in ids.iter().zip(entries) {
                self.put(id, entry)?;
            }
        }
        Ok(())
    }

    fn put(&self, id: &Arc<str>, entry: Option<Entry>) -> Result<()> {
        // One that cannot be read is not let in, and does not keep the others from being followed.
        let client = entry.and_then(|entry| match read::<Client>(id, &entry) {
            Ok(client) => Some(client),
            Err(cause) => {
                tracing::error!(client = %id, %cause, "a client's record cannot be read");
                None
            }
        });
        let standing = client.map(|client| Arc::new(self.standing(client.record)));
        let mut clients = self.write();
        let Some(slot) = clients.slots.get(id) else {
            return Ok(());
        };
        let registered = slot.load().as_ref().map(|standing| standing.registered);
        // A client that came after one that was deleted has a slot of its own: no old token leads to it.
        if standing.as_ref().map(|standing| standing.registered) == registered {
            slot.store(standing);
        } else {
            slot.store(None);
            clients.slots.remove(id);
        }
        Ok(())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Clients> {
        self.clients.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_stale(&self) {
        let mut clients = self.write();
        clients.taken_in = clients.taken_in.wrapping_add(1);
    }

    /// Those of these clients that are in memory; all that are, without a selection.
    fn known(&self, ids: Option<&BTreeSet<&str>>) -> Vec<Arc<str>> {
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        match ids {
            None => clients.slots.keys().cloned().collect(),
            Some(ids) => {
                let known = ids.iter().filter_map(|id| clients.slots.get_key_value(*id));
                known.map(|(id, _)| Arc::clone(id)).collect()
            }
        }
    }
}

impl Standing {
    fn with(&self, permissions: Permissions) -> Self {
        Self {
            id: Arc::clone(&self.id),
            tenant: self.tenant.clone(),
            roles: self.roles.clone(),
            permissions,
            ..*self
        }
    }
}

impl Follow for Registry {
    fn follower(&self) -> &Follower {
        &self.follower
    }

    async fn take_in(&self, changed: Changed) -> Result<()> {
        // What is being read right now may be stale; what is read from here on is not.
        self.mark_stale();
        match changed {
            Changed::Everything => {
                self.take_in_keys().await?;
                self.take_in_roles().await?;
                self.take_in_clients(&self.known(None)).await
            }
            Changed::Keys(keys) => {
                if keys.iter().any(|key| key == KEYS) {
                    self.take_in_keys().await?;
                }
                if keys.iter().any(|key| key.starts_with(ROLE)) {
                    self.take_in_roles().await?;
                }
                let ids = keys.iter().filter_map(|key| key.strip_prefix(CLIENT));
                self.take_in_clients(&self.known(Some(&ids.collect())))
                    .await
            }
        }
    }
}
