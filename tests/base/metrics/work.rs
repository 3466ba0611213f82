//! Metrics of background work, of a store that fails, and of the age of memory.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::Store;
use tillgate_store::clock::{StoppedClock, Timestamp};

use super::{ALCOHOL, EVALUATE, ROLES, put_alcohol, question, scrape_until};
use crate::rates::fixture::Shop as Company;
use crate::support::exposition::Scrape;
use crate::support::host::Host;
use crate::support::receiver::{Answer, Receiver};
use crate::support::switched::Switched;
use crate::support::wait::until;
use crate::webhooks::shop::Shop;

#[tokio::test]
async fn deliveries_are_counted_by_what_became_of_them() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let webhook = shop.webhook(&receiver.url, json!({})).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.answer(Answer::Status(503, "", ""));
    shop.publish(json!(2)).await;
    shop.run().await;
    let url = &shop.host.url;
    let outcome =
        |it: &Scrape, outcome| it.sum("tillgate_deliveries_total", &[("outcome", outcome)]);
    let scrape = scrape_until(url, |it| outcome(it, "retrying") == 1.0).await;
    assert_eq!(outcome(&scrape, "delivered"), 1.0);
    let attempts = "tillgate_delivery_attempt_duration_seconds_count";
    for succeeded in ["true", "false"] {
        assert_eq!(scrape.sum(attempts, &[("succeeded", succeeded)]), 1.0);
    }
    let held = |kind| scrape.sum("tillgate_memory_objects", &[("kind", kind)]);
    let kinds = [
        "webhooks",
        "webhook_tenants",
        "webhook_limiters",
        "bearer_tokens",
    ];
    assert_eq!(kinds.map(held), [1.0; 4]);
    // Deleting a webhook removes its remaining deliveries.
    let path = format!("/api/v1/webhooks/{webhook}");
    let (status, _) = shop.send(Method::DELETE, &path, &Value::Null).await;
    assert_eq!(status, 204);
    shop.after(Duration::from_secs(600)).await;
    let scrape = scrape_until(url, |it| outcome(it, "given_up") == 1.0).await;
    assert_eq!(outcome(&scrape, "failed"), 0.0);
}

#[tokio::test]
async fn jobs_that_run_are_counted_by_queue() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    receiver.answer(Answer::Hang);
    shop.webhook(&receiver.url, json!({})).await;
    shop.publish(json!(1)).await;
    let running = [("queue", "webhook-deliveries")];
    let running = |it: &Scrape| it.sum("tillgate_queue_jobs_running", &running);
    scrape_until(&shop.host.url, |it| running(it) == 1.0).await;
    receiver.answer(Answer::Status(204, "", ""));
    scrape_until(&shop.host.url, |it| running(it) == 0.0).await;
}

#[tokio::test]
async fn the_fan_out_of_a_change_is_counted_by_shops_and_messages() {
    let company = Company::with_units().await;
    company.set("SE", "SEK", "EUR", "10").await;
    company.host.run_due().await;
    let done = |it: &Scrape| it.sum("tillgate_rate_changes_messages_total", &[]) == 2.0;
    let scrape = scrape_until(&company.host.url, done).await;
    assert_eq!(scrape.sum("tillgate_rate_changes_shops_total", &[]), 2.0);
}

#[tokio::test]
async fn a_store_that_fails_and_the_age_of_what_is_served_meanwhile_are_seen() {
    let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
    let store = Switched::new(clock.clone());
    let opened: Arc<dyn Store> = store.clone();
    let host = Host::start_on(opened, clock.clone()).await;
    let token = host.token("shop", ROLES).await;
    put_alcohol(&host, &token).await;
    let decide = async || {
        host.send(Method::POST, EVALUATE, &token, &question(20))
            .await
            .0
    };
    assert_eq!(decide().await, 200);
    store.set_away(true);
    clock.advance(Duration::from_secs(30));
    let (status, _) = host
        .send(Method::DELETE, ALCOHOL, &token, &Value::Null)
        .await;
    assert_eq!(status, 503);
    let age = |it: &Scrape, kind| it.sum("tillgate_memory_age_seconds", &[("kind", kind)]);
    let what = "what fails, the status and the ages of memory are in the metrics";
    until(what, async || {
        assert_eq!(decide().await, 200);
        let scrape = scrape_until(&host.url, |_| true).await;
        let failed = [("verb", "read"), ("outcome", "unavailable")];
        let is_failing = scrape.sum("tillgate_store_requests_total", &failed) >= 1.0;
        let is_degraded = scrape.sum("tillgate_status", &[("status", "degraded")]) == 1.0;
        // Each caller is noted until memory is checked again.
        let ages = ["conditions", "callers"].map(|kind| age(&scrape, kind));
        is_failing && is_degraded && ages == [30.0; 2]
    })
    .await;
    store.set_away(false);
    clock.advance(Duration::from_secs(10));
    until("memory has no age any more", async || {
        let scrape = scrape_until(&host.url, |_| true).await;
        let ages = scrape.sum("tillgate_memory_age_seconds", &[]);
        assert_eq!(decide().await, 200);
        ages == 0.0
    })
    .await;
    store.mute.store(true, std::sync::atomic::Ordering::SeqCst);
    let (status, _) = host
        .send(Method::DELETE, ALCOHOL, &token, &Value::Null)
        .await;
    assert_eq!(status, 204, "it is repeated");
    let unknown = [("verb", "commit"), ("outcome", "unknown")];
    scrape_until(&host.url, |it| {
        it.sum("tillgate_store_requests_total", &unknown) == 1.0
    })
    .await;
}
