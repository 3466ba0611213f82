//! Requests as bytes, for what no well-behaved client would send, and answers read back from theirs.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{Answer, Service};

/// A request line, headers and a body, whose length is told unless a header tells how it is sent.
pub fn message(line: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut head = format!("{line} HTTP/1.1\r\nhost: till.example\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let framed = |(name, _): &(&str, &str)| matches!(*name, "transfer-encoding" | "content-length");
    if !headers.iter().any(framed) {
        head += &format!("content-length: {}\r\n", body.len());
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// A body in chunks of a size (RFC 9112, 7.1).
pub fn chunked(body: &str, size: usize) -> String {
    let chunks = body.as_bytes().chunks(size).map(|chunk| {
        let text = std::str::from_utf8(chunk).unwrap();
        format!("{:x}\r\n{text}\r\n", chunk.len())
    });
    chunks.collect::<String>() + "0\r\n\r\n"
}

impl Service {
    /// Sends bytes as they are on a connection of their own; answers the first answer.
    pub async fn send_bytes(&self, request: &[u8]) -> Answer {
        let address = self.host.url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(request).await.unwrap();
        connection.shutdown().await.unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: HeaderMap = lines
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                let name: HeaderName = name.parse().unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(body).unwrap()
        };
        Answer {
            status: status.parse().unwrap(),
            headers,
            body,
        }
    }
}
