//! Routing: finds the server for a request, be it the only one, the master that Sentinels name, or the owner of the
//! slot in a cluster.
//!
//! The client library's own cluster routing is not used, since it resends any request whose connection breaks; a commit
//! must be repeated only by its caller, under its id. A request that a server did not execute (`MOVED`, `ASK`,
//! `TRYAGAIN`, `LOADING`, ...) is retried on the right server for a while; one that was sent and not answered fails
//! with [`RequestError::Unknown`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use redis::io::tcp::TcpSettings;
use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult,
    TlsCertificates, Value,
};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::address::Address;
use super::cluster::{self, is_transient};
use super::keys::SLOTS;
use super::node::{Node, RequestError};
use super::scripts::Request;
use super::sentinels::{Named, Sentinels};
use super::url::{RedisUrl, Topology};
use crate::regular_file;

/// The time for which a request is retried on servers that do not execute it.
const RETRY_FOR: Duration = Duration::from_secs(1);

/// The wait between these attempts.
const BACKOFF: Duration = Duration::from_millis(25);

/// The time limit for discovering the owners of slots.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(3);

/// Routes requests to the servers of a store.
pub(super) struct Router {
    url: RedisUrl,
    runtime: Handle,
    certificates: Option<TlsCertificates>,
    sentinels: Option<Sentinels>,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    owners: ArcSwap<Owners>,
    /// The time at which the owners were last discovered. Locked during a discovery.
    discovered: tokio::sync::Mutex<Option<Instant>>,
}

/// The owners of ranges of slots: last slot → first slot and owner.
type Owners = BTreeMap<u16, (u16, Arc<Node>)>;

impl Router {
    /// Reads the URL and the certificates without connecting to a server. Connections will live on the runtime.
    ///
    /// # Errors
    /// When the file of certificates cannot be read or contains none.
    pub(super) fn new(url: RedisUrl, runtime: Handle) -> Result<Self, String> {
        let certificates = certificates(&url)?;
        let mut router = Self {
            url,
            runtime,
            certificates,
            sentinels: None,
            nodes: Mutex::default(),
            owners: ArcSwap::default(),
            discovered: tokio::sync::Mutex::new(None),
        };
        // Malformed certificates are reported here, not by the first request.
        for address in &router.url.addresses {
            router.client(address)?;
        }
        if let Topology::Sentinel(service) = &router.url.topology {
            let addresses = router.url.addresses.iter();
            let clients = addresses.map(|address| {
                let client = router.new_client(address, router.sentinel_login())?;
                Ok((address.clone(), client))
            });
            let clients = clients.collect::<Result<_, String>>()?;
            router.sentinels = Some(Sentinels::new(service.clone(), clients));
        }
        if let (Topology::Single, Some(address)) =
            (&router.url.topology, router.url.addresses.first())
        {
            let node = router.node(address)?;
            router
                .owners
                .store(Arc::new(Owners::from([(SLOTS - 1, (0, node))])));
        }
        Ok(router)
    }

    pub(super) const fn url(&self) -> &RedisUrl {
        &self.url
    }

    /// Returns the Sentinels, if they name the master.
    pub(super) const fn sentinels(&self) -> Option<&Sentinels> {
        self.sentinels.as_ref()
    }

    /// Sends a request to the owner of a slot. A request that may have been executed is not sent again.
    pub(super) async fn send(&self, slot: u16, request: &Request) -> Result<Value, RequestError> {
        let begin = Instant::now();
        let mut with_source = false;
        let mut next: Option<(Arc<Node>, bool)> = None;
        loop {
            let (node, asking) = match next.take() {
                Some(target) => target,
                None => match self.owner(slot).await {
                    Ok(node) => (node, false),
                    Err(_) if begin.elapsed() < RETRY_FOR => {
                        sleep(BACKOFF).await;
                        continue;
                    }
                    Err(why) => return Err(RequestError::Unavailable(why)),
                },
            };
            let error = match node.send(request, with_source, asking).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let retry = begin.elapsed() < RETRY_FOR;
            match (error.code(), error.redirect()) {
                (Some("NOSCRIPT"), _) if !with_source => {
                    with_source = true;
                    next = Some((node, asking));
                }
                (Some("MOVED"), Some(address)) if retry => {
                    self.discover(begin).await;
                    next = Some((self.redirected(address, node.address())?, false));
                }
                (Some("ASK"), Some(address)) if retry => {
                    next = Some((self.redirected(address, node.address())?, true));
                }
                (Some(code), _) if retry && is_transient(code) => {
                    sleep(BACKOFF).await;
                    self.discover(Instant::now()).await;
                }
                (Some(_), _) => return Err(RequestError::Unavailable(error.to_string())),
                (None, _) => match error {
                    RequestError::Unreplicated(..) => return Err(error),
                    RequestError::Unavailable(_)
                        if retry && self.url.topology != Topology::Single =>
                    {
                        sleep(BACKOFF).await;
                        self.discover(Instant::now()).await;
                    }
                    error => {
                        // The next request first discovers which servers are there now.
                        self.invalidate_owners();
                        return Err(error);
                    }
                },
            }
        }
    }

