//! The topic over HTTP: where a subscriber starts, what it gets, and how it resumes after a break.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::clock::Clock;

use super::fixture::Shop;
use super::listener::Listener;
use crate::support::host::Host;
use crate::support::wait::within;
use crate::support::wire::message;

const NONE: Value = Value::Null;

/// Creates another tenant on the same host, with a shop `S` below a company `C`.
async fn another(shop: &Shop) -> String {
    let token = shop.host.token("zeta", super::fixture::ROLES).await;
    for (id, body) in [
        ("C", json!({ "type": "COMPANY" })),
        ("S", json!({ "type": "STORE", "parentId": "C" })),
    ] {
        let path = format!("/api/v1/business-units/{id}");
        let put = shop.host.send(Method::PUT, &path, &token, &body).await;
        assert_eq!(put.0, 201);
    }
    token
}

/// Sets a rate of the other tenant; `is_first` if there is none yet.
async fn set_as(shop: &Shop, token: &str, value: u32, is_first: bool) {
    let path = "/api/v1/business-units/C/exchange-rates/SALES/SEK/EUR";
    let body = json!({ "rateValue": value });
    let put = shop.host.send(Method::PUT, path, token, &body).await;
    assert_eq!(put.0, if is_first { 201 } else { 200 }, "{}", put.1);
    shop.host.run_due().await;
}

#[tokio::test]
async fn a_subscriber_is_told_of_what_changes_from_now_on() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let mut listener = Listener::join(&shop, "").await;
    let mut latest = Listener::join(&shop, "after=latest").await;
    shop.set("SE-1", "SEK", "EUR", "11.05").await;
    let event = listener.next().await.unwrap();
    assert_eq!(latest.next().await.as_ref(), Some(&event));
    assert_eq!(event.name, "");
    let told = event.json();
    assert_eq!(told["publishTime"].as_str().unwrap().len(), 27);
    assert_eq!(told["attributes"]["Tenant-Id"], "acme");
    assert_eq!(told["attributes"]["Business-Unit-Id"], "SE-1");
    let data = &told["data"];
    assert_eq!(
        (&data["tenantId"], &data["businessUnitId"]),
        (&json!("acme"), &json!("SE-1"))
    );
    let lists: Vec<_> = data.as_object().unwrap().keys().collect();
    assert_eq!(
        lists,
        ["businessUnitId", "tenantId", "updatedRates"],
        "empty lists are left out"
    );
    let rates = data["updatedRates"].as_array().unwrap();
    assert_eq!(rates.len(), 2);
    assert_eq!(rates[1]["rateValue"], json!(11.05));
    assert_eq!(rates[1]["createdDate"], "2026-11-20T12:00:00.000Z");
}

#[tokio::test]
async fn a_subscriber_begins_at_the_oldest_message_or_where_it_was() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let mut listener = Listener::join(&shop, "after=earliest").await;
    let first = listener.next().await.unwrap();
    assert_eq!(first.shop(), "C-1");
    assert_eq!(listener.shops(2).await, ["SE-1", "SE-2"]);
    let mut resumed = Listener::resume(&shop, "after=latest", &first.id).await;
    assert_eq!(resumed.shops(2).await, ["SE-1", "SE-2"]);
    let mut resumed = Listener::join(&shop, &format!("after={}", first.id)).await;
    assert_eq!(resumed.shops(2).await, ["SE-1", "SE-2"]);
    shop.set("SE-2", "SEK", "EUR", "11").await;
    for listener in [&mut listener, &mut resumed] {
        assert_eq!(listener.shops(1).await, ["SE-2"]);
    }
}

#[tokio::test]
async fn nobody_hears_of_another_tenant() {
    let shop = Shop::with_units().await;
    let other = another(&shop).await;
    let own = Listener::ask(&shop, &other, "after=earliest", None);
    let mut own = own.await.unwrap();
    shop.set("C", "SEK", "EUR", "10").await;
    set_as(&shop, &other, 12, true).await;
    let event = own.next().await.unwrap();
    assert_eq!(event.json()["attributes"]["Tenant-Id"], "zeta");
    let refused = Listener::ask(&shop, &shop.token, "tenantId=zeta", None).await;
    assert_eq!(refused.err(), Some(403));
    // A cursor belongs to the messages of one tenant.
    let refused = Listener::ask(&shop, &shop.token, "", Some(&event.id)).await;
    assert_eq!(refused.err(), Some(400));
    let viewer = shop.host.token("acme", &["exr.editor"]).await;
    let refused = Listener::ask(&shop, &viewer, "", None).await;
    assert_eq!(refused.err(), Some(403));
}

