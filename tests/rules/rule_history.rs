//! The history of conditions and projects: who changed them, when, and their documents before and after.

mod faults;
mod on_stores;
mod shop;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;

use self::shop::{BEER, GLOBAL_BEER, PROJECT, Shop, age, steps};
use crate::support::issuer::{Issuer, SigningKey};
use crate::support::log;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_deleted_rule_keeps_its_history_and_one_that_never_was_has_none() {
    let shop = Shop::open().await;
    let project = json!({ "restrictions": [] });
    for (path, body) in [(BEER, &age(16)), (PROJECT, &project)] {
        let (status, answer) = shop.asked(path, "", &shop.token()).await;
        assert_eq!(status, 404, "{answer}");
        assert_eq!(shop.put(path, body).await, 201);
        assert_eq!(shop.delete(path).await, 204);
        let page = shop.history(path, "").await;
        assert_eq!(page["items"][0]["action"], "DELETED");
        assert_eq!(shop.put(path, body).await, 201);
        let page = shop.history(path, "").await;
        let actions = page["items"].as_array().unwrap().iter();
        let actions: Vec<_> = actions
            .map(|item| item["action"].as_str().unwrap())
            .collect();
        assert_eq!(actions, ["CREATED", "DELETED", "CREATED"]);
    }
}

