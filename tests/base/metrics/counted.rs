//! Every family is there, and requests, decisions and entries in memory are counted in the right place.

use reqwest::Method;
use serde_json::json;

use super::{
    ALCOHOL, ALCOHOL_ROUTE, EVALUATE, EVALUATE_ROUTE, ROLES, answers, put_alcohol, question,
    scrape_until,
};
use crate::support::exposition::Scrape;
use crate::support::host::Host;

/// Every family: its name, its type, and its labels, except those of buckets.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("process_cpu_seconds", "counter", &[]),
    ("process_open_fds", "gauge", &[]),
    ("process_resident_memory_bytes", "gauge", &[]),
    ("process_start_time_seconds", "gauge", &[]),
    ("tillgate_build_info", "gauge", &["version"]),
    ("tillgate_check", "gauge", &["check", "state"]),
    (
        "tillgate_decision_duration_seconds",
        "histogram",
        &["asked"],
    ),
    ("tillgate_decision_log_lines", "counter", &[]),
    ("tillgate_decision_log_missing", "counter", &[]),
    ("tillgate_decision_log_waiting_bytes", "gauge", &[]),
    ("tillgate_decisions", "counter", &["decision", "rule"]),
    ("tillgate_decisions_refused", "counter", &["reason"]),
    ("tillgate_deliveries", "counter", &["outcome"]),
    (
        "tillgate_delivery_attempt_duration_seconds",
        "histogram",
        &["succeeded"],
    ),
    ("tillgate_engine_instances", "gauge", &["state"]),
    ("tillgate_engine_instances_made", "counter", &[]),
    ("tillgate_engine_traps", "counter", &[]),
    (
        "tillgate_http_request_duration_seconds",
        "histogram",
        &["method", "route"],
    ),
    (
        "tillgate_http_requests",
        "counter",
        &["method", "route", "status"],
    ),
    ("tillgate_memory_age_seconds", "gauge", &["kind"]),
    ("tillgate_memory_content_bytes", "gauge", &["kind"]),
    ("tillgate_memory_objects", "gauge", &["kind"]),
    ("tillgate_queue_dead_lettered", "counter", &["queue"]),
    ("tillgate_queue_dead_letters", "gauge", &["queue"]),
    ("tillgate_queue_failures", "counter", &["queue"]),
    ("tillgate_queue_jobs_running", "gauge", &["queue"]),
    ("tillgate_queue_oldest_due_seconds", "gauge", &["queue"]),
    ("tillgate_queue_partitions_waiting", "gauge", &["queue"]),
    ("tillgate_rate_changes_messages", "counter", &[]),
    ("tillgate_rate_changes_shops", "counter", &[]),
    ("tillgate_reference_rates_business_day_age", "gauge", &[]),
    ("tillgate_reference_rates_stale", "gauge", &[]),
    ("tillgate_role", "gauge", &["role"]),
    ("tillgate_status", "gauge", &["status"]),
    (
        "tillgate_store_request_duration_seconds",
        "histogram",
        &["verb"],
    ),
    ("tillgate_store_requests", "counter", &["outcome", "verb"]),
];

