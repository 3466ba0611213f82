//! Routing: finds the server for a request, which is the only one, the master that Sentinels name, or the owner of the
//! slot in a cluster.
//!
//! The client library's own cluster routing is not used, since it sends any request again when its connection breaks; a
//! commit must be repeated only by its caller, under its id. A request that a server did not execute (`MOVED`, `ASK`,
//! `TRYAGAIN`, `LOADING`, ...) is sent to the right server for a while; one that was sent and not answered is
//! [`RequestError::Unknown`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use redis::io::tcp::TcpSettings;
use redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};
use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult,
    TlsCertificates, TlsMode, Value,
};
use tokio::time::{sleep, timeout};

use super::cluster::{self, is_transient};
use super::keys::SLOTS;
use super::node::{Node, RequestError};
use super::scripts::Request;
use super::url::{Address, RedisUrl, Topology};

/// How long a request is retried on servers that do not execute it.
const RETRY_FOR: Duration = Duration::from_secs(1);

/// How long to wait between these attempts.
const BACKOFF: Duration = Duration::from_millis(25);

/// How long discovering the owners of slots may take.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(3);

/// Routes requests to the servers of a store.
pub(super) struct Router {
    url: RedisUrl,
    certificates: Option<TlsCertificates>,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    owners: ArcSwap<Owners>,
    /// When the owners were last discovered. Locked during a discovery.
    discovered: tokio::sync::Mutex<Option<Instant>>,
}

/// The owners of ranges of slots: last slot → first slot and owner.
type Owners = BTreeMap<u16, (u16, Arc<Node>)>;

impl Router {
    /// Reads the URL and the certificates; connects to no server.
    ///
    /// # Errors
    /// When the file of certificates cannot be read or contains none.
    pub(super) fn new(url: RedisUrl) -> Result<Self, String> {
        let certificates = certificates(&url)?;
        let router = Self {
            url,
            certificates,
            nodes: Mutex::default(),
            owners: ArcSwap::default(),
            discovered: tokio::sync::Mutex::new(None),
        };
        // Malformed certificates are reported here, not by the first request.
        for address in &router.url.addresses {
            router.node(address)?;
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
                    RequestError::Unavailable(_)
                        if retry && self.url.topology != Topology::Single =>
                    {
                        sleep(BACKOFF).await;
                        self.discover(Instant::now()).await;
                    }
                    error => {
                        // The next request discovers first which servers are there now.
                        self.invalidate_owners();
                        return Err(error);
                    }
                },
            }
        }
    }

    /// All masters, each once.
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

    /// Opens a new connection to the owner of a slot for the next request, since the server's clock has jumped.
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
        let found = match &self.url.topology {
            Topology::Single => return,
            Topology::Sentinel(service) => {
                timeout(DISCOVERY_TIMEOUT, self.ask_sentinels(service)).await
            }
            Topology::Cluster => timeout(DISCOVERY_TIMEOUT, self.ask_cluster()).await,
        };
        if let Ok(Some(owners)) = found {
            self.owners.store(Arc::new(owners));
        }
        *discovered = Some(Instant::now());
    }

    async fn ask_sentinels(&self, service: &str) -> Option<Owners> {
        let sentinels = self
            .url
            .addresses
            .iter()
            .map(|address| self.info(address, true));
        let mut sentinels = Sentinel::build(sentinels.collect::<RedisResult<_>>().ok()?).ok()?;
        let mut info =
            SentinelNodeConnectionInfo::default().set_redis_connection_info(self.login());
        if self.url.tls {
            info = info.set_tls_mode(TlsMode::Secure);
        }
        let found = sentinels.async_master_for(service, Some(&info)).await;
        let master = found
            .inspect_err(|cause| tracing::warn!(service, %cause, "the Sentinels name no master"))
            .ok()?;
        let (ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) =
            master.get_connection_info().addr()
        else {
            return None;
        };
        let (host, port) = (host.clone(), *port);
        let node = self.node(&Address { host, port }).ok()?;
        Some(Owners::from([(SLOTS - 1, (0, node))]))
    }

    /// The owners according to the first server of the cluster that answers.
    async fn ask_cluster(&self) -> Option<Owners> {
        let mut known: Vec<Arc<Node>> = Vec::new();
        known.extend(
            self.url
                .addresses
                .iter()
                .filter_map(|seed| self.node(seed).ok()),
        );
        known.extend(
            self.nodes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .values()
                .cloned(),
        );
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

    /// The owners in a reply to `CLUSTER SLOTS`.
    fn owners(&self, reply: &Value, asked: &Address) -> Option<Owners> {
        let mut owners = Owners::new();
        for (first, last, master) in cluster::slot_ranges(reply, asked)? {
            owners.insert(last, (first, self.node(&master).ok()?));
        }
        (!owners.is_empty()).then_some(owners)
    }

    /// The server that another one redirects to; without a host name it is on that one's host.
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
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = nodes.get(address) {
            return Ok(Arc::clone(node));
        }
        let client = self
            .info(address, false)
            .and_then(|info| match &self.certificates {
                Some(certificates) => Client::build_with_tls(info, certificates.clone()),
                None => Client::open(info),
            });
        let client = client.map_err(|cause| format!("{address}: {cause}"))?;
        let node = Arc::new(Node::new(address.clone(), client));
        nodes.insert(address.clone(), Arc::clone(&node));
        Ok(node)
    }

    fn info(&self, address: &Address, sentinel: bool) -> RedisResult<ConnectionInfo> {
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
        let login = if sentinel {
            RedisConnectionInfo::default()
        } else {
            self.login()
        };
        let info = addr.into_connection_info()?;
        Ok(info
            .set_redis_settings(login)
            .set_tcp_settings(TcpSettings::default().set_nodelay(true)))
    }

    fn login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default()
            .set_db(self.url.database)
            .set_lib_name("tillgate", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.url.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.url.password {
            login = login.set_password(password);
        }
        login
    }
}

fn owner(owners: &Owners, slot: u16) -> Option<Arc<Node>> {
    let (_, (first, node)) = owners.range(slot..).next()?;
    (*first <= slot).then(|| Arc::clone(node))
}

fn certificates(url: &RedisUrl) -> Result<Option<TlsCertificates>, String> {
    let Some(file) = &url.ca else {
        return Ok(None);
    };
    let root_cert = std::fs::read(file).map_err(|cause| {
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
