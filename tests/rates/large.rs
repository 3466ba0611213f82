//! Changes with large messages: the pages of a fan-out stay within the limit of a commit.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tillgate_store::Position;

use super::fixture::Shop;
use crate::support::host::read;
use crate::support::sizes::size;
use crate::support::wait::until;

const CURRENCIES: [&str; 30] = [
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "GBP", "HKD", "HUF", "IDR", "ILS", "INR",
    "ISK", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB",
    "TRY", "USD", "ZAR", "AED",
];

/// Imports quotes of 30 currencies and their crosses for two types, so that a shop uses 1,860 rates. Returns the id of
/// the change.
async fn import(shop: &Shop, day: u32, first: usize) -> String {
    let quotes = (0..CURRENCIES.len()).map(|at| format!("{}.5", first + at));
    let document = format!(
        "Date,{},\n2026-11-{day:02},{},\n",
        CURRENCIES.join(","),
        quotes.collect::<Vec<_>>().join(",")
    );
    let path = "/api/v1/reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES,PURCHASE&source=ECB&crosses=true";
    let request = shop.host.request(Method::POST, path, &shop.token);
    let request = request.header("content-type", "text/csv").body(document);
    let (status, answer) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    let change = answer["correlationId"].as_str().unwrap().to_owned();
    // A slow machine does not finish a page within its deadline, and tries it again.
    until("the end of the change", async || {
        shop.host.run_due().await;
        shop.clock.advance(Duration::from_secs(1));
        let (_, progress) = shop.get(&format!("exchange-rates/changes/{change}")).await;
        progress["state"] == "DONE"
    })
    .await;
    change
}

#[tokio::test]
async fn shops_that_are_not_alike_all_get_a_change_of_1860_rates() {
    let shops = size(12, 60);
    let shop = Shop::start().await;
    shop.unit("C", json!({ "type": "COMPANY" })).await;
    import(&shop, 19, 2).await;
    for number in 0..shops {
        // Each shop gets its rates at a different time, and so has a separate record.
        shop.clock.advance(Duration::from_millis(1));
        let id = format!("S{number}");
        shop.unit(&id, json!({ "type": "STORE", "parentId": "C" }))
            .await;
    }
    let mut at = Position::default();
    shop.messages(&mut at).await;
    let change = import(&shop, 20, 3).await;
    let (_, progress) = shop.get(&format!("exchange-rates/changes/{change}")).await;
    assert_eq!(progress["state"], "DONE");
    let all = json!({ "total": shops, "done": shops, "published": shops });
    assert_eq!(progress["businessUnits"], all);
    assert_eq!(shop.messages(&mut at).await.len(), shops);
    assert_eq!(shop.used(&format!("S{}", shops - 1)).await.len(), 1_860);
}
