//! While the store is unavailable, known callers continue, everyone else is told to retry, and nothing is half done.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::Store;
use tillgate_store::clock::StoppedClock;

use super::fixture::{FORM, START, Service, registration};
use crate::support::switched::Switched;
use crate::support::wait::answered;

async fn start() -> (Service, Arc<Switched>) {
    start_with(|_| ()).await
}

async fn start_with(configure: impl FnOnce(&mut Config)) -> (Service, Arc<Switched>) {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Switched::new(clock.clone());
    let opened: Arc<dyn Store> = store.clone();
    (Service::on(opened, clock, configure).await, store)
}

#[tokio::test]
async fn while_the_store_is_away_who_is_known_goes_on_and_others_come_again() {
    let (service, store) = start().await;
    service.open_tenant("acme", &[]).await;
    let (known, unknown) = (service.operator().await, service.admin("acme").await);
    assert_eq!(service.status_of(&known).await.0, 200);
    store.set_away(true);
    assert!(service.host.features.tokens.verify(&known).await.is_ok());
    let answer = service.get("/v1/roles", &unknown).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    let answer = service.send(service.ask(id, secret, FORM)).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    assert_eq!(
        answer.body,
        json!({ "error": "temporarily_unavailable", "error_description": "the store is unavailable" })
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(
        service
            .register(&registration("acme", json!({})))
            .await
            .status,
        503
    );
    store.set_away(false);
    assert_eq!(service.get("/v1/roles", &unknown).await.status, 200);
    assert_eq!(
        service
            .register(&registration("acme", json!({})))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_change_whose_reply_is_lost_is_made_once() {
    let (service, store) = start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    store.mute.store(true, Ordering::SeqCst);
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    store.mute.store(true, Ordering::SeqCst);
    assert_eq!(
        service
            .put(&format!("{path}/authorize"), &operator, Value::Null)
            .await
            .status,
        200
    );
    store.mute.store(true, Ordering::SeqCst);
    assert_eq!(service.delete(&path, &operator).await.status, 204);
}

/// Repeats a request until its answer has a status.
async fn until(service: &Service, token: &str, status: u16) {
    answered(&format!("an answer with {status}"), async || {
        let answer = service.get("/api/v1/catalog", token).await;
        if answer.status == status {
            Ok(())
        } else {
            Err(answer.status)
        }
    })
    .await;
}

#[tokio::test]
async fn with_max_stale_of_zero_memory_is_served_for_a_second_while_the_store_is_away() {
    let (service, store) = start_with(|config| {
        config.max_stale = Duration::ZERO;
        config.max_stale_callers = Duration::ZERO;
    })
    .await;
    service.open_tenant("acme", &[]).await;
    let editor = service
        .host
        .token("acme", &["ecs.editor", "ecs.evaluator"])
        .await;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/beer";
    assert_eq!(service.put(path, &editor, condition).await.status, 201);
    let evaluate = "/api/v1/conditions/beer/evaluate";
    let question = json!({ "item": { "id": "1" }, "context": {} });
    let ask = async || service.post(evaluate, &editor, question.clone()).await;
    assert_eq!(ask().await.status, 200);

    store.set_away(true);
    service.clock.advance(Duration::from_secs(1));
    assert_eq!(ask().await.status, 200);
    service.clock.advance(Duration::from_micros(1));
    for _ in 0..3 {
        let answer = ask().await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
    }
    // A clock that was set back does not make it younger either.
    service.clock.set(START.minus(Duration::from_secs(3)));
    assert_eq!(ask().await.status, 503);

    store.set_away(false);
    until(&service, &editor, 200).await;
    assert_eq!(ask().await.status, 200);
}

#[tokio::test]
async fn a_clock_that_leaps_keeps_nobody_waiting_while_the_store_is_there() {
    let (service, _store) = start().await;
    let admin = service.admin("acme").await;
    for _ in 0..5 {
        service.clock.advance(Duration::from_secs(60));
        assert_eq!(service.get("/v1/roles", &admin).await.status, 200);
    }
}
