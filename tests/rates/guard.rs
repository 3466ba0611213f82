//! The guard against slips: a rate that moves more than the tolerance is refused, whoever sets it and in whichever
//! way, unless the request accepts it (`rates.md`, "Guard against slips").

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::Position;

use super::fixture::Shop;
use crate::support::ecb;
use crate::support::host::{read, take_modifier};
use crate::support::stores::{Opened, embedded, redis, run};

const SEK: &str = "business-units/C/exchange-rates/SALES/SEK/EUR";
const BULK: &str = "business-units/C/exchange-rates";

fn twenty(config: &mut Config) {
    config.rates.tolerance_percent = 20;
}

/// Starts a shop whose company has 1 EUR = 11.05 SEK and a tolerance of 20 %.
async fn guarded() -> Shop {
    let shop = Shop::configured_with_units(twenty).await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    shop
}

/// Like [`guarded`], on a store.
async fn guarded_on(on: &Opened) -> Shop {
    let shop = Shop::on(on.store.clone(), on.clock.clone(), twenty).await;
    shop.add_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    shop
}

fn rate(from: &str, to: &str, value: f64) -> Value {
    json!({ "exchangeRateType": "SALES", "currencyIdFrom": from, "currencyIdTo": to, "rateValue": value })
}

/// Puts a rate; returns the status, and the deviations in the answer.
async fn put(shop: &Shop, path: &str, value: &str) -> (u16, Value) {
    let body = format!(r#"{{"rateValue":{value}}}"#);
    let (status, answer) = shop.send_text(Method::PUT, path, &body).await;
    shop.host.run_due().await;
    (status, answer["deviations"].clone())
}

/// Returns the deviations of an answer: `FROM/TO old new percent hint`.
fn rows(deviations: &Value) -> Vec<String> {
    let text = |of: &Value| of.as_str().unwrap_or("-").to_owned();
    let row = |it: &Value| {
        let [from, to, hint] =
            ["currencyIdFrom", "currencyIdTo", "hint"].map(|name| text(&it[name]));
        format!(
            "{from}/{to} {} {} {} {hint}",
            it["old"], it["new"], it["percent"]
        )
    };
    deviations.as_array().unwrap().iter().map(row).collect()
}

#[tokio::test]
async fn a_slip_is_refused_with_what_it_looks_like_and_set_when_it_is_meant() {
    slips(guarded().await).await;
}

#[test]
fn a_slip_is_refused_and_set_when_it_is_meant_on_the_embedded_store() {
    run(
        embedded,
        |on| async move { slips(guarded_on(&on).await).await },
    );
}

#[test]
fn a_slip_is_refused_and_set_when_it_is_meant_on_redis() {
    run(
        redis,
        |on| async move { slips(guarded_on(&on).await).await },
    );
}

async fn slips(shop: Shop) {
    let mut at = Position::default();
    shop.messages(&mut at).await;
    let before = shop.text(BULK).await;
    let (status, problem) = shop
        .send(Method::PUT, SEK, &json!({ "rateValue": 110.5 }))
        .await;
    assert_eq!(status, 409);
    let expected = json!([{
        "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR",
        "old": 11.05, "new": 110.5, "percent": 900, "hint": "DECIMAL_POINT",
    }]);
    assert_eq!(problem["deviations"], expected);
    let members = ["type", "title", "status", "detail", "instance", "message"];
    assert!(members.iter().all(|name| !problem[name].is_null()));
    let detail = "would move rates by more than the tolerance: SALES SEK EUR from 11.05 to 110.5 (900 %). \
                  To set them anyway, use acceptDeviation=true";
    assert_eq!(problem["detail"], detail);
    for (value, row) in [
        ("0.090498", "SEK/EUR 11.05 0.090498 -99.181 INVERTED"),
        ("8.8", "SEK/EUR 11.05 8.8 -20.362 -"),
        ("13.260001", "SEK/EUR 11.05 13.260001 20 -"),
    ] {
        let (status, deviations) = put(&shop, SEK, value).await;
        assert_eq!((status, rows(&deviations)), (409, vec![row.to_owned()]));
    }
    assert_eq!(shop.text(BULK).await, before);
    assert_eq!(shop.messages(&mut at).await.len(), 0);
    let accepted = format!("{SEK}?acceptDeviation=true");
    assert_eq!(put(&shop, &accepted, "110.5").await, (200, Value::Null));
    assert_eq!(shop.used("SE-1").await[1], "SEK/EUR 110.5 110.5 C");
}

#[tokio::test]
async fn a_step_within_the_tolerance_a_first_value_and_a_deletion_pass() {
    let shop = guarded().await;
    for value in ["13.26", "10.608", "10.608"] {
        assert_eq!(put(&shop, SEK, value).await.0, 200, "{value}");
    }
    let idr = "business-units/C/exchange-rates/SALES/IDR/EUR";
    assert_eq!(put(&shop, idr, "20274.71").await.0, 201);
    shop.unset("C", "SEK", "EUR").await;
    assert_eq!(put(&shop, SEK, "0.1").await.0, 201, "it is the first again");
}

#[tokio::test]
async fn without_a_tolerance_any_step_is_taken() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    assert_eq!(put(&shop, SEK, "0.000001").await, (200, Value::Null));
}

