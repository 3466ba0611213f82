//! A host with scripted answers, for what a real host does not do on demand: end a stream with its token, break one
//! off, or be away for a moment. It gives out a new token for each token request.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

/// The state of the connection after the bytes of an answer.
#[derive(Clone, Copy)]
pub enum Then {
    Close,
    /// The connection stays open, and nothing more comes.
    Wait,
}

/// A request other than for a token: its first line, its headers and its body.
#[derive(Clone, Debug)]
pub struct Received {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter().filter_map(|line| line.split_once(": "));
        headers.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }
}

pub struct ScriptedHost {
    folder: tempfile::TempDir,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    script: VecDeque<(String, Then)>,
    received: Vec<Received>,
    tokens: u32,
}

impl ScriptedHost {
    /// Serves these answers, each once and in order.
    pub fn start(script: impl IntoIterator<Item = (String, Then)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared {
            script: script.into_iter().collect(),
            received: Vec::new(),
            tokens: 0,
        }));
        let folder = tempfile::tempdir().unwrap();
        let credentials = json!({
            "clientId": "till", "clientSecret": "secret", "tokenUrl": format!("{url}/oauth2/token"), "audience": "a",
        });
        std::fs::write(folder.path().join("till.json"), credentials.to_string()).unwrap();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let shared = Arc::clone(&accepting);
                thread::spawn(move || answer(connection.unwrap(), &shared));
            }
        });
        Self { folder, shared }
    }

    pub fn credentials(&self) -> PathBuf {
        self.folder.path().join("till.json")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().unwrap().received.clone()
    }
}

/// Answers the one request of a connection.
fn answer(mut connection: TcpStream, shared: &Mutex<Shared>) {
    let received = receive(&connection);
    let (bytes, then) = {
        let mut shared = shared.lock().unwrap();
        if received.line.starts_with("POST /oauth2/token ") {
            shared.tokens += 1;
            let token = json!({ "access_token": format!("token-{}", shared.tokens) });
            (
                response("200 OK", "application/json", &token.to_string()),
                Then::Close,
            )
        } else {
            shared.received.push(received);
            let end = || {
                (
                    response("404 Not Found", "", "the script has ended"),
                    Then::Close,
                )
            };
            shared.script.pop_front().unwrap_or_else(end)
        }
    };
    // The client may be gone already.
    let _ = connection.write_all(bytes.as_bytes());
    if let Then::Wait = then {
        let _ = connection.read(&mut [0]);
    }
}

fn receive(connection: &TcpStream) -> Received {
    let mut reader = BufReader::new(connection);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let line = next();
    let headers: Vec<String> =
        std::iter::from_fn(|| Some(next()).filter(|line| !line.is_empty())).collect();
    let mut received = Received {
        line,
        headers,
        body: Vec::new(),
    };
    let length = received
        .header("content-length")
        .map(|length| length.parse().unwrap());
    received.body.resize(length.unwrap_or(0), 0);
    reader.read_exact(&mut received.body).unwrap();
    received
}

/// Returns a complete answer.
pub fn response(status: &str, media_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Returns the start of an event stream, which ends with the connection.
pub fn stream(events: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
    )
}
