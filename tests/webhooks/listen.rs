//! Listeners: temporary webhooks whose deliveries a developer's machine forwards, and what it reports of them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate::clock::{Clock, StoppedClock};
use tillgate::egress::{Client, Destinations, Event, EventStream, Limits, Opened, StreamLimits};
use tillgate::identity::TenantId;
use tillgate::store::MemoryStore;
use tillgate::store::portable::Portable;

use super::deliveries::hs256;
use super::shop::{DELIVERIES, KEY, START, Shop, TYPE, WEBHOOKS, local, minutes, settings};
use crate::support::receiver::Receiver;
use crate::support::wait::{DEADLINE, until, within};

const FORWARD_TO: &str = "http://127.0.0.1:3000/hook";

/// A stream of a listener.
struct Ear(EventStream);

impl Ear {
    async fn open(shop: &Shop, webhook: &str) -> Self {
        let limits = Limits {
            deadline: DEADLINE,
            max_answer: 1 << 20,
            destinations: Destinations::Loopback,
        };
        let client = Client::new(limits).unwrap();
        let url = format!("{}{WEBHOOKS}/{webhook}/deliveries", shop.host.url);
        let request = client.request(Method::GET, url.parse().unwrap());
        let limits = StreamLimits {
            silence: DEADLINE,
            max_event: 1 << 20,
        };
        let opened = client.open(request.bearer_auth(shop.token()), limits).await;
        match opened.unwrap() {
            Opened::Events(events) => Self(*events),
            Opened::Answer(answer) => panic!("{answer:?}"),
        }
    }

    async fn event(&mut self) -> Option<Event> {
        let event = within("an event, or the end of the stream", self.0.next());
        event.await.unwrap()
    }

    /// The next delivery.
    async fn next(&mut self) -> Value {
        let event = self.event().await.expect("the stream goes on");
        assert_eq!(event.name, "delivery");
        serde_json::from_str(&event.data).unwrap()
    }
}

/// What a listener says of itself.
fn wanted(more: Value) -> Value {
    let mut wanted = json!({ "eventTypes": [TYPE], "forwardTo": FORWARD_TO });
    for (name, value) in more.as_object().unwrap() {
        wanted[name] = value.clone();
    }
    wanted
}

/// Creates a temporary webhook; answers its id.
async fn listen(shop: &Shop, more: Value) -> String {
    let path = format!("{WEBHOOKS}/listen");
    let (status, body) = shop.send(Method::POST, &path, &wanted(more)).await;
    assert_eq!(status, 201, "{body}");
    body["id"].as_str().unwrap().to_owned()
}

/// Reports what has come of a delivery; answers the delivery as it is by then.
async fn report(shop: &Shop, webhook: &str, offer: &Value, outcome: Value) -> (u16, Value) {
    let delivery = offer["deliveryId"].as_str().unwrap();
    let path = format!("{WEBHOOKS}/{webhook}/deliveries/{delivery}/outcome");
    let mut report = json!({ "receipt": offer["receipt"], "durationMs": 12 });
    for (name, value) in outcome.as_object().unwrap() {
        report[name] = value.clone();
    }
    shop.send(Method::POST, &path, &report).await
}

fn answered(status: u16) -> Value {
    json!({ "answer": { "status": status } })
}

/// How many seconds after now something is due.
fn wait(shop: &Shop, delivery: &Value) -> i64 {
    let at: jiff::Timestamp = delivery["nextAttemptAt"].as_str().unwrap().parse().unwrap();
    at.as_second() - i64::try_from(shop.clock.now().seconds()).unwrap()
}

