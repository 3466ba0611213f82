//! Imports documents at a company, and reads the history of rates.

use reqwest::Method;
use serde_json::Value;
use tillgate_rates::reference::Day;

use super::fixture::Shop;
use crate::support::ecb;
use crate::support::host::{Host, read};

pub const SALES: &str = "&exchangeRateTypes=SALES";
pub const ALL: &str = "&exchangeRateTypes=SALES,PURCHASE&crosses=true";

pub fn days(lines: &[&str]) -> Vec<Day> {
    lines.iter().map(|line| ecb::day(line)).collect()
}

/// Imports days at the company; `more` holds query parameters.
pub async fn send(host: &Host, token: &str, days: &[Day], more: &str) -> (u16, Value) {
    let path = format!("/api/v1/reference-rates/import?businessUnitId=C&source=ECB{more}");
    let request = host.request(Method::POST, &path, token);
    let request = request.header("content-type", "text/csv");
    let document = ecb::history_csv(days, &[]);
    read(request.body(document).send().await.unwrap()).await
}

pub async fn import(shop: &Shop, days: &[Day], more: &str) -> Value {
    let (status, answer) = send(&shop.host, &shop.token, days, more).await;
    assert_eq!(status, 200, "{answer}");
    shop.host.run_due().await;
    answer
}

/// Returns the history of a rate such as `SALES/SEK/EUR` at a unit: `at value`, or `at -`.
pub async fn chart_at(host: &Host, token: &str, unit: &str, rate: &str, more: &str) -> Vec<String> {
    let [rate_type, from, to] = rate.split('/').collect::<Vec<_>>()[..] else {
        panic!("{rate} is no rate");
    };
    let path = format!(
        "/api/v1/exchange-rates/history?businessUnit={unit}&exchangeRateType={rate_type}&currencyIdFrom={from}&currencyIdTo={to}{more}"
    );
    let (mut chart, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = host.get(&format!("{path}{cursor}"), token).await;
        assert_eq!(status, 200, "{page}");
        for item in page["items"].as_array().unwrap() {
            let at = &item["at"].as_str().unwrap()[..16];
            let value = item
                .get("rateValue")
                .map_or("-".to_owned(), Value::to_string);
            chart.push(format!("{at} {value}"));
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return chart,
        }
    }
}

pub async fn chart(shop: &Shop, rate: &str) -> Vec<String> {
    chart_at(&shop.host, &shop.token, "SE-1", rate, "").await
}

/// Returns a week in which one currency left the list, one was missing for some days, and one did not change.
pub fn week() -> Vec<Day> {
    days(&[
        "2026-11-19 ISK 145 JPY 180.9 SEK 11.9",
        "2026-11-18 JPY 180.8 SEK 11.8",
        "2026-11-17 JPY 180.8 SEK 11.7",
        "2026-11-16 JPY 180.6 RON 5.06 SEK 11.6",
        "2026-11-13 ISK 143 JPY 180.3 RON 5.03 SEK 11.3",
        "2026-11-12 ISK 142 JPY 180.2 RON 5.02 SEK 11.2",
    ])
}
