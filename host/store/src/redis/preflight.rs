//! Preflight checks of the servers' configuration when the store is opened: what is unsafe, and what to do.
//!
//! A server that refuses what the store needs is refused. With `--require-durable-store`, so is a store that could lose
//! acknowledged commits, or whose settings are hidden, as those of managed servers are, unless its URL vouches for
//! them; everything else is only logged. `tillgate doctor` reports it too.

use std::collections::HashMap;

use redis::Value;

use super::cluster::is_transient;
use super::info;
use super::link::Link;
use super::node::{Node, RequestError, without_arguments};
use super::scripts::{self, Request};
use super::shared::Shared;
use super::url::{RedisUrl, Topology};
use crate::clock::Timestamp;
use crate::inspection::{Issue, MAX_CLOCK_SKEW, Server};

/// The first version whose scripts have flags.
const OLDEST_VERSION: u32 = 7;

/// Checks every master.
pub(super) async fn check(shared: &Shared, durable: bool) -> Result<(), String> {
    let url = shared.router.url();
    let mut lossy = Vec::new();
    for server in servers(shared).await? {
        let skewed = clock_skew(&server);
        let Server {
            address: server,
            issues,
            ..
        } = server;
        for Issue {
            what,
            remedy,
            loses_commits,
        } in issues.into_iter().chain(skewed)
        {
            tracing::warn!(%server, "{what}: {remedy}");
            if loses_commits {
                lossy.push(format!("{server}: {what}: {remedy}"));
            }
        }
    }
    if durable && !lossy.is_empty() {
        return Err(format!(
            "the store {url} may lose acknowledged commits:\n  {}",
            lossy.join("\n  ")
        ));
    }
    Ok(())
}

/// Returns every master with its setup.
pub(super) async fn servers(shared: &Shared) -> Result<Vec<Server>, String> {
    let url = shared.router.url();
    let masters = shared
        .router
        .masters()
        .await
        .map_err(|why| format!("{url}: {why}"))?;
    let mut servers = Vec::new();
    for node in masters {
        let info = ServerInfo::fetch(&node)
            .await
            .map_err(|why| format!("the store {url} cannot be opened: {why}"))?;
        let address = node.address().to_string();
        info.check_usable(&url.topology)
            .map_err(|why| format!("{address}: {why}"))?;
        check_understands(shared, &node).await?;
        let mut issues = info.issues(url);
        issues.extend(info.lacks_replicas(url.replicas));
        servers.push(Server {
            address,
            version: info.field("redis_version").to_owned(),
            clocks: (info.time, shared.clock.now()),
            memory: info.field("used_memory").parse().unwrap_or_default(),
            issues,
        });
    }
    Ok(servers)
}

/// The report of a server about itself.
struct ServerInfo {
    /// The reply to `INFO`.
    info: HashMap<String, String>,
    /// The reply to `CONFIG GET` for the settings checked here; empty where it is not allowed.
    config: HashMap<String, String>,
    /// The reply to `CLUSTER INFO`; empty outside a cluster.
    cluster: HashMap<String, String>,
    /// The time by its clock.
    time: Timestamp,
}

impl ServerInfo {
    async fn fetch(node: &Node) -> Result<Self, String> {
        let message = |error: RequestError| error.to_string();
        let info = send(node, &["INFO"]).await.map_err(message)?;
        let command = ["CONFIG", "GET", "appendfsync", "aof-load-truncated"];
        let config = send(node, &command).await.ok();
        let config = config.and_then(|value| redis::from_redis_value(value).ok());
        let info = fields(&info);
        let cluster = if info
            .get("cluster_enabled")
            .is_some_and(|enabled| enabled == "1")
        {
            fields(&send(node, &["CLUSTER", "INFO"]).await.map_err(message)?)
        } else {
            HashMap::new()
        };
        let time = send(node, &["TIME"]).await.map_err(message)?;
        let (seconds, micros): (u64, u64) =
            redis::from_redis_value(time).map_err(|cause| cause.to_string())?;
        let time = Timestamp(seconds.saturating_mul(1_000_000).saturating_add(micros));
        Ok(Self {
            info,
            config: config.unwrap_or_default(),
            cluster,
            time,
        })
    }

