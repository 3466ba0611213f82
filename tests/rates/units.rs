//! Business units: the tree, and which units may be where.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::Shop;
use crate::support::host::take_modifier;

#[tokio::test]
async fn units_are_created_replaced_listed_and_deleted() {
    let shop = Shop::with_units().await;
    assert_eq!(
        shop.unit(
            "SE",
            json!({ "type": "GROUP", "parentId": "C", "name": "Sweden" })
        )
        .await,
        200
    );
    let (status, units) = shop.get("business-units").await;
    assert_eq!(status, 200);
    let ids = units.as_array().unwrap().iter().map(|unit| &unit["id"]);
    let ids: Vec<_> = ids.map(|id| id.as_str().unwrap()).collect();
    assert_eq!(ids, ["C", "C-1", "SE", "SE-1", "SE-2"]);
    let sweden = json!({ "id": "SE", "type": "GROUP", "parentId": "C", "name": "Sweden" });
    let (status, mut found) = shop.get("business-units/SE").await;
    assert_eq!(take_modifier(&mut found), "test 1");
    assert_eq!((status, found), (200, sweden));
    let delete = shop.send(Method::DELETE, "business-units/SE-1", &Value::Null);
    assert_eq!(delete.await.0, 204);
    assert_eq!(shop.get("business-units/SE-1").await.0, 404);
    let delete = shop.send(Method::DELETE, "business-units/SE", &Value::Null);
    assert_eq!(delete.await.0, 409);
}

#[tokio::test]
async fn a_unit_that_cannot_stand_there_is_a_conflict() {
    let shop = Shop::with_units().await;
    let cases = [
        ("X", json!({ "type": "STORE", "parentId": "nowhere" })),
        ("X", json!({ "type": "STORE", "parentId": "SE-1" })),
        ("SE", json!({ "type": "STORE", "parentId": "C" })),
        ("SE", json!({ "type": "GROUP", "parentId": "SE" })),
    ];
    for (id, body) in cases {
        let path = format!("business-units/{id}");
        let put = shop.send(Method::PUT, &path, &body);
        assert_eq!(put.await.0, 409, "{body}");
    }
    shop.unit("SE-N", json!({ "type": "GROUP", "parentId": "SE" }))
        .await;
    let below_itself = json!({ "type": "GROUP", "parentId": "SE-N" });
    let put = shop.send(Method::PUT, "business-units/SE", &below_itself);
    assert_eq!(put.await.0, 409);
}

#[tokio::test]
async fn a_tree_is_at_most_32_levels_deep_whichever_end_grows() {
    let shop = Shop::start().await;
    shop.unit("0", json!({ "type": "COMPANY" })).await;
    for (root, prefix) in [("0", ""), ("x", "x")] {
        shop.unit("x", json!({ "type": "COMPANY" })).await;
        let mut parent = root.to_owned();
        for level in 1..=16 {
            let id = format!("{prefix}{level}");
            shop.unit(&id, json!({ "type": "GROUP", "parentId": parent }))
                .await;
            parent = id;
        }
    }
    shop.unit("shop", json!({ "type": "STORE", "parentId": "x16" }))
        .await;
    // 0 to 16 are 17 levels; x1 to x16 with the shop are 17 more.
    let put = async |parent: &str| {
        let body = json!({ "type": "GROUP", "parentId": parent });
        shop.send(Method::PUT, "business-units/x1", &body).await.0
    };
    assert_eq!(put("16").await, 409);
    assert_eq!(put("15").await, 409);
    assert_eq!(put("14").await, 200);
    shop.set("0", "SEK", "EUR", "10").await;
    let used = shop.used("shop").await;
    assert_eq!(used, ["EUR/SEK 0.1 0.1 0", "SEK/EUR 10 10 0"]);
    let body = json!({ "type": "GROUP", "parentId": "x16" });
    assert_eq!(
        shop.send(Method::PUT, "business-units/y", &body).await.0,
        201
    );
    let body = json!({ "type": "STORE", "parentId": "y" });
    assert_eq!(
        shop.send(Method::PUT, "business-units/z", &body).await.0,
        409
    );
}
