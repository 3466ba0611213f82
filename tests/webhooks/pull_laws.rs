//! The law of pull, for random schedules on every store: whoever is killed and when, on whichever host a consumer
//! asks, and while the same events are pushed, each answer has the events that were accepted after those that the
//! consumer has acknowledged, in that order. So it misses nothing, skips nothing, and gets again only events that it
//! has not acknowledged.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::clock::SystemClock;
use tillgate_store::{CommitId, EmbeddedStore, MemoryStore, RedisStore, RedisUrl, Store};
use tokio::runtime::Runtime;

use super::pull::{CONSUMERS, EVENTS};
use super::shop::{TYPE, local, settings};
use crate::support::host::Host;
use crate::support::receiver::Receiver;
use crate::support::redis::shared;
use crate::support::wait::until;

const NAMES: [&str; 2] = ["erp", "bi"];

/// A step of a schedule.
#[derive(Clone, Debug)]
enum Step {
    Publish,
    /// The service publishes an event about a change of a condition.
    Change,
    /// A consumer that has just started asks for its page.
    Start {
        limit: usize,
    },
    /// It acknowledges its page, and gets the next.
    Acknowledge {
        limit: usize,
    },
    /// It acknowledges its page, and is killed before it gets the answer.
    AcknowledgeAndDie,
    /// A request that has acknowledged an earlier page arrives again, and the consumer uses its answer.
    Repeat {
        which: Index,
    },
    /// The consumer is removed.
    Remove,
    /// The host is stopped, and another one takes its place.
    Restart,
}

/// A step with the index of its host and that of its consumer.
type At = (usize, usize, Step);

fn steps() -> impl Strategy<Value = Vec<At>> {
    let limit = || 1..5_usize;
    let step = prop_oneof![
        8 => Just(Step::Publish),
        3 => Just(Step::Change),
        4 => limit().prop_map(|limit| Step::Start { limit }),
        6 => limit().prop_map(|limit| Step::Acknowledge { limit }),
        2 => Just(Step::AcknowledgeAndDie),
        2 => any::<Index>().prop_map(|which| Step::Repeat { which }),
        1 => Just(Step::Remove),
        1 => Just(Step::Restart),
    ];
    vec((0..2_usize, 0..NAMES.len(), step), 10..60)
}

/// A consumer, and its expected state.
#[derive(Default)]
struct Consumer {
    /// The number of all events that it has acknowledged; `None` while it does not exist.
    acknowledged: Option<usize>,
    /// Every page that it got: its cursor, and how many of all events come before that.
    given: Vec<(String, usize)>,
    /// Its page, unless it has forgotten it.
    page: Option<(String, usize)>,
}

/// Two hosts on a store, all accepted events, and the consumers.
struct Trial {
    store: Arc<dyn Store>,
    hosts: [Option<Host>; 2],
    token: String,
    accepted: Vec<String>,
    consumers: [Consumer; NAMES.len()],
}

async fn open(store: &Arc<dyn Store>) -> Host {
    let configure = |config: &mut Config| {
        local(config);
        "https://tillgate.example/".clone_into(&mut config.issuer);
    };
    Host::start_configured(store.clone(), Arc::new(SystemClock), configure).await
}

/// Returns the label of an event.
fn label(envelope: &Value) -> String {
    let data = BASE64_STANDARD.decode(envelope["data"].as_str().unwrap());
    let data: Value = serde_json::from_slice(&data.unwrap()).unwrap();
    data["id"].as_str().unwrap().to_owned()
}

impl Trial {
    async fn begin(store: Arc<dyn Store>) -> Self {
        let hosts = [open(&store).await, open(&store).await];
        let roles = ["exe.editor", "exe.publisher", "ecs.editor"];
        Self {
            token: hosts[0].token("acme", &roles).await,
            store,
            hosts: hosts.map(Some),
            accepted: Vec::new(),
            consumers: Default::default(),
        }
    }

    fn host(&self, host: usize) -> &Host {
        self.hosts[host].as_ref().unwrap()
    }

    async fn send(&self, host: usize, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.host(host).send(method, path, &self.token, body).await
    }

    async fn step(&mut self, (host, consumer, step): &At) {
        let (host, consumer) = (*host, *consumer);
        match step {
            Step::Publish => {
                let label = format!("e{}", self.accepted.len());
                let event = json!({ "type": TYPE, "data": { "id": label } });
                assert_eq!(self.send(host, Method::POST, EVENTS, &event).await.0, 202);
                self.accepted.push(label);
            }
            Step::Change => {
                let label = format!("c{}", self.accepted.len());
                let path = format!("/api/v1/entity-conditions/{label}");
                let rule = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
                assert_eq!(self.send(host, Method::PUT, &path, &rule).await.0, 201);
                self.accepted.push(label);
            }
            Step::Start { limit } => self.ask(host, consumer, None, *limit).await,
            Step::Acknowledge { limit } => {
                let page = self.consumers[consumer].page.clone();
                self.ask(host, consumer, page, *limit).await;
            }
            Step::AcknowledgeAndDie => {
                let page = self.consumers[consumer].page.clone();
                self.ask(host, consumer, page, 1).await;
                self.consumers[consumer].page = None;
            }
            Step::Repeat { which } => {
                let given = &self.consumers[consumer].given;
                let page = (!given.is_empty()).then(|| which.get(given).clone());
                self.ask(host, consumer, page, 3).await;
            }
            Step::Remove => self.remove(host, consumer).await,
            Step::Restart => {
                let ended = self.hosts[host].take().unwrap();
                ended.app.runner.stop().await;
                drop(ended);
                self.hosts[host] = Some(open(&self.store).await);
            }
        }
    }