pub async fn operator(shop: &Shop) -> String {
    shop.host.token("platform", &["platform.operator"]).await
}

#[tokio::test]
async fn the_platform_hears_of_every_tenant_and_resumes_without_a_loss() {
    let shop = Shop::with_units().await;
    let (other, operator) = (another(&shop).await, operator(&shop).await);
    let all = Listener::ask(&shop, &operator, "", None);
    let mut all = all.await.unwrap();
    shop.set("C", "SEK", "EUR", "10").await;
    set_as(&shop, &other, 12, true).await;
    let mut heard = all.shops(4).await;
    heard.sort();
    assert_eq!(heard, ["C-1", "S", "SE-1", "SE-2"]);
    let one = Listener::ask(&shop, &operator, "tenantId=zeta&after=earliest", None);
    assert_eq!(one.await.unwrap().shops(1).await, ["S"]);

    // From the oldest message on, it reads one tenant after the other. Wherever it stops, it has missed nothing:
    // neither of the tenant that it has read to the end nor of the other, whose first messages are older.
    shop.clock.advance(Duration::from_secs(600));
    shop.set("SE-1", "SEK", "EUR", "11").await;
    set_as(&shop, &other, 13, false).await;
    for stop_after in 1..=6 {
        let mut heard = BTreeSet::new();
        let first = Listener::ask(&shop, &operator, "after=earliest", None);
        let mut listener = first.await.unwrap();
        let mut last = String::new();
        for _ in 0..stop_after {
            let event = listener.next().await.unwrap();
            heard.insert(told(&event.json()));
            last = event.id;
        }
        let resumed = Listener::ask(&shop, &operator, "", Some(&last));
        let mut resumed = resumed.await.unwrap();
        // These messages come after all earlier ones.
        shop.clock.advance(Duration::from_secs(60));
        let newest = 100 + stop_after;
        set_as(&shop, &other, newest, false).await;
        let hearing = async {
            while !heard.contains(&format!("zeta S {newest}")) {
                heard.insert(told(&resumed.next().await.unwrap().json()));
            }
        };
        within("the newest message", hearing).await;
        heard.retain(|told| !told.starts_with("zeta S 10"));
        let expected = [
            "acme C-1 10",
            "acme SE-1 10",
            "acme SE-1 11",
            "acme SE-2 10",
            "zeta S 12",
            "zeta S 13",
        ];
        assert_eq!(heard.iter().collect::<Vec<_>>(), expected, "{stop_after}");
    }
}

/// Returns the tenant, the shop, and the value of one EUR there.
fn told(message: &Value) -> String {
    let data = &message["data"];
    let text = |member: &str| data[member].as_str().unwrap().to_owned();
    let rates = [&data["createdRates"], &data["updatedRates"]];
    let rates = rates.into_iter().find_map(Value::as_array).unwrap();
    let value = &rates[1]["rateValue"];
    format!("{} {} {value}", text("tenantId"), text("businessUnitId"))
}

#[tokio::test]
async fn a_cursor_older_than_the_retention_is_reset_and_goes_on_from_the_oldest_message() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let first = Listener::join(&shop, "after=earliest")
        .await
        .next()
        .await
        .unwrap();
    let day = Duration::from_secs(24 * 3600);
    shop.clock.advance(day * 8);
    let token = shop.host.token("acme", super::fixture::ROLES).await;
    let shop = Shop { token, ..shop };
    shop.set("SE-2", "SEK", "EUR", "11").await;
    shop.clock.advance(Duration::from_secs(3600));
    shop.host.run_due().await;
    let mut resumed = Listener::resume(&shop, "", &first.id).await;
    let event = resumed.next().await.unwrap();
    assert_eq!((event.name.as_str(), event.data.as_str()), ("reset", "{}"));
    assert_eq!(resumed.shops(1).await, ["SE-2"]);
    // Its new cursor resumes from there, and a subscriber that asked for the oldest message is not reset.
    let mut again = Listener::resume(&shop, "", &event.id).await;
    assert_eq!(again.shops(1).await, ["SE-2"]);
    let mut earliest = Listener::join(&shop, "after=earliest").await;
    let event = earliest.next().await.unwrap();
    assert_eq!((event.name.as_str(), event.shop().as_str()), ("", "SE-2"));
}

