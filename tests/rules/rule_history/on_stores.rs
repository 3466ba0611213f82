//! Properties of the history of rules on every store: rows, order, pages, retention, the largest project, and two hosts.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tillgate_base::identity::TenantId;

use super::shop::{BEER, PROJECT, Shop, age, steps};
use crate::support::stores::{self, Opened};

const DAY: Duration = Duration::from_secs(24 * 3600);
const MINUTE: Duration = Duration::from_secs(60);

macro_rules! every_store {
    ($behaviours:tt) => {
        one_store!(memory $behaviours);
        one_store!(embedded $behaviours);
        one_store!(redis $behaviours);
    };
}

macro_rules! one_store {
    ($store:ident { $($behaviour:ident)+ }) => {
        mod $store {
            use super::stores;

            $(#[test]
            fn $behaviour() {
                stores::run(stores::$store, super::$behaviour);
            })+
        }
    };
}

every_store!({
    every_change_is_told_with_who_when_and_both_versions
    pages_follow_each_other_without_a_gap_or_a_repeat
    what_two_hosts_change_at_once_is_one_chain
    what_is_older_than_400_days_is_removed
    what_was_deleted_is_listed_until_it_is_there_again_or_too_old
    the_largest_project_has_a_history
});

async fn every_change_is_told_with_who_when_and_both_versions(on: Opened) {
    let shop = Shop::open_at(&on).await;
    assert_eq!(shop.put(BEER, &age(16)).await, 201);
    shop.pass(MINUTE).await;
    let why = |path: &str| format!("{path}?note=%20The%20law%20of%20M%C3%A4rz%20");
    assert_eq!(shop.put(&why(BEER), &age(18)).await, 200);
    shop.pass(MINUTE).await;
    assert_eq!(shop.delete(&why(BEER)).await, 204);
    let by = json!({ "clientId": shop.owner.client_id, "name": "test 1" });
    let beer = |minimum: u64| {
        json!({
            "id": "beer", "rule": "AGE_RESTRICTION", "scope": "TENANT", "enabled": true,
            "condition_value": { "minimum_age": minimum },
        })
    };
    let page = shop.history(BEER, "").await;
    assert_eq!(
        page,
        json!({ "items": [
            { "at": "2026-01-01T00:02:00.000Z", "by": by, "note": "The law of März", "action": "DELETED", "before": beer(18), "after": null },
            { "at": "2026-01-01T00:01:00.000Z", "by": by, "note": "The law of März", "action": "REPLACED", "before": beer(16), "after": beer(18) },
            { "at": "2026-01-01T00:00:00.000Z", "by": by, "action": "CREATED", "before": null, "after": beer(16) },
        ] })
    );
    // The same document again is no change.
    assert_eq!(shop.put(BEER, &age(16)).await, 201);
    assert_eq!(shop.put(BEER, &age(16)).await, 200);
    let page = shop.history(BEER, "?limit=2").await;
    assert_eq!(steps(&page), ["CREATED - -> 16", "DELETED 18 -> -"]);
    let project = json!({ "name": "School", "restrictions": [] });
    assert_eq!(shop.put(&why(PROJECT), &project).await, 201);
    let page = shop.history(PROJECT, "").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["note"], "The law of März");
    assert_eq!(page["items"][0]["after"]["name"], "School");
}