#[tokio::test]
async fn what_is_set_at_a_shop_is_compared_with_what_it_uses_from_above() {
    let shop = guarded().await;
    let path = "business-units/SE-1/exchange-rates/SALES/SEK/EUR";
    let (status, deviations) = put(&shop, path, "1105").await;
    assert_eq!(status, 409);
    assert_eq!(rows(&deviations), ["SEK/EUR 11.05 1105 9900 DECIMAL_POINT"]);
    let opposite = "business-units/SE-1/exchange-rates/SALES/EUR/SEK";
    let (status, deviations) = put(&shop, opposite, "0.9").await;
    assert_eq!(status, 409);
    let expected = "EUR/SEK 0.090498 0.9 894.4971 DECIMAL_POINT";
    assert_eq!(rows(&deviations), [expected]);
    assert_eq!(put(&shop, path, "11.5").await.0, 201);
    // The company's rate has moved since; the rate that the shop uses has not.
    assert_eq!(put(&shop, SEK, "13").await.0, 200);
    assert_eq!(put(&shop, path, "13.8").await.0, 200);
    assert_eq!(put(&shop, path, "10.9").await.0, 409);
}

#[tokio::test]
async fn a_direction_that_was_set_and_is_computed_from_then_on_is_compared_too() {
    let shop = guarded().await;
    // Both directions are set, with a wide spread.
    let accepted = "business-units/C/exchange-rates/SALES/EUR/SEK?acceptDeviation=true";
    assert_eq!(put(&shop, accepted, "0.05").await.0, 201);
    let path = "business-units/SE-1/exchange-rates/SALES/SEK/EUR";
    let (status, deviations) = put(&shop, path, "11.05").await;
    assert_eq!(status, 409);
    assert_eq!(rows(&deviations), ["EUR/SEK 0.05 0.090498 80.996 -"]);
}

#[tokio::test]
async fn an_opposite_that_rounds_coarsely_is_no_slip() {
    let shop = guarded().await;
    let path = "business-units/C/exchange-rates/SALES/IRR/KWD";
    let used = async |value: &str| {
        let rate = r#""currencyIdFrom":"KWD","currencyIdTo":"IRR","rateValue":"#;
        let used = shop.text("exchange-rates?businessUnit=C").await;
        assert!(used.contains(&format!("{rate}{value},")), "{used}");
    };
    assert_eq!(put(&shop, path, "680000").await.0, 201);
    used("0.000001").await;
    assert_eq!(put(&shop, path, "660000").await.0, 200);
    used("0.000002").await;
}

#[tokio::test]
async fn of_many_rates_all_that_deviate_are_listed_and_none_is_set() {
    let shop = guarded().await;
    let before = shop.text(BULK).await;
    let change = json!({ "set": [
        rate("NOK", "EUR", 11.7), rate("SEK", "EUR", 1.105), rate("EUR", "SEK", 0.9),
    ] });
    let (status, problem) = shop.send(Method::POST, BULK, &change).await;
    assert_eq!(status, 409);
    let expected = [
        "EUR/SEK 0.090498 0.9 894.4971 DECIMAL_POINT",
        "SEK/EUR 11.05 1.105 -90 DECIMAL_POINT",
    ];
    assert_eq!(rows(&problem["deviations"]), expected);
    let dry = format!("{BULK}?dryRun=true");
    let (status, answer) = shop.send(Method::POST, &dry, &change).await;
    assert_eq!(status, 200);
    assert_eq!(rows(&answer["deviations"]), expected);
    assert_eq!(answer["businessUnits"]["affected"], 3, "were it accepted");
    assert_eq!(shop.text(BULK).await, before);
    let dry = format!("{SEK}?dryRun=true");
    let (_, answer) = shop
        .send(Method::PUT, &dry, &json!({ "rateValue": 11 }))
        .await;
    assert_eq!(answer["deviations"], Value::Null, "nothing to list");
    let accepted = format!("{BULK}?acceptDeviation=true");
    let (status, answer) = shop.send(Method::POST, &accepted, &change).await;
    assert_eq!((status, &answer["created"]), (200, &json!(2)), "{answer}");
    shop.host.run_due().await;
}