#[tokio::test]
async fn the_stream_of_a_client_that_is_revoked_ends() {
    let shop = Shop::with_units().await;
    let client = shop.host.client("acme", super::fixture::ROLES).await;
    let token = crate::support::host::token(
        &shop.host.http,
        &shop.host.url,
        &client.client_id,
        client.client_secret.reveal(),
    );
    let token = token.await;
    let mut listener = Listener::ask(&shop, &token, "", None).await.unwrap();
    let admin = shop.host.token("acme", &["iam.admin"]).await;
    let path = format!("/v1/tenants/acme/clients/{}/revoke", client.client_id);
    let revoked = shop.host.send(Method::PUT, &path, &admin, &NONE).await;
    assert_eq!(revoked.0, 200);
    shop.set("C", "SEK", "EUR", "10").await;
    assert_eq!(listener.next().await, None);
}

/// Gives a shop so many rates that their lists are a separate record.
async fn with_many_rates(shop: &Shop, value: u32) {
    let codes = ["SEK", "USD", "NOK", "DKK", "GBP", "CHF", "PLN", "CZK"];
    let set = codes.map(|code| {
        json!({ "exchangeRateType": "SALES", "currencyIdFrom": code, "currencyIdTo": "EUR", "rateValue": value })
    });
    let path = "business-units/C/exchange-rates";
    let (status, _) = shop.send(Method::POST, path, &json!({ "set": set })).await;
    assert_eq!(status, 200);
    shop.host.run_due().await;
}

#[tokio::test]
async fn long_lists_that_messages_share_are_read_whole() {
    let shop = Shop::with_units().await;
    with_many_rates(&shop, 11).await;
    let mut listener = Listener::join(&shop, "after=earliest").await;
    for expected in ["C-1", "SE-1", "SE-2"] {
        let event = listener.next().await.unwrap();
        let told = event.json();
        assert_eq!(told["data"]["businessUnitId"], expected);
        assert_eq!(told["data"]["tenantId"], "acme");
        assert_eq!(told["data"]["createdRates"].as_array().unwrap().len(), 16);
        assert_eq!(
            told["data"].as_object().unwrap().len(),
            3,
            "nothing of how it is stored"
        );
        assert!(event.data.len() > 1 << 10);
    }
}

