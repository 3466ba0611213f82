//! Webhooks through faults, on the embedded store and on Redis: hosts that are killed, a Redis that is killed, a
//! receiver that is down, keys that are replaced meanwhile. Every accepted event arrives, signed with a key that was
//! valid when it was accepted; an event that arrives twice has the same id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::SystemClock;
use tillgate_store::portable::Portable;
use tillgate_store::{EmbeddedStore, RedisStore, RedisUrl, Store};
use tillgate_tokens::Credentials;
use tokio::runtime::Runtime;

use crate::support::host::{Host, Program, client, read, token};
use crate::support::receiver::{Answer, Receiver};
use crate::support::redis::Server;
use crate::support::sizes::size;
use crate::support::wait::until;
use crate::webhooks::standard_webhooks::standard;

const TENANT: &str = "acme";
pub(crate) const TYPE: &str = "x.order-updates.v1";

/// The number of webhooks that want each event.
const WEBHOOKS: usize = 10;

/// The number of events.
fn event_count() -> usize {
    size(200, 1_000)
}

/// The number of events that are accepted after the keys of the webhooks are replaced.
const LATE_EVENTS: usize = 20;

/// The key of each webhook before that.
const KEY: &str = "correct horse battery staple";

/// The time that a test waits for all accepted events.
const PATIENCE: Duration = Duration::from_secs(240);

/// The outcome of deliveries.
#[derive(Debug)]
pub(crate) struct Tally {
    accepted: usize,
    delivered: usize,
    lost: usize,
    repeated: usize,
}

impl Tally {
    /// An attempt that was in progress when its host was killed is repeated; never more attempts than were in progress.
    pub(crate) fn assert_nothing_lost(&self) {
        assert_eq!((self.lost, self.delivered), (0, self.accepted), "{self:?}");
        assert!(self.repeated < self.accepted / 2, "{self:?}");
    }
}

/// Runs something in a separate runtime; everything that it has started ends with the runtime.
pub(crate) fn in_a_runtime<F: Future>(run: impl FnOnce() -> F) -> F::Output {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    runtime.block_on(run())
}

pub(crate) async fn client_on(store: Arc<dyn Store>) -> Credentials {
    let host = Host::start_on(store, Arc::new(SystemClock)).await;
    host.client(TENANT, &["exe.editor", "exe.publisher"]).await
}