    /// Fails when the store cannot work on this server at all.
    fn check_usable(&self, topology: &Topology) -> Result<(), String> {
        let version = self.field("redis_version");
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < OLDEST_VERSION) {
            return Err(format!(
                "it has version {version}: version {OLDEST_VERSION} or later is needed"
            ));
        }
        let cluster = !self.cluster.is_empty();
        match topology {
            Topology::Cluster if !cluster => {
                Err("it does not belong to a cluster: use redis://".to_owned())
            }
            Topology::Single | Topology::Sentinel(_) if cluster => {
                Err("it belongs to a cluster: use redis+cluster://".to_owned())
            }
            _ if self.field("role") != "master" => {
                Err("it is a replica: name its master or its Sentinels".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn issues(&self, url: &RedisUrl) -> Vec<Issue> {
        let mut issues = Vec::new();
        let mut add = |loses_commits, what: String, remedy| {
            issues.push(Issue {
                what,
                remedy,
                loses_commits,
            });
        };
        if self.field("aof_enabled") != "1" {
            let what = "it does not write to disk (appendonly no)".to_owned();
            add(true, what, "set appendonly yes and appendfsync always");
        } else if self.field("aof_last_write_status") == "err" {
            let what = "it cannot write to its disk".to_owned();
            add(true, what, "check the disk");
        } else {
            match self.config.get("appendfsync").map(String::as_str) {
                Some("always") => {}
                Some(fsync) => {
                    let what = format!(
                        "it loses acknowledged commits when its machine fails (appendfsync {fsync})"
                    );
                    add(true, what, "set appendfsync always");
                }
                None if url.vouches => {}
                None => {
                    let what = "its appendfsync setting is hidden (CONFIG GET is not allowed)";
                    let remedy = "make sure that it is always, and vouch for that with appendfsync=always in the URL of the \
                                  store";
                    add(true, what.to_owned(), remedy);
                }
            }
        }
        let truncated = self.config.get("aof-load-truncated");
        if truncated.is_some_and(|truncated| truncated == "yes") {
            let what = "after two crashes it may contain half of a commit that was never \
                        acknowledged (aof-load-truncated yes)";
            let remedy = "set it to no, and run redis-check-aof --fix before each start";
            add(false, what.to_owned(), remedy);
        }
        let policy = self.field("maxmemory_policy");
        if policy != "noeviction" {
            let what =
                format!("it evicts data when its memory is full (maxmemory-policy {policy})");
            add(true, what, "set maxmemory-policy noeviction");
        }
        if self
            .cluster
            .get("cluster_state")
            .is_some_and(|state| state != "ok")
        {
            let what = "its cluster is incomplete (cluster_state fail)".to_owned();
            add(true, what, "check the servers of the cluster");
        }
        if url.topology != Topology::Single
            && url.replicas == 0
            && self.field("connected_slaves") == "0"
        {
            let what = "it has no replica: while it is unavailable, so is its part of the store"
                .to_owned();
            add(false, what, "add a replica");
        }
        issues
    }

    fn lacks_replicas(&self, needed: u32) -> Option<Issue> {
        let online = self.info.iter().filter(|(name, value)| {
            let replica = name
                .strip_prefix("slave")
                .is_some_and(|number| number.parse::<u32>().is_ok());
            replica && value.contains("state=online")
        });
        let online = online.count();
        (online < usize::try_from(needed).unwrap_or(usize::MAX)).then(|| Issue {
            what: format!("no commit is acknowledged: it has {online} replicas, not {needed}"),
            remedy: "add replicas, or set a lower number of replicas in the URL",
            loses_commits: false,
        })
    }

    fn field(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }
}

/// Fails when a server does not run scripts, or does not send published messages beside its replies (RESP3), as some
/// proxies and managed servers do not.
async fn check_understands(shared: &Shared, node: &Node) -> Result<(), String> {
    let address = node.address();
    for (with_source, command) in [(true, "EVAL"), (false, "EVALSHA")] {
        let probe = Request::script(&scripts::PROBE, Vec::new(), Vec::new());
        // A server that is still reading its data answers later.
        if let Err(error) = node.send(&probe, with_source, false).await
            && !error.code().is_some_and(is_transient)
        {
            let why = without_arguments(&error);
            return Err(format!(
                "{address}: it must run Lua scripts, and refuses {command}: {why}"
            ));
        }
    }
    let (client, channel) = (shared.router.client(address)?, shared.keyspace.channel());
    let opened = Link::open(address.clone(), &client, channel, drop).await;
    opened.map(drop).map_err(|why| {
        format!("{why}. A server must speak RESP3 (HELLO 3), and let hosts subscribe to a channel")
    })
}

fn clock_skew(server: &Server) -> Option<Issue> {
    let skew = server.skew();
    (skew > MAX_CLOCK_SKEW).then(|| Issue {
        what: format!("its clock and this host's differ by {} s", skew.as_secs()),
        remedy: "synchronize all clocks by NTP",
        loses_commits: false,
    })
}

async fn send(node: &Node, command: &[&str]) -> Result<Value, RequestError> {
    let mut request = redis::Cmd::new();
    request.arg(command);
    node.send(&Request::command(request), false, false).await
}

/// Parses lines of `name:value`.
fn fields(text: &Value) -> HashMap<String, String> {
    let text: String = redis::from_redis_value(text.clone()).unwrap_or_default();
    info::fields(&text)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
