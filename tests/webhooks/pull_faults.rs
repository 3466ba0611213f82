//! Pull through faults, on the embedded store and on Redis: hosts are killed, and the consumer is killed anywhere
//! between a page and the answer that acknowledges it, while the same events are delivered to webhooks. The consumer
//! gets every event in the order of acceptance, and gets again only events that it has not acknowledged.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tillgate_store::clock::SystemClock;
use tillgate_store::{EmbeddedStore, RedisStore, RedisUrl};
use tillgate_tokens::Credentials;
use tokio::time::timeout;

use super::faults::{Integrator, TYPE, client_on, in_a_runtime, serve, tally};
use crate::support::receiver::Receiver;
use crate::support::redis::Server;
use crate::support::wait::until;

/// The number of published events, and how many times a host is killed meanwhile.
const EVENTS: u64 = 300;
const KILLS: u64 = 3;

/// The time that a test waits for the consumer.
const PATIENCE: Duration = Duration::from_secs(240);

/// The current addresses of the hosts.
struct Hosts(Mutex<Vec<String>>);

impl Hosts {
    fn url(&self, choice: u64) -> String {
        let urls = self.0.lock().unwrap();
        urls[usize::try_from(choice).unwrap() % urls.len()].clone()
    }
}

/// A consumer that is killed again and again. Its results are kept, but not its memory.
struct Consumer {
    http: Client,
    token: String,
    /// The number of events that it knows it has acknowledged.
    acknowledged: u64,
    /// Its page: the cursor, and how many events acknowledging it covers at least.
    page: Option<(String, u64)>,
    /// The numbers of the events that it has processed.
    done: BTreeSet<u64>,
    /// True if its last request left nothing to acknowledge.
    is_at_end: bool,
    /// Decides when it is killed.
    dice: u64,
}

impl Consumer {
    /// Returns a consumer that has made its first request.
    async fn begin(url: &str, integrator: &Integrator) -> Self {
        let mut consumer = Self {
            http: integrator.http.clone(),
            token: integrator.token.clone(),
            acknowledged: 0,
            page: None,
            done: BTreeSet::new(),
            is_at_end: false,
            dice: 1,
        };
        let first = consumer.request(url).await;
        consumer.process(&first.expect("the host is there"));
        consumer
    }

