//! Measures how a change of a company's rates scales with its shops, on the embedded store and on Redis: how long the
//! fan-out takes, how much it slows down requests that set a rate or decide meanwhile, and how many subscribers can
//! follow it.
//!
//! Every shop uses 60 rates. Two changes are measured: one rate, and all rates as in a nightly import. Server and disk
//! are real. The numbers of shops are optional arguments: `cargo bench --bench rates -- 1000 10000`.
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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use reqwest::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tillgate_base::data::etag::Preconditions;
use tillgate_base::identity::TenantId;
use tillgate_rates::topic::{Cursor, Filter, Item};
use tillgate_rates::{Editor, UnitId, UnitSettings, UnitType};
use tillgate_store::clock::SystemClock;
use tillgate_store::{EmbeddedStore, RedisStore, RedisUrl, Store};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use uuid::Uuid;

#[path = "../../tests/support/host.rs"]
mod host;
#[path = "../../tests/support/redis.rs"]
mod redis_servers;
#[path = "../../tests/support/wait.rs"]
mod wait;

use self::host::Host;
use self::redis_servers::Server;

const TENANT: &str = "acme";

/// The number of countries that the shops are spread over.
const COUNTRIES: usize = 10;

/// The currencies that have a price in euros: 30, so that a shop uses 60 rates.
const CURRENCIES: [&str; 30] = [
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "GBP", "HKD", "HUF", "IDR", "ILS", "INR",
    "ISK", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB",
    "TRY", "USD", "ZAR", "AED",
];

/// A host with shops.
struct Chain {
    host: Host,
    token: String,
    shops: usize,
}

fn unit(unit_type: UnitType, parent: Option<&str>) -> UnitSettings {
    UnitSettings::new(unit_type, parent.map(|id| UnitId::new(id).unwrap()))
}

async fn put(host: &Host, id: &str, settings: UnitSettings) {
    let tenant = TenantId::new(TENANT).unwrap();
    let editor = Editor {
        tenant: &tenant,
        by: "bench",
        name: None,
        note: None,
        correlation: Uuid::new_v4(),
        dry_run: false,
        accept_deviation: false,
    };
    let id = UnitId::new(id).unwrap();
    let anything = Preconditions::default();
    let put = host
        .features
        .rates
        .put_unit(editor, &id, &settings, &anything);
    put.await.unwrap();
}

impl Chain {
    /// Shops that exist when the rates are set are alike: their rates have the same dates. Shops that are created
    /// later have different dates.
    async fn start(store: Arc<dyn Store>, shops: usize, alike: bool) -> Self {
        let host = Host::start_on(store, Arc::new(SystemClock)).await;
        let roles = [
            "exr.editor",
            "exr.subscriber",
            "ecs.editor",
            "ecs.evaluator",
        ];
        let token = host.token(TENANT, &roles).await;
        let chain = Self { host, token, shops };
        put(&chain.host, "C", unit(UnitType::Company, None)).await;
        if !alike {
            chain.set_all(1).await;
        }
        let chain = Arc::new(chain);
        let mut countries = JoinSet::new();
        for country in 0..COUNTRIES {
            let chain = Arc::clone(&chain);
            countries.spawn(async move {
                let id = format!("G{country}");
                put(&chain.host, &id, unit(UnitType::Group, Some("C"))).await;
                for shop in (country..shops).step_by(COUNTRIES) {
                    let settings = unit(UnitType::Store, Some(&id));
                    put(&chain.host, &format!("S{shop:06}"), settings).await;
                }
            });
        }
        while countries.join_next().await.is_some() {}
        if alike {
            let change = chain.set_all(1).await;
            chain.done(&change).await;
        }
        let condition =
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let path = "/api/v1/entity-conditions/alcohol";
        let (status, _) = chain
            .host
            .send(Method::PUT, path, &chain.token, &condition)
            .await;
        assert_eq!(status, 201);
        Arc::into_inner(chain).unwrap()
    }

