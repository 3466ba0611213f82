//! Pull: the answers to consumers, acknowledgements, and unread events.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;

use super::shop::{Shop, TYPE, WEBHOOKS, local, minutes};
use crate::support::receiver::{Answer, Receiver};

pub(crate) const EVENTS: &str = "/api/v1/events";
pub(crate) const CONSUMERS: &str = "/api/v1/event-consumers";

const CONDITION: &str = "/api/v1/entity-conditions/beer";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
struct Page {
    items: Vec<Value>,
    next: String,
    reset: bool,
}

impl Page {
    fn ids(&self) -> Vec<&str> {
        let ids = self.items.iter().map(|item| item["id"].as_str().unwrap());
        ids.collect()
    }
}

async fn pull(shop: &Shop, query: &str) -> Page {
    let page = shop.get(&format!("{EVENTS}?{query}")).await;
    Page {
        items: page["items"].as_array().unwrap().clone(),
        next: page["next"].as_str().unwrap().to_owned(),
        reset: page["reset"].as_bool().unwrap_or_default(),
    }
}

/// Returns the status and the reason of a refused request for events.
async fn refused(shop: &Shop, query: &str) -> (u16, Value) {
    let (status, body) = shop
        .host
        .get(&format!("{EVENTS}?{query}"), &shop.token())
        .await;
    (status, body["detail"].clone())
}

async fn publish(shop: &Shop, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(shop.publish(json!(number)).await);
    }
    ids
}

/// Opens a shop with other settings.
async fn configured(configure: impl FnOnce(&mut Config)) -> Shop {
    let configure = |config: &mut Config| {
        local(config);
        configure(config);
    };
    Shop::open_with(configure).await
}

#[tokio::test]
async fn a_consumer_gets_the_envelopes_that_are_delivered_from_its_first_request_on() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop
        .webhook(&receiver.url, json!({ "eventTypes": ["*"] }))
        .await;
    shop.publish(json!("before")).await;
    let first = pull(&shop, "consumer=erp").await;
    assert_eq!((first.items.len(), first.reset), (0, false));

    let ids = publish(&shop, 3).await;
    let rule = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    assert_eq!(shop.send(Method::PUT, CONDITION, &rule).await.0, 201);
    // A test event is for its webhook alone.
    let ping = format!("{WEBHOOKS}/{id}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &Value::Null).await.0, 202);
    shop.run().await;
    let received = receiver.wait_for(6).await;
    let page = pull(&shop, "consumer=erp").await;
    assert_eq!(page.ids()[..3], ids);
    assert_eq!(page.items.len(), 4, "{page:#?}");
    assert_eq!(page.items[3]["type"], "entity-conditions.events.v1");
    for item in &page.items {
        assert!(
            received.iter().any(|it| it.envelope() == *item),
            "{item} was delivered as well"
        );
    }
    let again = pull(&shop, "consumer=erp").await;
    assert_eq!((again.items, again.next), (page.items, page.next));
}

#[tokio::test]
async fn events_that_no_webhook_wants_are_there_for_consumers() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    pull(&shop, "consumer=erp").await;
    let once = json!({ "id": "once", "type": "x.quiet.v1", "data": 1 });
    for _ in 0..2 {
        let published = shop.send(Method::POST, EVENTS, &once).await;
        assert_eq!(published, (202, json!({ "id": "once", "deliveries": 0 })));
    }
    let rule = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    assert_eq!(shop.send(Method::PUT, CONDITION, &rule).await.0, 201);
    // The job that looks for webhooks finds none.
    shop.run().await;
    // A failed delivery and a disabled webhook are reported too, though the tenant has no other webhook.
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(410, "", ""));
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.wait_for(1).await;
    shop.run().await;
    let page = pull(&shop, "consumer=erp").await;
    let types = page.items.iter().map(|item| item["type"].as_str().unwrap());
    let types: Vec<&str> = types.collect();
    assert_eq!(
        types[..3],
        ["x.quiet.v1", "entity-conditions.events.v1", TYPE]
    );
    let mut told = types[3..].to_vec();
    told.sort_unstable();
    assert_eq!(told, ["deliveries.events.v1", "webhooks.events.v1"]);
    assert_eq!(page.items[0]["id"], "once", "it is there once");
}

