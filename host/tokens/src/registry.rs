//! The cache of what every request needs, as fresh as the store: roles, and what clients may do.
//!
//! A client is read when it is first needed and cached in an [`AccessCell`] from then on; the change feed updates cells,
//! roles and signing keys (`data/feed.rs`). A verified token in the token cache refers to the cell of its client, so that
//! verifying it again costs no look-up, and revoking the client takes effect at once. Unknown ids are not cached, and of
//! known ones so many at most.

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
    /// Which program manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) managed_by: Option<ManagedBy>,
    /// Who last changed it. Records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_modified_by: Option<By>,
}

impl StoredRole {
    /// Whether another one says the same, whoever has changed it.
    pub(super) fn permits_as(&self, other: &Self) -> bool {
        self.permissions == other.permissions && self.managed_by == other.managed_by
    }

    /// The permissions that have an effect here.
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
    /// The permissions of a role, built in or not.
    pub(super) fn get(&self, role: &str) -> Option<Permissions> {
        built_in(role).or_else(|| self.0.get(role).map(|(_, permissions)| *permissions))
    }

    /// A role that is not built in.
    pub(super) fn stored(&self, role: &str) -> Option<&StoredRole> {
        self.0.get(role).map(|(stored, _)| stored)
    }

    /// The roles that are not built in.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &StoredRole)> {
        self.0
            .iter()
            .map(|(role, (stored, _))| (role.as_str(), stored))
    }

    /// What a client with these roles may do. A tenant's own client never gets a permission that is the platform's alone,
    /// whatever its roles have become since it got them (`tokens.md`, "Permissions").
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

/// What a client may do now.
#[derive(Debug)]
pub(super) struct ClientAccess {
    /// As requests with its tokens see it.
    pub(super) caller: Arc<Caller>,
    pub(super) authorized: bool,
    pub(super) registered: Timestamp,
    roles: Vec<String>,
}

/// What a client may do, kept up to date; empty once the client is gone.
pub(super) type AccessCell = ArcSwapOption<ClientAccess>;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Registry {
    records: Records,
    subscription: Subscription,
    platform: TenantId,
    keys: Arc<Keys>,
    roles: ArcSwap<Roles>,
    clients: RwLock<Clients>,
    /// How many clients are cached, about.
    max_clients: usize,
}

#[derive(Debug, Default)]
struct Clients {
    cells: HashMap<Arc<str>, Arc<AccessCell>>,
    /// Incremented by each change: a record that was read before it may be stale.
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

    /// What a client can do with its roles, once it is authorized.
    pub(super) fn permissions_of(&self, client: &Client) -> Permissions {
        self.permissions(&client.roles, &client.tenant)
    }

    /// What a client of a tenant can do with some roles.
    pub(super) fn permissions(&self, roles: &[String], tenant: &TenantId) -> Permissions {
        self.roles().of(roles, self.is_platform(tenant))
    }

    /// The cell of a client; `None` when there is no such client.
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
            // Something changed while this was read: it may have been this client.
            if clients.generation == generation {
                clients.make_room(self.max_clients);
                let new = || Arc::new(AccessCell::from_pointee(access));
                let cell = clients.cells.entry(Arc::from(id)).or_insert_with(new);
                return Ok(Some(Arc::clone(cell)));
            }
        }
    }

    /// How many clients are cached.
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
        // A client that is being read right now would get the permissions of the old roles: it must be read again.
        clients.generation = clients.generation.wrapping_add(1);
        for cell in clients.cells.values() {
            if let Some(access) = cell.load_full() {
                let permissions = roles.of(&access.roles, access.caller.platform);
                cell.store(Some(Arc::new(access.with(permissions))));
            }
        }
        // Under the lock: what is put into a cell after this is made with the new roles.
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
        // A client that was registered again after it was deleted has a cell of its own: no old token leads to it.
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

    /// Those of these clients that are cached; without ids, all that are.
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
    /// Makes room for one more: of the clients that no token in memory refers to, any half will do. They are read again when
    /// they ask.
    fn make_room(&mut self, max: usize) {
        if self.cells.len() < max {
            return;
        }
        let mut keeps = false;
        self.cells.retain(|_, cell| {
            // What a token refers to must go on being told what becomes of its client.
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
        // A record that is being read right now may be stale; one that is read from here on is not.
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
