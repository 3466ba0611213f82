//! Requests as bytes, for what no well-behaved client would send, and answers read back from theirs.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{Answer, Service};

/// Headers, in the order they are sent.
pub type Headers<'h> = &'h [(&'h str, &'h str)];

/// A request line, headers and a body, whose length is told unless a header tells how it is sent.
pub fn message(line: &str, headers: Headers<'_>, body: impl AsRef<[u8]>) -> Vec<u8> {
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
    /// Sends bytes as they are on a connection of their own; answers the one answer.
    pub async fn send_bytes(&self, request: &[u8]) -> Answer {
        let mut answers = self.send_all(request).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    }

    /// The same, for as many answers as there are.
    pub async fn send_all(&self, requests: &[u8]) -> Vec<Answer> {
        let address = self.host.url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).await.unwrap();
        // Who is refused before all was read may find the connection closed.
        let _ = connection.write_all(requests).await;
        let _ = connection.shutdown().await;
        let mut text = Vec::new();
        connection.read_to_end(&mut text).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        let (mut rest, mut answers) = (text.as_str(), Vec::new());
        while !rest.is_empty() {
            let (head, after) = rest.split_once("\r\n\r\n").expect("an answer");
            let mut lines = head.lines();
            let status = lines.next().unwrap().split(' ').nth(1).unwrap();
            let headers: HeaderMap = lines.map(header).collect();
            let length = headers.get("content-length");
            // An answer to HEAD tells the length of what it does not send.
            let length = length.map_or(0, |value| value.to_str().unwrap().parse().unwrap());
            let (body, after) = after.split_at(after.len().min(length));
            answers.push(Answer {
                status: status.parse().unwrap(),
                headers,
                body: serde_json::from_str(body).unwrap_or_default(),
            });
            rest = after;
        }
        answers
    }
}

fn header(line: &str) -> (HeaderName, HeaderValue) {
    let (name, value) = line.split_once(": ").unwrap();
    (name.parse().unwrap(), HeaderValue::from_str(value).unwrap())
}
