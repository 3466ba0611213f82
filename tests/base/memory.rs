//! The memory that requests take up in a host: thousands of things leave no more than the bound, and entries beyond it
//! are dropped. `tests/hostile/run.mjs` prints the amounts in MB.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tillgate_base::config::Config;
use tillgate_base::data::etag::Preconditions;
use tillgate_base::identity::{By, TenantId};
use tillgate_engine::condition::ConditionId;
use tillgate_rules::{Editor, OnFailingTests, Owner};
use tillgate_store::MemoryStore;
use tillgate_store::clock::{StoppedClock, SystemClock};

use crate::base::metrics::scrape_until;
use crate::support::host::{Host, token};
use crate::support::receiver::Receiver;
use crate::support::sizes::size;
use crate::webhooks::shop::{START, TYPE, local, settings};

/// The number of each thing: more than any bound, except those that a larger installation reaches.
fn many() -> usize {
    size(2_500, 10_000)
}

/// The maximum number of tenants without data that stay in memory.
const EMPTY: f64 = 2_001.0;

async fn host(configure: impl FnOnce(&mut Config)) -> (Host, Arc<StoppedClock>) {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock.clone(), configure).await;
    (host, clock)
}

fn tenant(number: usize) -> TenantId {
    TenantId::new(&format!("tenant-{number}")).unwrap()
}

fn event(name: &str) -> Vec<u8> {
    json!({ "type": name, "data": 1 }).to_string().into_bytes()
}

fn webhook(url: &str) -> Vec<u8> {
    settings(url, json!({})).to_string().into_bytes()
}

/// Returns how many entries of some kinds are in memory, once the first kind satisfies a condition.
async fn held<const N: usize>(
    host: &Host,
    kinds: [&str; N],
    is_there: impl Fn(f64) -> bool,
) -> [f64; N] {
    let objects = "tillgate_memory_objects";
    let scrape = scrape_until(&host.url, |it| {
        is_there(it.sum(objects, &[("kind", kinds[0])]))
    });
    let scrape = scrape.await;
    kinds.map(|kind| scrape.sum(objects, &[("kind", kind)]))
}

#[tokio::test]
async fn few_tenants_without_data_stay_in_memory() {
    let (host, clock) = host(|_| ()).await;
    let features = &host.features;
    for number in 0..many() {
        let tenant = tenant(number);
        features.conditions.tenant(&tenant).await.unwrap();
        features.conditions.usage(&tenant).await.unwrap();
        features.webhooks.usage(&tenant).await.unwrap();
        let published = features.webhooks.publish_from(&tenant, &event(TYPE)).await;
        published.unwrap();
    }
    let kinds = ["publishing_tenants", "tenants", "webhook_tenants"];
    let [publishing, tenants, of_webhooks] = held(&host, kinds, |count| count > 0.0).await;
    assert!(
        tenants <= EMPTY && of_webhooks <= EMPTY,
        "{tenants}, {of_webhooks}"
    );
    assert_eq!(publishing, many() as f64, "all have published just now");
    clock.advance(Duration::from_secs(61));
    let (tenant, event) = (tenant(many()), event(TYPE));
    let published = features.webhooks.publish_from(&tenant, &event);
    published.await.unwrap();
    held(&host, kinds, |publishing| publishing == 1.0).await;
}

