//! `tillgate listen`, the real command against the real host: what the local receiver gets, and what the command prints.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::host::{Program, client, read, token};
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::{Lines, ended};
use crate::webhooks::standard_webhooks::standard;

const TYPE: &str = "x.order-updates.v1";
const CONSUMERS: &str = "/api/v1/event-consumers";

/// A host, and its operator.
struct Shop {
    program: Program,
    folder: tempfile::TempDir,
    http: Client,
}

impl Shop {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            program: serve(folder.path(), "127.0.0.1:0"),
            folder,
            http: client(),
        }
    }

    fn operator(&self) -> PathBuf {
        self.folder.path().join("operator.json")
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let file = std::fs::read(self.operator()).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        let text = |member: &str| file[member].as_str().unwrap();
        let url = &self.program.url;
        let token = token(&self.http, url, text("clientId"), text("clientSecret")).await;
        let request = self.http.request(method, format!("{url}{path}"));
        let request = request.bearer_auth(token).json(body);
        read(request.send().await.unwrap()).await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send(Method::GET, path, &Value::Null).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    async fn publish(&self, data: Value) -> String {
        let event = json!({ "type": TYPE, "data": data });
        let (status, body) = self.send(Method::POST, "/api/v1/events", &event).await;
        assert_eq!(status, 202, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }
}

/// Starts a host on the store of a folder.
fn serve(folder: &Path, listen: &str) -> Program {
    let store = format!("embedded:{}", folder.display());
    let mut command = Program::command();
    command
        .args(["serve", "--listen", listen, "--store", &store])
        .stderr(Stdio::inherit());
    Program::spawn(&mut command, "")
}

/// The running command.
struct Listen {
    child: Child,
    lines: Lines,
    told: Lines,
}

impl Listen {
    fn start(shop: &Shop, to: &str, arguments: &[&str]) -> Self {
        let mut command = Program::command();
        command
            .args(["listen", "--forward-to", to])
            .args(arguments)
            .env("TILLGATE_CREDENTIALS", shop.operator());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            lines: Lines::of("tillgate listen", child.stdout.take().unwrap()),
            told: Lines::of("tillgate listen's notices", child.stderr.take().unwrap()),
            child,
        }
    }

    fn line(&self) -> String {
        let line = tokio::task::block_in_place(|| self.lines.next());
        line.expect("it prints another line")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Returns the next line of the messages to the person.
    fn notice(&self) -> String {
        let line = tokio::task::block_in_place(|| self.told.next());
        line.expect("it tells more")
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end; returns the exit code and the messages until then.
    fn end(mut self) -> (Option<i32>, String) {
        tokio::task::block_in_place(|| {
            let told = self.told.rest();
            let status = ended("tillgate listen ends", &mut self.child);
            (status.code(), told)
        })
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_arrive_at_a_local_address_and_ctrl_c_deletes_the_consumer() {
    let (shop, receiver) = (Shop::open(), Receiver::start().await);
    let listen = Listen::start(&shop, &receiver.url, &["--event-type", TYPE]);
    let notice = listen.notice();
    let begin = format!("tillgate: {TYPE} events are forwarded to {}", receiver.url);
    assert!(notice.starts_with(&begin), "{notice}");
    let key = notice.rsplit(' ').next().unwrap();
    assert_eq!(key.len(), 43, "{notice}");
    let secret = format!("whsec_{}", BASE64_STANDARD.encode(key));
    assert!(notice.contains(&secret), "{notice}");
    let consumers = shop.get(CONSUMERS).await;
    let name = consumers[0]["name"].as_str().unwrap();
    assert!(name.starts_with("listen-"), "{consumers}");

    receiver.answer(Answer::Status(201, "", "thank you"));
    let other = json!({ "type": "x.receipts.v1", "data": 1 });
    assert_eq!(
        shop.send(Method::POST, "/api/v1/events", &other).await.0,
        202
    );
    let id = shop.publish(json!({ "order": 7 })).await;
    let line = listen.line();
    assert!(
        line.contains(&format!("  {TYPE}  {id}  201 Created, ")),
        "{line}"
    );
    let received = receiver.wait_for(1).await.remove(0);
    assert_eq!(received.path, "/hook");
    assert_eq!(received.id(), id, "the other type is not wanted");
    assert_eq!(received.data(), json!({ "order": 7 }));
    assert_eq!(received.headers["content-type"], "application/json");
    assert!(received.headers["authorization"].starts_with("Bearer ey"));
    assert!(received.headers["user-agent"].starts_with("Tillgate-Webhooks/"));
    assert!(received.headers["x-service-signature"].starts_with("HS256="));
    let signature = standard(key, &received);
    assert_eq!(received.headers["webhook-signature"], signature);
    assert_eq!(shop.get("/api/v1/deliveries").await["items"], json!([]));

    listen.signal("-INT");
    let (code, told) = listen.end();
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert_eq!(shop.get(CONSUMERS).await, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_receiver_answers_cannot_control_the_terminal() {
    let (shop, receiver) = (Shop::open(), Receiver::start().await);
    let listen = Listen::start(&shop, &receiver.url, &["--json"]);
    listen.json();
    let body = "\u{1b}[2J\u{9b}31m\u{7f}";
    receiver.answer(Answer::Status(200, "", body));
    shop.publish(json!(1)).await;
    let line = listen.line();
    assert!(!line.contains(char::is_control), "{line:?}");
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["answer"]["body"], body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_where_nobody_listens_is_said_and_the_next_event_follows() {
    let shop = Shop::open();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let listen = Listen::start(&shop, &format!("http://{free}/hook"), &["--json"]);
    let begun = listen.json();
    assert_eq!(begun["eventTypes"], json!(["*"]), "{begun}");
    assert_eq!(begun["consumer"], shop.get(CONSUMERS).await[0]["name"]);
    for number in 0..2 {
        let id = shop.publish(json!(number)).await;
        let line = listen.json();
        assert_eq!(line["eventId"], id.as_str(), "{line}");
        assert_eq!(line["eventType"], TYPE);
        assert!(line["error"].is_string(), "{line}");
    }
    listen.signal("-TERM");
    assert_eq!(listen.end().0, Some(0));
    assert_eq!(shop.get(CONSUMERS).await, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_away_for_a_moment_is_asked_again_and_no_event_is_left_out() {
    let (mut shop, receiver) = (Shop::open(), Receiver::start().await);
    let listen = Listen::start(&shop, &receiver.url, &["--json"]);
    listen.json();
    shop.publish(json!(1)).await;
    assert_eq!(listen.json()["answer"]["status"], 204);
    let address = shop.program.url.trim_start_matches("http://").to_owned();
    shop.program.kill();
    assert!(listen.notice().contains(&address));
    // This event is accepted while the command cannot reach the host.
    shop.program = serve(shop.folder.path(), "127.0.0.1:0");
    let id = shop.publish(json!(2)).await;
    shop.program.kill();
    shop.program = serve(shop.folder.path(), &address);
    let line = listen.json();
    assert_eq!(line["eventId"], id.as_str(), "{line}");
    assert_eq!(line["answer"]["status"], 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_listened_to_is_refused_in_one_line() {
    let (shop, receiver) = (Shop::open(), Receiver::start().await);
    let rows = [
        (
            "https://erp.example/hook",
            "$.url must be a URL of your own machine",
        ),
        ("http://10.0.0.1/hook?x#y", "$.url must not have a fragment"),
    ];
    for (to, expected) in rows {
        let (code, told) = Listen::start(&shop, to, &[]).end();
        assert_eq!(code, Some(1), "{told}");
        assert!(
            told.contains(expected) && told.lines().count() == 1,
            "{told}"
        );
    }
    let (code, told) = Listen::start(&shop, "here", &[]).end();
    assert_eq!(code, Some(2), "{told}");

    let listen = Listen::start(&shop, &receiver.url, &[]);
    listen.notice();
    receiver.answer(Answer::Status(410, "", ""));
    shop.publish(json!(1)).await;
    let line = listen.line();
    assert!(line.contains("410 Gone"), "{line}");
    let (code, told) = listen.end();
    assert_eq!(code, Some(1));
    assert!(
        told.contains("410 Gone, which disables a webhook"),
        "{told}"
    );
    assert_eq!(shop.get(CONSUMERS).await, json!([]));
}
