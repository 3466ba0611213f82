//! The tree of business units: parents are written first and deleted last, and data of others is never deleted along
//! with a unit.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Shop, done, failed, rate};

fn unit(id: &str, kind: &str, parent: Option<&str>) -> String {
    json!({ "id": id, "type": kind, "parentId": parent }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_built_turned_around_and_removed() {
    let shop = Shop::open().await;
    // The names sort in the opposite order of the levels.
    shop.write("business-units/0.json", &unit("a", "STORE", Some("b")));
    shop.write("business-units/1.json", &unit("b", "GROUP", Some("c")));
    shop.write("business-units/2.json", &unit("c", "GROUP", Some("d")));
    shop.write("business-units/3.json", &unit("d", "COMPANY", None));
    let levels: Vec<String> = (0..31).map(|level| format!("l{level:02}")).collect();
    for (level, id) in levels.iter().enumerate() {
        let parent = level
            .checked_sub(1)
            .map_or("d", |above| levels[above].as_str());
        shop.write(
            &format!("business-units/{id}.json"),
            &unit(id, "GROUP", Some(parent)),
        );
    }
    shop.write(
        "rates/a.json",
        &json!({ "businessUnitId": "a", "rates": [rate("SEK", "EUR", json!(11))] }).to_string(),
    );
    assert!(done(&shop.run(&["apply", "DIR"]).await).ends_with("done: 36 created\n"));
    // The tree is turned upside down.
    shop.write("business-units/1.json", &unit("b", "GROUP", Some("d")));
    shop.write("business-units/2.json", &unit("c", "GROUP", Some("b")));
    shop.write("business-units/0.json", &unit("a", "STORE", Some("c")));
    assert!(done(&shop.run(&["apply", "DIR"]).await).ends_with("done: 3 changed\n"));
    let units = shop.get("/api/v1/business-units/c").await;
    assert_eq!(units["parentId"], "b");
    shop.write(
        "business-units/deep.json",
        &unit("deep", "STORE", Some("l30")),
    );
    let told = failed(&shop.run(&["apply", "DIR"]).await);
    assert!(
        told.contains(
            "business-units/deep.json: $.parentId would make the tree deeper than 32 levels"
        ),
        "{told}"
    );
    std::fs::remove_dir_all(shop.rules()).unwrap();
    shop.write("business-units/3.json", &unit("d", "COMPANY", None));
    std::fs::create_dir(shop.rules().join("rates")).unwrap();
    let printed = done(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert!(printed.ends_with("done: 34 deleted\n"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn units_are_not_deleted_with_what_others_have_made_below_them_or_set_at_them() {
    let shop = Shop::open().await;
    shop.write("business-units/d.json", &unit("d", "COMPANY", None));
    shop.write("business-units/c.json", &unit("c", "GROUP", Some("d")));
    done(&shop.run(&["apply", "DIR"]).await);
    std::fs::remove_file(shop.rules().join("business-units/c.json")).unwrap();
    let below = json!({ "type": "STORE", "parentId": "c" });
    shop.send(Method::PUT, "/api/v1/business-units/theirs", below)
        .await;
    let told = failed(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert_eq!(
        told,
        "tillgate: business-units/c cannot be deleted: business-units/theirs stands below it and stays\n"
    );
    shop.delete("/api/v1/business-units/theirs").await;
    shop.send(
        Method::PUT,
        "/api/v1/business-units/c/exchange-rates/SALES/SEK/EUR",
        json!({ "rateValue": 11 }),
    )
    .await;
    let told = failed(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert_eq!(
        told,
        "tillgate: business-units/c cannot be deleted: rates are set at it that tillgate-apply has not made\n"
    );
    // The file of the unit below `c` first moves that unit away.
    shop.delete("/api/v1/business-units/c/exchange-rates/SALES/SEK/EUR")
        .await;
    let below = json!({ "type": "STORE", "parentId": "c" });
    shop.send(Method::PUT, "/api/v1/business-units/theirs", below)
        .await;
    shop.write(
        "business-units/theirs.json",
        &unit("theirs", "STORE", Some("d")),
    );
    assert!(
        done(&shop.run(&["apply", "DIR", "--prune"]).await)
            .ends_with("done: 1 changed, 1 deleted\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_condition_takes_the_id_of_a_global_one_that_is_deleted() {
    let shop = Shop::open().await;
    let age = |minimum: u8| {
        json!({ "id": "beer", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } }).to_string()
    };
    shop.write("global-conditions/beer.json", &age(18));
    std::fs::create_dir(shop.rules().join("conditions")).unwrap();
    done(&shop.run(&["apply", "DIR"]).await);
    std::fs::remove_file(shop.rules().join("global-conditions/beer.json")).unwrap();
    shop.write("conditions/beer.json", &age(20));
    let told = failed(&shop.run(&["apply", "DIR"]).await);
    assert_eq!(
        told,
        "tillgate: conditions/beer.json: $.id is the id of a global condition\n"
    );
    assert!(
        done(&shop.run(&["apply", "DIR", "--prune"]).await)
            .ends_with("done: 1 created, 1 deleted\n")
    );
    let beer = shop.get("/api/v1/entity-conditions/beer").await;
    assert_eq!(
        (&beer["scope"], &beer["condition_value"]["minimum_age"]),
        (&json!("TENANT"), &json!(20))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_and_what_is_left_out_are_the_same_in_any_spelling() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    let write = |name: &str, edit: &dyn Fn(&str) -> String| {
        let file = shop.rules().join(name);
        let before = std::fs::read_to_string(&file).unwrap();
        let after = edit(&before);
        assert_ne!(after, before, "{name}");
        std::fs::write(file, after).unwrap();
    };
    write("business-units/SE.json", &|text| {
        text.replace("1.5", "1.5000")
    });
    write("rates/nordic.json", &|text| {
        text.replace("11.25", "11.250000")
    });
    write("conditions/beer.json", &|text| {
        text.replace("  \"enabled\": true,\n", "")
            .replace('\n', "\r\n")
    });
    write(
        "projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90.json",
        &|text| {
            let mut json: Value = serde_json::from_str(text).unwrap();
            for restriction in json["restrictions"].as_array_mut().unwrap() {
                let members = restriction.as_object_mut().unwrap();
                members.retain(|name, value| name != "exclusive" || *value != false);
            }
            json.to_string().replace("0b8a5d3e", "0B8A5D3E")
        },
    );
    write("roles/reader.json", &|text| {
        let mut json: Value = serde_json::from_str(text).unwrap();
        json["permissions"].as_array_mut().unwrap().reverse();
        json.to_string()
    });
    write("business-units/se-002.json", &|text| {
        text.replace("\n}", ",\n\"markups\": [], \"name\": null }")
    });
    let printed = done(&shop.run(&["diff", "DIR"]).await);
    assert!(printed.ends_with(" are the same\n"), "{printed}");
}
