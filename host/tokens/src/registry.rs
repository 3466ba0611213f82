//! The cache that every request needs, as fresh as the store: roles, and what clients may do.
//!
//! A client is read when it is first needed, and cached in an [`AccessCell`] from then on; the change feed updates
//! cells, roles and signing keys (`data/feed.rs`). A verified token in the token cache refers to the cell of its
//! client, so that verifying it again costs no lookup, and revoking the client takes effect at once. Unknown ids are
//! not cached, and the number of known ones is limited.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use tillgate_base::data::feed::{Changed, Subscriber, Subscription};
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::data::records::{PAGE, Records, decode_entry};
use tillgate_base::error::Result;
use tillgate_base::identity::{By, Caller, OPERATOR, Permission, Permissions, TenantId, built_in};
use tillgate_base::keys::Keys;
use tillgate_store::Entry;
use tillgate_store::clock::{Clock, Timestamp};

use super::client::{Client, Status};
use super::{CLIENT, ROLE, client_key};

/// A role that is not built in, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredRole {
    /// The names of its permissions, including those that no route here requires.
    pub(super) permissions: Vec<String>,
    /// The program that manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) managed_by: Option<ManagedBy>,
    /// The caller who last changed it; records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_modified_by: Option<By>,
}

impl StoredRole {
    /// Returns whether another role says the same, whoever changed it.
    pub(super) fn permits_as(&self, other: &Self) -> bool {
        self.permissions == other.permissions && self.managed_by == other.managed_by
    }

    /// Returns the permissions that have an effect here.
    pub(super) fn permissions(&self) -> Permissions {
        self.permissions
            .iter()
            .filter_map(|name| Permission::from_name(name))
            .collect()
    }
}

/// The roles that are not built in, by id.
#[derive(Debug, Default)]
pub(super) struct Roles(BTreeMap<String, (StoredRole, Permissions)>);

impl Roles {
    /// Returns the permissions of a role, built in or not.
    pub(super) fn get(&self, role: &str) -> Option<Permissions> {
        built_in(role).or_else(|| self.0.get(role).map(|(_, permissions)| *permissions))
    }

    /// Returns a role that is not built in.
    pub(super) fn stored(&self, role: &str) -> Option<&StoredRole> {
        self.0.get(role).map(|(stored, _)| stored)
    }

    /// Returns the roles that are not built in.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &StoredRole)> {
        self.0
            .iter()
            .map(|(role, (stored, _))| (role.as_str(), stored))
    }

    /// Returns the permissions of a client with these roles. A tenant's own client never gets a permission that is
    /// reserved for the platform, even if its roles have changed since it got them (`tokens.md`, "Permissions").
    pub(super) fn of(&self, roles: &[String], platform: bool) -> Permissions {
        let own = roles.iter().filter(|role| platform || *role != OPERATOR);
        let permissions = own
            .filter_map(|role| self.get(role))
            .fold(Permissions::default(), Permissions::union);
        if platform {
            permissions
        } else {
            permissions.without_platform_only()
        }
    }
}

/// The current access of a client.
#[derive(Debug)]
pub(super) struct ClientAccess {
    /// The caller of requests with its tokens.
    pub(super) caller: Arc<Caller>,
    pub(super) authorized: bool,
    pub(super) registered: Timestamp,
    roles: Vec<String>,
}

/// The access of a client, kept up to date; empty once the client is gone.
pub(super) type AccessCell = ArcSwapOption<ClientAccess>;

#[derive(Debug)]
pub(super) struct Registry {
    records: Records,
    subscription: Subscription,
    platform: TenantId,
    keys: Arc<Keys>,
    roles: ArcSwap<Roles>,
    clients: RwLock<Clients>,
    /// The approximate limit on cached clients.
    max_clients: usize,
}

#[derive(Debug, Default)]
struct Clients {
    cells: HashMap<Arc<str>, Arc<AccessCell>>,
    /// Incremented by each change: a record that was read before the change may be stale.
    generation: u64,
}

impl Registry {
    pub(super) fn new(
        records: Records,
        clock: Arc<dyn Clock>,
        platform: TenantId,
        keys: Arc<Keys>,
        max_clients: usize,
    ) -> Self {
        let (store, partition) = (Arc::clone(records.store()), records.partition().clone());
        Self {
            subscription: Subscription::new(store, partition, clock),
            records,
            platform,
            keys,
            roles: ArcSwap::default(),
            clients: RwLock::default(),
            max_clients,
        }
    }

    pub(super) fn roles(&self) -> arc_swap::Guard<Arc<Roles>> {
        self.roles.load()
    }

    pub(super) fn is_platform(&self, tenant: &TenantId) -> bool {
        *tenant == self.platform
    }

    /// Returns the permissions that a client has once it is authorized.
    pub(super) fn permissions_of(&self, client: &Client) -> Permissions {
        self.permissions(&client.roles, &client.tenant)
    }

    /// Returns the permissions that these roles give a client of a tenant.
    pub(super) fn permissions(&self, roles: &[String], tenant: &TenantId) -> Permissions {
        self.roles().of(roles, self.is_platform(tenant))
    }