#[tokio::test]
async fn a_listener_gets_what_a_receiver_would_and_its_answer_is_in_the_journal() {
    let shop = Shop::open_with(|_| ()).await;
    let path = format!("{WEBHOOKS}/listen");
    let (status, made) = shop.send(Method::POST, &path, &wanted(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let (id, key) = (
        made["id"].as_str().unwrap(),
        made["sharedKey"].as_str().unwrap(),
    );
    assert_eq!(made["expiresAt"], "2026-01-01T00:01:00.000Z");
    let webhook = shop.get(&format!("{WEBHOOKS}/{id}")).await;
    let expected = json!({
        "id": id,
        "name": "tillgate listen",
        "callbackUrl": FORWARD_TO,
        "eventTypes": [TYPE],
        "authentication": { "type": "BEARER" },
        "hasSharedKey": true,
        "temporary": true,
        "enabled": true,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "lastModified": "2026-01-01T00:00:00.000Z",
    });
    assert_eq!(webhook, expected);

    let mut ear = Ear::open(&shop, id).await;
    let event_id = shop.publish(json!({ "order": 7 })).await;
    shop.run().await;
    let offer = ear.next().await;
    assert_eq!(offer["eventId"], event_id.as_str());
    assert_eq!(offer["eventType"], TYPE);
    assert_eq!(offer["attempt"], 1);
    assert_eq!(offer["deadlineMs"], 5_000);
    let request = &offer["request"];
    assert_eq!(request["method"], "POST");
    assert_eq!(request["url"], FORWARD_TO);
    let body = request["body"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(body).unwrap();
    let data = envelope["data"].as_str().unwrap();
    let header = |name: &str| request["headers"][name].as_str().expect(name);
    assert_eq!(
        header("x-service-signature"),
        hs256(key.as_bytes(), data.as_bytes())
    );
    let signed = format!("{event_id}.{}.{body}", START.seconds());
    let of_body = hs256(key.as_bytes(), signed.as_bytes());
    assert_eq!(
        header("x-service-body-signature"),
        format!("t={},{of_body}", START.seconds())
    );
    assert!(header("correlation-id").len() == 36);
    let claims = header("authorization").split('.').nth(1).unwrap();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["aud"], FORWARD_TO);

    let answer = json!({ "answer": { "status": 201, "body": "thank you" } });
    let (status, reported) = report(&shop, id, &offer, answer.clone()).await;
    assert_eq!((status, &reported["status"]), (200, &json!("DELIVERED")));
    let delivery = shop.delivery().await;
    let attempt = json!({
        "at": "2026-01-01T00:00:00.000Z", "durationMs": 12, "status": 201, "answer": "thank you",
    });
    assert_eq!(delivery["attempts"], json!([attempt]));
    assert_eq!(delivery["request"]["body"], body);
    assert_eq!(
        delivery["request"]["headers"]["x-service-body-signature"],
        header("x-service-body-signature")
    );
    let health = shop.get(&format!("{WEBHOOKS}/health")).await;
    assert_eq!(health[0]["delivered"], 1);

    // The answer to the report was lost, so it comes again.
    let (status, again) = report(&shop, id, &offer, answer).await;
    assert_eq!((status, &again["attemptCount"]), (200, &json!(1)));
    let health = shop.get(&format!("{WEBHOOKS}/health")).await;
    assert_eq!(health[0]["delivered"], 1);
}

#[tokio::test]
async fn what_fails_is_forwarded_again_on_schedule_and_fails_when_the_listener_is_removed() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({})).await;
    let mut ear = Ear::open(&shop, &id).await;
    shop.publish(json!({})).await;
    shop.run().await;
    let offer = ear.next().await;
    let error = json!({ "error": { "kind": "UNREACHABLE", "message": "no connection: refused" } });
    let (_, reported) = report(&shop, &id, &offer, error).await;
    assert_eq!(reported["status"], "RETRYING", "{reported}");
    assert_eq!(
        reported["lastError"],
        json!({ "kind": "UNREACHABLE", "message": "no connection: refused" })
    );
    assert!((53..=66).contains(&wait(&shop, &reported)), "{reported}");

    shop.after(Duration::from_secs(66)).await;
    let offer = ear.next().await;
    assert_eq!(offer["attempt"], 2);
    let busy = json!({ "answer": { "status": 503, "headers": { "retry-after": "300" } } });
    let (_, reported) = report(&shop, &id, &offer, busy).await;
    assert_eq!(reported["status"], "RETRYING", "{reported}");
    assert_eq!(wait(&shop, &reported), 300);

    let path = format!("{WEBHOOKS}/{id}");
    let deleted = shop.host.request(Method::DELETE, &path, &shop.token());
    assert_eq!(deleted.send().await.unwrap().status(), 204);
    assert_eq!(ear.event().await.unwrap().name, "removed");
    assert_eq!(ear.event().await, None);
    shop.after(minutes(5)).await;
    let delivery = shop.delivery().await;
    assert_eq!(delivery["status"], "FAILED", "{delivery:#}");
    assert_eq!(delivery["lastError"]["kind"], "WEBHOOK_DELETED");
}

