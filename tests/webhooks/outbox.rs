//! Events of the service's own features: an event that a listener adds is part of the commit that causes it.

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_api::problem::CHANGED_MEANWHILE;
use tillgate_base::data::outbox::Action;
use tillgate_base::error::Error;
use tillgate_base::identity::TenantId;
use tillgate_store::Position;
use tillgate_store::clock::Timestamp;

use crate::support::host::Host;

const CONDITION: &str = "/api/v1/entity-conditions/fireworks";
const PROJECT: &str = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

/// Registers a listener that appends every event to the log `events`, as JSON.
fn log_events(host: &Host) {
    host.app.outbox.subscribe(|event, _, change| {
        Box::pin(async move {
            let action = match event.action {
                Action::Created => "CREATED",
                Action::Replaced => "REPLACED",
                Action::Deleted => "DELETED",
            };
            let document = event.document.map(|document| {
                serde_json::from_slice::<Value>(document)
                    .map_err(|cause| Error::Bug(cause.to_string()))
            });
            let body = json!({
                "type": event.event_type,
                "tenant": event.tenant.as_str(),
                "action": action,
                "id": event.id,
                "document": document.transpose()?,
            });
            let attributes = vec![("type".to_owned(), event.event_type.to_owned())];
            change.append("events", attributes, body.to_string().into());
            Ok(())
        })
    });
}

/// Returns the events of a tenant with their publish times, and the times of its change notices.
async fn events(host: &Host) -> (Vec<(Timestamp, Value)>, Vec<Timestamp>) {
    let partition = TenantId::new("acme").unwrap().partition();
    let read = async |log| {
        let slice = host.app.store.read(&partition, log, Position(0), 100);
        slice.await.unwrap().messages
    };
    let events = read("events").await.into_iter().map(|message| {
        let body = serde_json::from_slice(&message.body).unwrap();
        (message.publish_time, body)
    });
    let notices = read("changes").await.into_iter();
    (
        events.collect(),
        notices.map(|message| message.publish_time).collect(),
    )
}

#[tokio::test]
async fn a_change_of_a_tenants_document_is_published_in_its_own_commit() {
    let host = Host::start().await;
    log_events(&host);
    let token = host.token("acme", &["ecs.editor"]).await;
    for (minimum, status) in [(21, 201), (20, 200), (20, 200)] {
        let rule =
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } });
        let put = host.send(Method::PUT, CONDITION, &token, &rule).await;
        assert_eq!(put.0, status, "{}", put.1);
    }
    let put = host
        .send(Method::PUT, PROJECT, &token, &json!({ "restrictions": [] }))
        .await;
    assert_eq!(put.0, 201, "{}", put.1);
    let deleted = host.request(Method::DELETE, CONDITION, &token).send().await;
    assert_eq!(deleted.unwrap().status(), 204);
    let (events, notices) = events(&host).await;
    let times: Vec<_> = events.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, notices, "each in the commit of its change");
    let told: Vec<_> = events
        .iter()
        .map(|(_, event)| {
            (
                event["type"].as_str().unwrap(),
                event["action"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("entity-conditions.events.v1", "CREATED"),
            ("entity-conditions.events.v1", "REPLACED"),
            ("projects.events.v1", "CREATED"),
            ("entity-conditions.events.v1", "DELETED"),
        ]
    );
    let first = &events[0].1;
    assert_eq!(
        (&first["tenant"], &first["id"]),
        (&json!("acme"), &json!("fireworks"))
    );
    assert_eq!(first["document"]["condition_value"]["minimum_age"], 21);
    assert_eq!(events[3].1["document"], Value::Null);
}

#[tokio::test]
async fn what_changes_nothing_publishes_nothing() {
    let host = Host::start().await;
    log_events(&host);
    let token = host.token("acme", &["ecs.editor"]).await;
    let deleted = host.request(Method::DELETE, CONDITION, &token).send().await;
    assert_eq!(deleted.unwrap().status(), 404);
    let put = host
        .request(Method::PUT, CONDITION, &token)
        .header("if-match", "\"another\"")
        .json(&json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} }));
    assert_eq!(put.send().await.unwrap().status(), 412);
    assert!(events(&host).await.0.is_empty());
}

#[tokio::test]
async fn a_listener_that_fails_keeps_the_change_from_happening() {
    let host = Host::start().await;
    host.app.outbox.subscribe(|_, _, change| {
        change.put_bytes("half", Bytes::from_static(b"done"));
        Box::pin(async { Err(Error::Conflict(CHANGED_MEANWHILE, "not now".to_owned())) })
    });
    let token = host.token("acme", &["ecs.editor"]).await;
    let rule = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    let put = host.send(Method::PUT, CONDITION, &token, &rule).await;
    assert_eq!(put.0, 409, "{}", put.1);
    assert_eq!(host.get(CONDITION, &token).await.0, 404);
    let partition = TenantId::new("acme").unwrap().partition();
    let half = host.app.store.get(&partition, &["half".to_owned()]).await;
    assert_eq!(half.unwrap(), [None]);
}
