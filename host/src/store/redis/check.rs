//! Looks at how the servers are set up when the store is opened, and says what is unsafe and what to do.
//!
//! What loses acknowledged commits is refused with `--require-durable-store`; the rest is only said. What a server
//! does not tell (managed ones hide `CONFIG`) is said too.

use std::collections::HashMap;
use std::time::Duration;

use redis::Value;

use super::Shared;
use super::link::Link;
use super::scripts::Request;
use super::url::Topology;
use crate::clock::Timestamp;

/// The first version whose scripts have flags.
const OLDEST: u32 = 7;

/// How far clocks may be apart before it is said.
const APART: Duration = Duration::from_secs(2);

/// Something unsafe.
struct Fault {
    what: String,
    remedy: &'static str,
    /// Whether what is acknowledged may be lost.
    loses: bool,
}

/// Looks at every master.
pub(super) async fn check(shared: &Shared, durable: bool) -> Result<(), String> {
    let url = shared.servers.url();
    let masters = shared
        .servers
        .masters()
        .await
        .map_err(|why| format!("{url}: {why}"))?;
    let mut refused = Vec::new();
    for link in masters {
        let facts = Facts::ask(&link)
            .await
            .map_err(|why| format!("the store {url} cannot be opened: {why}"))?;
        let server = link.address();
        facts
            .usable(&url.topology)
            .map_err(|why| format!("{server}: {why}"))?;
        let mut faults = facts.faults(&url.topology);
        faults.extend(apart(facts.time, shared.clock.now()));
        for Fault {
            what,
            remedy,
            loses,
        } in faults
        {
            tracing::warn!(%server, "{what}: {remedy}");
            if loses {
                refused.push(format!("{server}: {what}: {remedy}"));
            }
        }
    }
    if durable && !refused.is_empty() {
        return Err(format!(
            "the store {url} may lose what was acknowledged:\n  {}",
            refused.join("\n  ")
        ));
    }
    Ok(())
}

/// What a server says about itself.
struct Facts {
    /// `INFO`.
    info: HashMap<String, String>,
    /// `CONFIG GET` of what we look at, where it is allowed.
    config: HashMap<String, String>,
    /// `CLUSTER INFO`, in a cluster.
    cluster: HashMap<String, String>,
    /// Its clock.
    time: Timestamp,
}

impl Facts {
    async fn ask(link: &Link) -> Result<Self, String> {
        let told = |failure: super::Failure| failure.to_string();
        let info = ask(link, &["INFO"]).await.map_err(told)?;
        let asked = ["CONFIG", "GET", "appendfsync", "aof-load-truncated"];
        let config = ask(link, &asked).await.ok();
        let config = config.and_then(|value| redis::from_redis_value(value).ok());
        let info = fields(&info);
        let cluster = if info
            .get("cluster_enabled")
            .is_some_and(|enabled| enabled == "1")
        {
            fields(&ask(link, &["CLUSTER", "INFO"]).await.map_err(told)?)
        } else {
            HashMap::new()
        };
        let time = ask(link, &["TIME"]).await.map_err(told)?;
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

    /// Whether the store can work at all.
    fn usable(&self, topology: &Topology) -> Result<(), String> {
        let version = self.of("redis_version");
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < OLDEST) {
            return Err(format!(
                "it is version {version}: {OLDEST} or later is needed"
            ));
        }
        let cluster = !self.cluster.is_empty();
        match topology {
            Topology::Cluster if !cluster => Err("it is in no cluster: use redis://".to_owned()),
            Topology::Single | Topology::Sentinel(_) if cluster => {
                Err("it is in a cluster: use redis+cluster://".to_owned())
            }
            _ if self.of("role") != "master" => {
                Err("it is a replica: name the master, or its Sentinels".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn faults(&self, topology: &Topology) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut say = |loses, what: String, remedy| {
            faults.push(Fault {
                what,
                remedy,
                loses,
            });
        };
        if self.of("aof_enabled") != "1" {
            let what = "it does not write what it is told to disk (appendonly no)".to_owned();
            say(true, what, "set appendonly yes and appendfsync always");
        } else if self.of("aof_last_write_status") == "err" {
            say(
                true,
                "it cannot write to its disk".to_owned(),
                "see to the disk",
            );
        } else {
            match self.config.get("appendfsync").map(String::as_str) {
                Some("always") => {}
                Some(fsync) => {
                    let what = format!(
                        "what it acknowledged is lost when its machine fails (appendfsync {fsync})"
                    );
                    say(true, what, "set appendfsync always");
                }
                None => {
                    let what =
                        "whether it waits for its disk cannot be seen (CONFIG GET is not allowed)"
                            .to_owned();
                    say(false, what, "see that appendfsync is always");
                }
            }
        }
        let truncated = self.config.get("aof-load-truncated");
        if truncated.is_some_and(|truncated| truncated == "yes") {
            let what = "after two crashes half of a commit that nobody was told of may be there \
                        (aof-load-truncated yes)";
            let remedy = "set it to no, and have redis-check-aof --fix run before each start";
            say(false, what.to_owned(), remedy);
        }
        let policy = self.of("maxmemory_policy");
        if policy != "noeviction" {
            let what = format!(
                "it drops what it holds when its memory is full (maxmemory-policy {policy})"
            );
            say(true, what, "set maxmemory-policy noeviction");
        }
        if self
            .cluster
            .get("cluster_state")
            .is_some_and(|state| state != "ok")
        {
            say(
                true,
                "its cluster is not whole (cluster_state fail)".to_owned(),
                "see to its servers",
            );
        }
        if *topology != Topology::Single && self.of("connected_slaves") == "0" {
            let what =
                "it has no replica: while it is away, so is its part of the store".to_owned();
            say(false, what, "add a replica");
        }
        faults
    }

    fn of(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }
}

fn apart(theirs: Timestamp, ours: Timestamp) -> Option<Fault> {
    let apart = theirs.since(ours).max(ours.since(theirs));
    (apart > APART).then(|| Fault {
        what: format!("its clock and this host's are {} s apart", apart.as_secs()),
        remedy: "keep all clocks by NTP",
        loses: false,
    })
}

async fn ask(link: &Link, words: &[&str]) -> Result<Value, super::Failure> {
    let mut command = redis::Cmd::new();
    command.arg(words);
    link.ask(&Request::command(command), false, false).await
}

/// Lines of `name:value`.
fn fields(text: &Value) -> HashMap<String, String> {
    let text: String = redis::from_redis_value(text.clone()).unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
