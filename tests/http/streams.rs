//! Event streams with many listeners: each gets every event once and in order, and none delays the others.

use std::process::{Child, Command};
use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::{Stream, stream};
use reqwest::{Method, Response};
use serde_json::json;
use tempfile::TempDir;
use tillgate_base::identity::Permission;
use tillgate_http::{
    Access, Event, Listener as Socket, Reply, Request, Route, Server, Table, Takes,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Mutex, mpsc};

use crate::support::host::Host;
use crate::support::wait::{until, within};
use crate::support::wire::message;

const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];
const CHANGES: &str = "/api/v1/catalog/changes";

/// A listener, and the bytes that it has received but not yet parsed.
struct Listener {
    response: Response,
    text: String,
}

impl Listener {
    async fn join(http: &reqwest::Client, url: &str, token: &str) -> Self {
        let response = http.get(url).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self {
            response,
            text: String::new(),
        }
    }

    /// Returns the id of the next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<String> {
        within("an event, or the end of the stream", self.read()).await
    }

    async fn read(&mut self) -> Option<String> {
        loop {
            while let Some((line, rest)) = self.text.split_once('\n') {
                let id = line.strip_prefix("id:").map(str::to_owned);
                self.text = rest.to_owned();
                if id.is_some() {
                    return id;
                }
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

/// A shop that changes its catalog.
struct Shop {
    host: Host,
    token: String,
}

impl Shop {
    async fn open() -> Self {
        let host = Host::start().await;
        let token = host.token("shop", ROLES).await;
        Self { host, token }
    }

    async fn listen(&self) -> Listener {
        let url = format!("{}{CHANGES}", self.host.url);
        Listener::join(&self.host.http, &url, &self.token).await
    }

    async fn digest(&self) -> String {
        let (_, catalog) = self.host.get("/api/v1/catalog", &self.token).await;
        catalog["digest"].as_str().unwrap().to_owned()
    }

    /// Changes the catalog, the first time with a new condition; returns its digest.
    async fn change(&self, minimum_age: usize, is_first: bool) -> String {
        let path = "/api/v1/entity-conditions/beer";
        let body =
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum_age } });
        let put = self.host.send(Method::PUT, path, &self.token, &body).await;
        assert_eq!(put.0, if is_first { 201 } else { 200 }, "{}", put.1);
        self.digest().await
    }
}