async fn pages_follow_each_other_without_a_gap_or_a_repeat(on: Opened) {
    let shop = Shop::open_at(&on).await;
    for minimum in 1..=4 {
        shop.put(BEER, &age(minimum)).await;
        // Other rules change in between, one of which has an id with the same prefix.
        shop.put("/api/v1/entity-conditions/beer2", &age(99)).await;
        if minimum == 2 {
            shop.delete(BEER).await;
        }
    }
    let all = steps(&shop.history(BEER, "").await);
    assert_eq!(
        all,
        [
            "REPLACED 3 -> 4",
            "CREATED - -> 3",
            "DELETED 2 -> -",
            "REPLACED 1 -> 2",
            "CREATED - -> 1",
        ]
    );
    for limit in 1..=6 {
        let (mut paged, mut next) = (Vec::new(), String::new());
        loop {
            let page = shop.history(BEER, &format!("?limit={limit}{next}")).await;
            assert!(steps(&page).len() <= limit);
            paged.extend(steps(&page));
            match page["next"].as_str() {
                Some(cursor) => next = format!("&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(paged, all, "by {limit}");
    }
    // A change that comes while pages are read does not shift them.
    let first = shop.history(BEER, "?limit=2").await;
    shop.put(BEER, &age(5)).await;
    let cursor = first["next"].as_str().unwrap();
    let second = shop
        .history(BEER, &format!("?limit=2&cursor={cursor}"))
        .await;
    assert_eq!(steps(&second), all[2..4]);
}

async fn what_two_hosts_change_at_once_is_one_chain(on: Opened) {
    let shop = Shop::open_at(&on).await;
    let other = shop.another(&on).await;
    assert_eq!(shop.put(BEER, &age(0)).await, 201);
    let token = shop.token();
    let puts = (1..=20).map(async |minimum: u64| {
        let host = if minimum.is_multiple_of(2) {
            &shop.host
        } else {
            &other
        };
        let (status, answer) = host.send(Method::PUT, BEER, &token, &age(minimum)).await;
        assert_eq!(status, 200, "{answer}");
    });
    join_all(puts).await;
    let page = shop.history(BEER, "").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 21);
    for pair in items.windows(2) {
        assert_eq!(pair[0]["before"], pair[1]["after"]);
    }
    // Both hosts answer the same, whichever made the last change.
    let (_, told) = other.get(&format!("{BEER}/history"), &token).await;
    assert_eq!(told["items"], page["items"]);
    let mut made: Vec<u64> = items
        .iter()
        .map(|item| {
            item["after"]["condition_value"]["minimum_age"]
                .as_u64()
                .unwrap()
        })
        .collect();
    made.sort_unstable();
    assert_eq!(made, (0..=20).collect::<Vec<_>>());
}

async fn what_is_older_than_400_days_is_removed(on: Opened) {
    let shop = Shop::open_at(&on).await;
    let wine = "/api/v1/entity-conditions/wine";
    shop.put(BEER, &age(16)).await;
    shop.put(wine, &age(16)).await;
    shop.delete(wine).await;
    shop.pass(300 * DAY).await;
    shop.put(BEER, &age(18)).await;
    shop.pass(99 * DAY).await;
    assert_eq!(steps(&shop.history(BEER, "").await).len(), 2);
    shop.pass(2 * DAY).await;
    // The version of the first row is the `before` of a younger row, and stays.
    let page = shop.history(BEER, "").await;
    assert_eq!(steps(&page), ["REPLACED 16 -> 18"]);
    assert_eq!(page.get("next"), None);
    let (status, _) = shop.asked(wine, "", &shop.token()).await;
    assert_eq!(status, 404, "neither it nor its history is there");
    shop.pass(300 * DAY).await;
    assert_eq!(
        shop.history(BEER, "").await,
        json!({ "items": [] }),
        "the rule stays"
    );
    assert_eq!(shop.bytes().await, 0);
    let queue = "history-retention";
    let partition = TenantId::new("shop").unwrap().partition();
    assert_eq!(on.store.queued(&partition, queue, 10).await, Ok(0));
}

async fn what_was_deleted_is_listed_until_it_is_there_again_or_too_old(on: Opened) {
    let shop = Shop::open_at(&on).await;
    let id = |name: &str| format!("/api/v1/entity-conditions/{name}");
    for name in ["ale", "beer", "beer2", "wine"] {
        assert_eq!(shop.put(&id(name), &age(16)).await, 201);
    }
    let project = json!({ "name": "School", "restrictions": [] });
    assert_eq!(shop.put(PROJECT, &project).await, 201);
    assert_eq!(
        shop.deleted("entity-conditions", "").await,
        json!({ "items": [] })
    );
    for path in [id("wine"), id("beer"), PROJECT.to_owned(), id("ale")] {
        shop.pass(MINUTE).await;
        assert_eq!(shop.delete(&path).await, 204);
    }
    let by = json!({ "clientId": shop.owner.client_id, "name": "test 1" });
    let conditions = shop.deleted("entity-conditions", "").await;
    assert_eq!(
        conditions,
        json!({ "items": [
            { "id": "ale", "at": "2026-01-01T00:04:00.000Z", "by": by },
            { "id": "beer", "at": "2026-01-01T00:02:00.000Z", "by": by },
            { "id": "wine", "at": "2026-01-01T00:01:00.000Z", "by": by },
        ] })
    );
    let name = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    assert_eq!(
        shop.deleted("projects", "").await,
        json!({ "items": [
            { "id": name, "name": "School", "at": "2026-01-01T00:03:00.000Z", "by": by },
        ] })
    );
    let (mut paged, mut next) = (Vec::new(), String::new());
    loop {
        let page = shop
            .deleted("entity-conditions", &format!("?limit=1{next}"))
            .await;
        paged.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(Value::Array(paged), conditions["items"]);
    // A rule that exists again is not listed; once it is deleted again, it is the latest.
    let ids = async |kind: &str| -> Vec<String> {
        let page = shop.deleted(kind, "").await;
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(shop.put(&id("beer"), &age(18)).await, 201);
    assert_eq!(shop.put(PROJECT, &project).await, 201);
    assert_eq!(ids("entity-conditions").await, ["ale", "wine"]);
    assert_eq!(ids("projects").await, [""; 0]);
    assert_eq!(shop.put(&id("beer"), &age(20)).await, 200);
    assert_eq!(ids("entity-conditions").await, ["ale", "wine"]);
    shop.pass(300 * DAY).await;
    assert_eq!(shop.delete(&id("beer")).await, 204);
    assert_eq!(ids("entity-conditions").await, ["beer", "ale", "wine"]);
    shop.pass(101 * DAY).await;
    assert_eq!(ids("entity-conditions").await, ["beer"]);
    shop.pass(300 * DAY).await;
    assert_eq!(ids("entity-conditions").await, [""; 0]);
    let partition = TenantId::new("shop").unwrap().partition();
    let left = on.store.scan(&partition, "deleted/", None, 10).await;
    assert!(left.unwrap().entries.is_empty());
}

/// A page whose documents stay text.
#[derive(serde::Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    items: Vec<Item<'a>>,
    next: Option<String>,
}

#[derive(serde::Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    before: Option<&'a RawValue>,
    #[serde(borrow)]
    after: Option<&'a RawValue>,
}

/// Returns a project of nearly 32 MB as it is stored; no two fit into one commit.
fn largest(mark: char) -> Value {
    let value = |number: usize| {
        format!(
            "{number:06}{}{}",
            "\"".repeat(60),
            mark.to_string().repeat(190)
        )
    };
    let values: Vec<String> = (0..100_000).map(value).collect();
    json!({ "restrictions": [{ "type": "BLACKLISTEDITEMS", "itemIds": values }] })
}

async fn the_largest_project_has_a_history(on: Opened) {
    let shop = Shop::open_at(&on).await;
    let mut stored = Vec::new();
    for mark in ['a', 'b'] {
        let request = shop.host.request(Method::PUT, PROJECT, &shop.token());
        let answer = request.json(&largest(mark)).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        stored.push(answer.text().await.unwrap());
    }
    assert!(stored[0].len() > 30 << 20, "{}", stored[0].len());
    assert_eq!(shop.delete(PROJECT).await, 204);
    // Each page has one change, whatever limit is requested.
    let (mut items, mut next) = (Vec::new(), String::new());
    loop {
        let path = format!("{PROJECT}/history?limit=100{next}");
        let request = shop.host.request(Method::GET, &path, &shop.token());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.unwrap();
        let page: Page<'_> = serde_json::from_str(&text).unwrap();
        let position = |document: Option<&RawValue>| {
            document.map(|document| {
                stored
                    .iter()
                    .position(|each| each == document.get())
                    .unwrap()
            })
        };
        assert_eq!(page.items.len(), 1);
        let item = &page.items[0];
        items.push((position(item.before), position(item.after)));
        match page.next {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    let expected = [(Some(1), None), (Some(0), Some(1)), (None, Some(0))];
    assert_eq!(items, expected);
    // The versions set aside for its changes are named by their rows, and by nothing else.
    let partition = TenantId::new("shop").unwrap().partition();
    let aside = on
        .store
        .scan(&partition, "history-aside/", None, 10)
        .await
        .unwrap();
    assert!(aside.entries.is_empty());
}
