//! The rates that a unit used over time: exact through changes of rates, markups and places, for as long as history is
//! kept.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::Shop;
use crate::support::stores::{self, Opened};
use crate::support::{ecb, host};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the history of a unit's SEK/EUR: `at value value-with-markup set-at`, or `at -`.
async fn values(shop: &Shop, unit: &str, more: &str) -> Vec<String> {
    page(shop, unit, more).await.0
}

async fn page(shop: &Shop, unit: &str, more: &str) -> (Vec<String>, Option<String>) {
    let token = shop.host.token(shop.tenant, super::fixture::ROLES).await;
    let path = format!(
        "/api/v1/exchange-rates/history?businessUnit={unit}&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR{more}"
    );
    let (status, answer) = shop.host.get(&path, &token).await;
    assert_eq!(status, 200, "{answer}");
    let items = answer["items"].as_array().unwrap().iter().map(|item| {
        let at = &item["at"].as_str().unwrap()[..16];
        match item["setAt"].as_str() {
            None => format!("{at} -"),
            Some(set_at) => {
                let (value, with_markup) = (&item["rateValue"], &item["rateValueWithMarkup"]);
                format!("{at} {value} {with_markup} {set_at}")
            }
        }
    });
    (items.collect(), answer["next"].as_str().map(str::to_owned))
}

/// A shop whose clock moves one minute with every change.
struct Minutes(Shop);

impl Minutes {
    fn next(&self) -> &Shop {
        self.0.clock.advance(Duration::from_secs(60));
        &self.0
    }
}

#[tokio::test]
async fn values_follow_rates_markups_moves_and_removals() {
    let minutes = Minutes(Shop::with_units().await);
    let shop = &minutes.0;
    let group =
        |markup: u32| json!({ "type": "GROUP", "parentId": "C", "markupPercentage": markup });
    minutes.next().set("C", "SEK", "EUR", "10").await;
    minutes.next().unit("SE", group(10)).await;
    minutes.next().set("SE-1", "EUR", "SEK", "0.2").await;
    minutes.next().set("C", "SEK", "EUR", "11").await;
    minutes.next().unset("SE-1", "EUR", "SEK").await;
    minutes
        .next()
        .unit("SE-1", json!({ "type": "STORE", "parentId": "C" }))
        .await;
    minutes.next().unset("C", "SEK", "EUR").await;
    minutes.next().set("C", "SEK", "EUR", "12").await;
    assert_eq!(
        values(shop, "SE-1", "").await,
        [
            "2026-11-20T12:01 10 10 C",
            "2026-11-20T12:02 10 9 C",
            "2026-11-20T12:03 5 4.5 SE-1",
            // No row at 12:04, because the shop has its own rate.
            "2026-11-20T12:05 11 9.9 C",
            "2026-11-20T12:06 11 11 C",
            "2026-11-20T12:07 -",
            "2026-11-20T12:08 12 12 C",
        ]
    );
    assert_eq!(
        values(shop, "SE-2", "").await,
        [
            "2026-11-20T12:01 10 10 C",
            "2026-11-20T12:02 10 9 C",
            "2026-11-20T12:04 11 9.9 C",
            "2026-11-20T12:07 -",
            "2026-11-20T12:08 12 10.8 C",
        ]
    );
    assert_eq!(values(shop, "C", "").await.len(), 4);
    let since = values(shop, "SE-1", "&since=2026-11-20T12:04:30Z").await;
    assert_eq!(
        since[..2],
        ["2026-11-20T12:04 5 4.5 SE-1", "2026-11-20T12:05 11 9.9 C"]
    );
    let since = values(shop, "SE-1", "&since=2026-11-20T12:07:30Z").await;
    assert_eq!(
        since,
        ["2026-11-20T12:08 12 12 C"],
        "there was none at that time"
    );
    let since = values(shop, "SE-1", "&since=2026-11-20T13:00:00%2B00:00").await;
    assert_eq!(since, ["2026-11-20T13:00 12 12 C"]);
    assert_eq!(values(shop, "SE-1", "&since=2026-11-20").await.len(), 7);
}

#[test]
fn values_say_who_has_changed_them_and_why_in_memory() {
    stores::run(stores::memory, values_say_who_has_changed_them_and_why);
}

#[test]
fn values_say_who_has_changed_them_and_why_in_sqlite() {
    stores::run(stores::embedded, values_say_who_has_changed_them_and_why);
}

#[test]
fn values_say_who_has_changed_them_and_why_in_redis() {
    stores::run(stores::redis, values_say_who_has_changed_them_and_why);
}

