//! Sentinels that need a password, and a failover that they lead.

use tempfile::TempDir;
use tillgate_store::{RedisUrl, Store};

use super::cluster::is_master;
use super::freshness::{Belief, Hosts};
use super::load::open;
use crate::support::redis::{Server, cli};
use crate::support::wait::wait_for;

const PASSWORD: &str = "p&w=1";

/// A master, its replica and three Sentinels with a password; a decision needs a majority of them.
struct Watched {
    master: Server,
    replica: Server,
    sentinels: Vec<Server>,
    _folder: TempDir,
}

impl Watched {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let master = Server::durable();
        let of = format!("127.0.0.1 {}", master.port);
        let replica = Server::with(&["--save", "", "--appendonly", "yes", "--replicaof", &of]);
        wait_for("the replica follows", || {
            master
                .cli(&["info", "replication"])
                .contains("state=online")
        });
        let sentinels = (0..3).map(|number| {
            let file = folder.path().join(format!("sentinel-{number}.conf"));
            let content = format!(
                "sentinel monitor shop 127.0.0.1 {} 2\nsentinel down-after-milliseconds shop 500\n\
                 sentinel failover-timeout shop 2000\nrequirepass {PASSWORD}\n\
                 sentinel sentinel-pass {PASSWORD}\n",
                master.port
            );
            std::fs::write(&file, content).unwrap();
            Server::with_file(&file, &["--sentinel"])
        });
        let watched = Self {
            sentinels: sentinels.collect(),
            master,
            replica,
            _folder: folder,
        };
        wait_for("the Sentinels know each other and the replica", || {
            watched.sentinels.iter().all(|sentinel| {
                let known = asked(sentinel, &["sentinel", "master", "shop"]);
                let known: Vec<&str> = known.lines().collect();
                let count = |name| known.iter().position(|line| *line == name);
                let of = |name| count(name).and_then(|at| known.get(at + 1).copied());
                (of("num-slaves"), of("num-other-sentinels")) == (Some("1"), Some("2"))
            })
        });
        watched
    }

    fn url(&self, login: &str) -> RedisUrl {
        let addresses: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port))
            .collect();
        let url = format!("redis+sentinel://{}/shop{login}", addresses.join(","));
        RedisUrl::parse(&url).unwrap().unwrap()
    }
}

/// Returns the answer of a Sentinel.
fn asked(sentinel: &Server, arguments: &[&str]) -> String {
    let login = ["-a", PASSWORD, "--no-auth-warning"];
    cli(sentinel.port, &[&login, arguments].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_with_a_password_lead_to_the_next_master_and_hints_stay_complete() {
    let mut watched = Watched::start();
    // Without `replicas=1`, a failover loses commits that the old master still acknowledges.
    let url = watched.url("?sentinel-password=p%26w%3D1&replicas=1");
    let hosts = Hosts::start(&url, Belief::Store);
    hosts.hear(500).await;
    // On request.
    asked(&watched.sentinels[0], &["sentinel", "failover", "shop"]);
    wait_for("the replica is the master", || is_master(&watched.replica));
    hosts.is_back().await;
    wait_for("the master is a replica", || !is_master(&watched.master));
    hosts.is_back().await;
    // After the death of a master.
    wait_for("every Sentinel is ready for another failover", || {
        let next = watched.master.port.to_string();
        let knows = |sentinel| asked(sentinel, &["sentinel", "replicas", "shop"]).contains(&next);
        watched
            .replica
            .cli(&["info", "replication"])
            .contains("state=online")
            && watched.sentinels.iter().all(knows)
    });
    watched.replica.kill();
    wait_for("the other is the master", || is_master(&watched.master));
    // It comes back as a replica.
    watched.replica.restart();
    hosts.is_back().await;
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_with_a_password_tell_nothing_without_it() {
    let watched = Watched::start();
    let store = open(&watched.url(""));
    let failure = store.partitions(None, 1).await.unwrap_err();
    assert!(
        failure.0.contains("no Sentinel names a master"),
        "{failure}"
    );
    assert_eq!(store.hints_as_of(), None);
}
