//! One server that is killed, stands still, or forgets our scripts.

use super::load::{Committer, Count, Load, with_prefix};
use crate::support::redis::Server;

/// A load during which a server is killed and started again, a few times.
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
async fn a_server_killed_and_started_again_loses_and_doubles_nothing() {
    load_over_kills(Server::durable()).await.assert_whole();
}

/// The control: a server that has nothing on its disk loses what it acknowledged, and the count sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_disk_loses() {
    let count = load_over_kills(Server::start()).await;
    assert!(count.lost > 0, "{count:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_gives_errors_and_then_goes_on() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..2 {
        load.acknowledges(150).await;
        server.signal("STOP");
        load.fails().await;
        server.signal("CONT");
    }
    load.acknowledges(150).await;
    load.count(&url).await.assert_whole();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_are_forgotten_are_sent_again() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..20 {
        load.acknowledges(30).await;
        assert_eq!(server.cli(&["script", "flush"]), "OK");
    }
    load.acknowledges(100).await;
    load.count(&url).await.assert_whole();
}
