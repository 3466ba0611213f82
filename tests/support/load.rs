//! A load that costs little itself: one request, repeated over connections that stay open.
#![allow(dead_code, reason = "each bench takes what it needs")]

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of concurrent connections.
pub const CONNECTIONS: u64 = 64;

/// Returns the bytes of a POST of a body with a token.
pub fn request(address: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Opens the connections and sends the request once on each, to learn the length of the answer.
pub async fn connect(address: &str, request: &[u8]) -> Vec<(TcpStream, usize)> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.set_nodelay(true).unwrap();
        connection.write_all(request).await.unwrap();
        let mut answer = vec![0; 4096];
        let mut len = 0;
        let whole = loop {
            let read = connection.read(&mut answer[len..]).await.unwrap();
            assert!(read > 0, "the connection ended before the answer");
            len += read;
            let text = std::str::from_utf8(&answer[..len]).unwrap();
            let Some(head) = text.find("\r\n\r\n") else {
                continue;
            };
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            let length = text.to_lowercase().find("content-length: ").unwrap();
            let length = text[length + 16..].split("\r\n").next().unwrap();
            break head + 4 + length.parse::<usize>().unwrap();
        };
        connection
            .read_exact(&mut answer[..whole - len])
            .await
            .unwrap();
        connections.push((connection, whole));
    }
    connections
}

/// Returns the time that `iterations` requests take over all connections.
pub async fn run(
    connections: &mut [(TcpStream, usize)],
    request: &[u8],
    iterations: u64,
) -> Duration {
    let each = iterations.div_ceil(CONNECTIONS);
    let begin = Instant::now();
    let asked = connections.iter_mut().map(|(connection, len)| async {
        let mut answer = vec![0; *len];
        for _ in 0..each {
            connection.write_all(request).await.unwrap();
            connection.read_exact(&mut answer).await.unwrap();
        }
    });
    futures_util::future::join_all(asked).await;
    begin
        .elapsed()
        .mul_f64(iterations as f64 / (each * CONNECTIONS) as f64)
}
