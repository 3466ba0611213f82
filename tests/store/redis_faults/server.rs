//! A server that is killed, is paused, or loses its scripts.

use std::time::{Duration, Instant};

use super::load::{Committer, Count, Load, with_prefix};
use crate::support::redis::Server;

/// The duration of a pause, during which commits fail.
const PAUSE: Duration = Duration::from_secs(10);

/// Applies a load while a server is killed and restarted a few times.
async fn load_over_kills(mut server: Server) -> Count {
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..3 {
        load.acknowledges(150).await;
        server.kill();
        load.fails().await;
        server.restart();
    }
    load.acknowledges(150).await;
    load.count(&url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_and_restarted_loses_and_duplicates_nothing() {
    load_over_kills(Server::durable()).await.assert_intact();
}

/// The control: a server without persistence loses acknowledged commits, and the count detects it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_persistence_loses_commits() {
    let count = load_over_kills(Server::start()).await;
    assert!(count.lost > 0, "{count:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_causes_errors_and_then_recovers() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for pause in [Duration::ZERO, PAUSE] {
        load.acknowledges(150).await;
        server.signal("STOP");
        let begin = Instant::now();
        load.fails().await;
        while begin.elapsed() < pause {
            load.fails().await;
        }
        server.signal("CONT");
    }
    load.acknowledges(150).await;
    load.count(&url).await.assert_intact();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_a_server_lost_are_sent_again() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..20 {
        load.acknowledges(30).await;
        assert_eq!(server.cli(&["script", "flush"]), "OK");
    }
    load.acknowledges(100).await;
    load.count(&url).await.assert_intact();
}
