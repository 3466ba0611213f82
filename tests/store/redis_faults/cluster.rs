//! A cluster under load whose masters change and whose slots move.

use std::collections::BTreeMap;

use super::load::{Committer, Count, Load, partition, with_prefix};
use crate::support::redis::{Cluster, Server, cli};
use crate::support::wait::wait_for;

/// Returns the ids of the masters by port, according to `CLUSTER NODES`.
pub fn masters(cluster: &Cluster) -> BTreeMap<u16, String> {
    let nodes = cluster.servers[0].cli(&["cluster", "nodes"]);
    let masters = nodes
        .lines()
        .filter(|line| line.contains("master") && !line.contains("fail"));
    masters
        .map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            let address = fields[1].split('@').next().unwrap();
            (
                address.rsplit(':').next().unwrap().parse().unwrap(),
                fields[0].to_owned(),
            )
        })
        .collect()
}

pub fn is_master(server: &Server) -> bool {
    server.cli(&["role"]).starts_with("master")
}

pub fn replicas(cluster: &Cluster) -> Vec<&Server> {
    let servers = cluster.servers.iter();
    let replicas: Vec<_> = servers.filter(|server| !is_master(server)).collect();
    assert_eq!(replicas.len(), 3);
    replicas
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_requested_failover_loses_and_duplicates_nothing() {
    let cluster = Cluster::durable();
    let url = with_prefix(&cluster.url());
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(200).await;
    for replica in replicas(&cluster) {
        wait_for("the replica is the master", || {
            // The replica gives up when its master does not pause in time, so this repeats the request.
            replica.cli(&["cluster", "failover"]);
            is_master(replica)
        });
        load.acknowledges(100).await;
    }
    load.count(&url).await.assert_intact();
}

/// The control: a replica that takes over without the last commits of its master loses them, and the count detects it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_takes_over_without_its_masters_last_commits_loses_them() {
    let cluster = Cluster::durable();
    let url = with_prefix(&cluster.url());
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(200).await;
    let replicas = replicas(&cluster);
    for replica in &replicas {
        // The master has no password, so the replica cannot connect to it again.
        assert_eq!(replica.cli(&["config", "set", "masterauth", "none"]), "OK");
        replica.cli(&["client", "kill", "type", "master"]);
    }
    load.acknowledges(200).await;
    for replica in &replicas {
        assert_eq!(replica.cli(&["cluster", "failover", "takeover"]), "OK");
        assert!(is_master(replica));
        assert_eq!(replica.cli(&["config", "set", "masterauth", ""]), "OK");
    }
    let count = load.count(&url).await;
    assert!(count.lost > 0, "{count:?}");
}

/// Moves a slot as `redis-cli --cluster reshard` does, key by key, and loses the keys for which `lost` is true.
pub fn migrate(cluster: &Cluster, slot: &str, (from, to): (u16, u16), lost: fn(&str) -> bool) {
    let masters = masters(cluster);
    let ok =
        |port: u16, arguments: &[&str]| assert_eq!(cli(port, arguments), "OK", "{arguments:?}");
    // A master that has just joined accepts no keys until it has heard from the others.
    wait_for("the target finds the cluster whole", || {
        cli(to, &["cluster", "info"]).contains("cluster_state:ok")
    });
    ok(
        to,
        &["cluster", "setslot", slot, "importing", &masters[&from]],
    );
    ok(
        from,
        &["cluster", "setslot", slot, "migrating", &masters[&to]],
    );
    wait_for("the slot has no keys any more", || {
        let keys = cli(from, &["cluster", "getkeysinslot", slot, "1"]);
        if keys.is_empty() {
            return true;
        }
        if lost(&keys) {
            assert_eq!(cli(from, &["del", &keys]), "1");
            return false;
        }
        let moved = cli(
            from,
            &["migrate", "127.0.0.1", &to.to_string(), &keys, "0", "5000"],
        );
        // The key may be gone by then.
        assert!(["OK", "NOKEY"].contains(&moved.as_str()), "{moved}");
        false
    });
    ok(to, &["cluster", "setslot", slot, "node", &masters[&to]]);
    ok(from, &["cluster", "setslot", slot, "node", &masters[&to]]);
    for port in masters.keys().filter(|port| ![from, to].contains(port)) {
        ok(*port, &["cluster", "setslot", slot, "node", &masters[&to]]);
    }
}

/// Applies a load while slots move.
async fn load_over_migrations(lost: fn(&str) -> bool) -> Count {
    let cluster = Cluster::durable();
    let url = with_prefix(&cluster.url());
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(200).await;
    for committer in 0..3 {
        let key = format!("{{{}:{}}}:head", url.prefix, partition(committer).as_str());
        let slot = cluster.servers[0].cli(&["cluster", "keyslot", &key]);
        let owner = |port: u16| !cli(port, &["cluster", "getkeysinslot", &slot, "1"]).is_empty();
        let ports: Vec<u16> = masters(&cluster).into_keys().collect();
        let from = *ports.iter().find(|port| owner(**port)).unwrap();
        let to = *ports.iter().find(|port| **port != from).unwrap();
        migrate(&cluster, &slot, (from, to), lost);
        load.acknowledges(200).await;
    }
    load.count(&url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_move_under_load_lose_and_duplicate_nothing() {
    load_over_migrations(|_| false).await.assert_intact();
}

/// The control: a slot moves without one of its keys, and the count detects it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_move_without_their_logs_leave_commits_incomplete() {
    let count = load_over_migrations(|key| key.ends_with(":log:log")).await;
    assert!(count.incomplete > 100, "{count:?}");
}