#[tokio::test]
async fn a_fault_and_an_outdated_version_come_before_a_deviation() {
    let shop = guarded().await;
    let change = json!({ "set": [rate("SEK", "EUR", 110.5), rate("IRR", "EUR", 3_000_000.0)] });
    assert_eq!(shop.send(Method::POST, BULK, &change).await.0, 400);
    let path = format!("/api/v1/{SEK}");
    let request = shop.host.request(Method::PUT, &path, &shop.token);
    let request = request.header("if-match", "\"old\"");
    let request = request.json(&json!({ "rateValue": 110.5 }));
    assert_eq!(read(request.send().await.unwrap()).await.0, 412);
}

#[tokio::test]
async fn the_nearest_tolerance_decides() {
    let shop = guarded().await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let tenant = async |body: Value| {
        let path = "/v1/tenants/acme";
        let (status, answer) = shop.host.send(Method::PUT, path, &operator, &body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    };
    let dry = format!("{SEK}?dryRun=true");
    let passes = async |value: &str| put(&shop, &dry, value).await.1.is_null();
    // The tenant's tolerance replaces the configured one.
    let answer = tenant(json!({ "name": "Acme", "rateTolerancePercent": 7.50 })).await;
    assert_eq!(answer["rateTolerancePercent"], 7.5);
    assert!(passes("11.8").await && !passes("11.9").await);
    tenant(json!({ "rateTolerancePercent": 0 })).await;
    assert!(passes("1105").await, "off for the tenant");
    let answer = tenant(json!({})).await;
    assert_eq!(answer.get("rateTolerancePercent"), None);
    assert!(passes("13").await && !passes("14").await);
    // The unit's replaces the tenant's, and the pair's own beats the general one, in either direction.
    let own = |percent: u32| json!({ "exchangeRateType": "SALES", "currencyIdFrom": "EUR", "currencyIdTo": "SEK", "tolerancePercentage": percent });
    let company = json!({ "type": "COMPANY", "tolerancePercentage": 50, "tolerances": [own(30)] });
    assert_eq!(shop.unit("C", company.clone()).await, 200);
    let mut answered = company;
    answered["id"] = json!("C");
    let (status, mut found) = shop.get("business-units/C").await;
    take_modifier(&mut found);
    assert_eq!((status, found), (200, answered));
    assert!(passes("14").await && !passes("15").await);
    shop.unit("C", json!({ "type": "COMPANY", "tolerancePercentage": 50 }))
        .await;
    assert!(passes("15").await && !passes("17").await);
    // A general one below hides the pair's own above.
    shop.unit("C", json!({ "type": "COMPANY", "tolerances": [own(0)] }))
        .await;
    let group = json!({ "type": "GROUP", "parentId": "C", "tolerancePercentage": 10 });
    shop.unit("SE", group).await;
    assert!(passes("1105").await);
    let path = "business-units/SE-1/exchange-rates/SALES/SEK/EUR?dryRun=true";
    assert!(put(&shop, path, "12.1").await.1.is_null());
    assert!(!put(&shop, path, "12.2").await.1.is_null());
}

#[tokio::test]
async fn a_tolerance_of_a_tenant_that_is_none_is_refused() {
    let shop = guarded().await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    for value in [
        json!(100),
        json!(-1),
        json!("20"),
        json!(0.00001),
        json!([]),
    ] {
        let body = json!({ "rateTolerancePercent": value });
        let path = "/v1/tenants/acme";
        let (status, answer) = shop.host.send(Method::PUT, path, &operator, &body).await;
        assert_eq!(status, 400);
        let message = answer["message"][0].as_str().unwrap();
        assert!(message.starts_with("$.rateTolerancePercent "), "{message}");
    }
}

/// Imports a day at the company, with crosses.
async fn import(shop: &Shop, line: &str, more: &str) -> Value {
    let path = format!(
        "/api/v1/reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB&crosses=true{more}"
    );
    let request = shop.host.request(Method::POST, &path, &shop.token);
    let request = request.header(CONTENT_TYPE, "application/xml");
    let request = request.body(ecb::daily_xml(&ecb::day(line)));
    let (status, answer) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    shop.host.run_due().await;
    answer
}

#[tokio::test]
async fn an_import_leaves_quotes_out_that_deviate_with_their_crosses_and_names_them() {
    let shop = Shop::configured_with_units(twenty).await;
    let first = import(&shop, "2026-11-18 SEK 11 USD 1.1 NOK 12", "").await;
    assert_eq!(first.get("deviations"), None);
    let slipped = "2026-11-19 SEK 110 USD 1.1 NOK 13.2";
    let dry = import(&shop, slipped, "&dryRun=true").await;
    let all = rows(&dry["deviations"]);
    assert!(
        all.contains(&"SEK/EUR 11 110 900 DECIMAL_POINT".to_owned()),
        "{all:?}"
    );
    let answer = import(&shop, slipped, "").await;
    // The quote, and its crosses with USD and NOK in both directions.
    let expected = [
        "NOK/SEK 1.090909 0.12 -89 -",
        "SEK/EUR 11 110 900 DECIMAL_POINT",
        "SEK/NOK 0.916667 8.333333 809.0905 -",
        "SEK/USD 10 100 900 DECIMAL_POINT",
        "USD/SEK 0.1 0.01 -90 DECIMAL_POINT",
    ];
    let found = rows(&answer["deviations"]);
    assert_eq!(
        (&found, &found),
        (&expected.map(str::to_owned).to_vec(), &all)
    );
    assert_eq!(answer["updated"], 3, "NOK in EUR, and with USD both ways");
    assert_eq!(answer["stale"], json!([]), "it is in the document");
    let (_, set) = shop.get(&format!("{BULK}/SALES/SEK/EUR")).await;
    assert_eq!(set["rateValue"], 11);
    let reference = json!({ "source": "ECB", "date": "2026-11-18", "stale": false });
    assert_eq!(set["reference"], reference);
    let (_, set) = shop.get(&format!("{BULK}/SALES/NOK/EUR")).await;
    assert_eq!(set["rateValue"], 13.2);
    // The history does not contain it either.
    let values = async || {
        let (_, history) = shop
            .get("exchange-rates/history?businessUnit=SE-1&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR")
            .await;
        let items = history["items"].as_array().unwrap().clone();
        let value = |item: &Value| item["rateValue"].to_string();
        items.iter().map(value).collect::<Vec<_>>()
    };
    assert_eq!(values().await, ["11"]);
    // The same document still deviates, until it is accepted.
    let again = import(&shop, slipped, "").await;
    assert_eq!(rows(&again["deviations"]), found);
    let accepted = import(&shop, slipped, "&acceptDeviation=true").await;
    assert_eq!(accepted.get("deviations"), None, "nothing is left out");
    assert_eq!(shop.used("SE-1").await[6], "SEK/EUR 110 110 C");
    assert_eq!(values().await, ["11", "110"]);
}

#[tokio::test]
async fn a_cross_that_deviates_alone_is_left_out_in_both_directions() {
    let shop = Shop::configured_with_units(twenty).await;
    import(&shop, "2026-11-18 SEK 11 USD 1.1", "").await;
    // Each quote moves by less than a fifth, but the cross between them by more.
    let answer = import(&shop, "2026-11-19 SEK 12.65 USD 0.935", "").await;
    let found = rows(&answer["deviations"]);
    assert_eq!(found[0], "SEK/USD 10 13.529412 35.2941 -");
    assert_eq!(found[1], "USD/SEK 0.1 0.073913 -26.087 -");
    assert_eq!(found.len(), 2);
    let (_, set) = shop.get(&format!("{BULK}/SALES/USD/SEK")).await;
    assert_eq!(set["rateValue"], 0.1);
    let (_, set) = shop.get(&format!("{BULK}/SALES/USD/EUR")).await;
    assert_eq!(set["rateValue"], 0.935);
}
