//! Connections: the limit for one address, readers that do not read, and the required fields of a request's head.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::host::{Host, Program};
use crate::support::wait::{until, within};

/// Starts the program with a limit on open files.
fn with_open_files(count: usize, folder: &TempDir) -> Program {
    let program = Program::command();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -n {count} && exec \"$@\""), "sh"])
        .arg(program.get_program())
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(format!("embedded:{}", folder.path().display()))
        .stderr(Stdio::inherit());
    Program::spawn(&mut command, "")
}

/// Opens a connection from an address of the loopback network.
async fn connect(url: &str, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    socket.connect(address).await.unwrap()
}

/// Sends a request's head; returns everything up to the end of the connection.
async fn ask(mut connection: TcpStream, head: &str) -> String {
    let mut answer = Vec::new();
    let exchange = async {
        connection.write_all(head.as_bytes()).await?;
        connection.read_to_end(&mut answer).await
    };
    // A refused connection is closed, or reset when it has sent something.
    let _ended = within("the end of the connection", exchange).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const PAGE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn readers_that_do_not_read_keep_nobody_else_out_and_are_dropped() {
    let folder = TempDir::new().unwrap();
    let program = with_open_files(200, &folder);
    let many = "GET /js/engine/tillgate_bg.wasm HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100);
    let mut readers = Vec::new();
    for _ in 0..190 {
        let mut reader = connect(&program.url, [127, 0, 0, 1]).await;
        // Connections beyond the limit are closed.
        let _sent = reader.write_all(many.as_bytes()).await;
        readers.push(reader);
    }
    for _ in 0..50 {
        let answer = ask(connect(&program.url, [127, 0, 0, 2]).await, PAGE).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let refused = ask(connect(&program.url, [127, 0, 0, 1]).await, PAGE).await;
    assert_eq!(refused, "");
    // They still do not read, yet their places become free after a while.
    until("readers that do not read are dropped", async || {
        let answer = ask(connect(&program.url, [127, 0, 0, 1]).await, PAGE).await;
        answer.starts_with("HTTP/1.1 200")
    })
    .await;
    drop(readers);
}

#[tokio::test]
async fn a_request_names_one_host() {
    let host = Host::start().await;
    let status = async |head: &str| {
        let answer = ask(connect(&host.url, [127, 0, 0, 1]).await, head).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let close = "Connection: close\r\n\r\n";
    assert_eq!(
        status(&format!("GET / HTTP/1.1\r\nHost: x\r\n{close}")).await,
        "200"
    );
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{close}")).await, "400");
    assert_eq!(
        status(&format!("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n{close}")).await,
        "400"
    );
    assert_eq!(
        status("GET / HTTP/1.0\r\n\r\n").await,
        "200",
        "checks of load balancers"
    );
    assert_eq!(
        status("GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n").await,
        "400"
    );
}

#[tokio::test]
async fn the_default_check_of_haproxy_succeeds_whatever_a_host_serves() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock, |config| {
        config.roles = serde_json::from_str(r#""workers""#).unwrap();
    });
    let host = host.await;
    let check = "OPTIONS / HTTP/1.0\r\n\r\n";
    let answer = ask(connect(&host.url, [127, 0, 0, 1]).await, check).await;
    assert_eq!(answer.split(' ').nth(1), Some("204"), "{answer}");
}

#[tokio::test]
async fn no_browser_guesses_what_an_answer_is() {
    let host = Host::start().await;
    let token = host.token("acme", &["ecs.evaluator"]).await;
    for path in [
        "/",
        "/nowhere",
        "/api/v1/catalog",
        "/.well-known/jwks.json",
        "/api/v1/catalog/changes",
    ] {
        let answer = host
            .request(reqwest::Method::GET, path, &token)
            .send()
            .await
            .unwrap();
        assert_eq!(
            answer.headers()["x-content-type-options"],
            "nosniff",
            "{path}"
        );
    }
}