#[tokio::test]
async fn a_listener_without_a_stream_is_removed_after_a_minute_with_what_waits_for_it() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({})).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    assert_eq!(shop.delivery().await["status"], "PENDING");
    shop.after(Duration::from_secs(59)).await;
    let path = format!("{WEBHOOKS}/{id}");
    assert_eq!(shop.host.get(&path, &shop.token()).await.0, 200);
    shop.after(Duration::from_secs(1)).await;
    assert_eq!(shop.host.get(&path, &shop.token()).await.0, 404);
    assert_eq!(shop.get(WEBHOOKS).await, json!([]));
    shop.run().await;
    let delivery = shop.delivery().await;
    assert_eq!(delivery["status"], "FAILED", "{delivery:#}");
    assert_eq!(delivery["lastError"]["kind"], "WEBHOOK_DELETED");
    shop.after(minutes(2)).await;
}

#[tokio::test]
async fn a_listener_whose_stream_was_cut_is_removed_and_one_that_listens_is_not() {
    let shop = Shop::open().await;
    let (gone, there) = (
        listen(&shop, json!({})).await,
        listen(&shop, json!({})).await,
    );
    let (cut, mut ear) = (
        Ear::open(&shop, &gone).await,
        Ear::open(&shop, &there).await,
    );
    shop.after(minutes(3)).await;
    let path = format!("{WEBHOOKS}/{gone}");
    assert_eq!(shop.host.get(&path, &shop.token()).await.0, 200);
    drop(cut);
    // The host notices in its own time.
    until("the listener whose stream was cut is removed", async || {
        let (status, _) = shop.host.get(&path, &shop.token()).await;
        if status == 404 {
            return true;
        }
        assert_eq!(status, 200);
        shop.after(minutes(1)).await;
        // A stream ends with its token.
        ear = Ear::open(&shop, &there).await;
        false
    })
    .await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let offer = ear.next().await;
    assert_eq!(report(&shop, &there, &offer, answered(204)).await.0, 200);
    let deliveries = shop.deliveries(&format!("webhookId={there}")).await;
    assert_eq!(deliveries[0]["status"], "DELIVERED");
}

#[tokio::test]
async fn ten_listeners_of_a_tenant_are_the_most() {
    let shop = Shop::open().await;
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(listen(&shop, json!({})).await);
    }
    let path = format!("{WEBHOOKS}/listen");
    let (status, problem) = shop.send(Method::POST, &path, &wanted(json!({}))).await;
    assert_eq!(status, 409, "{problem}");
    let other = shop.host.token("other", &["exe.editor"]).await;
    let (status, _) = shop
        .host
        .send(Method::POST, &path, &other, &wanted(json!({})))
        .await;
    assert_eq!(status, 201);

    // A seat that is free again is taken, with what its last owner has left.
    shop.publish(json!("left")).await;
    shop.run().await;
    let path = format!("{WEBHOOKS}/{}", ids[4]);
    let deleted = shop.host.request(Method::DELETE, &path, &shop.token());
    assert_eq!(deleted.send().await.unwrap().status(), 204);
    let next = listen(&shop, json!({ "eventTypes": ["x.others.v1"] })).await;
    let mut ear = Ear::open(&shop, &next).await;
    let event = json!({ "type": "x.others.v1", "data": "mine" });
    let sent = shop.send(Method::POST, "/api/v1/events", &event).await;
    assert_eq!(sent.1["deliveries"], 1);
    shop.run().await;
    let offer = ear.next().await;
    assert_eq!(offer["eventType"], "x.others.v1");
    report(&shop, &next, &offer, answered(200)).await;
    shop.after(minutes(2)).await;
    shop.run().await;
    let left = shop.deliveries(&format!("webhookId={}", ids[4])).await;
    assert_eq!(left[0]["lastError"]["kind"], "WEBHOOK_DELETED", "{left:#?}");
}

#[tokio::test]
async fn eight_deliveries_are_under_way_and_the_next_follows_an_outcome() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let acme = TenantId::new("acme").unwrap().partition();
    let shop = Shop::open_on(store.clone(), clock, local).await;
    let id = listen(&shop, json!({})).await;
    let mut ear = Ear::open(&shop, &id).await;
    for number in 0..9 {
        shop.publish(json!(number)).await;
    }
    shop.run().await;
    let mut offers = Vec::new();
    for _ in 0..8 {
        offers.push(ear.next().await);
    }
    let first = offers.remove(0);
    // What is under way is due when its lease ends. The ninth waits.
    let queue = store.jobs(&acme, "webhook-listener/0", None, 20).await;
    let due = queue.unwrap().iter().filter(|job| job.due <= START).count();
    assert_eq!(due, 1);
    assert_eq!(report(&shop, &id, &first, answered(204)).await.0, 200);
    offers.push(ear.next().await);
    for offer in &offers {
        assert_eq!(report(&shop, &id, offer, answered(204)).await.0, 200);
    }
    assert_eq!(shop.deliveries("status=DELIVERED").await.len(), 9);
}