#[tokio::test]
async fn every_family_is_there_with_its_type_and_labels_and_nothing_else() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    put_alcohol(&host, &token).await;
    host.send(Method::POST, EVALUATE, &token, &question(20))
        .await;
    let scrape = scrape_until(&host.url, |it| answers(it, ALCOHOL_ROUTE) == 1.0).await;
    let found = scrape.families.iter().map(|(name, family)| {
        let labels: Vec<&str> = family
            .labels()
            .into_iter()
            .filter(|it| *it != "le")
            .collect();
        (name.as_str(), family.kind.as_str(), labels)
    });
    let expected = FAMILIES
        .iter()
        .map(|(name, kind, labels)| (*name, *kind, labels.to_vec()));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn requests_and_decisions_are_counted_where_they_belong() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    put_alcohol(&host, &token).await;
    // Text in a request that looks like a decision is not counted as one.
    let hostile = json!({ "item": { "id": "\",\"decision\":\"ALLOW\",\"rule\":\"AGE_RESTRICTION\"" }, "context": {} });
    for body in [question(20), question(20), question(17), hostile] {
        let (status, _) = host.send(Method::POST, EVALUATE, &token, &body).await;
        assert_eq!(status, 200);
    }
    let unknown = "/api/v1/conditions/unknown/evaluate";
    let (status, _) = host
        .send(Method::POST, unknown, &token, &question(20))
        .await;
    assert_eq!(status, 404);
    let (status, _) = host.send(Method::POST, EVALUATE, &token, &json!([])).await;
    assert_eq!(status, 400);
    let (status, _) = host
        .send(Method::POST, EVALUATE, "none", &question(20))
        .await;
    assert_eq!(status, 401);
    let item = json!({ "id": "1", "conditionIds": ["alcohol", "alcohol", "unknown"] });
    let basket = json!({ "items": [item], "context": {} });
    let (status, _) = host
        .send(
            Method::POST,
            "/api/v1/evaluations?explain=true",
            &token,
            &basket,
        )
        .await;
    assert_eq!(status, 200);
    let project =
        json!({ "projectId": "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90", "item": { "id": "1" } });
    let path = "/api/v1/project-restrictions/evaluate";
    let (status, _) = host.send(Method::POST, path, &token, &project).await;
    assert_eq!(status, 200);

    let scrape = scrape_until(&host.url, |it| answers(it, path) == 1.0).await;
    let status = |status| {
        let labels = [
            ("route", EVALUATE_ROUTE),
            ("method", "POST"),
            ("status", status),
        ];
        scrape.sum("tillgate_http_requests_total", &labels)
    };
    assert_eq!(
        ["200", "404", "400", "401"].map(status),
        [4.0, 1.0, 1.0, 1.0]
    );
    let durations = "tillgate_http_request_duration_seconds_count";
    assert_eq!(scrape.sum(durations, &[("route", EVALUATE_ROUTE)]), 7.0);
    let decided = |rule, decision| {
        let labels = [("rule", rule), ("decision", decision)];
        scrape.sum("tillgate_decisions_total", &labels)
    };
    assert_eq!(decided("AGE_RESTRICTION", "ALLOW"), 2.0);
    assert_eq!(decided("AGE_RESTRICTION", "HARD_DENY"), 1.0);
    assert_eq!(
        decided("AGE_RESTRICTION", "SOFT_DENY"),
        3.0,
        "one alone, two in the basket"
    );
    assert_eq!(
        scrape.sum(
            "tillgate_decisions_total",
            &[("rule", "PROJECT_RESTRICTION")]
        ),
        1.0
    );
    let refused = |reason| scrape.sum("tillgate_decisions_refused_total", &[("reason", reason)]);
    assert_eq!(
        [refused("not_found"), refused("invalid"), refused("failed")],
        [1.0, 1.0, 0.0]
    );
    let asked = |asked| {
        scrape.sum(
            "tillgate_decision_duration_seconds_count",
            &[("asked", asked)],
        )
    };
    assert_eq!(
        [asked("condition"), asked("basket"), asked("project")],
        [6.0, 1.0, 1.0]
    );
    let commits = [("verb", "commit"), ("outcome", "ok")];
    assert!(scrape.sum("tillgate_store_requests_total", &commits) >= 2.0);
    assert_eq!(
        scrape.sum(
            "tillgate_store_requests_total",
            &[("outcome", "unavailable")]
        ),
        0.0
    );
    let held = |kind| scrape.sum("tillgate_memory_objects", &[("kind", kind)]);
    assert_eq!(
        [held("conditions"), held("tenants"), held("clients")],
        [1.0, 1.0, 1.0]
    );
    assert_eq!(
        [held("verified_tokens"), held("prepared_documents")],
        [1.0, 1.0]
    );
    assert!(scrape.sum("tillgate_memory_content_bytes", &[("kind", "conditions")]) > 50.0);
    assert_eq!(scrape.sum("tillgate_status", &[("status", "ready")]), 1.0);
    assert_eq!(scrape.sum("tillgate_check", &[("state", "up")]), 3.0);
    let (status, _) = host
        .send(Method::DELETE, ALCOHOL, &token, &json!(null))
        .await;
    assert_eq!(status, 204);
    let is_gone = |it: &Scrape| it.sum("tillgate_memory_objects", &[("kind", "conditions")]) == 0.0;
    let scrape = scrape_until(&host.url, is_gone).await;
    assert_eq!(
        scrape.sum("tillgate_memory_content_bytes", &[("kind", "conditions")]),
        0.0
    );
}
