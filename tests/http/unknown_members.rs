//! Unknown members of a body are not ignored: a request that has one is refused and changes nothing, and the answer
//! names the member that may be meant, unless the request or the settings say otherwise.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::UnknownMembers;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use crate::support::host::{Host, read};

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const UNIT: &str = "/api/v1/business-units/C";
const BASKETS: &str = "/api/v1/evaluations";

/// Starts a host; returns it with an operator's token and the token of a tenant's client that may do everything.
async fn open() -> (Host, String, String) {
    let host = Host::start().await;
    let platform = host.app.config.platform_tenant.clone();
    let operator = host.token(&platform, &["platform.operator"]).await;
    let roles = [
        "ecs.editor",
        "ecs.evaluator",
        "exe.editor",
        "exe.publisher",
        "exr.editor",
        "iam.admin",
    ];
    let tenant = host.token("shop", &roles).await;
    (host, operator, tenant)
}

/// Method, path, a body with a misspelled member, and the message about it.
fn misspelled() -> Vec<(Method, String, Value, &'static str)> {
    let hook = |more: Value| {
        let mut hook = json!({
            "name": "ERP", "callbackUrl": "https://erp.example/hook", "eventTypes": ["*"], "authentication": { "type": "BEARER" },
        });
        hook.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        hook
    };
    let rate = json!({
        "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 11, "managedby": "me",
    });
    let software = json!({ "softwareId": "till", "softwareVersion": "1" });
    let template = json!({ "name": "Till", "claimsSchema": {}, "role": [] });
    let statement = json!({ "usingGlobalTemplate": true, "autoAprove": true });
    let of_software = |more: &Value| {
        let mut all = software.clone();
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let path = str::to_owned;
    let webhooks = || path("/api/v1/webhooks");
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 }, "enabeld": false });
    let project = json!({ "restrictions": [{ "type": "BLACKLISTEDITEMS", "itemIds": ["a"], "exclusiv": true }] });
    vec![
        (
            Method::POST,
            path(BASKETS),
            json!({ "items": [{ "id": "beer", "conditionId": ["alcohol"] }], "context": {} }),
            "$.items[0].conditionId is unknown: is conditionIds meant?",
        ),
        (
            Method::PUT,
            path("/api/v1/entity-conditions/alcohol"),
            condition,
            "$.enabeld is unknown: is enabled meant?",
        ),
        (
            Method::PUT,
            format!("/api/v1/projects/{PROJECT}"),
            project,
            "$.restrictions[0].exclusiv is unknown: is exclusive meant?",
        ),
        (
            Method::PUT,
            path(UNIT),
            json!({ "type": "COMPANY", "markupPercent": 2 }),
            "$.markupPercent is unknown: is markupPercentage meant?",
        ),
        (
            Method::PUT,
            format!("{UNIT}/exchange-rates/SALES/SEK/EUR"),
            json!({ "rateValue": 11, "currencyIdFrom": "NOK" }),
            "$.currencyIdFrom must be that of the path",
        ),
        (
            Method::POST,
            format!("{UNIT}/exchange-rates"),
            json!({ "set": [rate] }),
            "$.set[0].managedby is unknown: is managedBy meant?",
        ),
        (
            Method::POST,
            path("/api/v1/exchange-rates/convert"),
            json!({
                "businessUnitId": "C", "exchangeRateType": "SALES", "from": "EUR", "to": "SEK", "amount": 1, "withMarkups": true,
            }),
            "$.withMarkups is unknown: is withMarkup meant?",
        ),
        (
            Method::POST,
            webhooks(),
            hook(json!({ "filters": [] })),
            "$.filters is unknown: is filter meant?",
        ),
        (
            Method::POST,
            webhooks(),
            hook(json!({ "filter": [{ "path": "$.type", "in": ["a"], "not": true }] })),
            "$.filter[0].not is unknown",
        ),
        (
            Method::POST,
            webhooks(),
            hook(json!({ "authentication": { "type": "BASIC", "username": "u", "pasword": "p" } })),
            "$.authentication.pasword is unknown: is password meant?",
        ),
        (
            Method::POST,
            path("/api/v1/events"),
            json!({ "type": "sales.events.v1", "data": {}, "tenantid": "other" }),
            "$.tenantid is unknown: is tenantId meant?",
        ),
        (
            Method::POST,
            path("/api/v1/deliveries/replay"),
            json!({ "webhookID": "x" }),
            "$.webhookID is unknown: is webhookId meant?",
        ),
        (
            Method::POST,
            path("/v1/tenants/shop/templates"),
            of_software(&template),
            "$.role is unknown: is roles meant?",
        ),
        (
            Method::POST,
            path("/v1/tenants/shop/software-statements"),
            of_software(&statement),
            "$.autoAprove is unknown: is autoApprove meant?",
        ),
        (
            Method::PUT,
            path("/v1/tenants/shop/decision-log"),
            json!({ "decisionLog": "all", "until": "tomorrow" }),
            "$.until is unknown",
        ),
    ]
}