#[tokio::test]
async fn a_cursor_acknowledges_its_page_and_an_earlier_one_moves_nothing_back() {
    let shop = Shop::open().await;
    pull(&shop, "consumer=erp").await;
    let ids = publish(&shop, 5).await;
    let first = pull(&shop, "consumer=erp&limit=2").await;
    assert_eq!(first.ids(), ids[..2]);
    let after_first = format!("consumer=erp&limit=2&after={}", first.next);
    let second = pull(&shop, &after_first).await;
    assert_eq!(second.ids(), ids[2..4]);
    // An answer that was lost can be requested again in either way.
    assert_eq!(pull(&shop, &after_first).await.ids(), ids[2..4]);
    assert_eq!(pull(&shop, "consumer=erp&limit=2").await.ids(), ids[2..4]);

    let third = pull(&shop, &format!("consumer=erp&after={}", second.next)).await;
    assert_eq!(third.ids(), ids[4..]);
    assert_eq!(pull(&shop, &after_first).await.ids(), ids[4..]);
    let end = pull(&shop, &format!("consumer=erp&after={}", third.next)).await;
    assert_eq!((end.items.len(), &end.next), (0, &third.next));
    let more = publish(&shop, 1).await;
    assert_eq!(pull(&shop, "consumer=erp").await.ids(), more);
}

#[tokio::test]
async fn each_consumer_has_a_position_of_its_own_and_no_other_ones_cursor_moves_it() {
    let shop = Shop::open().await;
    pull(&shop, "consumer=erp").await;
    let ids = publish(&shop, 2).await;
    pull(&shop, "consumer=bi").await;
    let more = publish(&shop, 1).await;
    let of_erp = pull(&shop, "consumer=erp").await;
    assert_eq!(of_erp.ids(), [ids.clone(), more.clone()].concat());
    let (status, detail) = refused(&shop, &format!("consumer=bi&after={}", of_erp.next)).await;
    assert_eq!(status, 400, "{detail}");
    assert_eq!(pull(&shop, "consumer=bi").await.ids(), more);

    // A later consumer of the same name is a new one, and begins when it is created.
    let path = format!("{CONSUMERS}/erp");
    assert_eq!(
        shop.send(Method::DELETE, &path, &Value::Null).await,
        (204, Value::Null)
    );
    assert_eq!(shop.send(Method::DELETE, &path, &Value::Null).await.0, 404);
    let old = format!("consumer=erp&after={}", of_erp.next);
    assert_eq!(refused(&shop, &old).await.0, 400);
    assert!(pull(&shop, "consumer=erp").await.items.is_empty());
    assert_eq!(refused(&shop, &old).await.0, 400);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_named_and_nothing_is_made_or_moved() {
    let shop = Shop::open().await;
    let long = "x".repeat(65);
    for (query, faults) in [
        ("", vec!["$.consumer"]),
        ("consumer=", vec!["$.consumer"]),
        ("consumer=.", vec!["$.consumer"]),
        ("consumer=..", vec!["$.consumer"]),
        ("consumer=a%20b", vec!["$.consumer"]),
        ("consumer=a%2Fb", vec!["$.consumer"]),
        ("consumer=%C3%A9", vec!["$.consumer"]),
        (&format!("consumer={long}"), vec!["$.consumer"]),
        ("consumer=erp&limit=0", vec!["$.limit"]),
        ("consumer=erp&limit=1001", vec!["$.limit"]),
        ("consumer=erp&limit=-1", vec!["$.limit"]),
        ("consumer=erp&wait=61s", vec!["$.wait"]),
        ("consumer=erp&wait=20", vec!["$.wait"]),
        // The maximum of a duration, and a second more.
        (
            "consumer=erp&wait=18446744073709551615s1000ms",
            vec!["$.wait"],
        ),
        ("consumer=erp&wait=-1s", vec!["$.wait"]),
        ("consumer=erp&wait=", vec!["$.wait"]),
        ("consumer=erp&after=", vec!["$.after"]),
        ("consumer=erp&after=earliest", vec!["$.after"]),
        (
            "limit=x&wait=x&after=x",
            vec!["$.consumer", "$.after", "$.limit", "$.wait"],
        ),
    ] {
        let path = format!("{EVENTS}?{query}");
        let (status, problem) = shop.host.get(&path, &shop.token()).await;
        let named = problem["message"].as_array().unwrap().iter();
        let named = named.map(|fault| fault.as_str().unwrap().split(' ').next().unwrap());
        assert_eq!(
            (status, named.collect::<Vec<_>>()),
            (400, faults),
            "{query}"
        );
    }
    assert_eq!(shop.get(CONSUMERS).await, json!([]));

    let first = pull(&shop, "consumer=erp").await;
    let ids = publish(&shop, 1).await;
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(&first.next).unwrap();
    let text = String::from_utf8(decoded).unwrap();
    let (position, rest) = text.split_once(' ').unwrap();
    let position: u64 = position.parse().unwrap();
    let given = format!("{} {rest}", position + 1);
    let not_yet = format!("{} {rest}", position + 2);
    for (text, status) in [(not_yet, 400), (given, 200)] {
        assert_eq!(pull(&shop, "consumer=erp").await.ids(), ids);
        let after = BASE64_URL_SAFE_NO_PAD.encode(&text);
        let answer = refused(&shop, &format!("consumer=erp&after={after}")).await;
        assert_eq!(answer.0, status, "{text}");
    }
    assert!(pull(&shop, "consumer=erp").await.items.is_empty());
}

#[tokio::test]
async fn of_many_who_make_consumers_at_once_as_many_do_as_the_quota_allows() {
    let shop = configured(|config| config.quotas.event_consumers = 3).await;
    let all = (0..10).map(async |number| refused(&shop, &format!("consumer=c{number}")).await);
    let answers = join_all(all).await;
    let full = json!("a tenant may have at most 3 event consumers");
    let count = |answer: &(u16, Value)| answers.iter().filter(|it| *it == answer).count();
    assert_eq!(
        (count(&(200, Value::Null)), count(&(409, full.clone()))),
        (3, 7)
    );
    let usage = async || shop.get("/v1/tenants/acme/usage").await["eventConsumers"].clone();
    assert_eq!(usage().await, json!({ "used": 3, "quota": 3 }));
    let listed = shop.get(CONSUMERS).await;
    let name = listed[0]["name"].as_str().unwrap();
    let path = format!("{CONSUMERS}/{name}");
    assert_eq!(shop.send(Method::DELETE, &path, &Value::Null).await.0, 204);
    assert_eq!(usage().await["used"], 2);
    pull(&shop, "consumer=another").await;
    assert_eq!(refused(&shop, "consumer=more").await, (409, full));
}

#[tokio::test]
async fn a_page_has_a_mebibyte_of_events_at_most() {
    let shop = Shop::open().await;
    let first = pull(&shop, "consumer=erp").await;
    let data = json!("x".repeat((256 << 10) - 2));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(shop.publish(data.clone()).await);
    }
    let (mut next, mut pages, mut found) = (first.next, Vec::new(), Vec::new());
    while found.len() < ids.len() {
        let page = pull(&shop, &format!("consumer=erp&after={next}")).await;
        found.extend(page.ids().iter().map(|id| (*id).to_owned()));
        pages.push(page.items.len());
        next = page.next;
    }
    assert_eq!((found, pages), (ids, vec![2, 2, 1]));
}