    /// Returns all masters, each once.
    pub(super) async fn masters(&self) -> Result<Vec<Arc<Node>>, String> {
        self.owner(0).await?;
        let mut masters: Vec<Arc<Node>> = Vec::new();
        for (_, node) in self.owners.load().values() {
            if !masters.iter().any(|known| Arc::ptr_eq(known, node)) {
                masters.push(Arc::clone(node));
            }
        }
        Ok(masters)
    }

    /// Discovers the masters with slots again, and returns their addresses.
    pub(super) async fn discover_masters(&self) -> Result<Vec<Address>, String> {
        self.discover(Instant::now()).await;
        let masters = self.masters().await?;
        Ok(masters.iter().map(|node| node.address().clone()).collect())
    }

    async fn owner(&self, slot: u16) -> Result<Arc<Node>, String> {
        if let Some(owner) = owner(&self.owners.load(), slot) {
            return Ok(owner);
        }
        self.discover(Instant::now()).await;
        owner(&self.owners.load(), slot).ok_or_else(|| match &self.url.topology {
            Topology::Sentinel(service) => format!("no Sentinel names a master of {service}"),
            _ => format!("no server of the cluster owns slot {slot}"),
        })
    }

    /// Makes the next request to the owner of a slot open a new connection, since the server's clock has jumped.
    pub(super) fn reconnect(&self, slot: u16) {
        if let Some(owner) = owner(&self.owners.load(), slot) {
            owner.reconnect();
        }
    }

    /// Forgets the owners of slots where a failover may have changed them.
    fn invalidate_owners(&self) {
        if self.url.topology != Topology::Single {
            self.owners.store(Arc::default());
        }
    }

    /// Discovers the owners of slots, unless that was done after `since`.
    async fn discover(&self, since: Instant) {
        let mut discovered = self.discovered.lock().await;
        if discovered.is_some_and(|at| at > since) {
            return;
        }
        let found = match (&self.url.topology, &self.sentinels) {
            (Topology::Cluster, _) => timeout(DISCOVERY_TIMEOUT, self.ask_cluster()).await,
            (_, Some(sentinels)) => timeout(DISCOVERY_TIMEOUT, self.ask_sentinels(sentinels)).await,
            (_, None) => return,
        };
        if let Ok(Some(owners)) = found {
            self.owners.store(Arc::new(owners));
        }
        *discovered = Some(Instant::now());
    }

    /// Returns the master that the Sentinels name and that says it is one: a Sentinel learns late of a failover that
    /// another Sentinel leads.
    async fn ask_sentinels(&self, sentinels: &Sentinels) -> Option<Owners> {
        let Named {
            masters, failure, ..
        } = sentinels.named().await;
        if masters.is_empty() {
            let url = &self.url;
            tracing::warn!(%url, cause = failure, "the Sentinels name no master");
        }
        for master in masters {
            let node = self.node(&master).ok()?;
            let mut command = redis::cmd("INFO");
            command.arg("replication");
            let mut request = Request::command(command);
            request.timeout = Duration::from_secs(1);
            let info = node.send(&request, false, false).await;
            let info: Option<String> = info
                .ok()
                .and_then(|info| redis::from_redis_value(info).ok());
            if info.is_some_and(|info| cluster::is_master(&info)) {
                return Some(Owners::from([(SLOTS - 1, (0, node))]));
            }
        }
        None
    }