async fn values_say_who_has_changed_them_and_why(on: Opened) {
    let minutes = Minutes(Shop::on(on.store.clone(), on.clock.clone(), |_| ()).await);
    let shop = &minutes.0;
    shop.add_units().await;
    let client = async || {
        let client = shop.host.client(shop.tenant, super::fixture::ROLES).await;
        let (http, url) = (&shop.host.http, &shop.host.url);
        let token = host::token(http, url, &client.client_id, client.client_secret.reveal()).await;
        (client.client_id, token)
    };
    let ((anna, annas), (ben, bens)) = (client().await, client().await);
    let rate = "business-units/C/exchange-rates/SALES/SEK/EUR";
    let send = async |method: Method, path: &str, token: &str, body: Value| {
        let path = format!("/api/v1/{path}");
        let (status, answer) = minutes.next().host.send(method, &path, token, &body).await;
        shop.host.run_due().await;
        assert!(matches!(status, 200 | 201 | 400), "{answer}");
        status
    };
    let value = |value: u32| json!({ "rateValue": value });
    send(Method::PUT, rate, &annas, value(10)).await;
    let path = format!("{rate}?note=Inflation");
    send(Method::PUT, &path, &bens, value(11)).await;
    // A change of the name changes no rate.
    let named = json!({ "type": "COMPANY", "name": "All" });
    send(Method::PUT, "business-units/C", &annas, named).await;
    let markup = json!({ "type": "STORE", "parentId": "SE", "markupPercentage": 10 });
    let path = "business-units/SE-2?note=Rent";
    send(Method::PUT, path, &annas, markup).await;
    let deleted =
        json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR" });
    let path = "business-units/C/exchange-rates?note=Closed";
    let bulk = json!({ "delete": [deleted] });
    send(Method::POST, path, &annas, bulk).await;
    let path = format!("{rate}?note=a%0Ab");
    assert_eq!(send(Method::PUT, &path, &bens, value(9)).await, 400);
    let said = async |unit: &str, more: &str| {
        let path = format!(
            "/api/v1/exchange-rates/history?businessUnit={unit}&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR{more}"
        );
        let (status, answer) = shop.host.get(&path, &annas).await;
        assert_eq!(status, 200, "{answer}");
        let items = answer["items"].as_array().unwrap().iter().map(|item| {
            let by = item["by"]["clientId"].as_str();
            let who = match by {
                Some(id) if id == anna => "Anna",
                Some(id) if id == ben => "Ben",
                _ => "-",
            };
            format!("{who} {}", item["note"].as_str().unwrap_or("-"))
        });
        items.collect::<Vec<_>>()
    };
    assert_eq!(
        said("SE-1", "").await,
        ["Anna -", "Ben Inflation", "Anna Closed"]
    );
    assert_eq!(
        said("SE-2", "").await,
        ["Anna -", "Ben Inflation", "Anna Rent", "Anna Closed"]
    );
    // A value that is older than the requested period is nobody's change.
    assert_eq!(
        said("SE-1", "&since=2026-01-01T00:01:30Z").await,
        ["- -", "Ben Inflation", "Anna Closed"]
    );
}

#[tokio::test]
async fn pages_follow_each_other_without_a_gap_or_a_repeat() {
    let minutes = Minutes(Shop::with_units().await);
    for value in 1..=9 {
        minutes
            .next()
            .set("C", "SEK", "EUR", &value.to_string())
            .await;
        if value == 5 {
            minutes.next().unset("C", "SEK", "EUR").await;
        }
    }
    let all = values(&minutes.0, "SE-1", "").await;
    assert_eq!(all.len(), 10);
    for limit in 1..=11 {
        let (mut paged, mut next) = (Vec::new(), None);
        loop {
            let cursor = next
                .map(|next| format!("&cursor={next}"))
                .unwrap_or_default();
            let (items, more) = page(&minutes.0, "SE-1", &format!("&limit={limit}{cursor}")).await;
            assert!(items.len() <= limit);
            paged.extend(items);
            next = more;
            if next.is_none() {
                break;
            }
        }
        assert_eq!(paged, all, "{limit}");
    }
}

#[tokio::test]
async fn a_unit_that_was_removed_and_created_again_had_no_rate_meanwhile() {
    let minutes = Minutes(Shop::with_units().await);
    minutes.next().set("C", "SEK", "EUR", "10").await;
    let delete = minutes
        .next()
        .send(Method::DELETE, "business-units/SE-1", &Value::Null);
    assert_eq!(delete.await.0, 204);
    assert_eq!(
        minutes
            .0
            .get("exchange-rates/history?businessUnit=SE-1&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR")
            .await
            .0,
        404
    );
    minutes
        .next()
        .unit("SE-1", json!({ "type": "STORE", "parentId": "C" }))
        .await;
    let expected = [
        "2026-11-20T12:01 10 10 C",
        "2026-11-20T12:02 -",
        "2026-11-20T12:03 10 10 C",
    ];
    assert_eq!(values(&minutes.0, "SE-1", "").await, expected);
    let since = values(&minutes.0, "SE-1", "&since=2026-11-20T12:02:30Z").await;
    assert_eq!(since, expected[2..]);
}

