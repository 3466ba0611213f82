//! Twenty ways in which others change a host: `diff` reports each, and `apply` reverts it.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{PROJECT, Shop, code, done, rate, text, tree};

/// Makes a change; returns the line in which `diff` reports it.
async fn mutate(shop: &Shop, number: usize) -> &'static str {
    let project = format!("/api/v1/projects/{PROJECT}");
    let put = async |path: &str, edit: fn(&mut Value)| {
        let mut body = shop.get(path).await;
        edit(&mut body);
        shop.send(Method::PUT, path, body).await;
    };
    let webhook = async |name: &str| {
        let webhooks = shop.get("/api/v1/webhooks").await;
        let found = webhooks
            .as_array()
            .unwrap()
            .iter()
            .find(|webhook| webhook["name"] == name);
        format!(
            "/api/v1/webhooks/{}",
            found.unwrap()["id"].as_str().unwrap()
        )
    };
    let rates = "/api/v1/business-units/se-001/exchange-rates";
    match number {
        0 => {
            put("/api/v1/entity-conditions/beer", |body| {
                body["condition_value"]["minimum_age"] = json!(19)
            })
            .await;
            "$.condition_value.minimum_age: 19 -> 18"
        }
        1 => {
            put("/api/v1/entity-conditions/spirits", |body| {
                body["enabled"] = json!(false)
            })
            .await;
            "$.enabled: false -> true"
        }
        2 => {
            put("/api/v1/entity-conditions/beer", |body| {
                body["tests"] = json!([])
            })
            .await;
            "$.tests: + [{"
        }
        3 => {
            shop.delete("/api/v1/entity-conditions/till:1").await;
            "+ create  conditions/till:1"
        }
        4 => {
            put("/api/v1/entity-conditions/beer", |body| {
                body["rule"] = json!("LICENSE_REQUIREMENT");
                body["condition_value"] = json!({});
                body["tests"] = json!([]);
            })
            .await;
            "$.rule: \"LICENSE_REQUIREMENT\" -> \"AGE_RESTRICTION\""
        }
        5 => {
            shop.send(
                Method::PUT,
                "/api/v1/global-entity-conditions/alcohol",
                json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 20 } }),
            )
            .await;
            "~ change  global-conditions/alcohol"
        }
        6 => {
            put(&project, |body| {
                body["name"] = json!("B");
                let request = json!({ "item": { "id": "a" } });
                body["tests"] = json!([{ "name": "a", "request": request, "expect": { "decision": "HARD_DENY" } }]);
            })
            .await;
            "$.name: \"B\" -> \"A\""
        }
        7 => {
            put(&project, |body| {
                body["restrictions"][0]["allowedValues"] = json!(["insulation", "timber", "true"])
            })
            .await;
            "$.restrictions[0].allowedValues: - \"true\""
        }
        8 => {
            put(&project, |body| {
                body["restrictions"].as_array_mut().unwrap().swap(0, 2)
            })
            .await;
            "$.restrictions[0].type: \"BOOLEAN\" -> \"WHITELIST\""
        }
        9 => {
            shop.delete(&project).await;
            "+ create  projects/0b8a5d3e"
        }
        10 => {
            put("/api/v1/business-units/SE", |body| {
                body["markupPercentage"] = json!(1.75)
            })
            .await;
            "$.markupPercentage: 1.75 -> 1.5"
        }
        11 => {
            put("/api/v1/business-units/se-002", |body| {
                body["parentId"] = json!("nordic")
            })
            .await;
            "$.parentId: \"nordic\" -> \"SE\""
        }
        12 => {
            shop.delete("/api/v1/business-units/se-001").await;
            "+ create  rates/se-001"
        }
        13 => {
            shop.send(
                Method::PUT,
                &format!("{rates}/SALES/SEK/EUR"),
                json!({ "rateValue": 11.06 }),
            )
            .await;
            "SALES SEK EUR: 11.06 -> 11.05"
        }
        14 => {
            shop.delete(&format!("{rates}/SALES/EUR/SEK")).await;
            "SALES EUR SEK: + 0.09"
        }
        15 => {
            let path = webhook("Loyalty (card)").await;
            put(&path, |body| body["eventTypes"] = json!(["x.a.v1", "*"])).await;
            "$.eventTypes: - \"x.a.v1\""
        }
        16 => {
            let path = webhook("ERP").await;
            put(&path, |body| body["sharedKey"] = Value::Null).await;
            "$.sharedKey: \"not set\" -> \"set\""
        }
        17 => {
            let path = webhook("ERP").await;
            shop.delete(&path).await;
            "+ create  webhooks/ERP"
        }
        18 => {
            put("/v1/tenants/platform/templates/office/1", |body| {
                body["claimsSchema"]["properties"]["number"]["maximum"] = json!(2)
            })
            .await;
            "$.claimsSchema.properties.number.maximum: 2 -> 1.5"
        }
        19 => {
            put("/v1/roles/reader", |body| {
                body["permissions"] = json!(["ecs.condition.read"])
            })
            .await;
            "$.permissions: + \"other.thing.read\""
        }
        20 => {
            shop.delete("/v1/tenants/_/templates/till/1").await;
            "+ create  global-templates/till/1"
        }
        21 => {
            let webhook = json!({ "name": "mine", "callbackUrl": "https://127.0.0.1:9/a", "eventTypes": ["*"], "authentication": { "type": "BEARER" }, "managedBy": "tillgate-apply" });
            shop.send(Method::POST, "/api/v1/webhooks", webhook).await;
            "- delete  webhooks/mine"
        }
        _ => {
            let mut own = rate("DKK", "EUR", json!(7.5));
            own["managedBy"] = json!("tillgate-apply");
            shop.send(
                Method::POST,
                "/api/v1/business-units/se-003/exchange-rates",
                json!({ "set": [own] }),
            )
            .await;
            "SALES DKK EUR: - 7.5"
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mutation_is_seen_and_healed() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    let files = tree(&shop.rules());
    for number in 0..=22 {
        let says = mutate(&shop, number).await;
        let output = shop.run(&["diff", "DIR"]).await;
        let printed = text(&output.stdout);
        assert_eq!(
            code(&output),
            2,
            "{number}: {printed}{}",
            text(&output.stderr)
        );
        assert!(printed.contains(says), "{number}: {says}: {printed}");
        done(&shop.run(&["apply", "DIR", "--prune"]).await);
        let printed = done(&shop.run(&["diff", "DIR"]).await);
        assert!(printed.ends_with(" are the same\n"), "{number}: {printed}");
        done(&shop.run(&["export", "DIR", "--replace"]).await);
        assert_eq!(tree(&shop.rules()), files, "{number}");
    }
}
