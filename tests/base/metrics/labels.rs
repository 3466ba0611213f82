//! Labels are bounded: nothing in a request becomes one, and tenants appear only where that is switched on.

use std::sync::Arc;

use reqwest::Method;
use tillgate_base::observe::metrics::{MAX_TENANTS, Metrics};
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use super::{EVALUATE, EVALUATE_ROUTE, ROLES, answers, put_alcohol, question, scrape_until};
use crate::support::exposition::Scrape;
use crate::support::host::Host;
use crate::support::wire;

#[tokio::test]
async fn what_a_request_says_never_becomes_a_label() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    host.send(Method::POST, EVALUATE, &token, &question(20))
        .await;
    let lines = [
        "GET /hostile-1",
        "GET /metrics/hostile-2",
        "BREW /hostile-3",
        "hostile-4 /metrics",
        "PATCH /metrics",
        "POST /metrics",
        "GET /\"hostile-5\"",
        "GET /hostile-6%0a%22",
        "GET //hostile-7",
        "OPTIONS *",
        "GET /hostile-8?route=/hostile-9",
        "TRACE /readyz",
        "GET /api/v1/entity-conditions/hostile-10",
        "CONNECT hostile-11:443",
        "GET http://hostile-12/metrics/x",
    ];
    for line in lines {
        wire::send_one(&host.url, &wire::message(line, &[], "")).await;
    }
    let counted = |it: &Scrape| answers(it, "none") == 14.0;
    let scrape = scrape_until(&host.url, counted).await;
    assert!(!scrape.text.contains("hostile"), "{}", scrape.text);
    assert_eq!(scrape.values("method"), ["GET", "POST", "none"]);
    let known = host.features.routes(&host.app);
    let known: Vec<&str> = known
        .iter()
        .map(|route| route.path)
        .chain(["none"])
        .collect();
    for route in scrape.values("route") {
        assert!(known.contains(&route), "{route}");
    }
}

#[tokio::test]
async fn three_hundred_tenants_make_no_series() {
    let host = Host::start().await;
    let ask = async |number: usize| {
        let tenant = format!("tenant-{number}");
        let token = host.token(&tenant, ROLES).await;
        host.send(Method::POST, EVALUATE, &token, &question(20))
            .await;
    };
    ask(0).await;
    let asked = |count: f64| {
        move |it: &Scrape| answers(it, EVALUATE_ROUTE) == count && answers(it, "/metrics") > 0.0
    };
    let before = scrape_until(&host.url, asked(1.0)).await;
    for number in 1..300 {
        ask(number).await;
    }
    let after = scrape_until(&host.url, asked(300.0)).await;
    assert_eq!(after.series(), before.series());
    assert!(!after.text.contains("tenant-"));
    assert_eq!(
        after.sum("tillgate_memory_objects", &[("kind", "tenants")]),
        300.0
    );
}

#[tokio::test]
async fn tenants_are_named_only_when_that_is_switched_on() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock, |config| config.metrics.tenants = true).await;
    let token = host.token("shop-7", ROLES).await;
    put_alcohol(&host, &token).await;
    host.send(Method::POST, EVALUATE, &token, &question(17))
        .await;
    let of_shop = [("tenant", "shop-7")];
    let counted = |it: &Scrape| it.sum("tillgate_tenant_requests_total", &of_shop) == 2.0;
    let scrape = scrape_until(&host.url, counted).await;
    let denied = [("tenant", "shop-7"), ("decision", "HARD_DENY")];
    assert_eq!(scrape.sum("tillgate_tenant_decisions_total", &denied), 1.0);
}

#[test]
fn more_tenants_than_are_named_are_counted_together() {
    let metrics = Metrics::new(true);
    for number in 0..MAX_TENANTS + 100 {
        let tenants = metrics.tenants().unwrap();
        for _ in 0..2 {
            tenants.count_request(&format!("tenant-{number}"));
        }
    }
    let scrape = Scrape::read(&metrics.encode().unwrap());
    assert_eq!(scrape.values("tenant").len(), MAX_TENANTS + 1);
    let requests = "tillgate_tenant_requests_total";
    assert_eq!(scrape.sum(requests, &[("tenant", "(other)")]), 200.0);
    assert_eq!(scrape.sum(requests, &[("tenant", "tenant-0")]), 2.0);
}