#[tokio::test]
async fn a_misspelled_member_is_refused_with_the_one_that_is_meant_and_nothing_is_changed() {
    let (host, _, tenant) = open().await;
    let company = json!({ "type": "COMPANY" });
    assert_eq!(host.send(Method::PUT, UNIT, &tenant, &company).await.0, 201);
    for (method, path, body, expected) in misspelled() {
        let before = (method == Method::PUT).then_some(&path);
        let earlier = match before {
            Some(path) => Some(host.get(path, &tenant).await),
            None => None,
        };
        let (status, problem) = host.send(method, &path, &tenant, &body).await;
        assert_eq!(status, 400, "{path}: {problem}");
        assert_eq!(problem["message"], json!([expected]), "{path}");
        if let (Some(path), Some(earlier)) = (before, earlier) {
            let (status, now) = host.get(path, &tenant).await;
            assert_eq!(status, earlier.0, "{path}");
            if status == 200 {
                assert_eq!(now, earlier.1, "{path}");
            }
        }
    }
    let (_, webhooks) = host.get("/api/v1/webhooks", &tenant).await;
    assert_eq!(webhooks, json!([]));
}

#[tokio::test]
async fn an_answer_may_be_sent_back() {
    let (host, operator, tenant) = open().await;
    let rate = format!("{UNIT}/exchange-rates/SALES/SEK/EUR");
    let project = format!("/api/v1/projects/{PROJECT}");
    let hook = json!({
        "name": "ERP", "callbackUrl": "https://erp.example/hook", "eventTypes": ["*"], "sharedKey": "generate",
        "authentication": { "type": "BASIC", "username": "u", "password": "p" }, "filter": [{ "path": "$.type", "in": ["a"] }],
    });
    let (status, made) = host
        .send(Method::POST, "/api/v1/webhooks", &tenant, &hook)
        .await;
    assert_eq!(status, 201, "{made}");
    let webhook = format!("/api/v1/webhooks/{}", made["id"].as_str().unwrap());
    let template = json!({
        "softwareId": "till", "softwareVersion": "1", "name": "Till", "claimsSchema": {}, "roles": [],
    });
    for (path, token, body) in [
        (
            "/api/v1/entity-conditions/beer",
            &tenant,
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } }),
        ),
        (&project, &tenant, json!({ "restrictions": [] })),
        (
            UNIT,
            &tenant,
            json!({ "type": "COMPANY", "name": "Company" }),
        ),
        (&rate, &tenant, json!({ "rateValue": 11.05 })),
        (&webhook, &tenant, hook),
        (
            "/v1/roles/cashier",
            &operator,
            json!({ "permissions": ["ecs.condition.read"] }),
        ),
        ("/v1/tenants/acme", &operator, json!({ "name": "Acme" })),
        ("/v1/tenants/shop/templates/till/1", &tenant, template),
        (
            "/v1/tenants/shop/decision-log",
            &tenant,
            json!({ "decisionLog": "all" }),
        ),
    ] {
        let (status, answer) = host.send(Method::PUT, path, token, &body).await;
        assert!(matches!(status, 200 | 201), "{path}: {answer}");
        let got = match path == rate {
            // A rate has no path for reading it.
            true => host.get(&format!("{UNIT}/exchange-rates"), token).await.1[0].clone(),
            false => host.get(path, token).await.1,
        };
        let (status, answer) = host.send(Method::PUT, path, token, &got).await;
        assert_eq!(status, 200, "{path}: {got}: {answer}");
    }
}