#[tokio::test]
async fn what_is_not_reported_is_forwarded_again_and_a_late_report_is_an_attempt() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({})).await;
    let mut ear = Ear::open(&shop, &id).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let first = ear.next().await;
    shop.after(Duration::from_secs(15)).await;
    let second = ear.next().await;
    assert_eq!(second["deliveryId"], first["deliveryId"]);
    assert_ne!(second["receipt"], first["receipt"]);
    let (status, late) = report(&shop, &id, &first, answered(500)).await;
    assert_eq!(
        (status, &late["status"]),
        (200, &json!("PENDING")),
        "{late}"
    );
    let (status, reported) = report(&shop, &id, &second, answered(204)).await;
    assert_eq!((status, &reported["status"]), (200, &json!("DELIVERED")));
    assert_eq!(reported["attemptCount"], 2, "{reported}");
}

#[tokio::test]
async fn a_receiver_that_echoes_what_it_gets_brings_no_secret_into_the_journal() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({ "sharedKey": KEY })).await;
    let mut ear = Ear::open(&shop, &id).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let offer = ear.next().await;
    let bearer = offer["request"]["headers"]["authorization"].as_str();
    let body = format!("got {} and {KEY}", bearer.unwrap());
    let answer = json!({ "answer": { "status": 200, "body": body } });
    assert_eq!(report(&shop, &id, &offer, answer).await.0, 200);
    let delivery = shop.delivery().await;
    let kept = format!(
        "an answer of {} bytes that repeats a credential",
        body.len()
    );
    assert_eq!(delivery["attempts"][0]["answer"], kept);
}

#[tokio::test]
async fn the_newest_stream_is_the_one_that_counts() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({})).await;
    let mut first = Ear::open(&shop, &id).await;
    let mut second = Ear::open(&shop, &id).await;
    assert_eq!(first.event().await, None);
    shop.publish(json!(1)).await;
    shop.run().await;
    let offer = second.next().await;
    assert_eq!(report(&shop, &id, &offer, answered(204)).await.0, 200);
}

#[tokio::test]
async fn any_host_takes_the_report() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let one = Shop::open_on(store.clone(), clock.clone(), local).await;
    let other = Shop::open_on(store, clock, local).await;
    let id = listen(&one, json!({})).await;
    let mut ear = Ear::open(&one, &id).await;
    for number in 0..12 {
        other.publish(json!(number)).await;
    }
    for _ in 0..12 {
        other.run().await;
        let offer = ear.next().await;
        let (status, reported) = report(&other, &id, &offer, answered(204)).await;
        assert_eq!((status, &reported["status"]), (200, &json!("DELIVERED")));
    }
    assert_eq!(one.deliveries("status=DELIVERED").await.len(), 12);
}

#[tokio::test]
async fn test_events_and_replays_are_forwarded_and_410_ends_it() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({ "sharedKey": KEY, "name": "Till" })).await;
    let path = format!("{WEBHOOKS}/{id}");
    let webhook = shop.get(&path).await;
    assert_eq!(webhook["name"], "Till");
    let mut ear = Ear::open(&shop, &id).await;
    let pinged = shop
        .host
        .request(Method::POST, &format!("{path}/ping"), &shop.token());
    assert_eq!(pinged.send().await.unwrap().status(), 202);
    shop.run().await;
    let offer = ear.next().await;
    assert_eq!(offer["eventType"], "exe.events.v1");
    report(&shop, &id, &offer, answered(204)).await;

    shop.clock.advance(Duration::from_secs(1));
    let replay = format!(
        "{DELIVERIES}/{}/replay",
        offer["deliveryId"].as_str().unwrap()
    );
    let replayed = shop.host.request(Method::POST, &replay, &shop.token());
    assert_eq!(replayed.send().await.unwrap().status(), 202);
    shop.run().await;
    let again = ear.next().await;
    assert_eq!(again["eventId"], offer["eventId"]);
    let (_, reported) = report(&shop, &id, &again, answered(410)).await;
    assert_eq!(reported["status"], "FAILED", "{reported}");
    assert_eq!(shop.get(&path).await["disabledReason"], "GONE");
    shop.publish(json!(1)).await;
    shop.run().await;
    assert_eq!(shop.deliveries("status=HELD").await.len(), 1);
}

