//! Missing permissions: export leaves those kinds out and says so, and a folder that contains them is an error.

use reqwest::Method;
use serde_json::json;

use super::fixture::{Shop, code, credentials_file, done, failed, text, tree};

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_may_not_be_read_are_left_out_with_a_sentence() {
    let shop = Shop::full().await;
    let viewer = shop
        .host
        .client("platform", &["ecs.viewer", "exr.viewer"])
        .await;
    let viewer = credentials_file(shop.folder.path(), &shop.host, &viewer);
    let run = async |arguments: &[&str]| shop.run_as(&viewer, &shop.rules(), arguments, &[]).await;
    let output = run(&["export", "DIR"]).await;
    done(&output);
    assert_eq!(
        text(&output.stderr).lines().collect::<Vec<_>>(),
        [
            "tillgate: roles are left out: they are the platform's, and these credentials lack the permission iam.roles.write",
            "tillgate: global-templates are left out: they are the platform's, and these credentials lack the permission iam.templates.read",
            "tillgate: templates are left out: these credentials lack the permission iam.templates.read",
            "tillgate: global-conditions are left out: they are the platform's, and these credentials lack the permission ecs.global-condition.write",
            "tillgate: business-units are left out: these credentials lack the permission exr.business-unit.read",
            "tillgate: rates are left out: these credentials lack the permission exr.business-unit.read",
            "tillgate: webhooks are left out: these credentials lack the permission exe.webhook.read",
        ]
    );
    assert_eq!(tree(&shop.rules()).len(), 6);
    let told = failed(&run(&["export", "DIR", "--only", "webhooks"]).await);
    assert_eq!(
        told,
        "tillgate: webhooks cannot be read: these credentials lack the permission exe.webhook.read\n"
    );
    done(&run(&["diff", "DIR"]).await);
    let told = failed(&run(&["apply", "DIR"]).await);
    assert_eq!(
        told,
        "tillgate: the folder conditions cannot be applied: these credentials lack the permission ecs.condition.write\n"
    );
    shop.write("webhooks/.gitkeep", "");
    let told = failed(&run(&["diff", "DIR"]).await);
    assert_eq!(
        told,
        "tillgate: the folder webhooks cannot be compared: these credentials lack the permission exe.webhook.read\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_editor_applies_what_is_the_tenants() {
    let shop = Shop::full().await;
    let roles = ["ecs.editor", "exr.editor", "exe.editor", "iam.admin"];
    let editor = shop.host.client("acme", &roles).await;
    let editor = credentials_file(shop.folder.path(), &shop.host, &editor);
    let run = async |arguments: &[&str]| {
        shop.run_as(&editor, &shop.rules(), arguments, &super::fixture::SECRETS)
            .await
    };
    let age = json!({ "id": "wine", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    shop.write("conditions/wine.json", &age.to_string());
    shop.write(
        "templates/till.json",
        r#"{ "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {} }"#,
    );
    let printed = done(&run(&["apply", "DIR", "--prune"]).await);
    assert!(
        printed.contains("2 files and the tenant acme at "),
        "{printed}"
    );
    let template = shop.get("/v1/tenants/acme/templates/till/1").await;
    assert_eq!(template["managedBy"], "tillgate-apply");
    shop.write("global-conditions/wine.json", &age.to_string());
    let told = failed(&run(&["apply", "DIR"]).await);
    assert!(
        told.contains("the folder global-conditions cannot be applied"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_takes_no_more_than_reading() {
    let shop = Shop::open().await;
    shop.write(
        "business-units/a.json",
        r#"{ "id": "a", "type": "COMPANY" }"#,
    );
    done(&shop.run(&["apply", "DIR"]).await);
    shop.write(
        "business-units/a.json",
        r#"{ "id": "b", "type": "COMPANY" }"#,
    );
    let beer = json!({
        "id": "beer", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 },
        "tests": [{ "name": "a child", "request": { "item": { "id": "cola" }, "context": { "customer": { "customer_age": 7 } } }, "expect": { "decision": "ALLOW" } }],
    });
    shop.write("conditions/beer.json", &beer.to_string());
    // A client that may not read rates can still see a plan.
    let role = json!({ "permissions": ["ecs.condition.read", "exr.business-unit.read"] });
    shop.send(Method::PUT, "/v1/roles/planner", role).await;
    let planner = shop.host.client("platform", &["planner"]).await;
    let planner = credentials_file(shop.folder.path(), &shop.host, &planner);
    let run = async |arguments: &[&str]| shop.run_as(&planner, &shop.rules(), arguments, &[]).await;
    let dry_run = ["apply", "DIR", "--prune", "--dry-run"];
    assert_eq!(code(&run(&dry_run).await), 4, "its tests fail");
    shop.edit("conditions/beer.json", |json| {
        json["tests"][0]["expect"]["decision"] = json!("HARD_DENY")
    });
    let before = shop.all().await;
    let printed = done(&run(&dry_run).await);
    assert_eq!(
        printed.lines().take(3).collect::<Vec<_>>(),
        [
            "+ create  conditions/beer",
            "+ create  business-units/b",
            "- delete  business-units/a",
        ]
    );
    assert_eq!(code(&run(&["diff", "DIR"]).await), 2);
    assert_eq!(shop.all().await, before);
    let told = failed(&run(&["apply", "DIR", "--prune"]).await);
    assert_eq!(
        told,
        "tillgate: the folder conditions cannot be applied: these credentials lack the permission ecs.condition.write\n"
    );
}
