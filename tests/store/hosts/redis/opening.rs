//! Opening the store: the servers that a URL leads to, logging in, TLS, and the checks of the servers' configuration.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use bytes::Bytes;
use tillgate_store::clock::SystemClock;
use tillgate_store::{Commit, CommitId, Op, Partition, RedisStore, RedisUrl, Store};

use crate::support::host::Program;
use crate::support::redis::{Cluster, Server, free_port, shared, shared_cluster};
use crate::support::wait::{output, until, wait_for};

/// The permissions of the user, as `host/store/src/redis/README.md` documents them.
const PERMISSIONS: [&str; 6] = [
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

/// Asserts that a commit can be read.
async fn assert_works(store: &RedisStore) {
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
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .arg("--operator-file")
        .arg(folder.join("operator.json"))
        .args(more);
    output(&mut command)
}

#[tokio::test]
async fn a_server_that_loses_nothing_is_accepted_as_durable() {
    let server = Server::durable();
    assert_works(&open(&server.url(), true).await.unwrap()).await;
}

#[tokio::test]
async fn a_server_that_may_lose_commits_is_refused_when_the_store_must_be_durable() {
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
        assert_works(&open(&server.url(), false).await.unwrap()).await;
    }
}

/// Starts a durable server without some commands.
fn without(commands: &[&str], more: &[&str]) -> Server {
    let renamed = commands
        .iter()
        .flat_map(|command| ["--rename-command", command, ""]);
    let durable = ["--save", "", "--appendonly", "yes", "--appendfsync"];
    let options = durable.into_iter().chain(more.iter().copied());
    Server::with(&options.chain(renamed).collect::<Vec<_>>())
}

#[tokio::test]
async fn the_url_can_vouch_for_hidden_server_settings() {
    let server = without(&["CONFIG"], &["always"]);
    let refused = open(&server.url(), true).await.unwrap_err();
    let remedy = "vouch for that with appendfsync=always in the URL of the store";
    assert!(refused.contains(remedy), "{refused}");
    assert_works(&open(&server.url(), false).await.unwrap()).await;
    let vouched = |server: &Server| format!("{}?appendfsync=always", server.url());
    assert_works(&open(&vouched(&server), true).await.unwrap()).await;
    // A visible setting takes precedence.
    let server = without(&[], &["everysec"]);
    let refused = open(&vouched(&server), true).await.unwrap_err();
    assert!(refused.contains("(appendfsync everysec)"), "{refused}");
}

#[tokio::test]
async fn a_server_that_cannot_do_what_the_store_needs_is_refused_with_the_reason() {
    for (command, reason) in [
        ("EVAL", "it must run Lua scripts, and refuses EVAL: "),
        ("EVALSHA", "it must run Lua scripts, and refuses EVALSHA: "),
        ("HELLO", "A server must speak RESP3 (HELLO 3)"),
        ("SUBSCRIBE", "let hosts subscribe to a channel"),
    ] {
        let server = without(&[command], &["always", "--requirepass", "hunter2"]);
        let url = format!("redis://:hunter2@127.0.0.1:{}", server.port);
        let refused = open(&url, false).await.unwrap_err();
        assert!(refused.contains(reason), "{command}: {refused}");
        // A server repeats commands that it does not understand.
        assert!(!refused.contains("hunter2"), "{command}: {refused}");
        let unknown = format!("unknown command '{command}'").to_lowercase();
        assert!(
            refused.to_lowercase().contains(&unknown),
            "{command}: {refused}"
        );
    }
}

#[test]
fn a_host_that_requires_a_durable_store_does_not_start_on_another() {
    let folder = tempfile::tempdir().unwrap();
    let ended = serve(&shared().url(), folder.path(), &["--require-durable-store"]);
    assert_eq!(ended.status.code(), Some(1));
    let message = String::from_utf8(ended.stderr).unwrap();
    assert!(
        message.contains("set appendonly yes and appendfsync always"),
        "{message}"
    );
    let ended = serve("memory:", folder.path(), &["--require-durable-store"]);
    assert_eq!(ended.status.code(), Some(1));
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let message = open(&format!("redis://127.0.0.1:{}", free_port()), false)
        .await
        .unwrap_err();
    assert!(message.contains("refused"), "{message}");
}

#[tokio::test]
async fn a_scheme_that_does_not_fit_the_servers_is_reported() {
    let (server, cluster) = (shared(), shared_cluster());
    let single = format!("redis://127.0.0.1:{}", cluster.servers[0].port);
    let message = open(&single, false).await.unwrap_err();
    assert!(message.contains("redis+cluster://"), "{message}");
    let message = open(&format!("redis+cluster://127.0.0.1:{}", server.port), false)
        .await
        .unwrap_err();
    assert!(message.contains("cluster"), "{message}");
}

#[tokio::test]
async fn one_server_of_a_cluster_leads_to_all() {
    let cluster: &Cluster = shared_cluster();
    for server in &cluster.servers {
        assert_works(
            &open(&format!("redis+cluster://127.0.0.1:{}", server.port), false)
                .await
                .unwrap(),
        )
        .await;
    }
}

#[tokio::test]
async fn a_user_with_a_password_needs_few_permissions() {
    let server = Server::durable();
    let mut user = vec!["acl", "setuser", "till", "on", ">p@ss:s3cret/1"];
    user.extend(PERMISSIONS);
    assert_eq!(server.cli(&user), "OK");
    assert_eq!(server.cli(&["acl", "setuser", "default", "off"]), "OK");
    let url = |login: &str| format!("redis://{login}@127.0.0.1:{}", server.port);
    assert_works(&open(&url("till:p%40ss%3As3cret%2F1"), true).await.unwrap()).await;
    for wrong in ["till:wrong", "nobody:p%40ss%3As3cret%2F1"] {
        let message = open(&url(wrong), false).await.unwrap_err();
        assert!(
            !message.contains("s3cret") && !message.contains(":wrong"),
            "{message}"
        );
    }
}

#[test]
fn a_password_is_never_displayed() {
    let secret = "s3cret";
    for store in [
        format!("redis://till:{secret}@127.0.0.1:1"),
        format!("redis+cluster://till:{secret}@127.0.0.1:1,127.0.0.1:2"),
        format!("redis://till:{secret}@127.0.0.1:x"),
        format!("redi://till:{secret}@127.0.0.1"),
    ] {
        for more in [&["--print-config"] as &[&str], &[]] {
            let ended = serve(&store, Path::new("."), more);
            let message = [ended.stdout, ended.stderr].concat();
            assert!(
                !String::from_utf8(message).unwrap().contains(secret),
                "{store} {more:?}"
            );
        }
    }
}

/// Creates a certificate authority, and its certificate for 127.0.0.1.
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
async fn tls_needs_a_certificate_of_a_trusted_authority() {
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
    assert_works(&trusted).await;
    let message = open(&url, false).await.unwrap_err();
    assert!(message.to_lowercase().contains("certificate"), "{message}");
    let message = open(&format!("{url}?ca=/nowhere"), false)
        .await
        .unwrap_err();
    assert!(message.contains("/nowhere"), "{message}");
    drop(server);
}

#[tokio::test]
async fn sentinels_lead_to_the_master_and_after_a_failover_to_the_next() {
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
    let sentinel = Server::with_file(&file, &["--sentinel"]);
    let store = open(
        &format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port),
        false,
    )
    .await
    .unwrap();
    assert_works(&store).await;
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
    until("the store follows its master", async || {
        store.get(&partition, &asked).await.is_ok()
    })
    .await;
    assert_works(&store).await;
}