    /// Returns the owners according to the first server of the cluster that answers.
    async fn ask_cluster(&self) -> Option<Owners> {
        let mut known: Vec<Arc<Node>> = Vec::new();
        known.extend(
            self.url
                .addresses
                .iter()
                .filter_map(|seed| self.node(seed).ok()),
        );
        known.extend(self.nodes.lock().values().cloned());
        // A server that hangs is then not asked first each time.
        known.sort_by_key(|node| !node.is_connected());
        for node in known {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SLOTS");
            let mut request = Request::command(command);
            request.timeout = Duration::from_secs(1);
            if let Ok(reply) = node.send(&request, false, false).await
                && let Some(owners) = self.owners(&reply, node.address())
            {
                return Some(owners);
            }
        }
        None
    }

    /// Parses the owners in a reply to `CLUSTER SLOTS`.
    fn owners(&self, reply: &Value, asked: &Address) -> Option<Owners> {
        let mut owners = Owners::new();
        for range in cluster::slot_ranges(reply, asked)? {
            owners.insert(range.last, (range.first, self.node(&range.master).ok()?));
        }
        (!owners.is_empty()).then_some(owners)
    }

    /// Returns the server that another one redirects to; without a host name, it is on the redirecting server's host.
    fn redirected(
        &self,
        mut address: Address,
        redirected_by: &Address,
    ) -> Result<Arc<Node>, RequestError> {
        if address.host.is_empty() || address.host == "?" {
            address.host.clone_from(&redirected_by.host);
        }
        self.node(&address).map_err(RequestError::Unavailable)
    }

    fn node(&self, address: &Address) -> Result<Arc<Node>, String> {
        let mut nodes = self.nodes.lock();
        if let Some(node) = nodes.get(address) {
            return Ok(Arc::clone(node));
        }
        let client = self.new_client(address, self.login())?;
        let node = Arc::new(Node::new(address.clone(), client, self.runtime.clone()));
        nodes.insert(address.clone(), Arc::clone(&node));
        Ok(node)
    }

    /// Creates a client of a server, for a connection of the caller's own.
    pub(super) fn client(&self, address: &Address) -> Result<Client, String> {
        self.new_client(address, self.login())
    }

    fn new_client(&self, address: &Address, login: RedisConnectionInfo) -> Result<Client, String> {
        let client = self
            .info(address, login)
            .and_then(|info| match &self.certificates {
                Some(certificates) => Client::build_with_tls(info, certificates.clone()),
                None => Client::open(info),
            });
        client.map_err(|cause| format!("{address}: {cause}"))
    }

    fn info(&self, address: &Address, login: RedisConnectionInfo) -> RedisResult<ConnectionInfo> {
        let Address { host, port } = address.clone();
        let addr = if self.url.tls {
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let info = addr.into_connection_info()?;
        Ok(info
            .set_redis_settings(login)
            .set_tcp_settings(TcpSettings::default().set_nodelay(true)))
    }

    fn login(&self) -> RedisConnectionInfo {
        login(&self.url.user, &self.url.password)
            .set_db(self.url.database)
            .set_lib_name("tillgate", env!("CARGO_PKG_VERSION"))
    }

    fn sentinel_login(&self) -> RedisConnectionInfo {
        login(&self.url.sentinel_user, &self.url.sentinel_password)
    }
}

fn login(user: &Option<String>, password: &Option<String>) -> RedisConnectionInfo {
    let mut login = RedisConnectionInfo::default();
    if let Some(user) = user {
        login = login.set_username(user);
    }
    if let Some(password) = password {
        login = login.set_password(password);
    }
    login
}

fn owner(owners: &Owners, slot: u16) -> Option<Arc<Node>> {
    let (_, (first, node)) = owners.range(slot..).next()?;
    (*first <= slot).then(|| Arc::clone(node))
}

fn certificates(url: &RedisUrl) -> Result<Option<TlsCertificates>, String> {
    let Some(file) = &url.ca else {
        return Ok(None);
    };
    let root_cert = regular_file::read_blocking(file).map_err(|cause| {
        format!(
            "the certificates in {} cannot be read: {cause}",
            file.display()
        )
    })?;
    Ok(Some(TlsCertificates {
        client_tls: None,
        root_cert: Some(root_cert),
    }))
}
