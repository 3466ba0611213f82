//! The rates that a shop uses, and its messages.

use std::time::Duration;

use serde_json::json;
use tillgate_base::identity::TenantId;
use tillgate_store::Position;

use super::fixture::Shop;

#[tokio::test]
async fn a_companys_rate_reaches_every_shop_in_both_directions() {
    let shop = Shop::with_units().await;
    assert_eq!(shop.set("C", "SEK", "EUR", "11.05").await, 201);
    for unit in ["SE-1", "SE-2", "C-1", "SE", "C"] {
        assert_eq!(
            shop.used(unit).await,
            ["EUR/SEK 0.090498 0.090498 C", "SEK/EUR 11.05 11.05 C"],
            "{unit}"
        );
    }
    let mut at = Position::default();
    let messages = shop.messages(&mut at).await;
    let to: Vec<_> = messages
        .iter()
        .map(|it| it["businessUnitId"].as_str().unwrap())
        .collect();
    assert_eq!(to, ["C-1", "SE-1", "SE-2"]);
    let created = &messages[0]["createdRates"][1];
    assert_eq!(created["sourceCurrencyCode"], "SEK");
    assert_eq!(created["createdDate"], "2026-11-20T12:00:00.000Z");
}

#[tokio::test]
async fn a_shops_own_rate_shields_it_from_the_company() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    shop.set("SE-1", "EUR", "SEK", "0.1").await;
    let mut at = Position::default();
    shop.messages(&mut at).await;
    shop.set("C", "SEK", "EUR", "12").await;
    assert_eq!(
        shop.used("SE-1").await,
        ["EUR/SEK 0.1 0.1 SE-1", "SEK/EUR 10 10 SE-1"]
    );
    let messages = shop.messages(&mut at).await;
    let to: Vec<_> = messages
        .iter()
        .map(|it| it["businessUnitId"].as_str().unwrap())
        .collect();
    assert_eq!(to, ["C-1", "SE-2"]);
    shop.unset("SE-1", "EUR", "SEK").await;
    let messages = shop.messages(&mut at).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["updatedRates"][1]["rateValue"], json!(12));
}

#[tokio::test]
async fn markups_and_moves_change_what_shops_use() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    shop.unit(
        "SE",
        json!({ "type": "GROUP", "parentId": "C", "markupPercentage": 2.5 }),
    )
    .await;
    assert_eq!(
        shop.used("SE-1").await,
        ["EUR/SEK 0.1 0.0975 C", "SEK/EUR 10 9.75 C"]
    );
    shop.unit("NO", json!({ "type": "GROUP", "parentId": "C" }))
        .await;
    shop.unit("SE-1", json!({ "type": "STORE", "parentId": "NO" }))
        .await;
    assert_eq!(
        shop.used("SE-1").await,
        ["EUR/SEK 0.1 0.1 C", "SEK/EUR 10 10 C"]
    );
    // A pair's own markup beats the general one.
    let pair = json!({ "exchangeRateType": "SALES", "currencyIdFrom": "EUR", "currencyIdTo": "SEK", "markupPercentage": 1 });
    shop.unit(
        "SE",
        json!({ "type": "GROUP", "parentId": "C", "markupPercentage": 2.5, "markups": [pair] }),
    )
    .await;
    assert_eq!(
        shop.used("SE-2").await,
        ["EUR/SEK 0.1 0.099 C", "SEK/EUR 10 9.9 C"]
    );
}

#[tokio::test]
async fn what_shops_use_is_kept_however_old_it_is_and_what_nobody_uses_is_not() {
    let mut shop = Shop::with_units().await;
    for value in ["10", "11", "12"] {
        shop.set("C", "SEK", "EUR", value).await;
    }
    shop.set("SE-1", "SEK", "EUR", "13").await;
    let partition = TenantId::new(shop.tenant).unwrap().partition();
    for _ in 0..30 {
        shop.clock.advance(Duration::from_secs(24 * 3600));
        shop.host.run_due().await;
    }
    shop.token = shop.host.token(shop.tenant, super::fixture::ROLES).await;
    for (unit, expected) in [("SE-1", "SEK/EUR 13 13 SE-1"), ("SE-2", "SEK/EUR 12 12 C")] {
        assert_eq!(shop.used(unit).await[1], expected);
    }
    let kept = shop.store.scan(&partition, "used-rates/", None, 100);
    let kept = kept.await.unwrap().entries;
    assert_eq!(kept.len(), 2, "one of two shops, and one of SE-1: {kept:?}");
    let references = shop
        .store
        .scan(&partition, "used-rates-references/", None, 100);
    let references = references.await.unwrap().entries;
    assert_eq!(references.len(), 1, "that of the two shops: {references:?}");
    // A change is compared with the rates that were kept.
    let mut at = Position::default();
    shop.messages(&mut at).await;
    shop.set("C", "SEK", "EUR", "14").await;
    let messages = shop.messages(&mut at).await;
    assert_eq!(messages.len(), 2);
    assert_eq!(
        messages[0]["updatedRates"][1]["createdDate"],
        "2026-11-20T12:00:00.000Z"
    );
}