/// Starts a host on a store; webhooks may be on this machine, and each retry comes after a second.
pub(crate) fn serve(store: &str, folder: &Path) -> Program {
    let operator = folder.join("operator.json");
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .arg("--operator-file")
        .arg(operator)
        // Tokens of one host are valid at the next, whose address is different.
        .env("TILLGATE_ISSUER", "https://tillgate.example/")
        .env("TILLGATE_WEBHOOKS__ALLOW_HTTP", "true")
        .env("TILLGATE_WEBHOOKS__ALLOW_PRIVATE", r#"["127.0.0.0/8"]"#)
        .env(
            "TILLGATE_WEBHOOKS__RETRY_DELAYS",
            r#"["1s","1s","1s","2s","2s","3s","5s","10s","20s","30s"]"#,
        );
    Program::spawn(&mut command, "")
}

/// An integrator, at a running host.
pub(crate) struct Integrator {
    pub(crate) http: Client,
    url: String,
    pub(crate) token: String,
}

impl Integrator {
    pub(crate) async fn new(program: &Program, client: &Credentials) -> Self {
        let (http, url) = (self::client(), program.url.clone());
        let token = token(
            &http,
            &url,
            &client.client_id,
            client.client_secret.reveal(),
        )
        .await;
        Self { http, url, token }
    }

    /// Creates the webhooks of a receiver; returns their ids.
    pub(crate) async fn webhooks(&self, receiver: &Receiver) -> Vec<String> {
        let mut ids = Vec::new();
        for number in 0..WEBHOOKS {
            let webhook = json!({
                "name": format!("webhook {number}"),
                "callbackUrl": format!("{}/{number}", receiver.url),
                "eventTypes": [TYPE],
                "authentication": { "type": "BEARER" },
                "sharedKey": KEY,
            });
            let request = self.http.post(format!("{}/api/v1/webhooks", self.url));
            let created = request.bearer_auth(&self.token).json(&webhook).send().await;
            let (status, created) = read(created.unwrap()).await;
            assert_eq!(status, 201, "{created}");
            ids.push(created["id"].as_str().unwrap().to_owned());
        }
        ids
    }

    /// Replaces the keys of webhooks; the old ones sign for another hour. Returns the new ones.
    async fn rotate(&self, webhooks: &[String]) -> Vec<String> {
        let mut keys = Vec::new();
        for id in webhooks {
            let path = format!("{}/api/v1/webhooks/{id}/shared-key?overlap=1h", self.url);
            let rotated = self.http.post(path).bearer_auth(&self.token).send().await;
            let (status, rotated) = read(rotated.unwrap()).await;
            assert_eq!(status, 200, "{rotated}");
            keys.push(rotated["sharedKey"].as_str().unwrap().to_owned());
        }
        keys
    }

    /// Publishes an event; returns whether it was accepted.
    async fn publish(&self, id: &str) -> bool {
        let event = json!({ "type": TYPE, "data": { "id": id }, "id": id });
        let request = self.http.post(format!("{}/api/v1/events", self.url));
        let sent = request.bearer_auth(&self.token).json(&event).send().await;
        sent.is_ok_and(|sent| sent.status() == StatusCode::ACCEPTED)
    }

    /// Publishes each event until it is accepted.
    async fn publish_all(&self, events: &[String]) {
        for event in events {
            until(&format!("{event} is accepted"), async || {
                self.publish(event).await
            })
            .await;
        }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.url));
        let (status, body) = read(request.bearer_auth(&self.token).send().await.unwrap()).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

fn events() -> Vec<String> {
    (0..event_count())
        .map(|number| format!("event-{number}"))
        .collect()
}

/// Waits until every event has arrived at every webhook, and counts.
pub(crate) async fn tally(receiver: &Receiver, accepted: &[String]) -> Tally {
    let wanted = accepted.len() * WEBHOOKS;
    // The number of times that each event has arrived at each webhook.
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let counting = async {
        let mut count = 0;
        while counts.len() < wanted {
            let received = receiver.wait_for(count + 1).await;
            for delivery in &received[count..] {
                let arrived = (delivery.path.clone(), delivery.id());
                *counts.entry(arrived).or_default() += 1;
            }
            count = received.len();
        }
    };
    let _ = tokio::time::timeout(PATIENCE, counting).await;
    let all: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
    assert!(counts.keys().all(|(_, id)| all.contains(id.as_str())));
    Tally {
        accepted: wanted,
        delivered: counts.len(),
        lost: wanted - counts.len(),
        repeated: counts.values().map(|count| count - 1).sum(),
    }
}

/// Asserts that each delivery is signed with a key that was valid when its event was accepted.
fn assert_signed(receiver: &Receiver, late: &[String], new_keys: &[String]) {
    for received in receiver.received() {
        let number: usize = received.path.rsplit('/').next().unwrap().parse().unwrap();
        let signatures = received.headers["webhook-signature"].split(' ');
        let signatures: Vec<&str> = signatures.collect();
        let key = if late.contains(&received.id()) {
            &new_keys[number]
        } else {
            KEY
        };
        let expected = standard(key, &received);
        assert!(signatures.contains(&expected.as_str()), "{received:?}");
    }
}

/// Asserts that each unfinished delivery has exactly one job.
async fn sweep<S: Store + Portable>(store: &S) {
    let partition = TenantId::new(TENANT).unwrap().partition();
    let mut jobs = BTreeSet::new();
    for queue in ["webhook-deliveries", "webhook-retries"] {
        let mut after = None;
        loop {
            let page = store
                .jobs(&partition, queue, after.as_ref(), 500)
                .await
                .unwrap();
            let is_last = page.len() < 500;
            after = page.last().cloned();
            for job in page {
                assert!(jobs.insert(job.id.clone()), "{} has two jobs", job.id);
            }
            if is_last {
                break;
            }
        }
    }
    let (mut after, mut unsettled): (Option<String>, usize) = (None, 0);
    loop {
        let page = store
            .scan(&partition, "webhook-delivery/", after.as_deref(), 500)
            .await
            .unwrap();
        for (key, entry) in &page.entries {
            let delivery: Value = serde_json::from_slice(&entry.value).unwrap();
            if delivery["status"] == "PENDING" || delivery["status"] == "RETRYING" {
                unsettled += 1;
                let rest = u128::from_str_radix(key.rsplit('/').next().unwrap(), 16).unwrap();
                // The key contains the inverted time.
                let millis = (1_u128 << 48) - 1 - (rest >> 80);
                let id = uuid::Uuid::from_u128(millis << 80 | rest & ((1 << 80) - 1));
                assert!(
                    jobs.contains(&id.to_string()),
                    "{id} has no job: {delivery}"
                );
            }
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more {
            break;
        }
    }
    assert_eq!(unsettled, jobs.len());
    assert!(unsettled > 0, "the host was killed too late");
}

/// Publishes, kills the host twice meanwhile, and replaces all keys in between; also checks the store.
async fn kill_twice(
    store: &str,
    folder: &Path,
    client: &Credentials,
    look: impl AsyncFn(),
) -> Tally {
    let receiver = Receiver::start().await;
    let mut program = serve(store, folder);
    let integrator = Integrator::new(&program, client).await;
    let webhooks = integrator.webhooks(&receiver).await;
    let events = events();
    let (early, late) = events.split_at(event_count() - LATE_EVENTS);
    let (first, rest) = early.split_at(event_count() / 2);
    integrator.publish_all(first).await;
    receiver.wait_for(event_count() * WEBHOOKS / 4).await;
    // However fast the host is, it is killed before everything has been delivered.
    receiver.answer(Answer::Hang);
    integrator.publish_all(rest).await;
    program.kill();
    look().await;
    receiver.answer(Answer::Status(204, "", ""));
    program = serve(store, folder);
    let integrator = Integrator::new(&program, client).await;
    let new_keys = integrator.rotate(&webhooks).await;
    integrator.publish_all(late).await;
    let before = receiver.received().len();
    receiver.wait_for(before + 500).await;
    program.kill();
    let _program = serve(store, folder);
    let before = receiver.received().len();
    receiver.wait_for(before + 100).await;
    let tally = tally(&receiver, &events).await;
    assert_signed(&receiver, late, &new_keys);
    tally
}

#[test]
fn nothing_is_lost_when_the_host_is_killed_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let open = || Arc::new(EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap());
    let client = in_a_runtime(|| async { client_on(open()).await });
    let url = format!("embedded:{}", path.display());
    let look = async || sweep(open().as_ref()).await;
    let tally = in_a_runtime(|| kill_twice(&url, folder.path(), &client, look));
    tally.assert_nothing_lost();
}

#[test]
fn nothing_is_lost_when_the_host_is_killed_on_redis() {
    let (server, folder) = (Server::durable(), tempfile::tempdir().unwrap());
    let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
    let open = async || {
        let opened = RedisStore::open(&url, Arc::new(SystemClock), true);
        Arc::new(opened.await.unwrap())
    };
    let client = in_a_runtime(|| async { client_on(open().await).await });
    let address = server.url();
    let look = async || sweep(open().await.as_ref()).await;
    let tally = in_a_runtime(|| kill_twice(&address, folder.path(), &client, look));
    tally.assert_nothing_lost();
}

#[test]
fn nothing_is_lost_when_one_of_two_hosts_is_killed() {
    let (server, folder) = (Server::durable(), tempfile::tempdir().unwrap());
    let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
    let client = in_a_runtime(|| async {
        let opened = RedisStore::open(&url, Arc::new(SystemClock), true).await;
        client_on(Arc::new(opened.unwrap())).await
    });
    let address = server.url();
    let tally = in_a_runtime(|| async {
        let receiver = Receiver::start().await;
        let mut one = serve(&address, folder.path());
        let other = serve(&address, folder.path());
        let integrator = Integrator::new(&other, &client).await;
        integrator.webhooks(&receiver).await;
        let events = events();
        let publishing = integrator.publish_all(&events);
        let killing = async {
            receiver.wait_for(event_count() * WEBHOOKS / 4).await;
            one.kill();
        };
        tokio::join!(publishing, killing);
        tally(&receiver, &events).await
    });
    tally.assert_nothing_lost();
}

#[test]
fn nothing_is_lost_when_redis_is_killed_and_restarted() {
    let (mut server, folder) = (Server::durable(), tempfile::tempdir().unwrap());
    let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
    let client = in_a_runtime(|| async {
        let opened = RedisStore::open(&url, Arc::new(SystemClock), true).await;
        client_on(Arc::new(opened.unwrap())).await
    });
    let address = server.url();
    let tally = in_a_runtime(|| async {
        let receiver = Receiver::start().await;
        let program = serve(&address, folder.path());
        let integrator = Integrator::new(&program, &client).await;
        integrator.webhooks(&receiver).await;
        let events = events();
        let publishing = integrator.publish_all(&events);
        let restarting = async {
            for part in [4, 2] {
                receiver.wait_for(event_count() * WEBHOOKS / part).await;
                tokio::task::block_in_place(|| {
                    server.kill();
                    server.restart();
                });
            }
        };
        tokio::join!(publishing, restarting);
        tally(&receiver, &events).await
    });
    tally.assert_nothing_lost();
}

#[test]
fn a_receiver_that_was_down_for_three_retries_gets_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let client = in_a_runtime(|| async {
        let store = EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap();
        client_on(Arc::new(store)).await
    });
    let url = format!("embedded:{}", path.display());
    in_a_runtime(|| async {
        let receiver = Receiver::start().await;
        let program = serve(&url, folder.path());
        let integrator = Integrator::new(&program, &client).await;
        let webhook = json!({ "name": "down", "callbackUrl": receiver.url, "eventTypes": [TYPE], "authentication": { "type": "BEARER" } });
        let request = integrator
            .http
            .post(format!("{}/api/v1/webhooks", integrator.url));
        let created = request
            .bearer_auth(&integrator.token)
            .json(&webhook)
            .send()
            .await;
        assert_eq!(created.unwrap().status(), 201);
        receiver.answer(Answer::Close);
        assert!(integrator.publish("down").await);
        receiver.wait_for(4).await;
        receiver.answer(Answer::Status(204, "", ""));
        let journal = async || integrator.get("/api/v1/deliveries").await["items"][0].clone();
        until("the event is delivered", async || {
            journal().await["status"] == "DELIVERED"
        })
        .await;
        // The fourth may have been answered either way.
        let received = receiver.received();
        assert!((4..=5).contains(&received.len()), "{received:?}");
        assert!(received.iter().all(|it| it.id() == "down"));
        assert_eq!(journal().await["attemptCount"], received.len());
    });
}