    /// Sets all rates of the company; returns the id of the change.
    async fn set_all(&self, day: usize) -> String {
        let rates = CURRENCIES.iter().enumerate().map(|(index, currency)| {
            let value = 1.5 + f64::from(u32::try_from(index + day).unwrap());
            json!({ "exchangeRateType": "SALES", "currencyIdFrom": currency, "currencyIdTo": "EUR", "rateValue": value })
        });
        let body = json!({ "set": rates.collect::<Vec<_>>() });
        let path = "/api/v1/business-units/C/exchange-rates";
        let (status, answer) = self.host.send(Method::POST, path, &self.token, &body).await;
        assert_eq!(status, 200, "{answer}");
        answer["correlationId"].as_str().unwrap().to_owned()
    }

    async fn set_one(&self, unit: &str, value: usize) -> (Duration, String) {
        let http = self.host.http.clone();
        Client { http, chain: self }.set_one(unit, value).await
    }

    /// Waits until a change is complete; returns the number of messages that it published.
    async fn done(&self, change: &str) -> u64 {
        let path = format!("/api/v1/exchange-rates/changes/{change}");
        loop {
            let (_, answer) = self.host.get(&path, &self.token).await;
            if answer["state"] == "DONE" {
                return answer["businessUnits"]["published"].as_u64().unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Follows the topic and counts the messages.
    fn follow(
        &self,
        shop: Option<String>,
        count: &Arc<AtomicUsize>,
    ) -> tokio::task::JoinHandle<()> {
        let tenant = TenantId::new(TENANT).unwrap();
        let filter = Filter {
            business_unit: shop,
        };
        let rates = Arc::clone(&self.host.features.rates);
        let count = Arc::clone(count);
        tokio::spawn(async move {
            let items = rates.messages(Some(&tenant), filter, Cursor::Latest);
            let mut items = items.await.unwrap().boxed();
            while let Some(item) = items.next().await {
                if matches!(item, Item::Message(..)) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    }
}

struct Client<'c> {
    http: reqwest::Client,
    chain: &'c Chain,
}

impl Client<'_> {
    /// Sets one rate of a unit; returns the latency and the id of the change.
    async fn set_one(&self, unit: &str, value: usize) -> (Duration, String) {
        let path = format!("/api/v1/business-units/{unit}/exchange-rates/SALES/SEK/EUR");
        let begin = Instant::now();
        let response = self
            .send(Method::PUT, &path, &json!({ "rateValue": value }))
            .await;
        let id = response.headers()["correlation-id"]
            .to_str()
            .unwrap()
            .to_owned();
        (begin.elapsed(), id)
    }

    async fn evaluate(&self) -> Duration {
        let body =
            json!({ "item": { "id": "beer" }, "context": { "customer": { "customer_age": 17 } } });
        let begin = Instant::now();
        self.send(Method::POST, "/api/v1/conditions/alcohol/evaluate", &body)
            .await;
        begin.elapsed()
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &serde_json::Value,
    ) -> reqwest::Response {
        let request = self
            .http
            .request(method, format!("{}{path}", self.chain.host.url));
        let request = request.bearer_auth(&self.chain.token).json(body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success());
        response
    }
}

fn p99(mut of: Vec<Duration>) -> f64 {
    of.sort_unstable();
    let at = (of.len() * 99 / 100).min(of.len() - 1);
    of[at].as_secs_f64() * 1e3
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (
        u32::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    );
    f64::from(seconds) + f64::from(nanos) / 1e9
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

/// The request that is measured while a change runs.
#[derive(Clone, Copy)]
enum Probe {
    Decision,
    Edit,
}

/// Measures latencies until `stop` is set, on a separate thread, so that only the host's work counts.
fn measured(chain: &Arc<Chain>, stop: &Arc<AtomicBool>, probe: Probe) -> JoinHandle<Vec<Duration>> {
    let (chain, stop) = (Arc::clone(chain), Arc::clone(stop));
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client {
                http: reqwest::Client::new(),
                chain: &chain,
            };
            let shop = format!("S{:06}", chain.shops / 2);
            let mut all = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                all.push(match probe {
                    Probe::Decision => client.evaluate().await,
                    Probe::Edit => client.set_one(&shop, 100 + all.len() % 50).await.0,
                });
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            all
        })
    })
}

async fn join(measuring: JoinHandle<Vec<Duration>>) -> Vec<Duration> {
    let joined = tokio::task::spawn_blocking(|| measuring.join().unwrap());
    joined.await.unwrap()
}

async fn measure(store: Arc<dyn Store>, name: &str, shops: usize, alike: bool) {
    let begin = Instant::now();
    let chain = Arc::new(Chain::start(store, shops, alike).await);
    let filled = begin.elapsed().as_secs_f64();
    let quiet = Arc::new(AtomicBool::new(false));
    let alone = measured(&chain, &quiet, Probe::Decision);
    tokio::time::sleep(Duration::from_secs(3)).await;
    quiet.store(true, Ordering::Relaxed);
    let alone = p99(join(alone).await);

    let (_, change) = chain.set_one("C", 9).await;
    chain.done(&change).await;
    let begin = Instant::now();
    let (_, change) = chain.set_one("C", 10).await;
    let published = chain.done(&change).await;
    let one = begin.elapsed().as_secs_f64();
    assert_eq!(published, u64::try_from(shops).unwrap());

    let count = Arc::new(AtomicUsize::new(0));
    let follower = chain.follow(None, &count);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = memory();
    let stop = Arc::new(AtomicBool::new(false));
    let edits = measured(&chain, &stop, Probe::Edit);
    let decisions = measured(&chain, &stop, Probe::Decision);
    let begin = Instant::now();
    let change = chain.set_all(2).await;
    let published = chain.done(&change).await;
    let all = begin.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    let (edits, decisions) = (join(edits).await, join(decisions).await);
    let edited = edits.len();
    let wanted = usize::try_from(published).unwrap();
    while count.load(Ordering::Relaxed) < wanted {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let lag = begin.elapsed().as_secs_f64() - all;
    let grown = memory() - before;
    follower.abort();

    let mut costs = Vec::new();
    for followers in [1, 1_000] {
        let count = Arc::new(AtomicUsize::new(0));
        let step = shops / followers;
        let tasks: Vec<_> = (0..followers)
            .map(|at| chain.follow(Some(format!("S{:06}", at * step.max(1))), &count))
            .collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let begin = processor_time();
        let (_, change) = chain.set_one("C", 20 + followers).await;
        chain.done(&change).await;
        while count.load(Ordering::Relaxed) + 1 < followers.min(shops) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        costs.push(processor_time() - begin);
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let per_shop = |seconds: f64| seconds * 1e6 / f64::from(u32::try_from(shops).unwrap());
    println!(
        "| {name} | {shops} | {one:.2} s, {:.0} us | {all:.2} s, {:.0} us | {:.1} ms of {edited} | {:.2} ms, alone {alone:.2} | {lag:.2} s | {grown:.0} MB | {:.2} | {filled:.0} s |",
        per_shop(one),
        per_shop(all),
        p99(edits),
        p99(decisions),
        costs[1] / costs[0],
    );
}

fn main() {
    let numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let mut sizes: Vec<usize> = numbers.collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000, 100_000];
    }
    println!(
        "| store | shops | one rate: time, a shop | 60 rates: time, a shop | meanwhile: p99 of setting a shop's rate | p99 of a decision | subscriber behind at the end | memory grown | 1,000 subscribers of 1 | filled in |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut runs: Vec<(usize, bool)> = sizes.iter().map(|shops| (*shops, true)).collect();
    runs.push((10_000, false));
    for (shops, alike) in runs {
        let what = |store: &str| {
            if alike {
                store.to_owned()
            } else {
                format!("{store}, no two shops alike")
            }
        };
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
            measure(Arc::new(store), &what("embedded"), shops, alike).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let server = Server::durable();
            let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
            let store = RedisStore::open(&url, Arc::new(SystemClock), false);
            measure(Arc::new(store.await.unwrap()), &what("Redis"), shops, alike).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}
