//! Which server to ask: the one there is, the master that Sentinels name, or the owner of a slot in a cluster.
//!
//! Routing is done here and not by the client library's cluster connection, since that sends a request again when its
//! connection breaks, whatever it is; a commit must not be sent again by anyone but who knows its id. What a server
//! says it did not do (`MOVED`, `ASK`, `TRYAGAIN`, `LOADING`, ...) is sent to where it belongs, for a while; what was
//! sent and not answered is [`Failure::Lost`].

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

use super::cluster::{self, passes};
use super::layout::SLOTS;
use super::link::{Failure, Link};
use super::scripts::Request;
use super::url::{Address, RedisUrl, Topology};

/// How long a request looks for a server that takes it.
const LOOKING: Duration = Duration::from_secs(1);

/// How long it waits before it looks again.
const PAUSE: Duration = Duration::from_millis(25);

/// How long finding out who is who may take.
const ASKING_AROUND: Duration = Duration::from_secs(3);

/// The servers of a store.
pub(super) struct Servers {
    url: RedisUrl,
    certificates: Option<TlsCertificates>,
    links: Mutex<HashMap<Address, Arc<Link>>>,
    owners: ArcSwap<Owners>,
    /// Held while it is found out who owns what: when that was done last.
    asking_around: tokio::sync::Mutex<Option<Instant>>,
}

/// Ranges of slots: the last one → the first one and who owns them.
type Owners = BTreeMap<u16, (u16, Arc<Link>)>;

impl Servers {
    /// Says which servers there are; connects to none.
    ///
    /// # Errors
    /// When the file of the certificates cannot be read, or holds none.
    pub(super) fn new(url: RedisUrl) -> Result<Self, String> {
        let certificates = certificates(&url)?;
        let servers = Self {
            url,
            certificates,
            links: Mutex::default(),
            owners: ArcSwap::default(),
            asking_around: tokio::sync::Mutex::new(None),
        };
        // What is wrong with the certificates is wrong with every server.
        for address in &servers.url.addresses {
            servers.link(address)?;
        }
        if let (Topology::Single, Some(address)) =
            (&servers.url.topology, servers.url.addresses.first())
        {
            let link = servers.link(address)?;
            servers
                .owners
                .store(Arc::new(Owners::from([(SLOTS - 1, (0, link))])));
        }
        Ok(servers)
    }

    pub(super) const fn url(&self) -> &RedisUrl {
        &self.url
    }

    /// Sends a request to the owner of a slot. Nothing is sent again that may have been done.
    pub(super) async fn ask(&self, slot: u16, request: &Request) -> Result<Value, Failure> {
        let begin = Instant::now();
        let mut whole = false;
        let mut next: Option<(Arc<Link>, bool)> = None;
        loop {
            let (link, asking) = match next.take() {
                Some(hop) => hop,
                None => match self.owner(slot).await {
                    Ok(link) => (link, false),
                    Err(_) if begin.elapsed() < LOOKING => {
                        sleep(PAUSE).await;
                        continue;
                    }
                    Err(why) => return Err(Failure::Away(why)),
                },
            };
            let failure = match link.ask(request, whole, asking).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let again = begin.elapsed() < LOOKING;
            match (failure.code(), failure.redirect()) {
                (Some("NOSCRIPT"), _) if !whole => {
                    whole = true;
                    next = Some((link, asking));
                }
                (Some("MOVED"), Some(address)) if again => {
                    self.ask_around(begin).await;
                    next = Some((self.at(address, link.address())?, false));
                }
                (Some("ASK"), Some(address)) if again => {
                    next = Some((self.at(address, link.address())?, true));
                }
                (Some(code), _) if again && passes(code) => {
                    sleep(PAUSE).await;
                    self.ask_around(Instant::now()).await;
                }
                (Some(_), _) => return Err(Failure::Away(failure.to_string())),
                (None, _) => match failure {
                    Failure::Away(_) if again && self.url.topology != Topology::Single => {
                        sleep(PAUSE).await;
                        self.ask_around(Instant::now()).await;
                    }
                    failure => {
                        // Whoever asks next finds out first who is there now.
                        self.doubt();
                        return Err(failure);
                    }
                },
            }
        }
    }

