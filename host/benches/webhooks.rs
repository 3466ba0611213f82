//! Measures how many deliveries a host makes, how soon an event arrives, and how much webhooks that do not answer slow
//! down the others, on the embedded store and on Redis. Host, receiver, publishers and Redis share this machine.
//!
//! Every event has 1 KiB of data and is published in a separate request. The rates, in events per second, are optional
//! arguments: `cargo bench --bench webhooks -- 2000`.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench fails by panicking, prints what it measures, and nothing outside can reach it"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_store::clock::SystemClock;
use tillgate_store::{EmbeddedStore, RedisStore, RedisUrl, Store};
use tokio::runtime::Runtime;

#[path = "../../tests/support/host.rs"]
mod host;
#[path = "webhooks/receiver.rs"]
mod receiver;
#[path = "../../tests/support/redis.rs"]
mod redis_servers;
#[path = "../../tests/support/wait.rs"]
mod wait;

use self::host::Host;
use self::receiver::{Receiver, micros};
use self::redis_servers::Server;

/// The duration of each rate.
const SECONDS: u64 = 10;

/// The number of webhooks; each subscribes to a different event type.
const WEBHOOKS: usize = 1_000;

/// The number of requests that publish at the same time.
const PUBLISHERS: usize = 8;

fn percentile(all: &mut [Duration], percent: usize) -> f64 {
    if all.is_empty() {
        return f64::NAN;
    }
    all.sort_unstable();
    all[(all.len() * percent / 100).min(all.len() - 1)].as_secs_f64() * 1e3
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    f64::from(u32::try_from(time.tv_sec).unwrap())
        + f64::from(u32::try_from(time.tv_nsec).unwrap()) / 1e9
}

struct Shop {
    host: Host,
    token: String,
}

impl Shop {
    async fn open(store: Arc<dyn Store>, receiver: &Receiver) -> Self {
        let host = Host::start_configured(store, Arc::new(SystemClock), |config| {
            config.webhooks.allow_http = true;
            config.webhooks.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
            // One tenant and one receiver stand for many.
            let quotas = &mut config.quotas;
            (quotas.events_per_second, quotas.deliveries_per_target) = (100_000, 10_000);
        });
        let host = host.await;
        let token = host.token("acme", &["exe.editor", "exe.publisher"]).await;
        let shop = Self { host, token };
        for number in 0..WEBHOOKS {
            let url = format!("http://{}/hook/{number}", receiver.address);
            shop.webhook(number, &url, None).await;
        }
        shop
    }