#[tokio::test]
async fn what_was_refused_or_changed_nothing_has_no_row() {
    let shop = Shop::open().await;
    assert_eq!(shop.put(BEER, &age(16)).await, 201);
    assert_eq!(shop.put(BEER, &age(151)).await, 400);
    let request = shop.host.request(Method::PUT, BEER, &shop.token());
    let request = request.header("if-none-match", "*").json(&age(17));
    assert_eq!(request.send().await.unwrap().status(), 412);
    assert_eq!(shop.delete("/api/v1/entity-conditions/wine").await, 404);
    assert_eq!(steps(&shop.history(BEER, "").await), ["CREATED - -> 16"]);
    let (status, _) = shop
        .asked("/api/v1/entity-conditions/wine", "", &shop.token())
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_put_of_what_is_there_is_no_change() {
    log::keep();
    let shop = Shop::open().await;
    let own = shop.token();
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let reader = shop.host.token("shop", &["exe.viewer"]).await;
    let events = "/api/v1/events?consumer=erp";
    shop.host.get(events, &reader).await;
    let project = json!({ "restrictions": [] });
    for (path, body, token) in [
        (BEER, &age(16), &own),
        (PROJECT, &project, &own),
        (GLOBAL_BEER, &age(18), &operator),
    ] {
        let put = async |query: &str| {
            let path = format!("{path}{query}");
            let request = shop.host.request(Method::PUT, &path, token).json(body);
            let answer = request.send().await.unwrap();
            let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            let lines = log::audited_with("correlation", &header("correlation-id"));
            (answer.status().as_u16(), header("etag"), lines.len())
        };
        let (status, etag, lines) = put("").await;
        assert_eq!((status, lines), (201, 1), "{path}");
        assert_eq!(put("?note=again").await, (200, etag, 0), "{path}");
        let path = format!("{path}/history");
        let (_, page) = shop.host.get(&path, token).await;
        assert_eq!(page["items"].as_array().map(Vec::len), Some(1), "{page}");
    }
    let (_, page) = shop.host.get(events, &reader).await;
    let published = page["items"].as_array().unwrap().len();
    assert_eq!(published, 2, "tenants have no events of global conditions");
}

#[tokio::test]
async fn another_tenants_history_is_404_and_reading_takes_the_permission_to_read() {
    let shop = Shop::open().await;
    shop.put(BEER, &age(16)).await;
    shop.put(PROJECT, &json!({ "restrictions": [] })).await;
    let other = shop.host.token("other", &["ecs.viewer"]).await;
    let evaluator = shop.host.token("shop", &["ecs.evaluator"]).await;
    let viewer = shop.host.token("shop", &["ecs.viewer"]).await;
    for path in [BEER, PROJECT] {
        assert_eq!(shop.asked(path, "", &other).await.0, 404);
        assert_eq!(shop.asked(path, "", &evaluator).await.0, 403);
        assert_eq!(shop.asked(path, "", &viewer).await.0, 200);
    }
}

#[tokio::test]
async fn of_a_global_condition_tenants_see_when_it_changed_and_what_but_not_who() {
    let shop = Shop::open().await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    assert_eq!(shop.asked(GLOBAL_BEER, "", &operator).await.0, 404);
    let path = format!("{GLOBAL_BEER}?note=Asked%20by%20Anna");
    for minimum in [18, 20] {
        let (status, _) = shop
            .host
            .send(Method::PUT, &path, &operator, &age(minimum))
            .await;
        assert!(matches!(status, 200 | 201));
    }
    let (status, page) = shop.asked(GLOBAL_BEER, "", &operator).await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(steps(&page), ["REPLACED 18 -> 20", "CREATED - -> 18"]);
    assert_eq!(page["items"][0]["after"]["scope"], "GLOBAL");
    assert_eq!(page["items"][0]["by"]["name"], "test 1");
    assert_eq!(page["items"][0]["note"], "Asked by Anna");
    let mut without_who = page;
    for item in without_who["items"].as_array_mut().unwrap() {
        item["by"] = json!({ "name": "The platform" });
        item.as_object_mut().unwrap().remove("note");
    }
    let viewer = shop.host.token("shop", &["ecs.viewer"]).await;
    for path in [GLOBAL_BEER, BEER] {
        assert_eq!(
            shop.asked(path, "", &viewer).await,
            (200, without_who.clone()),
            "{path}"
        );
    }
    let (_, first) = shop.asked(BEER, "?limit=1", &viewer).await;
    let next = format!("?cursor={}", first["next"].as_str().unwrap());
    let (_, rest) = shop.asked(BEER, &next, &viewer).await;
    assert_eq!(
        (steps(&rest), &rest["items"][0]),
        (vec!["CREATED - -> 18".to_owned()], &without_who["items"][1])
    );
    let evaluator = shop.host.token("shop", &["ecs.evaluator"]).await;
    assert_eq!(shop.asked(GLOBAL_BEER, "", &evaluator).await.0, 403);
    let deleted = shop.host.request(Method::DELETE, GLOBAL_BEER, &operator);
    assert_eq!(deleted.send().await.unwrap().status(), 204);
    for (path, token) in [
        (GLOBAL_BEER, &operator),
        (GLOBAL_BEER, &viewer),
        (BEER, &viewer),
    ] {
        let (status, page) = shop.asked(path, "?limit=1", token).await;
        assert_eq!(
            (status, steps(&page)),
            (200, vec!["DELETED 20 -> -".to_owned()])
        );
    }
    // Once the tenant has its own rule with this id, the path means that one.
    assert_eq!(shop.put(BEER, &age(16)).await, 201);
    let page = shop.history(BEER, "").await;
    assert_eq!(
        (steps(&page), &page["items"][0]["by"]["name"]),
        (vec!["CREATED - -> 16".to_owned()], &json!("test 1"))
    );
    assert_eq!(
        shop.asked(GLOBAL_BEER, "?limit=1", &viewer).await.1["items"][0]["action"],
        "DELETED"
    );
}

#[tokio::test]
async fn a_note_is_short_and_one_line_or_nothing_is_written() {
    let shop = Shop::open().await;
    let rule =
        "$.note must have at most 500 characters, and no control characters such as line breaks";
    let longest = "%C3%A4".repeat(500);
    let too_long = format!("{longest}a");
    for note in ["a%0Ab", "%00", "%1B[2J", "%C2%85", &too_long] {
        for path in [BEER, PROJECT] {
            let path = format!("{path}?note={note}");
            let (status, answer) = shop
                .host
                .send(Method::PUT, &path, &shop.token(), &age(16))
                .await;
            assert_eq!((status, &answer["message"]), (400, &json!([rule])));
        }
    }
    assert_eq!(shop.asked(BEER, "", &shop.token()).await.0, 404);
    for (minimum, note) in (16..).zip(["", "%20", &longest]) {
        let path = format!("{BEER}?note={note}");
        assert!(matches!(shop.put(&path, &age(minimum)).await, 200 | 201));
    }
    assert_eq!(shop.delete(&format!("{BEER}?note=%0D")).await, 400);
    let page = shop.history(BEER, "").await;
    let notes = page["items"].as_array().unwrap().iter();
    let notes: Vec<_> = notes.map(|item| item.get("note")).collect();
    assert_eq!(notes, [Some(&json!("ä".repeat(500))), None, None]);
}

#[tokio::test]
async fn what_others_have_deleted_is_not_listed_and_of_the_platform_not_who() {
    let shop = Shop::open().await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let other = shop.host.token("other", &["ecs.viewer"]).await;
    let viewer = shop.host.token("shop", &["ecs.viewer"]).await;
    let evaluator = shop.host.token("shop", &["ecs.evaluator"]).await;
    for (path, token) in [(GLOBAL_BEER, &operator), (PROJECT, &shop.token())] {
        let body = match path {
            PROJECT => json!({ "restrictions": [] }),
            _ => age(18),
        };
        let (status, answer) = shop.host.send(Method::PUT, path, token, &body).await;
        assert_eq!(status, 201, "{answer}");
        let deleted = shop.host.request(Method::DELETE, path, token);
        assert_eq!(deleted.send().await.unwrap().status(), 204);
    }
    assert_eq!(
        shop.put("/api/v1/entity-conditions/wine", &age(16)).await,
        201
    );
    assert_eq!(shop.delete("/api/v1/entity-conditions/wine").await, 204);
    let get =
        async |of: &str, token: &str| shop.host.get(&format!("/api/v1/deleted-{of}"), token).await;
    let (_, global) = get("global-entity-conditions", &operator).await;
    assert_eq!(global["items"][0]["id"], "beer");
    assert_eq!(global["items"][0]["by"]["name"], "test 1");
    let (_, seen) = get("global-entity-conditions", &viewer).await;
    assert_eq!(seen["items"][0]["by"], json!({ "name": "The platform" }));
    let of_shop = [
        ("entity-conditions", "wine"),
        ("projects", "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"),
    ];
    for (of, id) in of_shop {
        let (_, page) = get(of, &viewer).await;
        let items = page["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["id"]), (1, &json!(id)));
        assert_eq!(get(of, &other).await, (200, json!({ "items": [] })));
        assert_eq!(get(of, &evaluator).await.0, 403);
        let (status, answer) = get(&format!("{of}?limit=0&cursor=x"), &viewer).await;
        assert_eq!(
            (status, answer["message"].as_array().unwrap().len()),
            (400, 2)
        );
    }
    assert_eq!(get("global-entity-conditions", &evaluator).await.0, 403);
}

#[tokio::test]
async fn a_query_is_read_strictly() {
    let shop = Shop::open().await;
    shop.put(BEER, &age(16)).await;
    let limit = "$.limit must be 1 to 1000";
    let cursor = "$.cursor must be a cursor from an earlier answer";
    for (query, faults) in [
        ("?limit=0", vec![limit]),
        ("?limit=1001", vec![limit]),
        ("?limit=ten", vec![limit]),
        ("?limit=007", vec![limit]),
        ("?limit=%2B5", vec![limit]),
        ("?cursor=", vec![cursor]),
        ("?cursor=-1", vec![cursor]),
        ("?cursor=%2B1", vec![cursor]),
        ("?cursor=99999999999999999999&limit=", vec![cursor, limit]),
    ] {
        let (status, answer) = shop.asked(BEER, query, &shop.token()).await;
        assert_eq!(
            (status, &answer["message"]),
            (400, &json!(faults)),
            "{query}"
        );
    }
    // Made-up cursors give access to no further rows.
    for cursor in ["0", "1", "2", "18446744073709551615"] {
        let page = shop.history(BEER, &format!("?cursor={cursor}")).await;
        assert!(steps(&page).len() <= 1, "{page}");
    }
    let (status, _) = shop
        .asked("/api/v1/entity-conditions/b%20r", "", &shop.token())
        .await;
    assert_eq!(status, 400);
    let (status, _) = shop
        .asked("/api/v1/projects/school", "", &shop.token())
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_person_is_told_by_their_name_however_hostile_that_is() {
    let key = SigningKey::p256("one");
    let issuer = Issuer::start(&[key.jwk()]).await;
    let shop = Shop::configured(|config| config.trusted_issuers = vec![issuer.trusted()]).await;
    let long = "ä".repeat(2_000);
    let cut = "ä".repeat(128);
    let names = [
        (
            json!({ "name": "Anna Meier", "email": "a@shop.example" }),
            Some("Anna Meier"),
        ),
        (
            json!({ "preferred_username": "anna.m", "email": "a@shop.example" }),
            Some("anna.m"),
        ),
        (
            json!({ "name": " ", "email": "a@shop.example" }),
            Some("a@shop.example"),
        ),
        (json!({ "name": 7, "preferred_username": ["x"] }), None),
        (json!({}), None),
        (
            json!({ "name": "<img src=x onerror=alert(1)>" }),
            Some("<img src=x onerror=alert(1)>"),
        ),
        (
            json!({ "name": "Anna\r\n\u{1b}[2J\u{202e}reieM\u{7}" }),
            Some("Anna [2JreieM"),
        ),
        (json!({ "name": long }), Some(cut.as_str())),
    ];
    for (minimum, (more, name)) in (16..).zip(names) {
        let mut claims = issuer.claims(tillgate_store::clock::Clock::now(shop.clock.as_ref()));
        let members = more.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(members);
        let (status, answer) = shop
            .host
            .send(Method::PUT, BEER, &key.sign(&claims), &age(minimum))
            .await;
        assert!(matches!(status, 200 | 201), "{answer}");
        let page = shop.history(BEER, "?limit=1").await;
        let mut by = json!({ "clientId": format!("{}|anna", issuer.name) });
        if let Some(name) = name {
            by["name"] = json!(name);
        }
        assert_eq!(page["items"][0]["by"], by, "{more}");
    }
}

#[tokio::test]
async fn the_history_counts_accepted_failing_tests() {
    let shop = Shop::open().await;
    let mut tested = age(16);
    tested["tests"] = json!([{
        "name": "sixteen",
        "request": { "item": { "id": "can" }, "context": { "customer": { "customer_age": 16 } } },
        "expect": { "decision": "HARD_DENY" },
    }]);
    assert_eq!(shop.put(BEER, &tested).await, 409);
    let accepted = format!("{BEER}?failingTests=accept");
    assert_eq!(shop.put(&accepted, &tested).await, 201);
    tested["condition_value"]["minimum_age"] = json!(18);
    assert_eq!(shop.put(BEER, &tested).await, 200);
    let page = shop.history(BEER, "").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0].get("failingTests"), None);
    assert_eq!(items[1]["failingTests"], 1);
    assert_eq!(items[1]["after"]["tests"][0]["name"], "sixteen");
}

#[tokio::test]
async fn beyond_the_quota_who_and_when_are_kept_without_the_documents() {
    let shop = Shop::configured(|config| config.quotas.history = "2 KiB".parse().unwrap()).await;
    let mut puts = 0;
    let beyond = loop {
        let status = shop.put(BEER, &age(puts % 100)).await;
        assert!(
            matches!(status, 200 | 201),
            "no change is refused for its history"
        );
        puts += 1;
        let page = shop.history(BEER, "?limit=1").await;
        if page["items"][0].get("documentsKept").is_some() {
            break page["items"][0].clone();
        }
        assert!(puts < 50, "the quota is passed");
    };
    assert_eq!(beyond["documentsKept"], false);
    assert_eq!(
        (&beyond["before"], &beyond["action"]),
        (&Value::Null, &json!("REPLACED"))
    );
    assert_eq!(beyond["by"]["name"], "test 1");
    // The version that was not kept is missing in the rows on both sides of it.
    assert_eq!(shop.put(BEER, &age(18)).await, 200);
    let page = shop.history(BEER, "").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!(u64::try_from(items.len()).unwrap(), puts + 1);
    assert_eq!(items[1]["after"], Value::Null);
    assert_eq!(items[2]["documentsKept"], json!(false));
    assert_eq!(items[3].get("documentsKept"), None, "older ones stay whole");
    assert!(items.iter().all(|item| item["at"].is_string()));
    // Deleting is not refused either, and another tenant has separate room.
    assert_eq!(shop.delete(BEER).await, 204);
    let other = shop.host.token("other", &["ecs.editor"]).await;
    for minimum in [16, 18] {
        shop.host
            .send(Method::PUT, BEER, &other, &age(minimum))
            .await;
    }
    let (_, page) = shop.asked(BEER, "", &other).await;
    assert_eq!(steps(&page), ["REPLACED 16 -> 18", "CREATED - -> 16"]);
    // There is room again once the old versions are gone.
    shop.pass(401 * 24 * HOUR).await;
    assert_eq!(shop.bytes().await, 0);
    assert_eq!(shop.put(BEER, &age(1)).await, 201);
    assert_eq!(shop.put(BEER, &age(2)).await, 200);
    assert_eq!(
        steps(&shop.history(BEER, "").await),
        ["REPLACED 1 -> 2", "CREATED - -> 1"]
    );
    assert!(shop.bytes().await > 0);
}

#[tokio::test]
async fn a_rule_that_was_there_before_the_history_shows_what_it_was() {
    let shop = Shop::open().await;
    shop.put(BEER, &age(16)).await;
    // As an earlier version left it.
    let partition = TenantId::new("shop").unwrap().partition();
    let records = shop.host.app.records(partition);
    let rows = records.scan("history/", None, 10).await.unwrap();
    let mut change = Change::default();
    for (key, _) in &rows.entries {
        change.delete(key);
    }
    change.delete("usage/history");
    records.commit(change).await.unwrap();
    assert_eq!(shop.history(BEER, "").await, json!({ "items": [] }));
    assert_eq!(shop.put(BEER, &age(18)).await, 200);
    assert_eq!(steps(&shop.history(BEER, "").await), ["REPLACED 16 -> 18"]);
}

#[tokio::test]
async fn memory_holds_rules_and_not_their_history() {
    let shop = Shop::open().await;
    for minimum in 0..100 {
        shop.put(BEER, &age(minimum)).await;
    }
    let tenant = TenantId::new("shop").unwrap();
    let (held, _) = shop.host.features.conditions.tenant(&tenant).await.unwrap();
    let document = held.catalog().document_of("beer").text().clone();
    assert!(document.len() < 500, "{}", document.len());
    let (_, catalog) = shop.host.get("/api/v1/catalog", &shop.token()).await;
    assert_eq!(catalog["tenant"].as_array().unwrap().len(), 1);
}
