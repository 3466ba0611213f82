//! The tenant chooses which decisions go into the log; its administrators make the choice.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use super::{Shop, lines, record_in};
use crate::support::host::{Host, take_modifier};
use crate::support::wait::until;

const CHOICE: &str = "/v1/tenants/acme/decision-log";

#[tokio::test]
async fn nothing_is_on_record_unless_the_tenant_has_chosen_it() {
    let shop = Shop::open().await;
    shop.sell("nothing", 17).await;
    shop.choose("denials").await;
    shop.sell("allowed", 18).await;
    shop.sell("denied", 17).await;
    let bread = json!({ "items": [{ "id": "bread" }], "context": {} });
    shop.decide("evaluations", &bread).await;
    let nowhere = json!({
        "items": [{ "id": "bread" }, { "id": "wine", "conditionIds": ["nowhere"] }], "context": {},
    });
    shop.decide("evaluations", &nowhere).await;
    shop.choose("all").await;
    shop.sell("also allowed", 18).await;
    shop.choose("none").await;
    shop.sell("nothing any more", 17).await;
    // Another tenant has made no choice.
    let other = shop.host.token("other", super::ROLES).await;
    let request = json!({ "items": [{ "id": "of another" }], "context": {} });
    let decided = shop
        .host
        .send(Method::POST, "/api/v1/evaluations", &other, &request)
        .await;
    assert_eq!(decided.0, 200);
    let written = shop.on_record().await;
    let items: Vec<_> = written
        .iter()
        .map(|line| line["itemId"].as_str().unwrap())
        .collect();
    assert_eq!(items, ["denied", "wine", "also allowed"]);
}

#[tokio::test]
async fn what_is_refused_is_no_decision() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    for (path, request, status) in [
        (
            "conditions/nowhere/evaluate",
            json!({ "item": { "id": "1" }, "context": {} }),
            404,
        ),
        (
            "conditions/beer/evaluate",
            json!({ "item": { "id": "1" } }),
            400,
        ),
        ("evaluations", json!({ "items": [], "context": {} }), 400),
    ] {
        let path = format!("/api/v1/{path}");
        let answer = shop
            .host
            .send(Method::POST, &path, &shop.token, &request)
            .await;
        assert_eq!(answer.0, status, "{path}");
    }
    assert_eq!(shop.on_record().await, Vec::<Value>::new());
}

#[tokio::test]
async fn administrators_choose_and_every_client_of_the_tenant_sees_it() {
    let host = Host::start().await;
    let none = json!({ "decisionLog": "none" });
    let all = json!({ "decisionLog": "all" });
    let admin = host.token("acme", &["iam.admin"]).await;
    let till = host.token("acme", &["ecs.evaluator"]).await;
    let editor = host.token("acme", &["ecs.editor"]).await;
    let other = host.token("other", &["iam.admin"]).await;
    let operator = host.token("platform", &["platform.operator"]).await;
    assert_eq!(host.get(CHOICE, &till).await, (200, none.clone()));
    for (token, status) in [
        (&till, 403),
        (&editor, 403),
        (&other, 403),
        (&admin, 200),
        (&operator, 200),
    ] {
        let answer = host.send(Method::PUT, CHOICE, token, &all).await;
        assert_eq!(answer.0, status, "{}", answer.1);
    }
    let (status, mut found) = host.get(CHOICE, &till).await;
    assert_eq!(
        take_modifier(&mut found),
        "test 1",
        "the same choice is no change"
    );
    assert_eq!((status, found), (200, all));
    assert_eq!(host.get(CHOICE, &other).await.0, 403);
    assert_eq!(
        host.get("/v1/tenants/other/decision-log", &other).await,
        (200, none)
    );
    for (body, detail) in [
        (json!({}), "$.decisionLog is required"),
        (
            json!({ "decisionLog": "some" }),
            "$.decisionLog must be none, denials or all",
        ),
        (
            json!({ "decisionLog": null }),
            "$.decisionLog must be none, denials or all",
        ),
    ] {
        let (status, answer) = host.send(Method::PUT, CHOICE, &admin, &body).await;
        assert_eq!((status, &answer["message"]), (400, &json!([detail])));
    }
}