    /// Asks for a page, and asserts that it follows the events that are acknowledged with the request.
    async fn ask(
        &mut self,
        host: usize,
        consumer: usize,
        after: Option<(String, usize)>,
        limit: usize,
    ) {
        let mut path = format!("{EVENTS}?consumer={}&limit={limit}", NAMES[consumer]);
        if let Some((cursor, _)) = &after {
            path += &format!("&after={cursor}");
        }
        let (status, page) = self.host(host).get(&path, &self.token).await;
        assert_eq!((status, &page["reset"]), (200, &Value::Null), "{page}");
        let items = page["items"].as_array().unwrap().iter().map(label);
        let items: Vec<String> = items.collect();
        let all = self.accepted.len();
        let known = &mut self.consumers[consumer];
        // A new consumer begins here; a page before the newest acknowledged one changes nothing.
        let before = known.acknowledged.unwrap_or(all);
        let from = before.max(after.map_or(0, |(_, end)| end));
        let to = all.min(from + limit);
        assert_eq!(items, self.accepted[from..to], "{path}");
        known.acknowledged = Some(from);
        let page = (page["next"].as_str().unwrap().to_owned(), to);
        known.given.push(page.clone());
        known.page = Some(page);
    }

    async fn remove(&mut self, host: usize, consumer: usize) {
        let path = format!("{CONSUMERS}/{}", NAMES[consumer]);
        let (status, _) = self.send(host, Method::DELETE, &path, &Value::Null).await;
        let known = std::mem::take(&mut self.consumers[consumer]);
        let expected = if known.acknowledged.is_some() {
            204
        } else {
            404
        };
        assert_eq!(status, expected);
        if let Some((cursor, _)) = known.given.last() {
            let path = format!("{EVENTS}?consumer={}&after={cursor}", NAMES[consumer]);
            assert_eq!(self.host(host).get(&path, &self.token).await.0, 400);
        }
    }
}

/// Does all steps. At the end every consumer reads the remaining events, and the push has delivered everything.
async fn hold(store: Arc<dyn Store>, steps: Vec<At>) {
    let (mut trial, receiver) = (Trial::begin(store).await, Receiver::start().await);
    let webhook = settings(&receiver.url, json!({ "eventTypes": ["*"] }));
    let path = "/api/v1/webhooks";
    assert_eq!(trial.send(0, Method::POST, path, &webhook).await.0, 201);
    // The other host is notified within a second; until then it accepts events as if there were no webhook.
    until("the other host knows the webhook", async || {
        let (_, webhooks) = trial.host(1).get(path, &trial.token).await;
        webhooks.as_array().unwrap().len() == 1
    })
    .await;
    for step in &steps {
        trial.step(step).await;
    }
    for consumer in 0..NAMES.len() {
        while trial.consumers[consumer]
            .acknowledged
            .is_some_and(|acknowledged| acknowledged < trial.accepted.len())
        {
            let page = trial.consumers[consumer].page.clone();
            trial.ask(consumer % 2, consumer, page, 10).await;
        }
    }
    let accepted: BTreeSet<String> = trial.accepted.iter().cloned().collect();
    until("everything is delivered", async || {
        let received = receiver.received();
        let delivered = received.iter().map(|it| label(&it.envelope()));
        delivered.collect::<BTreeSet<_>>() == accepted
    })
    .await;
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn a_consumer_misses_and_skips_nothing_in_memory(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            hold(Arc::new(MemoryStore::new(Arc::new(SystemClock))), steps).await;
        });
    }
}

proptest! {
    #![proptest_config(config(6))]

    #[test]
    fn a_consumer_misses_and_skips_nothing_on_the_embedded_store(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        Runtime::new().unwrap().block_on(async {
            let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock));
            hold(Arc::new(store.unwrap()), steps).await;
        });
    }

    #[test]
    fn a_consumer_misses_and_skips_nothing_on_redis(steps in steps()) {
        let url = format!("{}?prefix={:032x}", shared().url(), CommitId::random().0);
        let url = RedisUrl::parse(&url).unwrap().unwrap();
        Runtime::new().unwrap().block_on(async {
            let store = RedisStore::connect(&url, Arc::new(SystemClock));
            hold(Arc::new(store.unwrap()), steps).await;
        });
    }
}
