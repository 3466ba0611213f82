//! A host that is told to stop (SIGTERM) under a load of decisions, events and changes of rates: a request that gets
//! an answer gets a good one, one without an answer had no effect, and after the next start everything acknowledged is
//! there and continues.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_store::EmbeddedStore;
use tillgate_store::clock::SystemClock;
use tillgate_tokens::Credentials;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::host::{Host, Program, client, read, token};
use crate::support::receiver::Receiver;
use crate::support::sizes::size;
use crate::support::wait::{DEADLINE, answered, until};
use crate::webhooks::shop::{TYPE, settings};

const TENANT: &str = "acme";
const ROLES: [&str; 5] = [
    "ecs.evaluator",
    "exe.editor",
    "exe.publisher",
    "exr.editor",
    "exr.subscriber",
];
const SHOPS: usize = 100;

/// The number of events, changes of rates and decisions that are answered before the signal. A change waits until all
/// shops have the ones before it.
const UNDER_WAY: [usize; 3] = [40, 4, 40];

/// The outcome of a request.
enum Sent {
    Answered(u16, Value),
    /// It was not sent, because nobody listens.
    Refused,
    /// The connection ended before an answer began.
    Unanswered,
}

/// A shop's client program: the host's URL, a token and an HTTP client.
#[derive(Clone)]
struct Caller {
    http: Client,
    url: String,
    token: String,
}

impl Caller {
    async fn new(program: &Program, credentials: &Credentials) -> Self {
        let (http, url) = (client(), program.url.clone());
        let (id, secret) = (&credentials.client_id, credentials.client_secret.reveal());
        let token = token(&http, &url, id, secret).await;
        Self { http, url, token }
    }

