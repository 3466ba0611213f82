//! Requests as bytes, for what no well-behaved client would send, and the responses to them.
#![allow(dead_code, reason = "each test file takes what it needs")]

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::wait::within;

/// Headers, in the order in which they are sent.
pub type Headers<'h> = &'h [(&'h str, &'h str)];

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

/// Returns the bytes of a request line, headers and a body. `Content-Length` is added unless a header frames the body.
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

/// Returns a body in chunks of a size (RFC 9112, 7.1).
pub fn chunked(body: &str, size: usize) -> String {
    let chunks = body.as_bytes().chunks(size).map(|chunk| {
        let text = std::str::from_utf8(chunk).unwrap();
        format!("{:x}\r\n{text}\r\n", chunk.len())
    });
    chunks.collect::<String>() + "0\r\n\r\n"
}

/// Sends raw requests on a new connection; returns every response.
pub async fn send(url: &str, requests: &[u8]) -> Vec<Response> {
    let address = url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    // A request that is refused before all of it was read may find the connection closed.
    let _ = connection.write_all(requests).await;
    let _ = connection.shutdown().await;
    let mut text = Vec::new();
    let reading = connection.read_to_end(&mut text);
    within("the end of the responses", reading).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (mut rest, mut responses) = (text.as_str(), Vec::new());
    while !rest.is_empty() {
        let (head, after) = rest.split_once("\r\n\r\n").expect("a response");
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: HeaderMap = lines.map(header).collect();
        let length = headers.get("content-length");
        // A response to HEAD announces the length of a body that is not sent.
        let length = length.map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        let (body, after) = after.split_at(after.len().min(length));
        responses.push(Response {
            status: status.parse().unwrap(),
            headers,
            body: body.to_owned(),
        });
        rest = after;
    }
    responses
}

/// Sends one raw request; returns its response.
pub async fn send_one(url: &str, request: &[u8]) -> Response {
    let mut responses = send(url, request).await;
    assert_eq!(responses.len(), 1, "{responses:?}");
    responses.remove(0)
}

/// Returns the status of the response to a request on a new connection, without reading its body, because a stream has
/// no end.
pub async fn status_of(url: &str, request: &[u8]) -> u16 {
    let address = url.trim_start_matches("http://");
    let mut connection = BufReader::new(TcpStream::connect(address).await.unwrap());
    connection.write_all(request).await.unwrap();
    let mut line = String::new();
    let reading = connection.read_line(&mut line);
    within("the first line of a response", reading)
        .await
        .unwrap();
    let status = line.split(' ').nth(1);
    status.expect("a response").parse().unwrap()
}

fn header(line: &str) -> (HeaderName, HeaderValue) {
    let (name, value) = line.split_once(": ").unwrap();
    (name.parse().unwrap(), HeaderValue::from_str(value).unwrap())
}