    async fn webhook(&self, number: usize, url: &str, id: Option<&str>) -> String {
        let body = json!({
            "name": format!("receiver {number}"),
            "callbackUrl": url,
            "eventTypes": [format!("bench.type-{number}.v1")],
            "authentication": { "type": "BEARER" },
            "sharedKey": "correct horse battery staple",
        });
        let (method, path) = match id {
            None => (Method::POST, "/api/v1/webhooks".to_owned()),
            Some(id) => (Method::PUT, format!("/api/v1/webhooks/{id}")),
        };
        let (status, body) = self.host.send(method, &path, &self.token, &body).await;
        assert!(status == 200 || status == 201, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    async fn ids(&self) -> Vec<(String, String)> {
        let (_, all) = self.host.get("/api/v1/webhooks", &self.token).await;
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let all = all.as_array().unwrap().iter();
        all.map(|webhook| (text(&webhook["name"]), text(&webhook["id"])))
            .collect()
    }

    /// Publishes events at a rate, to one webhook after the other; returns how many were accepted and the seconds it
    /// took.
    async fn publish(&self, rate: u64, seconds: u64) -> (u64, f64) {
        let begin = Instant::now();
        let data = "x".repeat(1_022);
        let publishers = (0..PUBLISHERS).map(|publisher| {
            let (client, data) = (self.host.http.clone(), data.clone());
            let (url, token) = (
                format!("{}/api/v1/events", self.host.url),
                self.token.clone(),
            );
            tokio::spawn(async move {
                let mut count = 0;
                let total = rate * seconds;
                for number in (publisher as u64..total).step_by(PUBLISHERS) {
                    let due = Duration::from_secs_f64(number as f64 / rate as f64);
                    tokio::time::sleep_until((begin + due).into()).await;
                    let event = json!({
                        "id": format!("{}-{number}", micros()),
                        "type": format!("bench.type-{}.v1", number as usize % WEBHOOKS),
                        "data": data,
                    });
                    let sent = client
                        .post(&url)
                        .bearer_auth(&token)
                        .json(&event)
                        .send()
                        .await
                        .unwrap();
                    assert_eq!(sent.status(), 202);
                    count += 1;
                }
                count
            })
        });
        let mut count = 0;
        for publisher in publishers.collect::<Vec<_>>() {
            count += publisher.await.unwrap();
        }
        (count, begin.elapsed().as_secs_f64())
    }
}

/// Waits until `wanted` events have arrived or no more arrive; returns the seconds it took.
async fn arrived(receiver: &Receiver, wanted: usize) -> f64 {
    let begin = Instant::now();
    let (mut last, mut since) = (0, Instant::now());
    while receiver.count() < wanted && since.elapsed() < Duration::from_secs(8) {
        if receiver.count() > last {
            (last, since) = (receiver.count(), Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    begin.elapsed().as_secs_f64()
}

/// Measures the cost of waiting retries while nothing else happens.
async fn waiting(shop: &Shop, name: &str) {
    const COUNT: usize = 100_000;
    let idle = async || {
        let begin = processor_time();
        tokio::time::sleep(Duration::from_secs(5)).await;
        (processor_time() - begin) * 1e3 / 5.0
    };
    let (before, memory_before) = (idle().await, memory());
    let records = shop
        .host
        .app
        .records(TenantId::new("acme").unwrap().partition());
    let due = shop.host.app.clock.now().plus(Duration::from_secs(3_600));
    for page in 0..COUNT / 500 {
        let mut change = Change::default();
        for number in 0..500 {
            let id = uuid::Uuid::from_u128((page * 500 + number) as u128 + 1);
            let body = format!(r#"{{"w":"{id}","e":"{id}"}}"#);
            change.enqueue("webhook-retries", &id.to_string(), due, body.into());
        }
        records.commit(change).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = idle().await;
    println!(
        "{name}: {COUNT} waiting retries take {after:.1} ms of a processor a second, none take {before:.1} ms; {:.0} MB more memory",
        memory() - memory_before,
    );
}

/// Returns the memory of this process, in MB.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let kilobytes: u32 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    f64::from(kilobytes) / 1024.0
}

async fn measure(store: Arc<dyn Store>, name: &str, rates: &[u64]) {
    let receiver = Receiver::start();
    let shop = Shop::open(store, &receiver).await;
    shop.publish(500, 2).await;
    arrived(&receiver, 1_000).await;
    for rate in rates {
        receiver.take();
        let cpu = processor_time();
        let begin = Instant::now();
        let (count, accepted) = shop.publish(*rate, SECONDS).await;
        let wanted = usize::try_from(count).unwrap();
        arrived(&receiver, wanted).await;
        let whole = begin.elapsed().as_secs_f64();
        let mut all = receiver.take();
        println!(
            "| {name} | {rate} | {:.0} | {:.0} | {} of {count} | {:.1} | {:.1} | {:.0} us |",
            count as f64 / accepted,
            all.len() as f64 / whole,
            all.len(),
            percentile(&mut all, 50),
            percentile(&mut all, 99),
            (processor_time() - cpu) * 1e6 / count as f64,
        );
    }
    silent(&shop, &receiver, name, rates[0] / 2).await;
    waiting(&shop, name).await;
    faulty(&shop, &receiver, name, rates[0] / 2).await;
}

/// Measures how much webhooks that become silent at the same moment slow down the others of their tenant.
async fn silent(shop: &Shop, receiver: &Receiver, name: &str, rate: u64) {
    for count in [0, 2, 20, 200] {
        receiver.take();
        let begin = memory();
        let publishing = shop.publish(rate, SECONDS);
        let silencing = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            receiver.silence(count);
        };
        let ((published, _), ()) = tokio::join!(publishing, silencing);
        let silent = published * count as u64 * (SECONDS - 2) / SECONDS / WEBHOOKS as u64;
        arrived(receiver, usize::try_from(published - silent).unwrap()).await;
        let took = memory() - begin;
        let mut all = receiver.take();
        receiver.silence(0);
        println!(
            "{name}: {count} of {WEBHOOKS} webhooks become silent: others' p50 {:.1}, p99 {:.1}, at most {:.1} ms, {} arrived; {took:.0} MB more",
            percentile(&mut all, 50),
            percentile(&mut all, 99),
            percentile(&mut all, 100),
            all.len(),
        );
        // The missed events arrive once the webhooks answer again.
        let missing = usize::try_from(published)
            .unwrap()
            .saturating_sub(all.len());
        let begin = Instant::now();
        while receiver.count() < missing && begin.elapsed() < Duration::from_secs(400) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        println!(
            "{name}: {} of {missing} that were missed arrived within {:.0} s",
            receiver.count(),
            begin.elapsed().as_secs_f64()
        );
    }
}

/// Measures how much one dead and one endless webhook slow down the others, alternating without and with them.
async fn faulty(shop: &Shop, receiver: &Receiver, name: &str, rate: u64) {
    let ids = shop.ids().await;
    let id_of = |number: usize| {
        let name = format!("receiver {number}");
        ids.iter()
            .find(|(each, _)| *each == name)
            .unwrap()
            .1
            .clone()
    };
    let good = |number: usize| format!("http://{}/hook/{number}", receiver.address);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        for is_bad in [false, true] {
            let (dead, endless) = match is_bad {
                // Nothing listens there.
                true => (
                    "http://127.0.0.1:9/".to_owned(),
                    format!("http://{}/endless", receiver.address),
                ),
                false => (good(0), good(1)),
            };
            shop.webhook(0, &dead, Some(&id_of(0))).await;
            shop.webhook(1, &endless, Some(&id_of(1))).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            receiver.take();
            let (count, _) = shop.publish(rate, SECONDS).await;
            let bad = if is_bad {
                usize::try_from(count).unwrap() * 2 / WEBHOOKS
            } else {
                0
            };
            arrived(receiver, usize::try_from(count).unwrap() - bad).await;
            let mut all = receiver.take();
            println!(
                "{name}: bad {is_bad}: p50 {:.1}, p99 {:.1} of {}",
                percentile(&mut all, 50),
                percentile(&mut all, 99),
                all.len()
            );
            if is_bad {
                with.extend(all)
            } else {
                without.extend(all)
            }
        }
    }
    println!(
        "{name}: p99 with a dead and an endless webhook among {WEBHOOKS}: {:.1} ms, without: {:.1} ms",
        percentile(&mut with, 99),
        percentile(&mut without, 99),
    );
}

fn main() {
    let given: Vec<u64> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    println!(
        "| store | events/s wanted | accepted/s | delivered/s | arrived | p50 ms | p99 ms | processor an event |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let rates = |default: &[u64]| {
        if given.is_empty() {
            default.to_vec()
        } else {
            given.clone()
        }
    };
    // Runs on both stores, or on the one that is named.
    let is_wanted = |store: &str| {
        let other = if store == "redis" {
            "embedded"
        } else {
            "redis"
        };
        !std::env::args().any(|argument| argument == other)
    };
    if is_wanted("embedded") {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
            measure(Arc::new(store), "embedded", &rates(&[2_000, 1_000])).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
    if !is_wanted("redis") {
        return;
    }
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let server = Server::durable();
        let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
        let store = RedisStore::open(&url, Arc::new(SystemClock), false);
        measure(
            Arc::new(store.await.unwrap()),
            "Redis",
            &rates(&[1_500, 750]),
        )
        .await;
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}