#[tokio::test]
async fn a_request_may_ask_for_what_is_not_known_to_be_ignored() {
    let (host, _, tenant) = open().await;
    let body = json!({ "items": [{ "id": "beer", "price": 3 }], "context": {}, "till": 4 });
    for (prefer, status, applied) in [
        ("handling=lenient", 200, Some("handling=lenient")),
        (
            "respond-async, Handling = \"lenient\"; x=1",
            200,
            Some("handling=lenient"),
        ),
        ("handling=strict", 400, Some("handling=strict")),
        ("handling=lenientt", 400, None),
        ("return=minimal", 400, None),
    ] {
        let request = host
            .request(Method::POST, &format!("{BASKETS}?explain=true"), &tenant)
            .header("prefer", prefer);
        let response = request.json(&body).send().await.unwrap();
        let header = response.headers().get("preference-applied").cloned();
        let header = header.map(|value| value.to_str().unwrap().to_owned());
        let (got, answer) = read(response).await;
        assert_eq!(got, status, "{prefer}: {answer}");
        assert_eq!(header.as_deref(), applied, "{prefer}");
    }
    let lenient = async |path: &str, body: Value| {
        let request = host
            .request(Method::PUT, path, &tenant)
            .header("prefer", "handling=lenient");
        read(request.json(&body).send().await.unwrap()).await
    };
    let (status, unit) = lenient(
        &format!("{UNIT}?color=red"),
        json!({ "type": "COMPANY", "colour": 1 }),
    )
    .await;
    assert_eq!(status, 201, "{unit}");
    assert_eq!(unit.get("colour"), None);
    // A rule is never understood in part.
    let restriction =
        json!({ "type": "BLACKLISTEDITEMS", "itemIds": ["a"], "until": "2027-01-01" });
    let (status, problem) = lenient(
        &format!("/api/v1/projects/{PROJECT}"),
        json!({ "restrictions": [restriction] }),
    )
    .await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!(["$.restrictions[0].until is unknown"])
    );
    let condition = json!({
        "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 }, "owner": "me",
        "tests": [{ "name": "a", "request": { "item": { "id": "a", "price": 1 }, "context": {} }, "expect": { "decision": "SOFT_DENY" } }],
    });
    let (status, problem) = lenient("/api/v1/entity-conditions/beer", condition).await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!(["$.tests[0].request.item.price is unknown"])
    );
}

#[tokio::test]
async fn the_settings_may_ignore_unknown_members_and_a_request_may_ask_for_errors() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock, |config| {
        config.http.unknown_members = UnknownMembers::Ignore;
    });
    let host = host.await;
    let token = host.token("shop", &["ecs.evaluator"]).await;
    let body = json!({ "items": [{ "id": "beer", "price": 3 }], "context": {} });
    let (status, answer) = host.send(Method::POST, BASKETS, &token, &body).await;
    assert_eq!(status, 200, "{answer}");
    let request = host
        .request(Method::POST, BASKETS, &token)
        .header("prefer", "handling=strict");
    let (status, problem) = read(request.json(&body).send().await.unwrap()).await;
    assert_eq!(status, 400);
    assert_eq!(problem["message"], json!(["$.items[0].price is unknown"]));
}
