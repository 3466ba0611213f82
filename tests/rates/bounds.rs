//! Extreme but valid cases: the maximum number of rates, levels that repeat them, a shop that fails, and quotas.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_engine::rate::Currency;
use tillgate_store::clock::{StoppedClock, SystemClock};
use tillgate_store::{MemoryStore, Position};

use super::fixture::{NOON, ROLES, Shop};
use crate::support::host::Host;

fn currencies() -> Vec<String> {
    let letters = || 'A'..='Z';
    let codes = letters().flat_map(|a| letters().map(move |b| (a, b)));
    let codes = codes.flat_map(|(a, b)| letters().map(move |c| format!("{a}{b}{c}")));
    codes.filter(|code| Currency::parse(code).is_ok()).collect()
}

/// Returns `count` rates of distinct pairs.
fn rates(count: usize, value: &str) -> Vec<Value> {
    let (currencies, mut rates) = (currencies(), Vec::new());
    let value: Value = serde_json::from_str(value).unwrap();
    for exchange_rate_type in ["SALES", "PURCHASE", "INTERCOMPANY"] {
        for (at, from) in currencies.iter().enumerate() {
            for to in &currencies[at + 1..] {
                rates.push(json!({
                    "exchangeRateType": exchange_rate_type, "currencyIdFrom": from, "currencyIdTo": to, "rateValue": value,
                }));
            }
        }
    }
    assert!(rates.len() > count);
    rates.truncate(count);
    rates
}

/// Sets rates at a unit, a thousand at a time; returns the last status and answer.
async fn set_many(shop: &Shop, unit: &str, rates: &[Value]) -> (u16, Value) {
    let path = format!("business-units/{unit}/exchange-rates");
    let mut answer = (200, Value::Null);
    for set in rates.chunks(1_000) {
        let body = json!({ "set": set });
        answer = shop.send(Method::POST, &path, &body).await;
        shop.host.run_due().await;
    }
    answer
}

#[tokio::test]
async fn levels_that_repeat_ten_thousand_rates_are_computed_and_a_shop_uses_at_most_twenty_thousand()
 {
    let shop = Shop::start().await;
    let most = rates(10_000, "2");
    shop.unit("L0", json!({ "type": "COMPANY" })).await;
    for level in 0..4 {
        if level > 0 {
            let parent = format!("L{}", level - 1);
            let id = format!("L{level}");
            shop.unit(&id, json!({ "type": "GROUP", "parentId": parent }))
                .await;
        }
        let (status, answer) = set_many(&shop, &format!("L{level}"), &most).await;
        assert_eq!(status, 200, "{answer}");
    }
    let below = json!({ "type": "STORE", "parentId": "L3", "markupPercentage": 10 });
    assert_eq!(shop.unit("S", below).await, 201);
    let (_, used) = shop.get("exchange-rates?businessUnit=S").await;
    let used = used.as_array().unwrap();
    assert_eq!(used.len(), 20_000);
    let key = |rate: &Value| {
        ["exchangeRateType", "currencyIdFrom", "currencyIdTo"]
            .map(|name| rate[name].as_str().unwrap().to_owned())
    };
    assert!(used.is_sorted_by_key(key), "by type, source and target");
    assert!(used.iter().all(|rate| rate["setAt"] == "L3"));
    let (_, seen_below) = shop.get("exchange-rates?businessUnit=L3").await;
    assert_eq!(seen_below.as_array().map(Vec::len), Some(20_000));
    // A change at the top reaches no shop, because the nearest level decides. A change at the lowest level reaches the
    // shop.
    let mut at = Position::default();
    shop.messages(&mut at).await;
    assert_eq!(set_many(&shop, "L0", &rates(1, "3")).await.0, 200);
    assert_eq!(shop.messages(&mut at).await.len(), 0);
    assert_eq!(set_many(&shop, "L3", &rates(1, "4")).await.0, 200);
    let messages = shop.messages(&mut at).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(
        messages[0]["updatedRates"].as_array().map(Vec::len),
        Some(2),
        "{}",
        messages[0]
    );
    let one_more = &rates(10_001, "2")[10_000..];
    let too_many = |unit: &str| {
        format!("{unit} would use 20002 rates, but a business unit may use at most 20000")
    };
    let (status, answer) = set_many(&shop, "S", one_more).await;
    assert_eq!(
        (status, answer["detail"].as_str()),
        (409, Some(&*too_many("S")))
    );
}

