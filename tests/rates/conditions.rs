//! Requests about rates: their preconditions, their permissions, and their lines in the audit log.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::Shop;
use crate::support::host::{Program, read};

const RATE: &str = "business-units/C/exchange-rates/SALES/SEK/EUR";

/// Sends a request with one more header; returns the status, entity tag and body.
async fn ask(
    shop: &Shop,
    method: Method,
    path: &str,
    header: (&str, &str),
    body: Value,
) -> (u16, Option<String>, Value) {
    let path = format!("/api/v1/{path}");
    let request = shop.host.request(method, &path, &shop.token);
    let request = request.header(header.0, header.1);
    let request = if body.is_null() {
        request
    } else {
        request.json(&body)
    };
    let response = request.send().await.unwrap();
    let etag = response.headers().get("etag");
    let etag = etag.map(|tag| tag.to_str().unwrap().to_owned());
    let (status, answer) = read(response).await;
    (status, etag, answer)
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    for path in [
        "business-units",
        "business-units/SE",
        "business-units/C/exchange-rates",
        RATE,
        "exchange-rates?businessUnit=SE-1",
        "exchange-rates?businessUnit=C",
    ] {
        let none = ("if-none-match", "\"other\"");
        let (status, etag, _) = ask(&shop, Method::GET, path, none, Value::Null).await;
        assert_eq!(status, 200, "{path}");
        let etag = etag.unwrap();
        let same = ("if-none-match", etag.as_str());
        let (status, again, body) = ask(&shop, Method::GET, path, same, Value::Null).await;
        assert_eq!(
            (status, again.as_ref(), body),
            (304, Some(&etag), Value::Null),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_rate_is_changed_only_as_it_was_seen() {
    let shop = Shop::with_units().await;
    let put = async |header, value: u32| {
        ask(
            &shop,
            Method::PUT,
            RATE,
            header,
            json!({ "rateValue": value }),
        )
        .await
    };
    assert_eq!(put(("if-match", "*"), 10).await.0, 412, "there is none");
    let (status, first, _) = put(("if-none-match", "*"), 10).await;
    assert_eq!(status, 201);
    assert_eq!(put(("if-none-match", "*"), 11).await.0, 412);
    let first = first.unwrap();
    shop.clock.advance(std::time::Duration::from_secs(1));
    let (status, second, _) = put(("if-match", &first), 11).await;
    assert_eq!(status, 200);
    assert_eq!(put(("if-match", &first), 12).await.0, 412);
    let delete = ask(
        &shop,
        Method::DELETE,
        RATE,
        ("if-match", &first),
        Value::Null,
    );
    assert_eq!(delete.await.0, 412);
    let bulk = "business-units/C/exchange-rates";
    let delete = json!({ "delete": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR" }] });
    let refused = ask(
        &shop,
        Method::POST,
        bulk,
        ("if-match", &first),
        delete.clone(),
    );
    assert_eq!(refused.await.0, 412);
    assert_eq!(shop.used("C").await[1], "SEK/EUR 11 11 C");
    let list = ("if-none-match", "\"other\"");
    let (_, list, _) = ask(&shop, Method::GET, bulk, list, Value::Null).await;
    let [list, second] = [list, second].map(Option::unwrap);
    let made = ask(&shop, Method::POST, bulk, ("if-match", &list), delete);
    assert_eq!(made.await.0, 200);
    let gone = ask(
        &shop,
        Method::DELETE,
        RATE,
        ("if-match", &second),
        Value::Null,
    );
    assert_eq!(gone.await.0, 404);
    shop.host.run_due().await;
}

#[tokio::test]
async fn a_change_of_many_rates_answers_the_version_that_the_next_one_must_match() {
    let shop = Shop::with_units().await;
    let bulk = "business-units/C/exchange-rates";
    let set = |value: u32| json!({ "set": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": value }] });
    let post = async |path: &str, header, body| ask(&shop, Method::POST, path, header, body).await;
    let accept = ("accept", "*/*");
    let (status, first, _) = post(bulk, accept, set(10)).await;
    assert_eq!(status, 200);
    let (_, list, _) = ask(&shop, Method::GET, bulk, accept, Value::Null).await;
    assert_eq!(first, list);
    let first = first.unwrap();
    let (_, unchanged, answer) = post(bulk, ("if-match", &first), set(10)).await;
    assert_eq!((unchanged, &answer["unchanged"]), (list, &json!(1)));
    let dry_run = format!("{bulk}?dryRun=true");
    let (status, none, _) = post(&dry_run, accept, set(11)).await;
    assert_eq!((status, none), (200, None));
    // Someone else changes a rate between two requests.
    shop.set("C", "NOK", "EUR", "12").await;
    let (status, _, _) = post(bulk, ("if-match", &first), set(11)).await;
    assert_eq!(status, 412);
    assert_eq!(shop.get(RATE).await.1["rateValue"], 10);
    shop.host.run_due().await;
}

#[tokio::test]
async fn a_unit_is_changed_only_as_it_was_seen() {
    let shop = Shop::with_units().await;
    let path = "business-units/SE-1";
    let body = |name: &str| json!({ "type": "STORE", "parentId": "SE", "name": name });
    let put = async |header, name: &str| ask(&shop, Method::PUT, path, header, body(name)).await;
    assert_eq!(put(("if-none-match", "*"), "Malmö").await.0, 412);
    let (_, etag, _) = ask(&shop, Method::GET, path, ("accept", "*/*"), Value::Null).await;
    let etag = etag.unwrap();
    let (status, renamed, answer) = put(("if-match", &etag), "Malmö").await;
    assert_eq!((status, &answer["name"]), (200, &json!("Malmö")));
    assert_eq!(put(("if-match", &etag), "Lund").await.0, 412);
    let delete = ask(
        &shop,
        Method::DELETE,
        path,
        ("if-match", &etag),
        Value::Null,
    );
    assert_eq!(delete.await.0, 412);
    let renamed = renamed.unwrap();
    // A rate at a unit is not part of the unit itself, but is deleted with it: the list of rates has a separate version.
    let accept = ("accept", "*/*");
    let rates = "business-units/SE-1/exchange-rates";
    let (_, none, _) = ask(&shop, Method::GET, rates, accept, Value::Null).await;
    shop.set("SE-1", "SEK", "EUR", "10").await;
    let unless_set = format!("{path}?ifRatesMatch={}", none.unwrap());
    let if_match = ("if-match", renamed.as_str());
    let (status, _, refused) = ask(&shop, Method::DELETE, &unless_set, if_match, Value::Null).await;
    assert_eq!(
        (status, &refused["detail"]),
        (
            412,
            &json!("the rates set at the unit are not the version that ifRatesMatch names")
        )
    );
    let delete = ask(
        &shop,
        Method::DELETE,
        path,
        ("if-match", &renamed),
        Value::Null,
    );
    assert_eq!(delete.await.0, 204);
    let new = ask(
        &shop,
        Method::PUT,
        path,
        ("if-none-match", "*"),
        body("Malmö"),
    );
    assert_eq!(new.await.0, 201);
    shop.set("SE-1", "SEK", "EUR", "10").await;
    let (_, set, _) = ask(&shop, Method::GET, rates, accept, Value::Null).await;
    let as_set = format!("{path}?ifRatesMatch=W/{}", set.unwrap());
    let deleted = ask(&shop, Method::DELETE, &as_set, accept, Value::Null).await;
    assert_eq!(deleted.0, 204);
}

#[tokio::test]
async fn each_may_do_what_its_role_says() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let tokens = [
        shop.host.token("acme", &["exr.viewer"]).await,
        shop.host.token("acme", &["exr.editor"]).await,
        shop.host.token("acme", &["exr.subscriber"]).await,
    ];
    let convert = json!({ "businessUnitId": "C", "exchangeRateType": "SALES", "from": "EUR", "to": "SEK", "amount": 1 });
    let set = json!({ "set": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 10 }] });
    let unit = json!({ "type": "COMPANY" });
    let history = "exchange-rates/history?businessUnit=C&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR";
    let topic = "topics/cer.public.event.rates-changed.v1?tenantId=zeta";
    // The statuses for a viewer, an editor and a subscriber. A subscriber may not see another tenant's topic either.
    let rows = [
        (
            Method::GET,
            "exchange-rates?businessUnit=C",
            Value::Null,
            [200, 200, 403],
        ),
        (Method::GET, history, Value::Null, [200, 200, 403]),
        (
            Method::POST,
            "exchange-rates/convert",
            convert,
            [200, 200, 403],
        ),
        (
            Method::GET,
            "business-units/C/exchange-rates",
            Value::Null,
            [200, 200, 403],
        ),
        (Method::GET, RATE, Value::Null, [200, 200, 403]),
        (
            Method::PUT,
            RATE,
            json!({ "rateValue": 10 }),
            [403, 200, 403],
        ),
        (
            Method::POST,
            "business-units/C/exchange-rates",
            set,
            [403, 200, 403],
        ),
        (
            Method::DELETE,
            "business-units/C/exchange-rates/SALES/EUR/SEK",
            Value::Null,
            [403, 404, 403],
        ),
        (Method::GET, "business-units", Value::Null, [403, 200, 403]),
        (
            Method::GET,
            "business-units/C",
            Value::Null,
            [403, 200, 403],
        ),
        (Method::PUT, "business-units/C", unit, [403, 200, 403]),
        (
            Method::DELETE,
            "business-units/X",
            Value::Null,
            [403, 404, 403],
        ),
        (
            Method::POST,
            "reference-rates/import",
            Value::Null,
            [403, 400, 403],
        ),
        (
            Method::POST,
            "initial-state",
            json!({ "tenantId": "acme" }),
            [403, 403, 200],
        ),
        (Method::GET, topic, Value::Null, [403, 403, 403]),
    ];
    for (method, path, body, expected) in rows {
        let path = format!("/api/v1/{path}");
        for (token, expected) in tokens.iter().zip(expected) {
            let request = shop.host.request(method.clone(), &path, token);
            let request = if body.is_null() {
                request.header("content-type", "text/csv")
            } else {
                request.json(&body)
            };
            let status = request.send().await.unwrap().status().as_u16();
            assert_eq!(status, expected, "{method} {path}");
        }
        let request = shop
            .host
            .http
            .request(method, format!("{}{path}", shop.host.url));
        assert_eq!(request.send().await.unwrap().status(), 401, "{path}");
    }
    shop.host.run_due().await;
}

#[tokio::test]
async fn every_change_of_rates_has_its_audit_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log) = (folder.path().join("store"), folder.path().join("log"));
    let mut program = Program::serve_logging(&store, &log);
    let operator = std::fs::read(store.join("operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&operator).unwrap();
    let (id, secret) = (
        operator["clientId"].as_str().unwrap(),
        operator["clientSecret"].as_str().unwrap(),
    );
    let http = crate::support::host::client();
    let token = crate::support::host::token(&http, &program.url, id, secret).await;
    let correlation = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    let send = async |method: Method, path: &str, body: &str| {
        let request = http.request(method, format!("{}/api/v1/{path}", program.url));
        let media = if body.starts_with('<') {
            "application/xml"
        } else {
            "application/json"
        };
        let request = request
            .bearer_auth(&token)
            .header("correlation-id", correlation);
        let request = request.header("content-type", media).body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    };
    let (put, post, delete) = (Method::PUT, Method::POST, Method::DELETE);
    let rate = r#"{"rateValue":10}"#;
    let quotes = crate::support::ecb::daily_xml(&crate::support::ecb::day("2026-01-02 USD 1.149"));
    let import = "reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    let asked = [
        send(put.clone(), "business-units/C", r#"{"type":"COMPANY"}"#).await,
        send(put.clone(), "business-units/C", r#"{"type":"COMPANY"}"#).await,
        send(put.clone(), &format!("{RATE}?dryRun=true"), rate).await,
        send(put.clone(), RATE, rate).await,
        send(put.clone(), RATE, rate).await,
        send(put.clone(), RATE, "{}").await,
        send(post.clone(), import, &quotes).await,
        send(post, import, &quotes).await,
        send(delete.clone(), RATE, "").await,
        send(delete.clone(), RATE, "").await,
        send(delete, "business-units/C", "").await,
    ];
    assert_eq!(
        asked,
        [201, 200, 200, 201, 200, 400, 200, 200, 204, 404, 204]
    );
    assert_eq!(program.terminate(), Some(0));
    let written = std::fs::read_to_string(&log).unwrap();
    let lines = written
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["target"] == "audit" && line["fields"]["unit"] == "C");
    let lines: Vec<Value> = lines.map(|line| line["fields"].clone()).collect();
    let actions: Vec<_> = lines
        .iter()
        .map(|line| line["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        [
            "business_unit.put",
            "rates.changed",
            "rates.changed",
            "rates.changed",
            "business_unit.deleted"
        ]
    );
    for line in &lines {
        assert_eq!(line["by"], id);
        assert_eq!(line["correlation"], correlation);
    }
}
