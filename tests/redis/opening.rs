//! Which servers a URL leads to, who we are to them, and what is said about how they are set up.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use bytes::Bytes;
use tillgate::clock::SystemClock;
use tillgate::store::{Commit, CommitId, Op, Partition, RedisStore, RedisUrl, Store};

use crate::support::redis::{Cluster, Server, free_port, shared, shared_cluster, wait_for};

/// What a user of ours must be allowed, as `host/src/store/redis/README.md` says.
const RIGHTS: [&str; 6] = [
    "~{tillgate*",
    "&tillgate:*",
    "+@all",
    "-@dangerous",
    "+info",
    "+config|get",
];

async fn open(url: &str, durable: bool) -> Result<RedisStore, String> {
    let url = RedisUrl::parse(url).unwrap().unwrap();
    RedisStore::open(&url, Arc::new(SystemClock), durable).await
}

/// Commits something and reads it.
async fn works(store: &RedisStore) {
    let partition = Partition::new("shop").unwrap();
    let commit = Commit {
        partition: partition.clone(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![Op::Put {
            key: "row".to_owned(),
            value: Bytes::from("1"),
        }],
    };
    store.commit(commit).await.unwrap();
    let found = store.get(&partition, &["row".to_owned()]).await.unwrap();
    assert_eq!(found[0].as_ref().unwrap().value, "1");
}

fn serve(store: &str, folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tillgate"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            store,
            "--operator-file",
        ])
        .arg(folder.join("operator.json"))
        .args(more)
        .output()
        .unwrap()
}

#[tokio::test]
async fn a_server_that_loses_nothing_is_what_a_durable_store_needs() {
    let server = Server::durable();
    works(&open(&server.url(), true).await.unwrap()).await;
}

#[tokio::test]
async fn what_a_server_would_lose_is_said_and_refused_where_it_must_not() {
    for (options, named) in [
        (vec!["--appendonly", "no"], "appendonly yes"),
        (
            vec!["--appendonly", "yes", "--appendfsync", "everysec"],
            "appendfsync always",
        ),
        (
            vec![
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
                "--maxmemory-policy",
                "allkeys-lru",
            ],
            "maxmemory-policy noeviction",
        ),
    ] {
        let server = Server::with(&options);
        let refused = open(&server.url(), true).await.unwrap_err();
        assert!(refused.contains(named), "{refused}");
        works(&open(&server.url(), false).await.unwrap()).await;
    }
}