#[tokio::test]
async fn the_history_document_fills_the_past_once() {
    let shop = Shop::with_units().await;
    let days = [
        "2026-11-19 SEK 11.3 USD 1.14",
        "2026-11-18 SEK 11.2 USD 1.15",
        "2026-11-17 SEK 11.2 USD 1.16",
        "2026-11-16 SEK 11.1 USD 1.16",
        "2024-11-15 SEK 9.5 USD 1.06",
    ]
    .map(ecb::day);
    let csv = ecb::history_csv(&days, &[]);
    let import = "reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    for _ in 0..2 {
        let request = shop
            .host
            .request(Method::POST, &format!("/api/v1/{import}"), &shop.token);
        let request = request.header("content-type", "text/csv").body(csv.clone());
        assert_eq!(request.send().await.unwrap().status(), 200);
        shop.host.run_due().await;
    }
    // Each day counts from its publication. A day beyond the retention of the history is left out.
    let expected = [
        "2026-11-16T15:00 11.1 11.1 C",
        "2026-11-17T15:00 11.2 11.2 C",
        "2026-11-19T15:00 11.3 11.3 C",
    ];
    for unit in ["C", "SE-1"] {
        assert_eq!(values(&shop, unit, "").await, expected, "{unit}");
        let since = values(&shop, unit, "&since=2026-11-18").await;
        assert_eq!(
            since,
            ["2026-11-18T00:00 11.2 11.2 C", expected[2]],
            "{unit}"
        );
    }
}

#[tokio::test]
async fn many_changes_of_another_pair_hide_nothing_of_this_one() {
    // The rows of these two pairs are next to each other in the store.
    let shop = Shop::with_units().await;
    let others = (1..=110).map(|value| ("USD", value));
    for (currency, value) in others.chain([("MYR", 4), ("MYR", 5)]) {
        shop.clock.advance(Duration::from_secs(1));
        shop.set("C", currency, "EUR", &value.to_string()).await;
    }
    let path = "exchange-rates/history?businessUnit=SE-1&exchangeRateType=SALES&currencyIdFrom=MYR&currencyIdTo=EUR&limit=1";
    let (mut values, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = shop.get(&format!("{path}{cursor}")).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        values.extend(items.iter().map(|item| item["rateValue"].to_string()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(values, ["4", "5"]);
}

#[tokio::test]
async fn a_rate_is_named_as_everywhere_or_by_the_names_of_the_earlier_release() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let values = async |rate: &str| {
        let path = format!("exchange-rates/history?businessUnit=SE-1&{rate}");
        let (status, answer) = shop.get(&path).await;
        assert_eq!(status, 200, "{rate}: {answer}");
        answer["items"][0]["rateValue"].to_string()
    };
    for rate in [
        "exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR",
        "type=SALES&from=SEK&to=EUR",
        "exchangeRateType=SALES&from=SEK&currencyIdTo=EUR",
        // Where both are present, the earlier name has no effect.
        "type=x&from=x&to=x&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR",
    ] {
        assert_eq!(values(rate).await, "10", "{rate}");
    }
}

#[tokio::test]
async fn history_is_kept_for_400_days() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    shop.clock.advance(DAY);
    shop.host.run_due().await;
    let later = async |value: &str| {
        let token = shop.host.token(shop.tenant, super::fixture::ROLES).await;
        let path = "/api/v1/business-units/C/exchange-rates/SALES/SEK/EUR";
        let body: Value = serde_json::from_str(&format!(r#"{{"rateValue":{value}}}"#)).unwrap();
        assert_eq!(
            shop.host.send(Method::PUT, path, &token, &body).await.0,
            200
        );
        shop.host.run_due().await;
    };
    later("11").await;
    shop.clock.advance(DAY * 399);
    later("12").await;
    shop.clock.advance(DAY * 2);
    shop.host.run_due().await;
    let kept = values(&shop, "SE-1", "").await;
    // The value that was used 400 days ago, and the changes since.
    assert_eq!(
        kept,
        ["2026-11-22T12:00 11 11 C", "2027-12-25T12:00 12 12 C"]
    );
}
