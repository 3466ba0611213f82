//! The history of reference rates: every day of a document counts from its date, whenever it is imported, next to the
//! rates that people set. `reference_pieces.rs` imports documents in pieces; `tests/rates/reference_history.py` uses the
//! central bank's real history.

use std::time::Duration;

use serde_json::json;
use tillgate_base::identity::TenantId;

use super::charts::{ALL, SALES, chart, chart_at, days, import, week};
use super::fixture::{ROLES, Shop};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn every_day_of_a_document_counts_at_its_date_and_a_currency_ends_when_it_is_not_quoted() {
    let shop = Shop::with_units().await;
    let answer = import(&shop, &week(), ALL).await;
    assert_eq!(answer["filledDays"], json!(6));
    assert_eq!(answer["older"], json!(false));
    assert_eq!(answer["skipped"], json!(["RON"]));
    assert_eq!(
        chart(&shop, "SALES/SEK/EUR").await,
        [
            "2026-11-12T15:00 11.2",
            "2026-11-13T15:00 11.3",
            "2026-11-16T15:00 11.6",
            "2026-11-17T15:00 11.7",
            "2026-11-18T15:00 11.8",
            "2026-11-19T15:00 11.9",
        ]
    );
    assert_eq!(
        chart(&shop, "PURCHASE/RON/EUR").await,
        [
            "2026-11-12T15:00 5.02",
            "2026-11-13T15:00 5.03",
            "2026-11-16T15:00 5.06",
            "2026-11-17T15:00 -",
        ]
    );
    assert_eq!(
        chart(&shop, "SALES/JPY/EUR").await[3..],
        ["2026-11-17T15:00 180.8", "2026-11-19T15:00 180.9"],
        "a value that stood still is one"
    );
    // 142 ÷ 11.2, 143 ÷ 11.3 and 145 ÷ 11.9.
    assert_eq!(
        chart(&shop, "SALES/ISK/SEK").await,
        [
            "2026-11-12T15:00 12.678571",
            "2026-11-13T15:00 12.654867",
            "2026-11-16T15:00 -",
            "2026-11-19T15:00 12.184874",
        ]
    );
    let since = chart_at(
        &shop.host,
        &shop.token,
        "C",
        "SALES/SEK/EUR",
        "&since=2026-11-18",
    )
    .await;
    assert_eq!(
        since,
        [
            "2026-11-18T00:00 11.7",
            "2026-11-18T15:00 11.8",
            "2026-11-19T15:00 11.9"
        ]
    );
}

#[tokio::test]
async fn an_older_document_fills_the_history_alone_and_says_so() {
    let shop = Shop::with_units().await;
    import(&shop, &week()[..1], SALES).await;
    let set = shop.text("business-units/C/exchange-rates").await;
    let answer = import(&shop, &week()[2..], SALES).await;
    let counts = [
        "created",
        "updated",
        "unchanged",
        "older",
        "filledDays",
        "skipped",
    ];
    assert_eq!(
        counts.map(|member| answer[member].clone()),
        [
            json!(0),
            json!(0),
            json!(2),
            json!(true),
            json!(4),
            json!(["ISK", "RON"])
        ]
    );
    assert_eq!(shop.text("business-units/C/exchange-rates").await, set);
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await.len(), 5);
    // For a further type this is the newest document, so it is set.
    let answer = import(&shop, &week()[2..3], "&exchangeRateTypes=SALES,PURCHASE").await;
    assert_eq!(
        [&answer["created"], &answer["unchanged"], &answer["older"]],
        [&json!(2), &json!(2), &json!(true)]
    );
    let dry = import(&shop, &week()[1..2], &format!("{SALES}&dryRun=true")).await;
    assert_eq!(dry["businessUnits"]["affected"], json!(0));
    assert_eq!(
        chart(&shop, "SALES/SEK/EUR").await.len(),
        5,
        "a dry run fills nothing"
    );
}

#[tokio::test]
async fn what_people_set_and_delete_stays_as_they_did_it() {
    let mut shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let later = async |shop: &mut Shop, days: u32| {
        shop.clock.advance(DAY * days);
        shop.token = shop.host.token(shop.tenant, ROLES).await;
        shop.host.run_due().await;
    };
    later(&mut shop, 3).await;
    let first = days(&[
        "2026-11-20 SEK 11",
        "2026-11-19 SEK 10.9",
        "2026-11-18 SEK 10.8",
    ]);
    import(&shop, &first, SALES).await;
    let mut expected = vec![
        "2026-11-18T15:00 10.8",
        "2026-11-19T15:00 10.9",
        "2026-11-20T12:00 10",
        // From here the bank's rate replaced the person's.
        "2026-11-23T12:00 11",
    ];
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
    later(&mut shop, 1).await;
    shop.unset("C", "SEK", "EUR").await;
    later(&mut shop, 2).await;
    let second = days(&[
        "2026-11-25 SEK 11.5",
        "2026-11-24 SEK 11.4",
        "2026-11-23 SEK 11.3",
    ]);
    import(&shop, &second, SALES).await;
    expected.extend([
        "2026-11-23T15:00 11.3",
        "2026-11-24T12:00 -",
        "2026-11-26T12:00 11.5",
    ]);
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
    let since = async |since: &str| {
        let since = format!("&since={since}");
        chart_at(&shop.host, &shop.token, "C", "SALES/SEK/EUR", &since).await
    };
    assert_eq!(since("2026-11-25").await, expected[6..]);
    let from_here = ["2026-11-21T00:00 10"].iter().chain(&expected[3..]);
    let from_here: Vec<&str> = from_here.copied().collect();
    assert_eq!(since("2026-11-21").await, from_here);
    // The other direction of a pair that is set by hand follows from it.
    let shop = Shop::with_units().await;
    shop.set("C", "EUR", "USD", "0.8").await;
    import(
        &shop,
        &days(&["2026-11-19 SEK 11.9", "2026-11-18 USD 1.1"]),
        SALES,
    )
    .await;
    assert_eq!(
        chart(&shop, "SALES/EUR/USD").await,
        [
            "2026-11-18T15:00 0.909091",
            "2026-11-19T15:00 -",
            "2026-11-20T12:00 0.8"
        ]
    );
}