#[test]
fn a_host_that_requires_a_durable_store_does_not_start_on_another() {
    let folder = tempfile::tempdir().unwrap();
    let ended = serve(&shared().url(), folder.path(), &["--require-durable-store"]);
    assert_eq!(ended.status.code(), Some(1));
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(
        told.contains("set appendonly yes and appendfsync always"),
        "{told}"
    );
    let ended = serve("memory:", folder.path(), &["--require-durable-store"]);
    assert_eq!(ended.status.code(), Some(1));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said() {
    let told = open(&format!("redis://127.0.0.1:{}", free_port()), false)
        .await
        .unwrap_err();
    assert!(told.contains("refused"), "{told}");
}

#[tokio::test]
async fn a_scheme_that_does_not_fit_the_servers_is_said() {
    let (server, cluster) = (shared(), shared_cluster());
    let single = format!("redis://127.0.0.1:{}", cluster.servers[0].port);
    let told = open(&single, false).await.unwrap_err();
    assert!(told.contains("redis+cluster://"), "{told}");
    let told = open(&format!("redis+cluster://127.0.0.1:{}", server.port), false)
        .await
        .unwrap_err();
    assert!(told.contains("cluster"), "{told}");
}

#[tokio::test]
async fn one_server_of_a_cluster_leads_to_all() {
    let cluster: &Cluster = shared_cluster();
    for server in &cluster.servers {
        works(
            &open(&format!("redis+cluster://127.0.0.1:{}", server.port), false)
                .await
                .unwrap(),
        )
        .await;
    }
}

#[tokio::test]
async fn a_user_with_a_password_needs_few_rights() {
    let server = Server::durable();
    let mut user = vec!["acl", "setuser", "till", "on", ">p@ss:s3cret/1"];
    user.extend(RIGHTS);
    assert_eq!(server.cli(&user), "OK");
    assert_eq!(server.cli(&["acl", "setuser", "default", "off"]), "OK");
    let url = |login: &str| format!("redis://{login}@127.0.0.1:{}", server.port);
    works(&open(&url("till:p%40ss%3As3cret%2F1"), true).await.unwrap()).await;
    for wrong in ["till:wrong", "nobody:p%40ss%3As3cret%2F1"] {
        let told = open(&url(wrong), false).await.unwrap_err();
        assert!(
            !told.contains("s3cret") && !told.contains(":wrong"),
            "{told}"
        );
    }
}

#[test]
fn a_password_is_shown_nowhere() {
    let secret = "s3cret";
    for store in [
        format!("redis://till:{secret}@127.0.0.1:1"),
        format!("redis+cluster://till:{secret}@127.0.0.1:1,127.0.0.1:2"),
        format!("redis://till:{secret}@127.0.0.1:x"),
        format!("redi://till:{secret}@127.0.0.1"),
    ] {
        for more in [&["--print-config"] as &[&str], &[]] {
            let ended = serve(&store, Path::new("."), more);
            let told = [ended.stdout, ended.stderr].concat();
            assert!(
                !String::from_utf8(told).unwrap().contains(secret),
                "{store} {more:?}"
            );
        }
    }
}

/// A certificate of an authority of our own, for 127.0.0.1.
fn certificates(folder: &Path) {
    let made = Command::new("sh")
        .current_dir(folder)
        .args([
            "-ec",
            "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2
            openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=redis
            printf 'subjectAltName=IP:127.0.0.1' >names
            openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names",
        ])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[tokio::test]
async fn tls_is_spoken_with_a_server_that_an_authority_vouches_for() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let port = free_port();
    let server = Server::with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &at("cert.pem"),
        "--tls-key-file",
        &at("key.pem"),
        "--tls-ca-cert-file",
        &at("ca.pem"),
    ]);
    let url = format!("rediss://127.0.0.1:{port}");
    let trusted = open(&format!("{url}?ca={}", at("ca.pem")), false)
        .await
        .unwrap();
    works(&trusted).await;
    let told = open(&url, false).await.unwrap_err();
    assert!(told.to_lowercase().contains("certificate"), "{told}");
    let told = open(&format!("{url}?ca=/nowhere"), false)
        .await
        .unwrap_err();
    assert!(told.contains("/nowhere"), "{told}");
    drop(server);
}

#[tokio::test]
async fn sentinels_lead_to_the_master_and_to_the_next_one_when_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut master = Server::durable();
    let replica = Server::with(&[
        "--replicaof",
        &format!("127.0.0.1 {}", master.port),
        "--appendonly",
        "yes",
    ]);
    wait_for("the replica follows", || {
        replica
            .cli(&["info", "replication"])
            .contains("master_link_status:up")
    });
    let file = folder.path().join("sentinel.conf");
    let content = format!(
        "sentinel monitor shop 127.0.0.1 {} 1\nsentinel down-after-milliseconds shop 500\n\
         sentinel failover-timeout shop 2000\n",
        master.port
    );
    std::fs::write(&file, content).unwrap();
    let sentinel = Server::of_file(&file, &["--sentinel"]);
    let store = open(
        &format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port),
        false,
    )
    .await
    .unwrap();
    works(&store).await;
    wait_for("the Sentinel knows the replica", || {
        sentinel
            .cli(&["sentinel", "replicas", "shop"])
            .contains(&replica.port.to_string())
    });
    master.kill();
    wait_for("the replica is promoted", || {
        replica.cli(&["role"]).starts_with("master")
    });
    let partition = Partition::new("shop").unwrap();
    let asked = ["row".to_owned()];
    while store.get(&partition, &asked).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    works(&store).await;
}