#[tokio::test]
async fn the_configured_number_of_tenants_stays_in_memory() {
    let (host, _) = host(|config| config.limits.cached_tenants = 100).await;
    let features = &host.features;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let condition = condition.to_string();
    let beer = || ConditionId::new("beer").unwrap();
    let editor = Editor {
        by: By::new("test", None),
        note: None,
        preconditions: Preconditions::default(),
        on_failing_tests: OnFailingTests::default(),
    };
    for number in 0..many() {
        let tenant = tenant(number);
        let owner = Owner::Tenant(&tenant);
        let put =
            features
                .conditions
                .put_condition(owner, beer(), condition.as_bytes().into(), &editor);
        put.await.unwrap();
        let webhook = webhook("https://a.example/");
        let by = By::new("test", None);
        let created = features.webhooks.create_from(&tenant, &by, &webhook);
        created.await.unwrap();
    }
    let kinds = ["tenants", "webhook_tenants", "conditions", "webhooks"];
    let held = held(&host, kinds, |count| count > 0.0).await;
    assert!(held.iter().all(|count| *count <= 100.0 + EMPTY), "{held:?}");
    // Entries that made room for others are loaded again on request.
    for number in [0, 1, many() / 2, many() - 1] {
        let (tenant, _) = features.conditions.tenant(&tenant(number)).await.unwrap();
        assert!(tenant.catalog().condition(&beer()).is_some());
    }
}

#[tokio::test]
async fn the_configured_number_of_clients_stays_in_memory() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    // At most 8,192 tokens are kept in memory.
    let (cached, signed_in) = (size(100, 1_000), size(500, 9_000));
    let configure = |config: &mut Config| config.limits.cached_clients = cached;
    let host = Host::start_configured(store, clock, configure).await;
    let tokens = &host.features.tokens;
    let mut issued = Vec::new();
    for number in 0..many() {
        let tenant = tenant(number);
        let till = tokens.provision(&tenant, "till", &["ecs.evaluator"]);
        let till = till.await.unwrap();
        if number >= signed_in {
            continue;
        }
        let token = token(
            &host.http,
            &host.url,
            &till.client_id,
            till.client_secret.reveal(),
        )
        .await;
        tokens.verify(&token).await.unwrap();
        issued.push(token);
    }
    let [clients, verified] = held(&host, ["clients", "verified_tokens"], |it| it > 0.0).await;
    assert!(verified <= 8_192.0, "{verified}");
    assert!(clients <= verified + cached as f64, "{clients}, {verified}");
    for token in issued.iter().step_by(signed_in / 10) {
        tokens.verify(token).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_sent_to_webhooks_is_forgotten_when_nothing_more_is_sent() {
    let (host, clock) = host(|config| {
        local(config);
        config.webhooks.retry_delays = Vec::new();
    })
    .await;
    let (webhooks, receiver) = (&host.features.webhooks, Receiver::start().await);
    let tenants: Vec<TenantId> = (0..10).map(tenant).collect();
    for number in 0..many() {
        // Nothing listens there.
        let address = IpAddr::from([127, 1, (number / 250) as u8, (number % 250) as u8]);
        let url = format!("http://{address}:1/{number}");
        let tenant = &tenants[number % tenants.len()];
        webhooks
            .create_from(tenant, &By::new("test", None), &webhook(&url))
            .await
            .unwrap();
    }
    for tenant in &tenants {
        webhooks.publish_from(tenant, &event(TYPE)).await.unwrap();
    }
    let kinds = [
        "webhook_limiters",
        "webhook_counts",
        "bearer_tokens",
        "webhook_targets",
        "webhook_events",
    ];
    host.run_due().await;
    let all_sent = ["webhook_counts", "webhook_limiters", "bearer_tokens"];
    let [_, limiters, bearers] = held(&host, all_sent, |counts| counts == many() as f64).await;
    assert_eq!(limiters, many() as f64);
    assert!(bearers <= 8_192.0, "{bearers}");

    clock.advance(Duration::from_secs(3 * 60 * 60));
    let late = tenant(many());
    webhooks
        .create_from(&late, &By::new("test", None), &webhook(&receiver.url))
        .await
        .unwrap();
    webhooks.publish_from(&late, &event(TYPE)).await.unwrap();
    host.run_due().await;
    receiver.wait_for(1).await;
    host.run_due().await;
    let [_, counts, _, targets, events] = held(&host, kinds, |limiters| limiters == 1.0).await;
    assert_eq!((counts, targets), (1.0, 0.0));
    assert!(events <= 64.0, "{events}");
}
