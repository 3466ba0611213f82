//! The age of reference rates in answers, in `/readyz` and in metrics (`rates.md`, "Guard against slips").

use std::time::Duration;

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tillgate_store::Position;

use super::fixture::{ROLES, Shop};
use crate::support::ecb;
use crate::support::exposition::Scrape;
use crate::support::host::read;
use crate::support::wait::answered;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Imports the rates of Friday, November 20, 2026, at the company.
async fn import(shop: &Shop, line: &str) {
    let path = "/api/v1/reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    let token = shop.host.token(shop.tenant, ROLES).await;
    let request = shop.host.request(Method::POST, path, &token);
    let request = request.header(CONTENT_TYPE, "application/xml");
    let request = request.body(ecb::daily_xml(&ecb::day(line)));
    let (status, answer) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    shop.host.run_due().await;
    // The job that notes the day is in another queue than the import's other jobs.
    shop.host.run_due().await;
}

/// Returns the rates that a unit uses, requested with a token that is valid now.
async fn used(shop: &Shop, unit: &str) -> Vec<Value> {
    let token = shop.host.token(shop.tenant, ROLES).await;
    let path = format!("/api/v1/exchange-rates?businessUnit={unit}");
    let (status, used) = shop.host.get(&path, &token).await;
    assert_eq!(status, 200, "{used}");
    used.as_array().unwrap().clone()
}

/// Returns `FROM/TO asOf age stale` for each rate.
fn rows(used: &[Value]) -> Vec<String> {
    let row = |rate: &Value| {
        format!(
            "{}/{} {} {} {}",
            rate["currencyIdFrom"].as_str().unwrap(),
            rate["currencyIdTo"].as_str().unwrap(),
            rate["asOf"].as_str().unwrap_or("-"),
            rate["ageInBusinessDays"],
            rate["stale"],
        )
    };
    used.iter().map(row).collect()
}

const AGE: &str = "tillgate_reference_rates_business_day_age";
const STALE: &str = "tillgate_reference_rates_stale";

/// Waits until the oldest reference rates are `days` business days old; returns the metrics.
async fn aged(shop: &Shop, days: f64) -> Scrape {
    answered("the age that is wanted", async || {
        let url = format!("{}/metrics", shop.host.url);
        let text = shop.host.http.get(url).send().await.unwrap();
        let text = text.text().await.unwrap();
        let scrape = Scrape::read(&text);
        if scrape.sum(AGE, &[]) == days {
            Ok(scrape)
        } else {
            Err(text)
        }
    })
    .await
}

async fn ready(shop: &Shop) -> Value {
    let request = shop.host.http.get(format!("{}/readyz", shop.host.url));
    let (status, ready) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{ready}");
    ready
}