#[tokio::test]
async fn two_hundred_listeners_are_told_the_newest_digest_and_then_each_change_once() {
    let shop = Shop::open().await;
    let first = shop.digest().await;
    let mut listeners = join_all((0..200).map(|_| shop.listen())).await;
    for listener in &mut listeners {
        assert_eq!(listener.next().await.as_ref(), Some(&first));
    }
    for minimum_age in 16..21 {
        let changed = shop.change(minimum_age, minimum_age == 16).await;
        for listener in &mut listeners {
            assert_eq!(listener.next().await.as_ref(), Some(&changed));
        }
    }
    shop.host.app.begin_stop();
    for listener in &mut listeners {
        assert_eq!(listener.next().await, None, "nothing is told twice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_listener_is_told_the_newest_digest_whoever_has_left() {
    let shop = Shop::open().await;
    for round in 0..20 {
        let mut listeners = join_all((0..5).map(|_| shop.listen())).await;
        for listener in &mut listeners {
            assert!(listener.next().await.is_some());
        }
        // All of them leave, or all but one.
        listeners.truncate(round % 2);
        let newest = shop.change(2 * round, round == 0).await;
        let mut new = shop.listen().await;
        assert_eq!(new.next().await, Some(newest), "round {round}");
        let changed = shop.change(2 * round + 1, false).await;
        assert_eq!(new.next().await, Some(changed), "round {round}");
    }
}

/// nginx in front of a host, without any setting for streams in its configuration.
struct Nginx {
    process: Child,
    url: String,
    _folder: TempDir,
}

impl Nginx {
    async fn before(host: &Host) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // nginx cannot pick a free port by itself.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};"))
            .concat();
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; events {{}} http {{ access_log off; {temporary} \
             server {{ listen {address}; location / {{ proxy_pass {}; }} }} }}",
            host.url
        );
        std::fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        let process = Command::new("nginx")
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(folder.path())
            .spawn()
            .expect("nginx is installed");
        let nginx = Self {
            process,
            url: format!("http://{address}"),
            _folder: folder,
        };
        let ready = format!("{}/healthz", nginx.url);
        until("nginx answers", async || {
            let answer = host.http.get(&ready).send().await;
            answer.is_ok_and(|answer| answer.status().is_success())
        })
        .await;
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn nginx_passes_on_each_event_as_it_comes() {
    let shop = Shop::open().await;
    let nginx = Nginx::before(&shop.host).await;
    let first = shop.digest().await;
    let url = format!("{}{CHANGES}", nginx.url);
    let joining = Listener::join(&shop.host.http, &url, &shop.token);
    let mut listener = within("the head of the stream", joining).await;
    assert_eq!(listener.next().await, Some(first));
    for minimum_age in 16..19 {
        let changed = shop.change(minimum_age, minimum_age == 16).await;
        assert_eq!(listener.next().await, Some(changed));
    }
}

/// Far more bytes than the buffers of a connection hold, and far more events than may wait for a listener.
const EVENT_BYTES: usize = 256 << 10;
const EVENTS: usize = 64;

type Source = Arc<Mutex<mpsc::Receiver<Event>>>;

fn events(source: Source) -> impl Stream<Item = Event> {
    stream::unfold(source, |source| async {
        let event = source.lock().await.recv().await?;
        Some((event, source))
    })
}

async fn subscribe(source: Source, request: Request) -> tillgate_base::error::Result<Reply> {
    request.subscribe("large", || events(source))
}

/// Serves a stream of events from a channel next to a host, at `/events`; returns its URL.
async fn serve(host: &Host, source: mpsc::Receiver<Event>) -> String {
    let access = Access::With(Permission::ConditionRead);
    let route = Route::new(Method::GET, "/events", access, Takes::Nothing, subscribe);
    let route = route.giving("text/event-stream");
    let table = Table::new(
        [route.bind(&Arc::new(Mutex::new(source)))],
        host.app.metrics.requests(),
    )
    .unwrap();
    let server = Server::new(table, host.features.tokens.clone(), &host.app);
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = socket.address().unwrap();
    tokio::spawn(socket.serve(server, std::future::pending()));
    format!("http://{address}/events")
}

/// Joins over a connection with a small buffer; returns it with the bytes that it has read: the head of the response.
async fn join_slowly(url: &str, token: &str) -> (TcpStream, Vec<u8>) {
    let address = url.trim_start_matches("http://");
    let (address, path) = address.split_once('/').unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut connection = socket.connect(address.parse().unwrap()).await.unwrap();
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("connection", "close")];
    let request = message(&format!("GET /{path}"), &headers, "");
    connection.write_all(&request).await.unwrap();
    let mut read = Vec::new();
    let joining = async {
        while !read.ends_with(b"\r\n\r\n") {
            read.push(connection.read_u8().await.unwrap());
        }
    };
    within("the head of the answer", joining).await;
    assert!(read.starts_with(b"HTTP/1.1 200"));
    (connection, read)
}

#[tokio::test]
async fn a_listener_that_does_not_read_is_disconnected_and_the_others_miss_nothing() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let (send, source) = mpsc::channel(1);
    let url = serve(&host, source).await;
    let mut reader = Listener::join(&host.http, &url, &token).await;
    let (mut slow, mut read) = join_slowly(&url, &token).await;
    let data: Arc<str> = "x".repeat(EVENT_BYTES).into();
    for id in 0..EVENTS {
        let event = Event {
            id: id.to_string().into(),
            data: Arc::clone(&data),
        };
        within("room for an event", send.send(event)).await.unwrap();
        assert_eq!(reader.next().await, Some(id.to_string()));
    }
    // Events on their way still arrive, then the stream ends: not all events arrive.
    let ending = async {
        while slow.read_buf(&mut read).await.unwrap() > 0 {
            assert!(read.len() < EVENTS * EVENT_BYTES, "it misses nothing");
        }
    };
    within("the end of a stream that nobody reads", ending).await;
    let read = String::from_utf8(read).unwrap();
    assert!(read.ends_with("\r\n0\r\n\r\n"), "the answer ends in order");
    let ids: Vec<_> = read
        .lines()
        .filter_map(|line| line.strip_prefix("id:"))
        .collect();
    let expected: Vec<_> = (0..ids.len()).map(|id| id.to_string()).collect();
    assert_eq!(ids, expected);
    assert!((17..EVENTS).contains(&ids.len()), "{}", ids.len());
}