    /// Makes one request to a host. Occasionally the consumer is killed: before it acknowledges a page that it has
    /// processed, or before the answer to that arrives.
    async fn turn(&mut self, hosts: &Hosts) {
        let (fate, host) = (self.roll(8), self.roll(8));
        if fate == 0 {
            self.page = None;
        }
        let url = hosts.url(host);
        let asking = self.request(&url);
        let answer = match fate {
            1 => timeout(Duration::from_millis(1), asking)
                .await
                .ok()
                .flatten(),
            _ => asking.await,
        };
        match answer {
            Some(page) => self.process(&page),
            None => {
                self.page = None;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Returns the host's answer, if there is one.
    async fn request(&mut self, url: &str) -> Option<Value> {
        let limit = 1 + self.roll(20);
        let mut query = format!("consumer=erp&limit={limit}&wait=200ms");
        if let Some((cursor, _)) = &self.page {
            query += &format!("&after={cursor}");
        }
        let request = self.http.get(format!("{url}/api/v1/events?{query}"));
        let answer = request.bearer_auth(&self.token).send().await;
        let answer = answer.and_then(Response::error_for_status);
        if let Err(cause) = &answer {
            let status = cause.status().map_or(503, |status| status.as_u16());
            assert_eq!(status, 503, "{cause}");
        }
        answer.ok()?.json().await.ok()
    }

    /// Asserts that a page has no gap, repeats nothing that is acknowledged, and leaves nothing out.
    fn process(&mut self, page: &Value) {
        assert_eq!(page["reset"], Value::Null, "{page}");
        let items = page["items"].as_array().unwrap();
        let numbers = items.iter().map(|item| {
            let id = item["id"].as_str().unwrap();
            id.strip_prefix("event-").unwrap().parse().unwrap()
        });
        let numbers: Vec<u64> = numbers.collect();
        let sent = self.page.take().map(|(_, end)| end);
        let known = sent.unwrap_or_default().max(self.acknowledged);
        // An acknowledgement whose answer was lost may have taken effect too.
        let from = numbers.first().copied().unwrap_or(known);
        assert!(from >= known, "{from} was acknowledged: {known}");
        let missed: Vec<u64> = (0..from).filter(|it| !self.done.contains(it)).collect();
        assert!(missed.is_empty(), "{missed:?} were left out");
        let count = u64::try_from(numbers.len()).unwrap();
        assert_eq!(numbers, (from..from + count).collect::<Vec<_>>());
        self.done.extend(&numbers);
        self.is_at_end = numbers.is_empty();
        self.acknowledged = from;
        let next = page["next"].as_str().unwrap().to_owned();
        self.page = Some((next, from + count));
    }

    fn roll(&mut self, sides: u64) -> u64 {
        let next = self.dice.wrapping_mul(6_364_136_223_846_793_005);
        self.dice = next.wrapping_add(1);
        (self.dice >> 33) % sides
    }
}

/// Publishes, delivers and pulls the same events while hosts are killed. `others` is the number of hosts that stay.
async fn pull_through_kills(store: &str, folder: &Path, client: &Credentials, others: usize) {
    let receiver = Receiver::start().await;
    let mut program = serve(store, folder);
    let staying: Vec<_> = (0..others).map(|_| serve(store, folder)).collect();
    let integrator = Integrator::new(&program, client).await;
    integrator.webhooks(&receiver).await;
    let urls = [&program].into_iter().chain(&staying);
    let hosts = Hosts(Mutex::new(urls.map(|host| host.url.clone()).collect()));
    let mut consumer = Consumer::begin(&program.url, &integrator).await;
    let events: Vec<String> = (0..EVENTS)
        .map(|number| format!("event-{number}"))
        .collect();
    let done = AtomicU64::new(0);
    let publishing = async {
        for (number, event) in (0..).zip(&events) {
            until(&format!("{event} is accepted"), async || {
                publish(&integrator, &hosts.url(number), event).await
            })
            .await;
        }
    };
    let killing = async {
        for kill in 1..=KILLS {
            until("a part is done", async || {
                done.load(Ordering::Relaxed) >= EVENTS * kill / (KILLS + 1)
            })
            .await;
            tokio::task::block_in_place(|| {
                program.kill();
                program = serve(store, folder);
            });
            hosts.0.lock().unwrap()[0].clone_from(&program.url);
        }
    };
    let pulling = timeout(PATIENCE, async {
        // The last acknowledgement may have taken effect without an answer.
        let has_all = |consumer: &Consumer| consumer.done.len() == (0..EVENTS).count();
        while !(consumer.is_at_end && has_all(&consumer)) {
            consumer.turn(&hosts).await;
            let count = u64::try_from(consumer.done.len()).unwrap();
            done.store(count, Ordering::Relaxed);
        }
    });
    let ((), (), pulled) = tokio::join!(publishing, killing, pulling);
    assert!(pulled.is_ok(), "{} are acknowledged", consumer.acknowledged);
    assert_eq!(consumer.done, (0..EVENTS).collect());
    tally(&receiver, &events).await.assert_nothing_lost();
}

/// Publishes an event; returns whether it was accepted.
async fn publish(integrator: &Integrator, url: &str, id: &str) -> bool {
    let event = json!({ "type": TYPE, "data": { "id": id }, "id": id });
    let request = integrator.http.post(format!("{url}/api/v1/events"));
    let request = request.bearer_auth(&integrator.token).json(&event);
    let sent = request.send().await;
    sent.is_ok_and(|sent| sent.status() == StatusCode::ACCEPTED)
}

#[test]
fn a_consumer_misses_nothing_when_it_and_the_host_are_killed_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let client = in_a_runtime(|| async {
        let store = EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap();
        client_on(Arc::new(store)).await
    });
    let url = format!("embedded:{}", path.display());
    in_a_runtime(|| pull_through_kills(&url, folder.path(), &client, 0));
}

#[test]
fn a_consumer_misses_nothing_when_it_and_one_of_two_hosts_are_killed_on_redis() {
    let (server, folder) = (Server::durable(), tempfile::tempdir().unwrap());
    let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
    let client = in_a_runtime(|| async {
        let opened = RedisStore::open(&url, Arc::new(SystemClock), true).await;
        client_on(Arc::new(opened.unwrap())).await
    });
    let address = server.url();
    in_a_runtime(|| pull_through_kills(&address, folder.path(), &client, 1));
}