#[tokio::test]
async fn a_unit_above_sets_no_pair_that_is_too_much_for_a_shop_below() {
    let shop = Shop::start().await;
    shop.unit("C", json!({ "type": "COMPANY" })).await;
    shop.unit("S", json!({ "type": "STORE", "parentId": "C" }))
        .await;
    let all = rates(10_001, "2");
    assert_eq!(set_many(&shop, "S", &all[..6_000]).await.0, 200);
    assert_eq!(set_many(&shop, "C", &all[2_000..10_000]).await.0, 200);
    let (status, answer) = set_many(&shop, "C", &all[10_000..]).await;
    let detail = "S would use 20002 rates, but a business unit may use at most 20000";
    assert_eq!((status, answer["detail"].as_str()), (409, Some(detail)));
    assert_eq!(shop.used("S").await.len(), 20_000);
}

#[tokio::test]
async fn a_shop_that_fails_is_named_and_holds_up_no_other() {
    let shop = Shop::start().await;
    shop.unit("C", json!({ "type": "COMPANY" })).await;
    shop.set("C", "SEK", "EUR", "10").await;
    for number in 0..40 {
        let id = format!("S{number:02}");
        shop.unit(&id, json!({ "type": "STORE", "parentId": "C" }))
            .await;
    }
    shop.set("S07", "USD", "EUR", "2").await;
    // The shop's record is damaged, as by a disk.
    let tenant = TenantId::new(shop.tenant).unwrap();
    let records = shop.host.app.records(tenant.partition());
    let mut damage = Change::default();
    damage.put_bytes("used-rates/shop/S07", "not what it was".into());
    records.commit(damage).await.unwrap();
    let mut at = Position::default();
    shop.messages(&mut at).await;
    let path = "business-units/C/exchange-rates";
    let set = json!({ "set": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 11 }] });
    let (status, answer) = shop.send(Method::POST, path, &set).await;
    assert_eq!(status, 200, "{answer}");
    // The fault may be temporary, so the job is tried again.
    for _ in 0..4 {
        shop.clock.advance(Duration::from_secs(3600));
        shop.host.run_due().await;
    }
    assert_eq!(shop.messages(&mut at).await.len(), 39);
    let change = answer["correlationId"].as_str().unwrap();
    let token = shop.host.token(shop.tenant, ROLES).await;
    let path = format!("/api/v1/exchange-rates/changes/{change}");
    let (_, progress) = shop.host.get(&path, &token).await;
    assert_eq!(progress["state"], "DONE");
    assert_eq!(progress["failed"], json!(["S07"]));
    assert_eq!(
        progress["businessUnits"],
        json!({ "total": 40, "done": 40, "published": 39 })
    );
}

async fn host(configure: impl FnOnce(&mut Config)) -> Host {
    let clock = Arc::new(StoppedClock::at(NOON));
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    Host::start_configured(store, clock, configure).await
}

