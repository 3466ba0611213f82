//! Documents of reference rates in pieces: in any order, for further types, interrupted, and read a page at a time.
//! The pieces leave the same history as the whole document.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tillgate_rates::reference::Day;
use tillgate_store::Store;
use tillgate_store::clock::{Clock, StoppedClock};

use super::charts::{ALL, SALES, chart, chart_at, import, send, week};
use super::fixture::{NOON, ROLES, Shop};
use crate::support::ecb;
use crate::support::host::Host;
use crate::support::switched::Switched;

const RATES: [&str; 9] = [
    "SALES/SEK/EUR",
    "SALES/EUR/SEK",
    "SALES/RON/EUR",
    "SALES/ISK/EUR",
    "SALES/ISK/SEK",
    "SALES/SEK/ISK",
    "SALES/RON/JPY",
    "PURCHASE/JPY/EUR",
    "PURCHASE/JPY/SEK",
];

async fn charts(shop: &Shop) -> Vec<(&'static str, Vec<String>)> {
    let mut charts = Vec::new();
    for rate in RATES {
        charts.push((rate, chart(shop, rate).await));
    }
    charts
}

#[tokio::test]
async fn the_pieces_of_a_document_in_any_order_are_the_whole() {
    let whole = Shop::with_units().await;
    import(&whole, &week(), ALL).await;
    let expected = charts(&whole).await;
    let pieces = [&week()[..2], &week()[2..4], &week()[4..]].map(<[Day]>::to_vec);
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let shop = Shop::with_units().await;
        for piece in order {
            shop.clock.advance(Duration::from_secs(60));
            import(&shop, &pieces[piece], ALL).await;
        }
        assert_eq!(charts(&shop).await, expected, "{order:?}");
    }
    // The columns of a document are pieces too.
    let of = |codes: &[&str]| {
        let mut days = week();
        for day in &mut days {
            day.quotes
                .retain(|quote| codes.contains(&quote.currency.as_str()));
        }
        days.retain(|day| !day.quotes.is_empty());
        days
    };
    for columns in [
        [&["SEK", "RON"], &["ISK", "JPY"]],
        [&["ISK", "JPY"], &["SEK", "RON"]],
    ] {
        let shop = Shop::with_units().await;
        for columns in columns {
            import(&shop, &of(columns), ALL).await;
        }
        assert_eq!(charts(&shop).await, expected, "{columns:?}");
    }
    // So are days that are sent again along with other days of the document.
    let shop = Shop::with_units().await;
    for piece in [&week()[1..5], &week()[..3], &week()[3..]] {
        import(&shop, piece, ALL).await;
    }
    assert_eq!(charts(&shop).await, expected);
}

#[tokio::test]
async fn further_types_and_crosses_fill_days_that_others_have_filled() {
    let whole = Shop::with_units().await;
    import(&whole, &week(), ALL).await;
    let shop = Shop::with_units().await;
    import(&shop, &week(), SALES).await;
    assert_eq!(chart(&shop, "SALES/ISK/SEK").await, [""; 0]);
    assert_eq!(chart(&shop, "PURCHASE/JPY/EUR").await, [""; 0]);
    let answer = import(&shop, &week(), ALL).await;
    assert_eq!(answer["filledDays"], json!(6));
    assert_eq!(charts(&shop).await, charts(&whole).await);
    let answer = import(&shop, &week(), ALL).await;
    assert_eq!(
        answer["filledDays"],
        json!(0),
        "the same again adds nothing"
    );
    // An import without crosses removes none.
    assert_eq!(import(&shop, &week(), SALES).await["filledDays"], json!(0));
    assert_eq!(charts(&shop).await, charts(&whole).await);
}

#[tokio::test]
async fn pages_of_many_days_follow_each_other_without_a_gap_or_a_repeat() {
    let shop = Shop::with_units().await;
    let first = jiff::civil::date(2026, 1, 20);
    let day = |index: i64| {
        let date = first + jiff::Span::new().days(index);
        ecb::day(&format!(
            "{date} SEK 11.{:03} USD 1.1{:03}",
            100 + index,
            index
        ))
    };
    let mut days: Vec<Day> = (0..300).map(day).collect();
    days.reverse();
    import(&shop, &days, &format!("{SALES}&crosses=true")).await;
    for rate in ["SALES/SEK/EUR", "SALES/SEK/USD"] {
        let all = chart_at(&shop.host, &shop.token, "SE-1", rate, "&limit=1000").await;
        assert_eq!(all.len(), 300);
        for limit in [7, 50, 99, 100, 101, 299, 300] {
            let more = format!("&limit={limit}");
            let paged = chart_at(&shop.host, &shop.token, "SE-1", rate, &more).await;
            assert_eq!(paged, all, "{limit}");
        }
    }
}

/// The days of five years, which take several commits.
fn years() -> Vec<Day> {
    let day = |month: i32| {
        let date = jiff::civil::date(2022, 1, 3) + jiff::Span::new().months(month);
        ecb::day(&format!("{date} SEK {}.5 USD 1.{}", 9 + month, 100 + month))
    };
    (0..59).rev().map(day).collect()
}

#[tokio::test]
async fn an_import_that_was_interrupted_anywhere_is_completed_by_the_next() {
    let ten_years = Duration::from_secs(10 * 365 * 24 * 3600);
    for commits in 0..4 {
        let clock = Arc::new(StoppedClock::at(NOON));
        let store = Switched::new(clock.clone());
        let shared = store.clone() as Arc<dyn Store>;
        let host = Host::start_configured(shared, clock as Arc<dyn Clock>, |config| {
            config.rates.history_retention = ten_years;
        })
        .await;
        host.app.runner.stop().await;
        let token = host.token("acme", ROLES).await;
        let company = json!({ "type": "COMPANY" });
        let put = host.send(Method::PUT, "/api/v1/business-units/C", &token, &company);
        assert_eq!(put.await.0, 201);
        store.commits_left.store(commits, Ordering::SeqCst);
        let (status, answer) = send(&host, &token, &years(), SALES).await;
        store.commits_left.store(usize::MAX, Ordering::SeqCst);
        assert_eq!(status, 503, "after {commits} commits: {answer}");
        let (status, answer) = send(&host, &token, &years(), SALES).await;
        assert_eq!(status, 200, "{answer}");
        // The first commit sets the rates; each further one fills two years.
        let left = [59, 59, 35, 11][commits];
        assert_eq!(answer["filledDays"], json!(left), "after {commits} commits");
        let chart = chart_at(&host, &token, "C", "SALES/SEK/EUR", "").await;
        let mut expected: Vec<String> = years()
            .iter()
            .map(|day| format!("{}T15:00 {}", day.date, day.quotes[0].rate))
            .collect();
        expected.reverse();
        assert_eq!(chart, expected);
    }
}
