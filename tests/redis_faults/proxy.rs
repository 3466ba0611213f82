//! Connections that are cut in the middle of an answer: what was asked has been done, and nobody says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::load::{Committer, Count, Load, with_prefix};
use crate::support::redis::{Server, shared};

/// How many answers pass until one is cut.
const PASS: usize = 40;

/// A port that leads to a server and cuts its answers now and then.
async fn cutting(server: &Server) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (own, port) = (listener.local_addr().unwrap().port(), server.port);
    let answers = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(pass(client, server, Arc::clone(&answers)));
        }
    });
    own
}

async fn pass(client: TcpStream, server: TcpStream, answers: Arc<AtomicUsize>) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let asking = tokio::io::copy(&mut from_client, &mut to_server);
    let answering = async {
        let mut answer = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from_server.read(&mut answer).await {
            let cut = answers.fetch_add(1, Ordering::SeqCst) % PASS == PASS - 1;
            let len = if cut { len / 2 } else { len };
            if to_client.write_all(&answer[..len]).await.is_err() || cut {
                return;
            }
        }
    };
    tokio::select! {
        _ = asking => {}
        () = answering => {}
    }
}

/// A load over a port that cuts answers.
async fn load_over_cuts(committer: Committer) -> Count {
    let straight = with_prefix(&shared().url());
    let mut cut = straight.clone();
    cut.addresses[0].port = cutting(shared()).await;
    let load = Load::start(&cut, committer);
    load.acknowledges(1_500).await;
    load.count(&straight).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_cut_in_the_middle_lose_and_double_nothing() {
    load_over_cuts(Committer::Sure).await.assert_whole();
}

/// The control: who takes a cut answer for a failure doubles what was done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_commits_anew_after_a_cut_doubles() {
    let count = load_over_cuts(Committer::Naive).await;
    assert!(count.doubled > 0, "{count:?}");
}
