//! Connections that break in the middle of a reply: the request was executed, but its sender does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::load::{Committer, Count, Load, with_prefix};
use crate::support::redis::{Server, shared};

/// One reply in this many is cut.
const CUT_EVERY: usize = 40;

/// Starts a proxy to a server that cuts some replies; returns its port.
async fn start_proxy(server: &Server) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (own, port) = (listener.local_addr().unwrap().port(), server.port);
    let replies = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(pass(client, server, Arc::clone(&replies)));
        }
    });
    own
}

async fn pass(client: TcpStream, server: TcpStream, replies: Arc<AtomicUsize>) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let requests = tokio::io::copy(&mut from_client, &mut to_server);
    let responses = async {
        let mut reply = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from_server.read(&mut reply).await {
            let cut = replies.fetch_add(1, Ordering::SeqCst) % CUT_EVERY == CUT_EVERY - 1;
            let len = if cut { len / 2 } else { len };
            if to_client.write_all(&reply[..len]).await.is_err() || cut {
                return;
            }
        }
    };
    tokio::select! {
        _ = requests => {}
        () = responses => {}
    }
}

/// Applies a load over a proxy that cuts replies.
async fn load_over_cuts(committer: Committer) -> Count {
    let straight = with_prefix(&shared().url());
    let mut cut = straight.clone();
    cut.addresses[0].port = start_proxy(shared()).await;
    let load = Load::start(&cut, committer);
    load.acknowledges(1_500).await;
    load.count(&straight).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_cut_in_the_middle_lose_and_duplicate_nothing() {
    load_over_cuts(Committer::Sure).await.assert_intact();
}

/// The control: a client that treats a cut reply as a failure duplicates the commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_commit_after_a_cut_reply_is_a_duplicate() {
    let count = load_over_cuts(Committer::Naive).await;
    assert!(count.duplicated > 0, "{count:?}");
}