#[tokio::test]
async fn a_listener_is_of_its_tenant_alone() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = listen(&shop, json!({})).await;
    let ordinary = shop
        .webhook(&receiver.url, json!({ "eventTypes": ["x.others.v1"] }))
        .await;
    let mut ear = Ear::open(&shop, &id).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let offer = ear.next().await;
    let delivery = offer["deliveryId"].as_str().unwrap();
    let outcome = format!("deliveries/{delivery}/outcome");
    let body = json!({ "receipt": offer["receipt"], "durationMs": 1, "answer": { "status": 204 } });
    let host = &shop.host;
    let other = host.token("other", &["exe.editor", "exe.publisher"]).await;
    let reader = host.token("acme", &["exe.viewer"]).await;
    let (mine, ordinary) = (format!("{WEBHOOKS}/{id}"), format!("{WEBHOOKS}/{ordinary}"));
    for (token, path, expected) in [
        (&other, &mine, 404),
        (&reader, &mine, 403),
        (&shop.token(), &ordinary, 409),
    ] {
        let stream = format!("{path}/deliveries");
        assert_eq!(host.get(&stream, token).await.0, expected, "{stream}");
        let (status, _) = host
            .send(Method::POST, &format!("{path}/{outcome}"), token, &body)
            .await;
        assert_eq!(status, expected, "{path}");
    }
    let second = listen(&shop, json!({})).await;
    let (status, _) = report(&shop, &second, &offer, answered(204)).await;
    assert_eq!(status, 404, "the delivery is another listener's");
    assert_eq!(shop.delivery().await["attempts"], json!([]));
    assert_eq!(report(&shop, &id, &offer, answered(204)).await.0, 200);
}

#[tokio::test]
async fn only_a_local_url_is_forwarded_to_and_it_stays_as_it_is() {
    let shop = Shop::open_with(|config| {
        config.webhooks.allow_private = vec!["10.1.0.0/16".parse().unwrap()];
    });
    let shop = shop.await;
    let path = format!("{WEBHOOKS}/listen");
    for url in [
        "https://erp.example/hook",
        "http://8.8.8.8/",
        "http://169.254.169.254/",
        "http://10.1.2.3/hook",
        "ftp://127.0.0.1/",
        "http://user@127.0.0.1/",
        "here",
    ] {
        let body = wanted(json!({ "forwardTo": url }));
        let (status, problem) = shop.send(Method::POST, &path, &body).await;
        assert_eq!(status, 400, "{url}: {problem}");
        let told = problem["message"][0].as_str().unwrap();
        assert!(told.starts_with("$.forwardTo must"), "{told}");
    }
    let (status, problem) = shop.send(Method::POST, &path, &json!({ "name": 7 })).await;
    assert_eq!(status, 400);
    assert_eq!(problem["message"].as_array().unwrap().len(), 3, "{problem}");

    // A token for the URL of another receiver must not be had.
    let id = listen(&shop, json!({ "forwardTo": "http://10.2.0.1:3000/hook" })).await;
    let body = settings("https://erp.example/hook", json!({}));
    let put = shop
        .send(Method::PUT, &format!("{WEBHOOKS}/{id}"), &body)
        .await;
    assert_eq!(put.0, 409, "{}", put.1);
}

#[tokio::test]
async fn every_fault_of_a_report_is_named() {
    let shop = Shop::open().await;
    let id = listen(&shop, json!({})).await;
    let path = format!("{WEBHOOKS}/{id}/deliveries/{id}/outcome");
    let rows = [
        (json!({}), vec!["$.receipt", "$.durationMs", "$.answer"]),
        (
            json!({ "receipt": "1", "durationMs": -1, "answer": { "status": 7, "headers": { "location": 1 } } }),
            vec![
                "$.receipt",
                "$.durationMs",
                "$.answer.status",
                "$.answer.headers.location",
            ],
        ),
        (
            json!({ "receipt": "1-2", "durationMs": 600_001, "error": { "kind": "GONE" } }),
            vec!["$.durationMs", "$.error.kind", "$.error.message"],
        ),
    ];
    for (body, paths) in rows {
        let (status, problem) = shop.send(Method::POST, &path, &body).await;
        assert_eq!(status, 400, "{problem}");
        let faults = problem["message"].as_array().unwrap().iter();
        let found: Vec<&str> = faults
            .map(|fault| fault.as_str().unwrap().split(' ').next().unwrap())
            .collect();
        assert_eq!(found, paths, "{body}");
    }
    let right = json!({ "receipt": "1-2", "durationMs": 1, "answer": { "status": 204 } });
    let (status, _) = shop.send(Method::POST, &path, &right).await;
    assert_eq!(status, 404, "no such delivery");
}