#[tokio::test]
async fn a_corrected_newest_day_counts_and_a_day_that_is_there_already_stays() {
    let shop = Shop::with_units().await;
    import(
        &shop,
        &days(&["2026-11-19 SEK 11.9", "2026-11-18 SEK 11.8"]),
        SALES,
    )
    .await;
    import(
        &shop,
        &days(&["2026-11-19 SEK 12", "2026-11-18 SEK 99"]),
        SALES,
    )
    .await;
    let expected = ["2026-11-18T15:00 11.8", "2026-11-19T15:00 12"];
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
    import(&shop, &days(&["2026-11-18 SEK 98"]), SALES).await;
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
}

#[tokio::test]
async fn the_rates_of_today_count_since_they_were_imported_if_that_was_earlier_than_usual() {
    let mut shop = Shop::with_units().await;
    import(&shop, &days(&["2026-11-20 SEK 11.05"]), SALES).await;
    let expected = ["2026-11-20T12:00 11.05"];
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
    shop.clock.advance(Duration::from_secs(4 * 3600));
    shop.token = shop.host.token(shop.tenant, ROLES).await;
    import(&shop, &days(&["2026-11-20 SEK 11.05"]), SALES).await;
    assert_eq!(chart(&shop, "SALES/SEK/EUR").await, expected);
}

#[tokio::test]
async fn a_currency_that_is_kept_and_stale_ends_in_the_history() {
    let shop = Shop::with_units().await;
    for day in [
        "2026-11-17 RON 5 SEK 11",
        "2026-11-18 SEK 11.1",
        "2026-11-19 RON 5.2 SEK 11.2",
    ] {
        import(&shop, &days(&[day]), SALES).await;
        let used = shop.used("SE-1").await;
        assert!(
            used.iter().any(|rate| rate.starts_with("RON/EUR 5")),
            "{used:?}"
        );
    }
    assert_eq!(
        chart(&shop, "SALES/RON/EUR").await,
        [
            "2026-11-17T15:00 5",
            "2026-11-18T15:00 -",
            "2026-11-19T15:00 5.2"
        ]
    );
}

#[tokio::test]
async fn quotes_of_which_no_rate_can_be_made_leave_a_gap_and_no_fault() {
    // These are in the past; those of the newest day are refused.
    let shop = Shop::with_units().await;
    let days = days(&[
        "2026-11-19 IDR 20000 SEK 11",
        "2026-11-18 IDR 900000000 SEK 0.000001",
        "2026-11-17 IDR 20001 SEK 11",
    ]);
    import(&shop, &days, ALL).await;
    for (rate, around) in [
        ("SALES/IDR/EUR", ["20001", "20000"]),
        ("SALES/IDR/SEK", ["1818.272727", "1818.181818"]),
    ] {
        assert_eq!(
            chart(&shop, rate).await,
            [
                format!("2026-11-17T15:00 {}", around[0]),
                "2026-11-18T15:00 -".to_owned(),
                format!("2026-11-19T15:00 {}", around[1]),
            ]
        );
    }
}

#[tokio::test]
async fn what_is_older_than_the_history_is_not_stored_and_removed_in_time() {
    let shop = Shop::with_units().await;
    let lines = [
        "2026-11-19 SEK 11.9",
        "2026-10-15 SEK 11.5",
        "2025-10-15 SEK 10.5",
    ];
    let answer = import(&shop, &days(&lines), SALES).await;
    assert_eq!(
        answer["filledDays"],
        json!(2),
        "the third is more than 400 days ago"
    );
    let partition = TenantId::new(shop.tenant).unwrap().partition();
    let months = async || {
        let page = shop.store.scan(&partition, "rates-quotes/", None, 10).await;
        let entries = page.unwrap().entries.into_iter();
        entries.map(|(key, _)| key).collect::<Vec<String>>()
    };
    let expected = [
        "rates-quotes/C/SALES/2026-10",
        "rates-quotes/C/SALES/2026-11",
    ];
    assert_eq!(months().await, expected);
    // Moves to 2028-01-19: the rate that was valid 400 days before, on 2026-12-15, is from November.
    shop.clock.advance(DAY * 425);
    shop.host.run_due().await;
    assert_eq!(months().await, expected[1..]);
    let token = shop.host.token(shop.tenant, ROLES).await;
    assert_eq!(
        chart_at(&shop.host, &token, "C", "SALES/SEK/EUR", "").await,
        ["2026-12-15T12:00 11.9"]
    );
}