    /// Returns the same caller, but with a new connection for each request.
    fn connecting(&self) -> Self {
        let http = Client::builder().read_timeout(DEADLINE);
        let http = http.pool_max_idle_per_host(0).build().unwrap();
        Self {
            http,
            ..self.clone()
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.bearer_auth(&self.token)
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Sent {
        match self.request(method, path).json(body).send().await {
            Ok(response) => {
                let (status, body) = read(response).await;
                Sent::Answered(status, body)
            }
            Err(cause) if cause.is_connect() => Sent::Refused,
            Err(_) => Sent::Unanswered,
        }
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = read(self.request(Method::GET, path).send().await.unwrap()).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

/// The requests to a host until it stopped listening.
#[derive(Default)]
struct Asked {
    /// The acknowledged ids of events or values of a rate, in order.
    acknowledged: Vec<String>,
    /// The requests without an answer.
    unanswered: Vec<String>,
}

/// Sends requests one after the other until the host stops listening. `id` makes the content from the number.
async fn ask(
    caller: Caller,
    (method, path): (Method, String),
    id: impl Fn(usize) -> (String, Value),
    answered: Arc<AtomicUsize>,
) -> Asked {
    let mut asked = Asked::default();
    for number in 0.. {
        let (id, body) = id(number);
        match caller.send(method.clone(), &path, &body).await {
            // As many changes as may wait for shops are waiting.
            Sent::Answered(429, _) => {}
            Sent::Answered(status, body) => {
                assert!((200..300).contains(&status), "{path}: {status} {body}");
                asked.acknowledged.push(id);
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Sent::Unanswered => asked.unanswered.push(id),
            Sent::Refused => break,
        }
    }
    asked
}

/// Starts the program on a store in a folder; webhooks may be on this machine, and the log goes to a file.
fn serve(folder: &Path, log: &Path) -> Program {
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(format!("embedded:{}", folder.display()))
        .env("TILLGATE_ISSUER", "https://tillgate.example/")
        .env("TILLGATE_WEBHOOKS__ALLOW_HTTP", "true")
        .env("TILLGATE_WEBHOOKS__ALLOW_PRIVATE", r#"["127.0.0.0/8"]"#)
        .env("TILLGATE_LOG__FORMAT", "json")
        .stderr(std::fs::File::create(log).unwrap());
    Program::spawn(&mut command, "")
}

/// Returns the lines of a log that are warnings or worse.
fn warned(log: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(log).unwrap();
    let lines = log.lines().map(str::to_owned);
    let is_warning = |line: &String| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["level"] == "WARN" || line["level"] == "ERROR"
    };
    lines.filter(is_warning).collect()
}

/// Creates a tenant with a client on an empty store.
async fn tenant_on(folder: &Path) -> Credentials {
    let store = Arc::new(EmbeddedStore::open(folder, Arc::new(SystemClock)).unwrap());
    let host = Host::start_on(
        store as Arc<dyn tillgate_store::Store>,
        Arc::new(SystemClock),
    )
    .await;
    host.client(TENANT, &ROLES).await
}

/// Creates two companies with shops, and a webhook.
async fn fill(caller: &Caller, receiver: &Receiver) {
    let put = async |id: String, unit: Value| {
        let path = format!("/api/v1/business-units/{id}");
        let sent = caller.send(Method::PUT, &path, &unit).await;
        assert!(matches!(sent, Sent::Answered(201, _)), "{id}");
    };
    for company in 0..2 {
        put(format!("C{company}"), json!({ "type": "COMPANY" })).await;
        for shop in 0..SHOPS {
            let unit = json!({ "type": "STORE", "parentId": format!("C{company}") });
            put(format!("C{company}S{shop}"), unit).await;
        }
    }
    let webhook = settings(&receiver.url, json!({}));
    let made = caller
        .send(Method::POST, "/api/v1/webhooks", &webhook)
        .await;
    assert!(matches!(made, Sent::Answered(201, _)));
}

/// All concurrent requests to a host.
struct Load {
    events: JoinSet<Asked>,
    rates: JoinSet<(usize, Asked)>,
    decisions: JoinSet<Asked>,
    answered: [Arc<AtomicUsize>; 3],
}

impl Load {
    /// Begins the load, with ids and values that no other round has.
    fn begin(caller: &Caller, round: usize) -> Self {
        let answered: [Arc<AtomicUsize>; 3] = Default::default();
        let [of_events, of_rates, of_decisions] = &answered;
        let (mut events, mut rates, mut decisions) =
            (JoinSet::new(), JoinSet::new(), JoinSet::new());
        for number in 0..4 {
            let caller = if number % 2 == 0 {
                caller.clone()
            } else {
                caller.connecting()
            };
            let event = move |count| {
                let id = format!("event-{round}-{number}-{count}");
                let event = json!({ "id": id, "type": TYPE, "data": count });
                (id, event)
            };
            let to = (Method::POST, "/api/v1/events".to_owned());
            events.spawn(ask(caller.clone(), to, event, Arc::clone(of_events)));
            let basket = |count| {
                let basket = json!({ "items": [{ "id": format!("{count}") }], "context": {} });
                (String::new(), basket)
            };
            let to = (Method::POST, "/api/v1/evaluations".to_owned());
            decisions.spawn(ask(caller, to, basket, Arc::clone(of_decisions)));
        }
        for company in 0..2 {
            let caller = if company == 0 {
                caller.clone()
            } else {
                caller.connecting()
            };
            let rate = move |count: usize| {
                let value = (round + 1) * 100_000 + count;
                (value.to_string(), json!({ "rateValue": value }))
            };
            let path = format!("/api/v1/business-units/C{company}/exchange-rates/SALES/SEK/EUR");
            let asked = ask(caller, (Method::PUT, path), rate, Arc::clone(of_rates));
            rates.spawn(async move { (company, asked.await) });
        }
        Self {
            events,
            rates,
            decisions,
            answered,
        }
    }

    async fn is_under_way(&self) {
        answered("requests of each kind are answered", async || {
            let counts = self.answered.each_ref();
            let counts = counts.map(|count| count.load(Ordering::Relaxed));
            let are_enough = counts.iter().zip(UNDER_WAY).all(|(n, least)| *n >= least);
            are_enough.then_some(()).ok_or(format!("{counts:?}"))
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_acknowledged_is_lost_and_nothing_else_took_effect() {
    let folder = TempDir::new().unwrap();
    let (store, log) = (folder.path().join("store"), folder.path().join("log"));
    let credentials = tenant_on(&store).await;
    let receiver = Receiver::start().await;
    let mut program = serve(&store, &log);
    let mut caller = Caller::new(&program, &credentials).await;
    fill(&caller, &receiver).await;
    let mut accepted = BTreeSet::new();
    // The host is told to stop once, or more often.
    for round in 0..size(1, 3) {
        let load = Load::begin(&caller, round);
        load.is_under_way().await;
        let exit = tokio::task::block_in_place(|| program.terminate());
        assert_eq!(exit, Some(0));
        // Nothing was cut off, and no work had to be handed back.
        assert_eq!(warned(&log), Vec::<String>::new());
        let (events, rates) = (load.events.join_all().await, load.rates.join_all().await);
        load.decisions.join_all().await;
        for asked in &events {
            accepted.extend(asked.acknowledged.iter().cloned());
        }

        program = serve(&store, &log);
        caller = Caller::new(&program, &credentials).await;
        for (company, asked) in &rates {
            let set = asked.acknowledged.last().unwrap();
            let path = format!("/api/v1/business-units/C{company}/exchange-rates/SALES/SEK/EUR");
            let rate = caller.get(&path).await;
            assert_eq!(
                rate["rateValue"].to_string(),
                *set,
                "{:?}",
                asked.unanswered
            );
            assert_used(&caller, *company, set).await;
        }
        assert_eq!(in_the_journal(&caller).await, accepted);
        let all = receiver.wait_for(accepted.len()).await;
        let ids: BTreeSet<_> = all.iter().map(|received| received.id()).collect();
        assert_eq!(ids, accepted);
        assert_eq!(all.len(), accepted.len(), "each arrives once");
    }
}

/// Waits until every shop of a company uses a rate.
async fn assert_used(caller: &Caller, company: usize, rate: &str) {
    for shop in 0..SHOPS {
        answered("the change goes on to every shop", async || {
            let path = format!("/api/v1/exchange-rates?businessUnit=C{company}S{shop}");
            let used = caller.get(&path).await;
            let text = used.to_string();
            if text.contains(&format!(r#""rateValue":{rate}"#)) {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
    }
}

/// Returns the ids of all events that have deliveries.
async fn in_the_journal(caller: &Caller) -> BTreeSet<String> {
    let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let page = caller
            .get(&format!("/api/v1/deliveries?limit=1000{cursor}"))
            .await;
        let items = page["items"].as_array().unwrap().iter();
        ids.extend(items.map(|item| item["eventId"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_do_not_delay_a_stop() {
    let folder = TempDir::new().unwrap();
    let (store, log) = (folder.path().join("store"), folder.path().join("log"));
    let credentials = tenant_on(&store).await;
    let mut program = serve(&store, &log);
    let caller = Caller::new(&program, &credentials).await;
    let address = program.url.strip_prefix("http://").unwrap();
    let silent = TcpStream::connect(address).await.unwrap();
    let consumer = "/api/v1/events?consumer=erp&wait=60s";
    caller.get(consumer).await;
    let waiting = caller.connecting();
    let waiting = tokio::spawn(async move { waiting.get(consumer).await });
    let topic = "/api/v1/topics/cer.public.event.rates-changed.v1";
    let topic = caller
        .connecting()
        .request(Method::GET, topic)
        .send()
        .await
        .unwrap();
    assert_eq!(topic.status(), 200);
    let scraped = client().get(format!("{}/metrics", program.url));
    until("a request waits for events", async || {
        let text = scraped
            .try_clone()
            .unwrap()
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        text.contains(r#"tillgate_memory_objects{kind="event_waiters"} 1"#)
    })
    .await;
    let exit = tokio::task::block_in_place(|| program.terminate());
    assert_eq!(exit, Some(0));
    assert_eq!(warned(&log), Vec::<String>::new());
    assert_eq!(waiting.await.unwrap()["items"], json!([]));
    // The stream ended normally.
    topic.text().await.unwrap();
    drop(silent);
}
