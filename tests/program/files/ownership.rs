//! Ownership: `--prune` deletes only resources that `apply` has created under its name, and a change by hand takes a
//! resource over.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Shop, code, done, failed, rate, text, tree};
use crate::support::ecb::{daily_xml, day};

fn age(id: &str, minimum: u8) -> String {
    json!({ "id": id, "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } })
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_apply_has_made_is_deleted_and_only_with_prune() {
    let shop = Shop::full().await;
    shop.write("conditions/mine.json", &age("mine", 1));
    shop.write("conditions/ours.json", &age("ours", 1));
    done(&shop.run(&["apply", "DIR"]).await);
    // A person changes one of them and so takes it over.
    let theirs = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 2 } });
    shop.send(Method::PUT, "/api/v1/entity-conditions/ours", theirs)
        .await;
    std::fs::remove_file(shop.rules().join("conditions/mine.json")).unwrap();
    std::fs::remove_file(shop.rules().join("conditions/ours.json")).unwrap();
    shop.write("conditions/next.json", &age("next", 1));
    let output = shop.run(&["diff", "DIR"]).await;
    assert_eq!(code(&output), 2);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[..2],
        ["+ create  conditions/next", "- delete  conditions/mine"]
    );
    assert_eq!(
        lines[3],
        "in no file, and not made by tillgate-apply, so it stays: conditions/Spirits, conditions/beer, conditions/ours, conditions/spirits, conditions/till:1"
    );
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(
        printed.contains("in no file, and deleted only with --prune: conditions/mine\n"),
        "{printed}"
    );
    let printed = done(
        &shop
            .run(&["apply", "DIR", "--prune", "--managed-by", "another"])
            .await,
    );
    assert!(printed.contains(" are the same\n"), "{printed}");
    assert!(done(&shop.run(&["apply", "DIR", "--prune"]).await).ends_with("done: 1 deleted\n"));
    let ids = shop.get("/api/v1/entity-conditions").await;
    let ids: Vec<&str> = ids
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "Spirits", "alcohol", "beer", "next", "ours", "spirits", "till:1", "tobacco"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_folders_keep_out_of_each_others_way_until_one_takes_over() {
    let (shop, other) = (Shop::open().await, Shop::open().await);
    shop.write("conditions/a.json", &age("a", 1));
    other.write("conditions/b.json", &age("b", 1));
    done(
        &shop
            .run(&["apply", "DIR", "--prune", "--managed-by", "one"])
            .await,
    );
    done(
        &shop
            .run_on(&other, &["apply", "DIR", "--prune", "--managed-by", "two"])
            .await,
    );
    done(&shop.run(&["diff", "DIR", "--managed-by", "one"]).await);
    other.write("conditions/a.json", &age("a", 1));
    done(
        &shop
            .run_on(&other, &["apply", "DIR", "--managed-by", "two"])
            .await,
    );
    other.write("conditions/a.json", &age("a", 2));
    let told = failed(
        &shop
            .run_on(&other, &["apply", "DIR", "--managed-by", "two"])
            .await,
    );
    assert_eq!(
        told,
        "tillgate: conditions/a.json: is managed by one: remove one of the two files, or take it over with --adopt\n"
    );
    assert_eq!(
        code(
            &shop
                .run_on(&other, &["diff", "DIR", "--managed-by", "two"])
                .await
        ),
        2
    );
    done(
        &shop
            .run_on(&other, &["apply", "DIR", "--adopt", "--managed-by", "two"])
            .await,
    );
    let taken = shop.get("/api/v1/entity-conditions/a").await;
    assert_eq!(
        (
            &taken["managedBy"],
            &taken["condition_value"]["minimum_age"]
        ),
        (&json!("two"), &json!(2))
    );
    let output = shop.run(&["diff", "DIR", "--managed-by", "a b"]).await;
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("must be 1 to 64 of A-Z a-z 0-9 . _ -"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_is_adopted_when_that_is_asked_for() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    let before = shop.all().await;
    done(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert_eq!(shop.all().await, before, "the same is left as it is");
    let printed = done(&shop.run(&["apply", "DIR", "--adopt"]).await);
    assert!(
        printed.contains("= adopt   rates/se-001\n") && printed.ends_with("done: 22 taken over\n"),
        "{printed}"
    );
    for (path, list) in shop.all().await {
        for one in list.as_array().unwrap() {
            let is_built_in = one["builtIn"] == true;
            assert!(
                is_built_in || one["managedBy"] == "tillgate-apply",
                "{path}: {one}"
            );
        }
    }
    assert!(done(&shop.run(&["apply", "DIR", "--adopt"]).await).contains(" are the same\n"));
    for file in tree(&shop.rules()).keys() {
        std::fs::remove_file(shop.rules().join(file)).unwrap();
    }
    let printed = done(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert!(
        printed.ends_with("done: 20 deleted\n"),
        "the rates go with their units: {printed}"
    );
    for (path, list) in shop.all().await {
        let mut left = list.as_array().unwrap().iter();
        assert!(left.all(|one| one["builtIn"] == true), "{path}: {list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_are_managed_one_by_one_and_written_as_one_change_of_their_unit() {
    let shop = Shop::full().await;
    let path = "/api/v1/business-units/se-002/exchange-rates";
    let file = |rates: &[Value]| json!({ "businessUnitId": "se-002", "rates": rates }).to_string();
    let (eur, nok, usd) = (
        rate("SEK", "EUR", json!(11.5)),
        rate("SEK", "NOK", json!(0.95)),
        rate("SEK", "USD", json!(9.5)),
    );
    shop.write(
        "rates/any-name.json",
        &file(&[eur.clone(), nok.clone(), usd]),
    );
    done(&shop.run(&["apply", "DIR"]).await);
    let set = shop.get(path).await;
    let dates: Vec<&Value> = set
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| &rate["createdDate"])
        .collect();
    assert!(
        dates.len() == 3 && dates.iter().all(|date| *date == dates[0]),
        "{set}"
    );
    // A person sets one of them to the same value, and adds another.
    shop.send(
        Method::PUT,
        &format!("{path}/SALES/SEK/NOK"),
        json!({ "rateValue": 0.95 }),
    )
    .await;
    shop.send(
        Method::PUT,
        &format!("{path}/SALES/SEK/DKK"),
        json!({ "rateValue": 1.5 }),
    )
    .await;
    shop.write("rates/any-name.json", &file(&[eur]));
    let output = shop.run(&["diff", "DIR"]).await;
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[..2],
        ["~ change  rates/se-002", "      SALES SEK USD: - 9.5"]
    );
    assert_eq!(
        lines[3],
        "in no file, and not made by tillgate-apply, so it stays: rates/nordic (2 rates), rates/se-001 (2 rates), rates/se-002 (2 rates)"
    );
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(
        printed.contains("deleted only with --prune: rates/se-002 (1 rate)\n"),
        "{printed}"
    );
    done(&shop.run(&["apply", "DIR", "--prune"]).await);
    let left = shop.get(path).await;
    let left: Vec<&str> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| rate["currencyIdTo"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["DKK", "EUR", "NOK"]);
    std::fs::remove_file(shop.rules().join("rates/any-name.json")).unwrap();
    assert!(
        done(&shop.run(&["apply", "DIR", "--prune"]).await).contains("- delete  rates/se-002\n")
    );
    assert_eq!(shop.get(path).await.as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_that_were_imported_are_left_to_the_import() {
    let shop = Shop::full().await;
    let xml = daily_xml(&day("2025-06-02 SEK 11.30 NOK 11.80"));
    let import =
        "/api/v1/reference-rates/import?businessUnitId=SE&exchangeRateTypes=SALES&source=ECB";
    shop.import(import, xml).await;
    done(&shop.run(&["export", "DIR", "--only", "rates"]).await);
    assert!(!tree(&shop.rules()).contains_key("rates/SE.json"));
    shop.write(
        "rates/SE.json",
        &json!({ "businessUnitId": "SE", "rates": [rate("SEK", "EUR", json!(11.5))] }).to_string(),
    );
    done(&shop.run(&["apply", "DIR", "--prune"]).await);
    let rates = shop.get("/api/v1/business-units/SE/exchange-rates").await;
    let rates: Vec<(&Value, bool)> = rates
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| (&rate["rateValue"], rate.get("reference").is_some()))
        .collect();
    assert_eq!(rates, [(&json!(11.8), true), (&json!(11.5), false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_moves_too_far_is_refused_unless_it_is_meant() {
    let shop = Shop::full().await;
    shop.send(
        Method::PUT,
        "/v1/tenants/platform",
        json!({ "rateTolerancePercent": 20 }),
    )
    .await;
    done(&shop.run(&["export", "DIR", "--only", "rates"]).await);
    shop.edit("rates/se-001.json", |json| {
        json["rates"][1]["rateValue"] = json!(110.5)
    });
    let told = failed(&shop.run(&["apply", "DIR", "--dry-run"]).await);
    assert_eq!(
        told,
        "tillgate: the host would refuse this:\n  rates/se-001.json: SALES 1 EUR = 110.5 SEK instead of 11.05 (900 %, looks like a slipped \
         decimal point) is beyond the tolerance: --accept-deviation sets it all the same\n"
    );
    let dry_run = ["apply", "DIR", "--dry-run", "--accept-deviation"];
    done(&shop.run(&dry_run).await);
    let told = failed(&shop.run(&["apply", "DIR"]).await);
    assert!(
        told.starts_with("tillgate: rates/se-001.json: the host answered 409"),
        "{told}"
    );
    assert!(
        told.contains("To set them anyway, use --accept-deviation"),
        "{told}"
    );
    assert!(
        done(&shop.run(&["apply", "DIR", "--accept-deviation"]).await)
            .ends_with("done: 1 changed\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_was_changed_by_hand_since_it_was_applied() {
    let shop = Shop::open().await;
    for id in ["beer", "wine"] {
        shop.write(&format!("conditions/{id}.json"), &age(id, 18));
    }
    done(&shop.run(&["apply", "DIR"]).await);
    let theirs = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    shop.send(Method::PUT, "/api/v1/entity-conditions/beer", theirs)
        .await;
    shop.write("conditions/wine.json", &age("wine", 20));
    let output = shop.run(&["diff", "DIR"]).await;
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[..4],
        [
            "~ change  conditions/beer (made or changed by hand)",
            "      $.condition_value.minimum_age: 16 -> 18",
            "~ change  conditions/wine",
            "      $.condition_value.minimum_age: 18 -> 20",
        ]
    );
    let output = shop.run(&["diff", "DIR", "--json"]).await;
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let owners: Vec<&Value> = json["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["managedBy"])
        .collect();
    assert_eq!(owners, [&Value::Null, &json!("tillgate-apply")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_the_host_would_refuse() {
    let shop = Shop::with(|config| config.quotas.conditions = 2).await;
    for id in ["a", "b", "c"] {
        shop.write(&format!("conditions/{id}.json"), &age(id, 18));
    }
    let over = "conditions: the tenant would have 3 and may have 2 (conditions)";
    let output = shop.run(&["apply", "DIR", "--dry-run"]).await;
    assert!(text(&output.stdout).contains("differ: 3 to create\n"));
    let told = failed(&output);
    assert_eq!(
        told,
        format!("tillgate: the host would refuse this:\n  {over}\n")
    );
    let output = shop.run(&["apply", "DIR", "--dry-run", "--json"]).await;
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["errors"], &json["done"]),
        (&json!([over]), &json!(false))
    );
    std::fs::remove_file(shop.rules().join("conditions/c.json")).unwrap();
    done(&shop.run(&["apply", "DIR", "--dry-run"]).await);
    done(&shop.run(&["apply", "DIR"]).await);
}
