//! What the credentials may not do: export leaves it out and says so, and a folder that asks for it is an error.

use serde_json::json;

use super::fixture::{Shop, credentials_file, done, failed, text, tree};

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
