//! Reference rates: documents that a client sends, and documents that the host fetches every night.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tillgate_base::config::{Config, ReferenceRates};
use tillgate_rates::reference::Day;
use tillgate_store::clock::{Clock, StoppedClock};
use tillgate_store::{MemoryStore, Position};

use super::fixture::{NOON, ROLES, Shop};
use crate::support::ecb;
use crate::support::fifo::make_fifo;
use crate::support::host::{Host, read};
use crate::support::wait::within;

const XML: &str = "application/xml";

fn days() -> Vec<Day> {
    vec![
        ecb::day("2026-11-19 SEK 11.05 USD 1.149"),
        ecb::day("2026-11-18 SEK 11 USD 1.15"),
    ]
}

/// Sends a document as the body, with further query parameters.
async fn import(shop: &Shop, media: &str, document: String, more: &str) -> Value {
    let path = format!(
        "/api/v1/reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB{more}"
    );
    let request = shop.host.request(Method::POST, &path, &shop.token);
    let (status, answer) = read(
        request
            .header(CONTENT_TYPE, media)
            .body(document)
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(status, 200, "{answer}");
    shop.host.run_due().await;
    answer
}

/// Returns `date created updated unchanged stale`.
fn summary(answer: &Value) -> String {
    let stale: Vec<_> = answer["stale"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    let [date, created, updated, unchanged] =
        ["date", "created", "updated", "unchanged"].map(|name| answer[name].to_string());
    format!(
        "{} {created} {updated} {unchanged} {}",
        date.trim_matches('"'),
        stale.join(",")
    )
}

/// Returns the rates that are set at the company: `FROM/TO value day`, followed by `!` if they are stale.
async fn set_rates(shop: &Shop) -> Vec<String> {
    let (_, rates) = shop.get("business-units/C/exchange-rates").await;
    let rates = rates.as_array().unwrap().iter().map(|rate| {
        let text = |member: &str| rate[member].as_str().unwrap().to_owned();
        let mark = if rate["reference"]["stale"] == true {
            "!"
        } else {
            ""
        };
        let day = rate["reference"]["date"].as_str().unwrap_or("-");
        format!(
            "{}/{} {} {day}{mark}",
            text("currencyIdFrom"),
            text("currencyIdTo"),
            rate["rateValue"]
        )
    });
    rates.collect()
}

#[tokio::test]
async fn every_format_is_imported_as_a_body_and_in_a_form() {
    let days = days();
    let documents = [
        (XML, ecb::daily_xml(&days[0])),
        (XML, ecb::history_xml(&days)),
        ("text/csv", ecb::daily_csv(&days[0])),
        ("text/csv", ecb::history_csv(&days, &["BGN"])),
    ];
    for (media, document) in documents {
        let shop = Shop::with_units().await;
        let answer = import(&shop, media, document.clone(), "").await;
        assert_eq!(summary(&answer), "2026-11-19 2 0 0 ");
        assert!(answer["correlationId"].is_string());
        let imported = ["SEK/EUR 11.05 2026-11-19", "USD/EUR 1.149 2026-11-19"];
        assert_eq!(set_rates(&shop).await, imported);
        assert_eq!(shop.used("SE-1").await[2], "SEK/EUR 11.05 11.05 C");
        // In a form, the content of the document shows its type.
        let field = |name: &str, value: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let form = [
            field("businessUnitId", "C"),
            field("exchangeRateTypes", "SALES, PURCHASE"),
            field("source", "ECB"),
            field("document", &document),
        ];
        let form = format!("{}--x--\r\n", form.concat());
        let request =
            shop.host
                .request(Method::POST, "/api/v1/reference-rates/import", &shop.token);
        let request = request
            .header(CONTENT_TYPE, "multipart/form-data; boundary=x")
            .body(form);
        let (status, answer) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(summary(&answer), "2026-11-19 2 0 2 ");
        shop.host.run_due().await;
    }
}

#[tokio::test]
async fn the_same_document_and_an_older_one_change_nothing() {
    let shop = Shop::with_units().await;
    let [newer, older] = [0, 1].map(|day| ecb::daily_xml(&days()[day]));
    import(&shop, XML, newer.clone(), "").await;
    let mut at = Position::default();
    assert_eq!(shop.messages(&mut at).await.len(), 3);
    let before = shop.text("business-units/C/exchange-rates").await;
    shop.clock.advance(Duration::from_secs(60));
    assert_eq!(
        summary(&import(&shop, XML, newer, "").await),
        "2026-11-19 0 0 2 "
    );
    assert_eq!(
        summary(&import(&shop, XML, older, "").await),
        "2026-11-18 0 0 2 "
    );
    assert_eq!(shop.text("business-units/C/exchange-rates").await, before);
    assert_eq!(shop.messages(&mut at).await.len(), 0);
}

#[tokio::test]
async fn only_shops_where_a_rate_moved_are_told_and_a_dry_run_says_so() {
    let shop = Shop::with_units().await;
    import(
        &shop,
        XML,
        ecb::daily_xml(&ecb::day("2026-11-18 SEK 11 USD 1.149")),
        "",
    )
    .await;
    shop.set("SE-1", "SEK", "EUR", "12").await;
    let mut at = Position::default();
    shop.messages(&mut at).await;
    let next = ecb::daily_xml(&ecb::day("2026-11-19 SEK 11.05 USD 1.149"));
    let dry = import(&shop, XML, next.clone(), "&dryRun=true").await;
    assert_eq!(
        dry["businessUnits"],
        json!({ "total": 3, "affected": 2, "shielded": 1 })
    );
    assert_eq!(dry["sample"][0]["businessUnitId"], "C-1");
    let sek =
        json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR" });
    let and = |more: Value| {
        let mut all = sek.clone();
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    assert_eq!(
        dry["changes"],
        json!([and(json!({ "old": 11, "new": 11.05 }))])
    );
    let own = and(json!({ "rateValue": 12, "setAt": "SE-1" }));
    assert_eq!(
        dry["shielded"],
        json!([{ "businessUnitId": "SE-1", "rates": [own] }])
    );
    assert_eq!(
        dry["document"],
        json!({ "date": "2026-11-19", "stale": [], "skipped": [], "older": false })
    );
    assert_eq!(shop.messages(&mut at).await.len(), 0);
    assert_eq!(
        summary(&import(&shop, XML, next, "").await),
        "2026-11-19 0 1 1 "
    );
    let messages = shop.messages(&mut at).await;
    assert_eq!(messages.len(), 2);
    assert_eq!(
        messages[0]["updatedRates"].as_array().unwrap().len(),
        2,
        "one pair has moved"
    );
}

#[tokio::test]
async fn a_currency_that_is_missing_is_kept_and_stale_until_it_is_back() {
    let shop = Shop::with_units().await;
    let day = |line: &str| ecb::daily_xml(&ecb::day(line));
    import(&shop, XML, day("2026-11-17 SEK 11 RON 1.9558"), "").await;
    let mut at = Position::default();
    shop.messages(&mut at).await;
    let answer = import(&shop, XML, day("2026-11-18 SEK 11"), "").await;
    assert_eq!(summary(&answer), "2026-11-18 0 0 1 RON");
    assert_eq!(
        set_rates(&shop).await,
        ["RON/EUR 1.9558 2026-11-17!", "SEK/EUR 11 2026-11-18"]
    );
    assert_eq!(shop.messages(&mut at).await.len(), 0, "nothing moved");
    let answer = import(&shop, XML, day("2026-11-19 SEK 11 RON 1.9558"), "").await;
    assert_eq!(summary(&answer), "2026-11-19 0 0 2 ");
    assert_eq!(
        set_rates(&shop).await,
        ["RON/EUR 1.9558 2026-11-19", "SEK/EUR 11 2026-11-19"]
    );
    // A rate that is set by hand is not a reference rate.
    shop.set("C", "RON", "EUR", "2").await;
    assert_eq!(set_rates(&shop).await[0], "RON/EUR 2 -");
    import(&shop, XML, day("2026-11-20 SEK 11"), "").await;
    assert_eq!(set_rates(&shop).await[0], "RON/EUR 2 -");
}

#[tokio::test]
async fn crosses_are_quotients_and_only_the_missing_currency_is_called_stale() {
    let shop = Shop::with_units().await;
    let day = |line: &str| ecb::daily_xml(&ecb::day(line));
    let first = day("2026-11-18 SEK 11 USD 1.1 RON 2");
    let answer = import(&shop, XML, first, "&crosses=true").await;
    assert_eq!(summary(&answer), "2026-11-18 9 0 0 ");
    let set = set_rates(&shop).await;
    // 1 USD = 11 ÷ 1.1 SEK; the other direction is the quotient of the quotes, not the opposite of this one.
    for expected in [
        "SEK/USD 10 2026-11-18",
        "USD/SEK 0.1 2026-11-18",
        "RON/SEK 0.181818 2026-11-18",
    ] {
        assert!(set.contains(&expected.to_owned()), "{set:?}");
    }
    let answer = import(
        &shop,
        XML,
        day("2026-11-19 SEK 11 USD 1.1"),
        "&crosses=true",
    )
    .await;
    assert_eq!(summary(&answer), "2026-11-19 0 0 4 RON");
    let stale = set_rates(&shop).await;
    let stale = stale.iter().filter(|rate| rate.ends_with('!'));
    assert_eq!(stale.count(), 5, "every rate of RON");
}

/// Returns a configuration with one table.
fn table(source: &str) -> impl FnOnce(&mut Config) + use<> {
    let table: ReferenceRates = serde_json::from_value(json!({
        "tenant": "acme", "business_unit": "C", "exchange_rate_types": ["SALES"], "at": "15:30",
        (if source.starts_with("http") { "url" } else { "file" }): source,
    }))
    .unwrap();
    move |config| config.reference_rates = vec![table]
}

async fn configured(shop: &Shop, configure: impl FnOnce(&mut Config)) -> Host {
    let clock = shop.clock.clone() as Arc<dyn Clock>;
    Host::start_configured(shop.store.clone(), clock, configure).await
}

/// Starts a shop whose own host does nothing in the background. That host has no table, so it would end the jobs of
/// tables.
async fn idle_shop() -> Shop {
    let shop = Shop::with_units().await;
    shop.host.app.runner.stop().await;
    shop
}

/// Returns the company's SEK rate, requested with a token that is valid now.
async fn sek(shop: &Shop) -> Value {
    let token = shop.host.token(shop.tenant, ROLES).await;
    let path = "/api/v1/business-units/C/exchange-rates/SALES/SEK/EUR";
    shop.host.get(path, &token).await.1["rateValue"].clone()
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_file_is_imported_every_day_until_its_table_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eurofxref.xml");
    let write = |line: &str| std::fs::write(&file, ecb::daily_xml(&ecb::day(line))).unwrap();
    let shop = idle_shop().await;
    write("2026-11-20 SEK 11");
    let nightly = configured(&shop, table(file.to_str().unwrap())).await;
    nightly.run_due().await;
    assert_eq!(
        sek(&shop).await,
        Value::Null,
        "it is noon, and due at half past three"
    );
    shop.clock.advance(HOUR * 4);
    nightly.run_due().await;
    assert_eq!(sek(&shop).await, json!(11));
    // The import is in one queue and the jobs that follow from it are in another, which may have been checked before.
    nightly.run_due().await;
    assert_eq!(shop.messages(&mut Position::default()).await.len(), 3);
    let next = ecb::daily_csv(&ecb::day("2026-11-21 SEK 12"));
    std::fs::write(&file, ecb::zipped(&[("eurofxref.csv", next.as_bytes())])).unwrap();
    nightly.run_due().await;
    assert_eq!(sek(&shop).await, json!(11), "once a day");
    shop.clock.advance(HOUR * 24);
    nightly.run_due().await;
    assert_eq!(sek(&shop).await, json!(12));
    drop(nightly);
    // The host without the table finds the job, and ends it.
    write("2026-11-22 SEK 13");
    let without = configured(&shop, |_| ()).await;
    shop.clock.advance(HOUR * 24);
    without.run_due().await;
    assert_eq!(sek(&shop).await, json!(12));
}

#[tokio::test]
async fn a_fifo_instead_of_a_file_fails_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eurofxref.xml");
    make_fifo(&file);
    let shop = idle_shop().await;
    let nightly = configured(&shop, table(file.to_str().unwrap())).await;
    shop.clock.advance(HOUR * 4);
    within("the import of a FIFO ends", nightly.run_due()).await;
    assert_eq!(sek(&shop).await, Value::Null);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, ecb::daily_xml(&ecb::day("2026-11-20 SEK 11"))).unwrap();
    shop.clock.advance(Duration::from_secs(17 * 60));
    nightly.run_due().await;
    assert_eq!(sek(&shop).await, json!(11));
}

/// A web server on this machine that answers with a status and a document; it counts its requests.
struct Bank {
    url: String,
    asked: Arc<AtomicUsize>,
    status: Arc<AtomicU16>,
}

impl Bank {
    async fn open(document: String) -> Self {
        let (asked, status) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU16::new(200)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "http://{}/eurofxref-daily.xml",
            listener.local_addr().unwrap()
        );
        let (counted, answered) = (Arc::clone(&asked), Arc::clone(&status));
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(
                        tokio::io::AsyncReadExt::read_u8(&mut connection)
                            .await
                            .unwrap(),
                    );
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let status = answered.load(Ordering::SeqCst);
                let answer = format!(
                    "HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{document}",
                    document.len()
                );
                let write = tokio::io::AsyncWriteExt::write_all(&mut connection, answer.as_bytes());
                write.await.unwrap();
            }
        });
        Self { url, asked, status }
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