#[tokio::test]
async fn events_are_kept_as_long_as_the_journal_and_who_missed_some_is_told() {
    let shop = Shop::open().await;
    pull(&shop, "consumer=slow").await;
    let done = pull(&shop, "consumer=done").await;
    publish(&shop, 2).await;
    let page = pull(&shop, &format!("consumer=done&after={}", done.next)).await;
    pull(&shop, &format!("consumer=done&after={}", page.next)).await;
    shop.after(DAY * 29).await;
    assert_eq!(pull(&shop, "consumer=slow").await.items.len(), 2);
    shop.after(DAY * 3).await;
    let ids = publish(&shop, 1).await;
    let listed = shop.get(CONSUMERS).await;
    let told = |name: usize| (listed[name]["name"].clone(), listed[name]["reset"].clone());
    assert_eq!(told(0), (json!("done"), Value::Null));
    assert_eq!(told(1), (json!("slow"), json!(true)));

    for (name, reset) in [("slow", true), ("done", false)] {
        let page = pull(&shop, &format!("consumer={name}")).await;
        assert_eq!((page.ids(), page.reset), (vec![&*ids[0]], reset), "{name}");
        let next = pull(&shop, &format!("consumer={name}&after={}", page.next)).await;
        assert_eq!((next.items.len(), next.reset), (0, false), "{name}");
    }
    // Even where nothing is left to read, the cursor leads past what is gone.
    publish(&shop, 1).await;
    shop.after(DAY * 32).await;
    let page = pull(&shop, "consumer=slow").await;
    assert_eq!((page.items.len(), page.reset), (0, true));
    let page = pull(&shop, &format!("consumer=slow&after={}", page.next)).await;
    assert!(!page.reset);
}

#[tokio::test]
async fn the_list_says_how_far_behind_each_consumer_is_and_when_it_has_asked() {
    let shop = Shop::open().await;
    let first = pull(&shop, "consumer=erp").await;
    shop.clock.advance(minutes(1));
    publish(&shop, 1).await;
    shop.clock.advance(minutes(1));
    publish(&shop, 1).await;
    let start = "2026-01-01T00:00:00.000Z";
    let behind = json!({ "name": "erp", "createdAt": start, "lastSeenAt": start, "waitingSince": "2026-01-01T00:01:00.000Z" });
    assert_eq!(shop.get(CONSUMERS).await, json!([behind]));
    // A request alone is recorded with a precision of a minute.
    pull(&shop, "consumer=erp").await;
    let seen = shop.get(CONSUMERS).await[0]["lastSeenAt"].clone();
    assert_eq!(seen, "2026-01-01T00:02:00.000Z");
    let page = pull(&shop, &format!("consumer=erp&after={}", first.next)).await;
    pull(&shop, &format!("consumer=erp&after={}", page.next)).await;
    let listed = shop.get(CONSUMERS).await;
    assert_eq!(listed[0]["waitingSince"], Value::Null);
}
