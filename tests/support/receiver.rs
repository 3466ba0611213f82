//! A receiver of webhooks: a real HTTP server on a free port of the loopback address. It keeps the requests and
//! answers as a test wants, even as no well-behaved server would.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::wait::DEADLINE;

/// The answer of a receiver.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A status, with headers such as `Retry-After: 7\r\n` and a body.
    Status(u16, &'static str, &'static str),
    /// 422 to an event whose data is this text in JSON, and 204 to all others.
    Refusing(&'static str),
    /// These bytes; then the connection ends.
    Raw(Vec<u8>),
    /// A body without end, as fast as it is read.
    Endless,
    /// Headers without end.
    EndlessHeaders,
    /// A byte of the body every tenth of a second.
    Dripping,
    /// No answer.
    Hang,
    /// No answer to requests whose path ends with this, and 204 to all others.
    HangingAt(&'static str),
    /// Ends the connection without an answer.
    Close,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    /// The names of the headers as they were sent.
    pub names: Vec<String>,
    /// By name, in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Received {
    /// Returns the envelope.
    pub fn envelope(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the id of the event.
    pub fn id(&self) -> String {
        self.envelope()["id"].as_str().unwrap().to_owned()
    }

    /// Returns the data of the event.
    pub fn data(&self) -> Value {
        let data = self.envelope()["data"].as_str().unwrap().to_owned();
        serde_json::from_slice(&BASE64_STANDARD.decode(data).unwrap()).unwrap()
    }
}

/// A running receiver.
pub struct Receiver {
    pub url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    answer: Mutex<Answer>,
    received: watch::Sender<Vec<Arc<Received>>>,
    connections: AtomicUsize,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Receiver {
    /// Starts a receiver that answers 204.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            answer: Mutex::new(Answer::Status(204, "", "")),
            received: watch::Sender::new(Vec::new()),
            connections: AtomicUsize::new(0),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self {
            url,
            shared,
            serving,
        }
    }

    /// Sets the answer from now on.
    pub fn answer(&self, answer: Answer) {
        *self.shared.answer.lock().unwrap() = answer;
    }

    /// Returns the requests received so far.
    pub fn received(&self) -> Vec<Arc<Received>> {
        self.shared.received.borrow().clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Waits until `count` requests were received.
    pub async fn wait_for(&self, count: usize) -> Vec<Arc<Received>> {
        let mut received = self.shared.received.subscribe();
        let arrived = received.wait_for(|received| received.len() >= count);
        let arrived = tokio::time::timeout(DEADLINE, arrived).await;
        let Ok(arrived) = arrived else {
            let so_far = self.received().len();
            panic!("not within {DEADLINE:?}: {count} requests, but {so_far}");
        };
        arrived.unwrap().clone()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let _ = talk(stream, &shared).await;
        });
    }
}

async fn talk(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await? {
        let mut answer = shared.answer.lock().unwrap().clone();
        if let Answer::Refusing(data) = answer {
            let status = if request.data() == data { 422 } else { 204 };
            answer = Answer::Status(status, "", "");
        }
        if let Answer::HangingAt(end) = answer {
            answer = if request.path.ends_with(end) {
                Answer::Hang
            } else {
                Answer::Status(204, "", "")
            };
        }
        shared
            .received
            .send_modify(|received| received.push(Arc::new(request)));
        if !reply(&mut stream, answer).await? {
            break;
        }
    }
    Ok(())
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut names, mut headers) = (Vec::new(), BTreeMap::new());
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        names.push(name.to_owned());
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(Some(Received {
        path,
        names,
        headers,
        body: String::from_utf8(body).unwrap(),
    }))
}

/// Sends the answer; returns whether the connection stays open.
async fn reply(stream: &mut BufReader<TcpStream>, answer: Answer) -> std::io::Result<bool> {
    match answer {
        Answer::Status(status, headers, body) => {
            let length = match status {
                204 => String::new(),
                _ => format!("content-length: {}\r\n", body.len()),
            };
            let head = format!("HTTP/1.1 {status} As Wanted\r\n{length}{headers}\r\n{body}");
            stream.write_all(head.as_bytes()).await?;
            return Ok(true);
        }
        Answer::Raw(bytes) => stream.write_all(&bytes).await?,
        Answer::Endless => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 16_384]).await?;
            }
        }
        Answer::EndlessHeaders => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                stream.write_all(b"x-more: and more\r\n").await?;
            }
        }
        Answer::Dripping => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                stream.write_all(b"x").await?;
            }
        }
        Answer::Hang => std::future::pending().await,
        Answer::Close | Answer::Refusing(_) | Answer::HangingAt(_) => {}
    }
    Ok(false)
}