#[tokio::test]
async fn a_choice_is_made_against_the_version_that_was_seen() {
    let host = Host::start().await;
    let token = host.token("acme", &["iam.admin"]).await;
    let put = async |choice: &str, etag: &str| {
        let request = host
            .request(Method::PUT, CHOICE, &token)
            .header("if-match", etag);
        let answer = request
            .json(&json!({ "decisionLog": choice }))
            .send()
            .await
            .unwrap();
        let etag = answer
            .headers()
            .get("etag")
            .map(|etag| etag.to_str().unwrap().to_owned());
        (answer.status().as_u16(), etag)
    };
    let seen = host
        .request(Method::GET, CHOICE, &token)
        .send()
        .await
        .unwrap();
    let none = seen.headers()["etag"].to_str().unwrap().to_owned();
    let (status, denials) = put("denials", &none).await;
    assert_eq!(status, 200);
    assert_eq!(put("all", &none).await, (412, None));
    let denials = denials.unwrap();
    let unchanged = host
        .request(Method::GET, CHOICE, &token)
        .header("if-none-match", &denials);
    assert_eq!(unchanged.send().await.unwrap().status(), 304);
    assert_eq!(put("none", &denials).await.0, 200);
}

#[tokio::test]
async fn every_host_follows_a_choice() {
    let shop = Shop::open().await;
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let open = async |name: &str| {
        let log = shop.folder.path().join(name).display().to_string();
        Host::start_configured(store.clone(), clock.clone(), |config| {
            config.issuer = "https://tillgate.example/".to_owned();
            config.decisions.log = log;
        })
        .await
    };
    let (one, two) = (open("one").await, open("two").await);
    let token = one.token("acme", super::ROLES).await;
    let request = json!({ "items": [{ "id": "bread" }], "context": {} });
    let decided = two
        .send(Method::POST, "/api/v1/evaluations", &token, &request)
        .await;
    assert_eq!(decided.0, 200);
    let chosen = json!({ "decisionLog": "all" });
    assert_eq!(one.send(Method::PUT, CHOICE, &token, &chosen).await.0, 200);
    until("the other host puts decisions on record", async || {
        two.send(Method::POST, "/api/v1/evaluations", &token, &request)
            .await;
        !lines(&shop.folder.path().join("two")).is_empty()
    })
    .await;
    assert_eq!(lines(&shop.folder.path().join("one")), Vec::<Value>::new());
}

#[tokio::test]
async fn a_host_without_a_record_warns_of_tenants_that_want_one() {
    let shop = Shop::configured(|config| config.decisions.log = String::new()).await;
    let ready = async || shop.host.get("/readyz", "").await.1;
    assert_eq!(ready().await.get("warnings"), None);
    shop.choose("denials").await;
    shop.sell("1", 17).await;
    let ready = ready().await;
    assert_eq!(ready["status"], "ready");
    let why = "tenants want their decisions in a log, but this host writes none";
    assert_eq!(
        ready["warnings"]["decision_log"],
        json!({ "count": 1, "why": why })
    );
    assert!(!record_in(&shop.folder).exists());
}

#[tokio::test]
async fn a_tenant_that_has_only_made_a_choice_is_kept_in_memory_like_one_with_data() {
    let shop = Shop::open().await;
    let token = shop.host.token("chosen", super::ROLES).await;
    let chosen = json!({ "decisionLog": "all" });
    let path = "/v1/tenants/chosen/decision-log";
    assert_eq!(
        shop.host.send(Method::PUT, path, &token, &chosen).await.0,
        200
    );
    let held = shop.host.features.conditions.held_tenants();
    for number in 0..4_500 {
        let id = tillgate_base::identity::TenantId::new(&format!("t{number}")).unwrap();
        shop.host.features.conditions.tenant(&id).await.unwrap();
    }
    assert!(held >= 2 && shop.host.features.conditions.held_tenants() <= 2_002 + held);
    let request = json!({ "items": [{ "id": "bread" }], "context": {} });
    let decided = shop
        .host
        .send(Method::POST, "/api/v1/evaluations", &token, &request)
        .await;
    assert_eq!(decided.0, 200);
    let written = shop.on_record().await;
    assert_eq!(written[0]["tenantId"], "chosen");
}
