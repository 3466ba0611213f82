//! A store that waits for replicas: the permanent loss of a master loses no acknowledged commit.

use bytes::Bytes;
use tillgate_store::{
    Commit, CommitError, CommitId, Op, RedisStore, RedisUrl, Store, commit_surely,
};

use super::cluster::{is_master, masters};
use super::load::{Committer, Count, Load, open, partition, with_prefix};
use crate::support::redis::{Cluster, Server, cli};
use crate::support::wait::wait_for;

/// Cuts a replica off from its master, which has no password.
fn cut_off(replica: &Server) {
    assert_eq!(replica.cli(&["config", "set", "masterauth", "none"]), "OK");
    replica.cli(&["client", "kill", "type", "master"]);
}

fn reconnect(replica: &Server) {
    assert_eq!(replica.cli(&["config", "set", "masterauth", ""]), "OK");
}

/// Applies a load while the replica of a master is cut off; then the master is killed and its replica takes over.
async fn load_over_a_lost_master(replicas: u32) -> Count {
    let mut cluster = Cluster::quick();
    let mut url = with_prefix(&cluster.url());
    url.replicas = replicas;
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(300).await;
    let key = format!("{{{}:{}}}:head", url.prefix, partition(0).as_str());
    let slot = cluster.servers[0].cli(&["cluster", "keyslot", &key]);
    let owns = |port: &u16| !cli(*port, &["cluster", "getkeysinslot", &slot, "1"]).is_empty();
    let port = *masters(&cluster).keys().find(|port| owns(port)).unwrap();
    let replica = cluster.servers.iter().position(|server| {
        let master = format!("master_port:{port}\r");
        !is_master(server) && server.cli(&["info", "replication"]).contains(&master)
    });
    let replica = replica.unwrap();
    cut_off(&cluster.servers[replica]);
    if replicas == 0 {
        load.acknowledges(1_000).await;
    } else {
        load.fails().await;
    }
    let master = cluster
        .servers
        .iter()
        .position(|server| server.port == port);
    cluster.servers[master.unwrap()].kill();
    wait_for("the replica takes over", || {
        is_master(&cluster.servers[replica])
    });
    reconnect(&cluster.servers[replica]);
    // It comes back as the replica of the new master.
    cluster.servers[master.unwrap()].restart();
    cluster.wait_until_complete();
    load.acknowledges(300).await;
    url.replicas = 0;
    load.count(&url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn losing_a_master_loses_no_replicated_commit() {
    load_over_a_lost_master(1).await.assert_intact();
}

/// The control: without waiting for a replica, commits are lost, and the count detects it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_lost_for_good_takes_commits_with_it_that_no_replica_had_to_have() {
    let count = load_over_a_lost_master(0).await;
    assert!(count.lost > 0, "{count:?}");
}

fn commit(name: &str) -> Commit {
    Commit {
        partition: partition(0),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![Op::Put {
            key: name.to_owned(),
            value: Bytes::from_static(b"1"),
        }],
    }
}

/// Starts a master and its replica.
fn pair() -> (Server, Server) {
    let master = Server::start();
    let of = format!("127.0.0.1 {}", master.port);
    let replica = Server::with(&[
        "--save",
        "",
        "--repl-diskless-sync-delay",
        "0",
        "--replicaof",
        &of,
    ]);
    wait_for("the replica follows", || is_followed(&master));
    (master, replica)
}

fn is_followed(master: &Server) -> bool {
    master
        .cli(&["info", "replication"])
        .contains("state=online")
}

fn waiting_url(master: &Server) -> RedisUrl {
    let url = RedisUrl::parse(&format!("{}?replicas=1", master.url()));
    url.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_no_replica_has_is_unknown_and_so_is_its_repeat_on_any_host() {
    let (master, replica) = pair();
    let url = waiting_url(&master);
    let hosts: Vec<RedisStore> = (0..2).map(|_| open(&url)).collect();
    let first = hosts[0].commit(commit("first")).await.unwrap();
    assert!(!first.repeated);
    cut_off(&replica);
    let unknown = commit("unknown");
    // The second host has written nothing yet.
    for host in &hosts {
        let outcome = host.commit(unknown.clone()).await;
        let is_unknown = matches!(outcome, Err(CommitError::Unknown(_)));
        assert!(is_unknown, "{outcome:?}");
        let outcome = commit_surely(host, unknown.clone()).await;
        assert!(outcome.is_err(), "{outcome:?}");
    }
    reconnect(&replica);
    wait_for("the replica follows again", || is_followed(&master));
    let repeated = open(&url).commit(unknown).await.unwrap();
    assert!(repeated.repeated);
    assert_eq!(repeated.revision.0, first.revision.0 + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_committed_to_a_new_partition_whose_name_no_replica_has() {
    let (master, replica) = pair();
    let url = waiting_url(&master);
    cut_off(&replica);
    for _ in 0..2 {
        let outcome = open(&url).commit(commit("first")).await;
        let failed = matches!(outcome, Err(CommitError::Unavailable(_)));
        assert!(failed, "{outcome:?}");
    }
    reconnect(&replica);
    wait_for("the replica follows again", || is_followed(&master));
    open(&url).commit(commit("first")).await.unwrap();
}