#[tokio::test]
async fn one_of_two_hosts_asks_the_bank_and_tries_again_when_it_fails() {
    let bank = Bank::open(ecb::daily_xml(&ecb::day("2026-11-20 SEK 11.05"))).await;
    let shop = idle_shop().await;
    let one = configured(&shop, table(&bank.url)).await;
    let two = configured(&shop, table(&bank.url)).await;
    bank.status.store(503, Ordering::SeqCst);
    shop.clock.advance(HOUR * 4);
    tokio::join!(one.run_due(), two.run_due());
    assert_eq!(bank.asked(), 1);
    assert_eq!(sek(&shop).await, Value::Null);
    tokio::join!(one.run_due(), two.run_due());
    assert_eq!(bank.asked(), 0, "a quarter of an hour later");
    bank.status.store(200, Ordering::SeqCst);
    shop.clock.advance(Duration::from_secs(17 * 60));
    tokio::join!(one.run_due(), two.run_due());
    assert_eq!(bank.asked(), 1);
    assert_eq!(sek(&shop).await, json!(11.05));
    shop.clock.advance(Duration::from_secs(17 * 60));
    tokio::join!(one.run_due(), two.run_due());
    assert_eq!(bank.asked(), 0, "done for today");
}

#[tokio::test]
async fn a_table_whose_unit_is_not_there_waits_for_it() {
    let bank = Bank::open(ecb::daily_xml(&ecb::day("2026-11-20 SEK 11.05"))).await;
    let clock = Arc::new(StoppedClock::at(NOON));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let dynamic = clock.clone() as Arc<dyn Clock>;
    let host = Host::start_configured(store, dynamic, table(&bank.url)).await;
    clock.advance(HOUR * 4);
    host.run_due().await;
    let token = host.token("acme", ROLES).await;
    let path = "/api/v1/business-units/C";
    assert_eq!(
        host.send(Method::PUT, path, &token, &json!({ "type": "COMPANY" }))
            .await
            .0,
        201
    );
    clock.advance(Duration::from_secs(17 * 60));
    host.run_due().await;
    let path = "/api/v1/business-units/C/exchange-rates/SALES/SEK/EUR";
    assert_eq!(host.get(path, &token).await.1["rateValue"], json!(11.05));
}