#[tokio::test]
async fn a_tenant_has_so_many_units_and_rates_and_no_more() {
    let host = host(|config| {
        (config.quotas.business_units, config.quotas.exchange_rates) = (20, 2);
    })
    .await;
    let token = host.token("acme", ROLES).await;
    let put = async |id: String| {
        let path = format!("/api/v1/business-units/{id}");
        host.send(Method::PUT, &path, &token, &json!({ "type": "COMPANY" }))
            .await
    };
    let statuses = join_all((0..100).map(|number| put(format!("C{number}")))).await;
    let created = statuses.iter().filter(|(status, _)| *status == 201).count();
    assert_eq!(created, 20);
    let refused: Vec<_> = statuses
        .iter()
        .filter(|(status, _)| *status != 201)
        .collect();
    let detail = "a tenant may have at most 20 business units";
    assert!(
        refused
            .iter()
            .all(|(status, answer)| *status == 409 && answer["detail"] == detail)
    );
    let (_, units) = host.get("/api/v1/business-units", &token).await;
    let first = units[0]["id"].as_str().unwrap().to_owned();
    let rate = |to: &str| format!("/api/v1/business-units/{first}/exchange-rates/SALES/SEK/{to}");
    let set = async |to: &str| {
        host.send(Method::PUT, &rate(to), &token, &json!({ "rateValue": 2 }))
            .await
    };
    assert_eq!(set("EUR").await.0, 201);
    assert_eq!(set("USD").await.0, 201);
    let (status, answer) = set("NOK").await;
    assert_eq!(
        (status, answer["detail"].as_str()),
        (409, Some("a tenant may have at most 2 exchange rates"))
    );
    assert_eq!(set("USD").await.0, 200, "it is replaced");
    let admin = host.token("acme", &["iam.admin"]).await;
    let usage = async || host.get("/v1/tenants/acme/usage", &admin).await.1;
    let before = usage().await;
    assert_eq!(before["businessUnits"], json!({ "used": 20, "quota": 20 }));
    assert_eq!(before["exchangeRates"], json!({ "used": 2, "quota": 2 }));
    assert_eq!(
        before["businessUnitBytes"]["used"],
        20 * r#"{"type":"COMPANY"}"#.len()
    );
    let path = format!("/api/v1/business-units/{first}");
    let (status, _) = host.send(Method::DELETE, &path, &token, &Value::Null).await;
    assert_eq!(status, 204);
    let after = usage().await;
    assert_eq!(
        (
            &after["businessUnits"]["used"],
            &after["exchangeRates"]["used"]
        ),
        (&json!(19), &json!(0))
    );
    assert_eq!(put("another".to_owned()).await.0, 201);
}

#[tokio::test]
async fn the_list_of_units_comes_in_pages_and_whole_only_up_to_16_mib() {
    let shop = Shop::with_units().await;
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|unit| unit["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (mut all, mut next) = (Vec::new(), Some("limit=2".to_owned()));
    while let Some(query) = next {
        let (status, page) = shop.get(&format!("business-units?{query}")).await;
        assert_eq!(status, 200, "{page}");
        assert!((1..=2).contains(&ids(&page).len()), "{page}");
        all.extend(ids(&page));
        next = page["next"]
            .as_str()
            .map(|next| format!("limit=2&cursor={next}"));
    }
    assert_eq!(all, ["C", "C-1", "SE", "SE-1", "SE-2"]);
    for query in ["limit=0", "limit=1001", "cursor=a%20b"] {
        assert_eq!(
            shop.get(&format!("business-units?{query}")).await.0,
            400,
            "{query}"
        );
    }
    let markups: Vec<Value> = rates(1_000, "1")
        .into_iter()
        .map(|rate| {
            let mut markup = rate;
            markup.as_object_mut().unwrap().remove("rateValue");
            markup["markupPercentage"] = json!(1.2345);
            markup
        })
        .collect();
    let body = json!({ "type": "COMPANY", "markups": markups });
    let one = body.to_string().len();
    for number in 0..=(16 << 20) / one {
        let path = format!("business-units/M{number}");
        assert_eq!(shop.send(Method::PUT, &path, &body).await.0, 201);
    }
    let (status, answer) = shop.get("business-units").await;
    let message = "$.limit is required: the list is larger than 16 MiB and must be read in pages";
    assert_eq!(
        (status, answer["message"][0].as_str()),
        (400, Some(message))
    );
    let (status, page) = shop.get("business-units?limit=1000").await;
    assert_eq!(status, 200);
    let count = ids(&page).len();
    assert!(
        (5..1_000).contains(&count),
        "a page of large units has fewer: {count}"
    );
    assert_eq!(page["next"], json!(ids(&page).last()));
}