    /// Every master there is, each once.
    pub(super) async fn masters(&self) -> Result<Vec<Arc<Link>>, String> {
        self.owner(0).await?;
        let mut masters: Vec<Arc<Link>> = Vec::new();
        for (_, link) in self.owners.load().values() {
            if !masters.iter().any(|known| Arc::ptr_eq(known, link)) {
                masters.push(Arc::clone(link));
            }
        }
        Ok(masters)
    }

    async fn owner(&self, slot: u16) -> Result<Arc<Link>, String> {
        if let Some(owner) = owner(&self.owners.load(), slot) {
            return Ok(owner);
        }
        self.ask_around(Instant::now()).await;
        owner(&self.owners.load(), slot).ok_or_else(|| match &self.url.topology {
            Topology::Sentinel(service) => format!("no Sentinel names a master of {service}"),
            _ => format!("no server of the cluster owns slot {slot}"),
        })
    }

    /// Has the owner of a slot connected to anew, since its clock is not what it was.
    pub(super) fn forget(&self, slot: u16) {
        if let Some(owner) = owner(&self.owners.load(), slot) {
            owner.forget();
        }
    }

    /// A cluster's and Sentinels' masters may be others now.
    fn doubt(&self) {
        if self.url.topology != Topology::Single {
            self.owners.store(Arc::default());
        }
    }

    /// Finds out who owns what, unless that was done after `since`.
    async fn ask_around(&self, since: Instant) {
        let mut done = self.asking_around.lock().await;
        if done.is_some_and(|done| done > since) {
            return;
        }
        let found = match &self.url.topology {
            Topology::Single => return,
            Topology::Sentinel(service) => {
                timeout(ASKING_AROUND, self.ask_sentinels(service)).await
            }
            Topology::Cluster => timeout(ASKING_AROUND, self.ask_cluster()).await,
        };
        if let Ok(Some(owners)) = found {
            self.owners.store(Arc::new(owners));
        }
        *done = Some(Instant::now());
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
        let link = self.link(&Address { host, port }).ok()?;
        Some(Owners::from([(SLOTS - 1, (0, link))]))
    }

    /// What the first server of the cluster that answers says.
    async fn ask_cluster(&self) -> Option<Owners> {
        let mut known: Vec<Arc<Link>> = Vec::new();
        known.extend(
            self.url
                .addresses
                .iter()
                .filter_map(|seed| self.link(seed).ok()),
        );
        known.extend(
            self.links
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .values()
                .cloned(),
        );
        for link in known {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SLOTS");
            let mut request = Request::command(command);
            request.patience = Duration::from_secs(1);
            if let Ok(answer) = link.ask(&request, false, false).await
                && let Some(owners) = self.owners(&answer, link.address())
            {
                return Some(owners);
            }
        }
        None
    }

    /// The owners that a server named.
    fn owners(&self, answer: &Value, asked: &Address) -> Option<Owners> {
        let mut owners = Owners::new();
        for (first, last, master) in cluster::ranges(answer, asked)? {
            owners.insert(last, (first, self.link(&master).ok()?));
        }
        (!owners.is_empty()).then_some(owners)
    }

    /// The server that another one named; without a host it is at that one's.
    fn at(&self, mut address: Address, named_by: &Address) -> Result<Arc<Link>, Failure> {
        if address.host.is_empty() || address.host == "?" {
            address.host.clone_from(&named_by.host);
        }
        self.link(&address).map_err(Failure::Away)
    }

    fn link(&self, address: &Address) -> Result<Arc<Link>, String> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = links.get(address) {
            return Ok(Arc::clone(link));
        }
        let client = self
            .info(address, false)
            .and_then(|info| match &self.certificates {
                Some(certificates) => Client::build_with_tls(info, certificates.clone()),
                None => Client::open(info),
            });
        let client = client.map_err(|cause| format!("{address}: {cause}"))?;
        let link = Arc::new(Link::new(address.clone(), client));
        links.insert(address.clone(), Arc::clone(&link));
        Ok(link)
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

fn owner(owners: &Owners, slot: u16) -> Option<Arc<Link>> {
    let (_, (first, link)) = owners.range(slot..).next()?;
    (*first <= slot).then(|| Arc::clone(link))
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