#[tokio::test]
async fn a_slow_reader_loses_nothing_and_holds_up_nobody() {
    let shop = Shop::with_units().await;
    let address = shop.host.url.trim_start_matches("http://");
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut slow = socket.connect(address.parse().unwrap()).await.unwrap();
    let bearer = format!("Bearer {}", shop.token);
    let headers = [("authorization", bearer.as_str())];
    let path = "GET /api/v1/topics/cer.public.event.rates-changed.v1?businessUnitId=SE-1";
    let request = message(path, &headers, "");
    tokio::io::AsyncWriteExt::write_all(&mut slow, &request)
        .await
        .unwrap();
    let mut read = Vec::new();
    let joining = async {
        while !read.ends_with(b"\r\n\r\n") {
            read.push(tokio::io::AsyncReadExt::read_u8(&mut slow).await.unwrap());
        }
    };
    within("the head of the answer", joining).await;
    let mut quick = Listener::join(&shop, "businessUnitId=SE-1").await;
    // More messages than may wait for a listener, and far more bytes than its connection buffers.
    let count = 600;
    for value in 1..=count {
        with_many_rates(&shop, value).await;
        quick.next().await.unwrap();
        // It reads some bytes, so that it does not count as gone, however long this takes.
        let mut some = [0; 1 << 14];
        if let Ok(length) = slow.try_read(&mut some) {
            read.extend_from_slice(&some[..length]);
        }
    }
    let last = format!(r#""rateValue":{count},"#);
    let seen = |read: &[u8]| {
        let text = String::from_utf8_lossy(read);
        text.rfind("event:").is_none() && text.contains(&last)
    };
    let catching_up = async {
        while !seen(&read[read.len().saturating_sub(1 << 15)..]) {
            let chunk = tokio::io::AsyncReadExt::read_buf(&mut slow, &mut read).await;
            assert!(chunk.unwrap() > 0);
        }
    };
    within("the last of what the slow reader missed", catching_up).await;
    let text = String::from_utf8(read).unwrap();
    let data = text.lines().filter(|line| line.starts_with("data:"));
    assert_eq!(data.count(), usize::try_from(count).unwrap());
}

#[tokio::test]
async fn the_current_state_of_a_shop_a_group_or_all_is_sent_again() {
    let shop = Shop::with_units().await;
    shop.set("SE", "SEK", "EUR", "10").await;
    let mut listener = Listener::join(&shop, "").await;
    let cases = [
        (
            json!({ "tenantId": "acme", "businessUnitId": "SE-1" }),
            vec!["SE-1"],
        ),
        (
            json!({ "tenantId": "acme", "businessUnitId": "SE" }),
            vec!["SE-1", "SE-2"],
        ),
        (json!({ "tenantId": "acme" }), vec!["C-1", "SE-1", "SE-2"]),
    ];
    for (body, shops) in cases {
        let (status, answer) = shop.send(Method::POST, "initial-state", &body).await;
        assert_eq!(status, 200);
        shop.host.run_due().await;
        for expected in shops {
            let event = listener.next().await.unwrap().json();
            assert_eq!(
                event["attributes"]["Correlation-Id"],
                answer["correlationId"]
            );
            let data = event["data"].as_object().unwrap();
            assert_eq!(data["businessUnitId"], expected);
            if expected == "C-1" {
                assert_eq!(data.len(), 2, "a shop without rates has no lists");
            } else {
                assert_eq!(data["updatedRates"].as_array().unwrap().len(), 2);
                assert_eq!(data.len(), 3);
            }
        }
    }
    let operator = operator(&shop).await;
    let path = "/api/v1/initial-state";
    for (tenant, expected) in [("acme", 200), ("nobody", 404)] {
        let body = json!({ "tenantId": tenant });
        let asked = shop.host.send(Method::POST, path, &operator, &body).await;
        assert_eq!(asked.0, expected);
    }
    shop.host.run_due().await;
    assert_eq!(listener.shops(3).await, ["C-1", "SE-1", "SE-2"]);
}

#[tokio::test]
async fn a_change_says_how_far_it_has_come() {
    let shop = Shop::with_units().await;
    let id = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    let change = format!("exchange-rates/changes/{id}");
    assert_eq!(shop.get(&change).await.0, 404);
    let set = async |path: &str, value: u32| {
        let path = format!("/api/v1/business-units/{path}/exchange-rates/SALES/SEK/EUR");
        let request = shop.host.request(Method::PUT, &path, &shop.token);
        let request = request
            .header("correlation-id", id)
            .json(&json!({ "rateValue": value }));
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["correlation-id"], id);
    };
    // This host no longer does anything in the background; another one continues.
    shop.host.app.runner.stop().await;
    set("C", 10).await;
    let counts = json!({ "total": null, "done": 0, "published": 0 });
    let running = json!({ "correlationId": id, "state": "RUNNING", "businessUnits": counts });
    assert_eq!(shop.get(&change).await, (200, running));
    let another = Host::start_on(shop.store.clone(), shop.clock.clone() as Arc<dyn Clock>).await;
    another.run_due().await;
    let done = |total: u32, published: u32| {
        let counts = json!({ "total": total, "done": total, "published": published });
        json!({ "correlationId": id, "state": "DONE", "businessUnits": counts })
    };
    assert_eq!(shop.get(&change).await, (200, done(3, 3)));
    // Several changes with one correlation id are one.
    set("SE-1", 11).await;
    set("C", 12).await;
    another.run_due().await;
    assert_eq!(shop.get(&change).await, (200, done(7, 6)));
    let mut listener = Listener::join(&shop, "after=earliest").await;
    for _ in 0..6 {
        let event = listener.next().await.unwrap().json();
        assert_eq!(event["attributes"]["Correlation-Id"], id);
    }
    let other = shop.host.token("zeta", super::fixture::ROLES).await;
    let path = format!("/api/v1/{change}");
    assert_eq!(shop.host.get(&path, &other).await.0, 404);
    // It is kept as long as messages are.
    shop.clock.advance(Duration::from_secs(8 * 24 * 3600));
    another.run_due().await;
    let token = shop.host.token("acme", super::fixture::ROLES).await;
    assert_eq!(shop.host.get(&path, &token).await.0, 404);
}

#[tokio::test]
async fn changes_are_forgotten_in_time_even_where_nothing_is_published() {
    let shop = Shop::start().await;
    shop.unit("C", json!({ "type": "COMPANY" })).await;
    let set = json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 10 });
    let path = "business-units/C/exchange-rates";
    let (_, made) = shop
        .send(Method::POST, path, &json!({ "set": [set] }))
        .await;
    shop.host.run_due().await;
    let id = made["correlationId"].as_str().unwrap();
    let change = format!("/api/v1/exchange-rates/changes/{id}");
    assert_eq!(shop.host.get(&change, &shop.token).await.0, 200);
    shop.clock.advance(Duration::from_secs(8 * 24 * 3600));
    shop.host.run_due().await;
    let token = shop.host.token("acme", super::fixture::ROLES).await;
    assert_eq!(shop.host.get(&change, &token).await.0, 404);
}