    /// Returns the cell of a client, or `None` if there is no such client.
    pub(super) async fn cell(&self, id: &str) -> Result<Option<Arc<AccessCell>>> {
        loop {
            let generation = {
                let clients = self.clients.read();
                if let Some(cell) = clients.cells.get(id) {
                    return Ok(Some(Arc::clone(cell)));
                }
                clients.generation
            };
            let Some(client) = self.records.get::<Client>(&client_key(id)).await? else {
                return Ok(None);
            };
            let access = self.access(client.record);
            let mut clients = self.clients.write();
            // If anything changed during the read, it may have been this client.
            if clients.generation == generation {
                clients.make_room(self.max_clients);
                let new = || Arc::new(AccessCell::from_pointee(access));
                let cell = clients.cells.entry(Arc::from(id)).or_insert_with(new);
                return Ok(Some(Arc::clone(cell)));
            }
        }
    }

    /// Returns the number of cached clients.
    pub(super) fn count(&self) -> usize {
        self.clients.read().cells.len()
    }

    fn access(&self, client: Client) -> ClientAccess {
        let caller = Caller {
            permissions: self.permissions_of(&client),
            name: client.display_name(),
            unit: client.business_unit().map(Arc::from),
            subject: client.id.into(),
            platform: self.is_platform(&client.tenant),
            tenant: client.tenant,
        };
        ClientAccess {
            caller: Arc::new(caller),
            authorized: client.status == Status::Authorized,
            registered: client.registered,
            roles: client.roles,
        }
    }

    async fn apply_roles(&self) -> Result<()> {
        let roles = self.records.all::<StoredRole>(ROLE).await?;
        let roles = roles.into_iter().map(|(role, stored)| {
            let permissions = stored.permissions();
            (role, (stored, permissions))
        });
        let roles = Roles(roles.collect());
        let mut clients = self.clients.write();
        // A client that is being read right now would get the permissions of the old roles, so it must be read again.
        clients.generation = clients.generation.wrapping_add(1);
        for cell in clients.cells.values() {
            if let Some(access) = cell.load_full() {
                let permissions = roles.of(&access.roles, access.caller.platform);
                cell.store(Some(Arc::new(access.with(permissions))));
            }
        }
        // Stored under the lock, so that whatever is put into a cell after this is made with the new roles.
        self.roles.store(Arc::new(roles));
        Ok(())
    }

    /// Reads these clients again.
    async fn apply_clients(&self, ids: &[Arc<str>]) -> Result<()> {
        for ids in ids.chunks(PAGE) {
            let keys: Vec<String> = ids.iter().map(|id| client_key(id)).collect();
            let entries = self.records.entries(&keys).await?;
            for (id, entry) in ids.iter().zip(entries) {
                self.put(id, entry)?;
            }
        }
        Ok(())
    }

    fn put(&self, id: &Arc<str>, entry: Option<Entry>) -> Result<()> {
        // A client whose record is damaged is refused; the others are still read.
        let client = entry.and_then(|entry| match decode_entry::<Client>(id, &entry) {
            Ok(client) => Some(client),
            Err(cause) => {
                tracing::error!(client = %id, %cause, "a client's record cannot be read");
                None
            }
        });
        let access = client.map(|client| Arc::new(self.access(client.record)));
        let mut clients = self.clients.write();
        let Some(cell) = clients.cells.get(id) else {
            return Ok(());
        };
        let registered = cell.load().as_ref().map(|access| access.registered);
        // A client that is registered again after its deletion gets a new cell, so that no old token leads to it.
        if access.as_ref().map(|access| access.registered) == registered {
            cell.store(access);
        } else {
            cell.store(None);
            clients.cells.remove(id);
        }
        Ok(())
    }

    fn mark_stale(&self) {
        let mut clients = self.clients.write();
        clients.generation = clients.generation.wrapping_add(1);
    }

    /// Returns those of these clients that are cached; without ids, all cached ones.
    fn cached(&self, ids: Option<&BTreeSet<&str>>) -> Vec<Arc<str>> {
        let clients = self.clients.read();
        match ids {
            None => clients.cells.keys().cloned().collect(),
            Some(ids) => {
                let cached = ids.iter().filter_map(|id| clients.cells.get_key_value(*id));
                cached.map(|(id, _)| Arc::clone(id)).collect()
            }
        }
    }
}

impl Clients {
    /// Makes room for one more client. Of those that no token in memory refers to, any half will do: they are read
    /// again when they are needed.
    fn make_room(&mut self, max: usize) {
        if self.cells.len() < max {
            return;
        }
        let mut keeps = false;
        self.cells.retain(|_, cell| {
            // A cell that a token refers to must keep receiving the changes of its client.
            let is_idle = Arc::strong_count(cell) == 1;
            keeps ^= is_idle;
            !is_idle || keeps
        });
    }
}

impl ClientAccess {
    fn with(&self, permissions: Permissions) -> Self {
        let caller = Caller {
            permissions,
            ..Caller::clone(&self.caller)
        };
        Self {
            caller: Arc::new(caller),
            roles: self.roles.clone(),
            ..*self
        }
    }
}

impl Subscriber for Registry {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    async fn apply(&self, changed: Changed) -> Result<()> {
        // A record that is being read right now may be stale; one that is read from now on is not.
        self.mark_stale();
        match changed {
            Changed::Everything => {
                self.keys.reload().await?;
                self.apply_roles().await?;
                self.apply_clients(&self.cached(None)).await
            }
            Changed::Keys(keys) => {
                if keys.iter().any(|key| key == self.keys.record()) {
                    self.keys.reload().await?;
                }
                if keys.iter().any(|key| key.starts_with(ROLE)) {
                    self.apply_roles().await?;
                }
                let ids = keys.iter().filter_map(|key| key.strip_prefix(CLIENT));
                self.apply_clients(&self.cached(Some(&ids.collect()))).await
            }
        }
    }
}
