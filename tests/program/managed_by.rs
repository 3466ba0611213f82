//! The label that names the program managing a resource: a PUT sets it, GET answers it, and it decides nothing.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::Host;

const ROLES: &[&str] = &["ecs.editor", "exr.editor", "exe.editor", "iam.admin"];
const BEER: &str = "/api/v1/entity-conditions/beer";
const PROJECT: &str = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const SHOP: &str = "/api/v1/business-units/se-001";
const RATES: &str = "/api/v1/business-units/se-001/exchange-rates";
const TEMPLATE: &str = "/v1/tenants/shop/templates/till/1";

/// Sends a body unchanged; returns the status and the raw body of the answer.
async fn put(host: &Host, path: &str, token: &str, body: &str) -> (u16, String) {
    let request = host.request(Method::PUT, path, token);
    let request = request.header("content-type", "application/json");
    let response = request.body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Returns the raw body of a GET, and its entity tag.
async fn get(host: &Host, path: &str, token: &str) -> (String, String) {
    let response = host.request(Method::GET, path, token).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let etag = response.headers()["etag"].to_str().unwrap().to_owned();
    (response.text().await.unwrap(), etag)
}

#[tokio::test]
async fn a_label_of_a_condition_is_answered_and_decides_nothing() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let plain = r#"{"id":"beer","rule":"AGE_RESTRICTION","scope":"TENANT","enabled":true,"condition_value":{"minimum_age":18}}"#;
    let tests = r#","tests":[{"name":"a \",\"managedBy\":\"x\"","request":{"item":{"id":"a"},"context":{}},"expect":{"decision":"SOFT_DENY"}}]}"#;
    let tested = plain.strip_suffix('}').unwrap().to_owned() + tests;
    assert_eq!(
        put(&host, BEER, &token, plain).await,
        (201, plain.to_owned())
    );
    let catalog = get(&host, "/api/v1/catalog", &token).await;
    for unlabelled in [plain, tested.as_str()] {
        let labelled = unlabelled.replacen("18}", r#"18},"managedBy":"acme-rules_1.0""#, 1);
        let sent = labelled.replacen(r#","managedBy":"acme-rules_1.0""#, "", 1);
        let sent = sent.strip_suffix('}').unwrap().to_owned() + r#","managedBy":"acme-rules_1.0"}"#;
        assert_eq!(put(&host, BEER, &token, unlabelled).await.1, unlabelled);
        let with_tests = get(&host, "/api/v1/catalog?tests=true", &token).await;
        let (_, etag) = get(&host, BEER, &token).await;
        assert_eq!(
            put(&host, BEER, &token, &sent).await,
            (200, labelled.clone())
        );
        let (got, labelled_etag) = get(&host, BEER, &token).await;
        assert_eq!(got, labelled);
        assert_ne!(labelled_etag, etag);
        let (list, _) = get(&host, "/api/v1/entity-conditions", &token).await;
        assert_eq!(list, format!("[{labelled}]"));
        assert_eq!(get(&host, "/api/v1/catalog", &token).await, catalog);
        assert_eq!(
            get(&host, "/api/v1/catalog?tests=true", &token).await,
            with_tests
        );
        assert_eq!(
            put(&host, BEER, &token, &got).await.1,
            labelled,
            "a GET's body"
        );
        assert_eq!(
            put(&host, BEER, &token, unlabelled).await,
            (200, unlabelled.to_owned())
        );
    }
}

#[tokio::test]
async fn a_label_of_a_project_is_no_part_of_what_decides() {
    let host = Host::start().await;
    let token = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
    let body = r#"{"managedBy":"a","name":"\"}","restrictions":[{"type":"BLACKLISTEDITEMS","itemIds":["\"managedBy\":\"x\""]}]}"#;
    let (status, stored) = put(&host, PROJECT, &token, body).await;
    assert_eq!(status, 201, "{stored}");
    assert!(
        stored.ends_with(r#""exclusive":false}],"managedBy":"a"}"#),
        "{stored}"
    );
    assert_eq!(get(&host, PROJECT, &token).await.0, stored);
    let (catalog, _) = get(&host, "/api/v1/catalog", &token).await;
    assert!(!catalog.contains(r#","managedBy""#), "{catalog}");
    let request = json!({ "projectId": "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90", "item": { "id": "\"managedBy\":\"x\"" } });
    let decided = host
        .send(
            Method::POST,
            "/api/v1/project-restrictions/evaluate",
            &token,
            &request,
        )
        .await;
    assert_eq!(decided.1["allow"], false, "{}", decided.1);
    let (_, history) = host.get(&format!("{PROJECT}/history"), &token).await;
    assert_eq!(history["items"][0]["after"]["managedBy"], "a", "{history}");
}

#[tokio::test]
async fn a_label_that_is_none_is_named_with_all_other_faults() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let rule = "$.managedBy must be 1 to 64 of A-Z a-z 0-9 . _ -";
    let webhook = json!({ "name": 1, "callbackUrl": "https://a.example", "eventTypes": ["*"], "authentication": { "type": "BEARER" } });
    let template =
        json!({ "softwareId": "till", "softwareVersion": "1", "name": 1, "claimsSchema": {} });
    let rate = json!({ "set": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 1, "managedBy": 1 }] });
    for (method, path, token, body, other) in [
        (
            Method::PUT,
            BEER,
            &token,
            json!({ "rule": "A", "condition_value": {} }),
            "$.rule",
        ),
        (
            Method::PUT,
            PROJECT,
            &token,
            json!({ "name": 1, "restrictions": [] }),
            "$.name",
        ),
        (
            Method::PUT,
            SHOP,
            &token,
            json!({ "type": "STORE" }),
            "$.parentId",
        ),
        (Method::POST, "/api/v1/webhooks", &token, webhook, "$.name"),
        (Method::PUT, TEMPLATE, &token, template, "$.name"),
        (
            Method::PUT,
            "/v1/roles/reader",
            &operator,
            json!({ "permissions": 1 }),
            "$.permissions",
        ),
    ] {
        for label in [
            json!("a b"),
            json!(""),
            json!("a".repeat(65)),
            json!(1),
            json!({}),
        ] {
            let mut body = body.clone();
            body["managedBy"] = label;
            let (status, answer) = host.send(method.clone(), path, token, &body).await;
            assert_eq!(status, 400, "{path}: {answer}");
            let faults = answer["message"].to_string();
            assert!(
                faults.contains(rule) && faults.contains(other),
                "{path}: {faults}"
            );
        }
    }
    let (status, answer) = host.send(Method::POST, RATES, &token, &rate).await;
    assert_eq!(status, 400);
    assert_eq!(
        answer["message"],
        json!(["$.set[0].managedBy must be 1 to 64 of A-Z a-z 0-9 . _ -"])
    );
}

#[tokio::test]
async fn every_resource_has_its_label_until_someone_writes_it_without() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let company = json!({ "type": "COMPANY" });
    let unit = json!({ "type": "STORE", "parentId": "se" });
    let template = json!({ "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {} });
    assert_eq!(
        host.send(Method::PUT, "/api/v1/business-units/se", &token, &company)
            .await
            .0,
        201
    );
    let webhook = json!({ "name": "A", "callbackUrl": "https://a.example", "eventTypes": ["*"], "authentication": { "type": "BEARER" } });
    let created = host
        .send(Method::POST, "/api/v1/webhooks", &token, &webhook)
        .await
        .1;
    let webhook_path = format!("/api/v1/webhooks/{}", created["id"].as_str().unwrap());
    let rate = format!("{RATES}/SALES/SEK/EUR");
    for (path, list, token, body) in [
        (SHOP, "/api/v1/business-units", &token, unit),
        (rate.as_str(), RATES, &token, json!({ "rateValue": 11.5 })),
        (webhook_path.as_str(), "/api/v1/webhooks", &token, webhook),
        (TEMPLATE, "/v1/tenants/shop/templates", &token, template),
        (
            "/v1/roles/reader",
            "/v1/roles",
            &operator,
            json!({ "permissions": ["ecs.condition.read"] }),
        ),
    ] {
        let plain = host.send(Method::PUT, path, token, &body).await;
        assert!(
            plain.0 < 300 && plain.1.get("managedBy").is_none(),
            "{path}: {}",
            plain.1
        );
        let mut labelled = body.clone();
        labelled["managedBy"] = json!("me");
        let (status, answer) = host.send(Method::PUT, path, token, &labelled).await;
        assert_eq!(
            (status, &answer["managedBy"]),
            (200, &json!("me")),
            "{path}: {answer}"
        );
        assert_eq!(host.get(path, token).await.1, answer);
        assert!(
            host.get(list, token)
                .await
                .1
                .to_string()
                .contains(r#""managedBy":"me""#),
            "{list}"
        );
        assert_eq!(host.send(Method::PUT, path, token, &body).await.0, 200);
        assert!(
            host.get(path, token).await.1.get("managedBy").is_none(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn many_rates_have_their_labels_from_one_change_and_used_rates_have_none() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let company = json!({ "type": "COMPANY" });
    assert_eq!(
        host.send(Method::PUT, "/api/v1/business-units/se", &token, &company)
            .await
            .0,
        201
    );
    let unit = json!({ "type": "STORE", "parentId": "se" });
    assert_eq!(host.send(Method::PUT, SHOP, &token, &unit).await.0, 201);
    let rate = |to: &str, managed_by: Value| json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": to, "rateValue": 2, "managedBy": managed_by });
    let set = json!({ "set": [rate("EUR", json!("me")), rate("NOK", Value::Null)] });
    assert_eq!(host.send(Method::POST, RATES, &token, &set).await.0, 200);
    let labels = async || {
        let rates = host.get(RATES, &token).await.1;
        let labels = rates
            .as_array()
            .unwrap()
            .iter()
            .map(|rate| rate["managedBy"].clone());
        labels.collect::<Vec<_>>()
    };
    assert_eq!(labels().await, [json!("me"), Value::Null]);
    let used = host
        .get("/api/v1/exchange-rates?businessUnit=se-001", &token)
        .await
        .1;
    assert!(!used.to_string().contains("managedBy"), "{used}");
    // The same values set by hand: the values and their dates stay, the label goes.
    let set = json!({ "set": [rate("EUR", Value::Null), rate("NOK", json!("me"))] });
    let changed = host.send(Method::POST, RATES, &token, &set).await;
    assert_eq!((changed.0, &changed.1["unchanged"]), (200, &json!(2)));
    assert_eq!(labels().await, [Value::Null, json!("me")]);
}

#[tokio::test]
async fn a_template_is_replaced_where_it_has_not_changed() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let template = |name: &str| {
        json!({ "softwareId": "till", "softwareVersion": "1", "name": name, "claimsSchema": {} })
            .to_string()
    };
    let send = async |precondition: (&str, &str), body: &str| {
        let request = host.request(Method::PUT, TEMPLATE, &token);
        let request = request.header("content-type", "application/json");
        let response = request
            .header(precondition.0, precondition.1)
            .body(body.to_owned())
            .send()
            .await;
        response.unwrap().status().as_u16()
    };
    assert_eq!(send(("if-match", "\"a\""), &template("A till")).await, 412);
    assert_eq!(send(("if-none-match", "*"), &template("A till")).await, 201);
    assert_eq!(send(("if-none-match", "*"), &template("A till")).await, 412);
    let (_, etag) = get(&host, TEMPLATE, &token).await;
    assert_eq!(send(("if-match", &etag), &template("The till")).await, 200);
    assert_eq!(send(("if-match", &etag), &template("A till")).await, 412);
    assert_eq!(host.get(TEMPLATE, &token).await.1["name"], "The till");
    let usage = host.get("/v1/tenants/shop/usage", &token).await.1;
    assert_eq!(usage["templates"]["used"], 1, "{usage}");
    let other = template("A till").replace("\"till\"", "\"tills\"");
    let (status, answer) = put(&host, TEMPLATE, &token, &other).await;
    assert_eq!(status, 400);
    assert!(
        answer.contains("$.softwareId must be that of the path"),
        "{answer}"
    );
    let reader = host.token("shop", &["ecs.editor"]).await;
    assert_eq!(put(&host, TEMPLATE, &reader, &template("A")).await.0, 403);
}