#[tokio::test]
async fn a_reference_rate_says_how_many_business_days_old_it_is_and_others_do_not() {
    let shop = Shop::with_units().await;
    shop.set("C", "NOK", "EUR", "11.7").await;
    let before = shop.text("exchange-rates?businessUnit=SE-1").await;
    let by_hand = before.trim_matches(['[', ']']);
    import(&shop, "2026-11-20 SEK 11.05").await;
    let text = shop.text("exchange-rates?businessUnit=SE-1").await;
    let parts: Vec<&str> = by_hand.split("},{").collect();
    assert!(
        parts
            .iter()
            .all(|rate| text.contains(rate.trim_matches(['{', '}'])))
    );
    let of = |age: u32, stale: &str| {
        vec![
            "EUR/NOK - null null".to_owned(),
            format!("EUR/SEK 2026-11-20 {age} {stale}"),
            "NOK/EUR - null null".to_owned(),
            format!("SEK/EUR 2026-11-20 {age} {stale}"),
        ]
    };
    for unit in ["SE-1", "SE", "C"] {
        assert_eq!(rows(&used(&shop, unit).await), of(0, "null"), "{unit}");
    }
    assert!(text.contains(r#""setAt":"C","asOf":"2026-11-20","ageInBusinessDays":0}"#));
    // Saturday, Sunday, Monday, Tuesday, Wednesday.
    for (age, stale) in [
        (0, "null"),
        (0, "null"),
        (1, "null"),
        (2, "true"),
        (3, "true"),
    ] {
        shop.clock.advance(DAY);
        for unit in ["SE-1", "SE"] {
            assert_eq!(rows(&used(&shop, unit).await), of(age, stale), "{unit}");
        }
    }
    // The same value, now from Wednesday: nothing is published, but the rate is fresh.
    let mut at = Position::default();
    let messages = shop.messages(&mut at).await;
    assert!(!json!(messages).to_string().contains("asOf"));
    import(&shop, "2026-11-25 SEK 11.05").await;
    assert_eq!(shop.messages(&mut at).await.len(), 0);
    for unit in ["SE-1", "SE"] {
        let now = rows(&used(&shop, unit).await);
        assert_eq!(now[3], "SEK/EUR 2026-11-25 0 null", "{unit}");
    }
    // A conversion with it says so too.
    shop.clock.advance(2 * DAY);
    let token = shop.host.token(shop.tenant, ROLES).await;
    let body = json!({ "businessUnitId": "SE-1", "exchangeRateType": "SALES", "from": "EUR", "to": "SEK", "amount": 100 });
    let path = "/api/v1/exchange-rates/convert";
    let (_, converted) = shop.host.send(Method::POST, path, &token, &body).await;
    assert_eq!(converted["rate"]["stale"], true, "{converted}");
}

#[tokio::test]
async fn an_answer_of_yesterday_is_not_taken_for_todays() {
    let shop = Shop::with_units().await;
    import(&shop, "2026-11-20 SEK 11.05").await;
    let token = shop.host.token(shop.tenant, ROLES).await;
    let path = "/api/v1/exchange-rates?businessUnit=SE-1";
    let request = shop.host.request(Method::GET, path, &token);
    let response = request.send().await.unwrap();
    let etag = response.headers()["etag"].to_str().unwrap().to_owned();
    let with_etag = async || {
        let token = shop.host.token(shop.tenant, ROLES).await;
        let request = shop.host.request(Method::GET, path, &token);
        let request = request.header("if-none-match", &etag);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(with_etag().await, 304);
    shop.clock.advance(2 * DAY);
    assert_eq!(
        with_etag().await,
        304,
        "on Sunday it is as old as on Friday"
    );
    shop.clock.advance(DAY);
    assert_eq!(with_etag().await, 200);
}

#[tokio::test]
async fn rates_that_were_not_renewed_are_a_warning_and_no_reason_not_to_decide() {
    let shop = Shop::with_units().await;
    import(&shop, "2026-11-19 SEK 11.05 RON 4.9").await;
    aged(&shop, 1.0).await;
    assert_eq!(ready(&shop).await.get("warnings"), None);
    // The next document lacks one of the currencies: that rate is stale, the import is not.
    import(&shop, "2026-11-20 SEK 11.05").await;
    aged(&shop, 0.0).await;
    shop.clock.advance(4 * DAY);
    let scrape = aged(&shop, 2.0).await;
    assert_eq!(scrape.sum(STALE, &[]), 1.0);
    let report = ready(&shop).await;
    let expected = json!({ "reference_rates": {
        "count": 1, "why": "business units have reference rates that are two business days old or older",
    } });
    assert_eq!(report["warnings"], expected);
    assert_eq!(report["status"], "ready");
    import(&shop, "2026-11-24 SEK 11.05").await;
    answered("no warning any more", async || {
        let report = ready(&shop).await;
        match report.get("warnings") {
            None => Ok(()),
            Some(warnings) => Err(warnings.to_string()),
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_said_of_rates_that_are_set_by_hand_or_gone() {
    let shop = Shop::with_units().await;
    import(&shop, "2026-11-19 SEK 11.05").await;
    aged(&shop, 1.0).await;
    shop.set("C", "SEK", "EUR", "11").await;
    shop.host.run_due().await;
    aged(&shop, 0.0).await;
    import(&shop, "2026-11-19 SEK 11.05").await;
    aged(&shop, 1.0).await;
    shop.unset("C", "SEK", "EUR").await;
    shop.host.run_due().await;
    aged(&shop, 0.0).await;
}
