//! The secrets of webhooks: files name their places, and the ones that are stored stay where nothing else is said.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Shop, code, done, failed, text};

async fn webhook(shop: &Shop) -> Value {
    let webhooks = shop.get("/api/v1/webhooks").await;
    let found = webhooks
        .as_array()
        .unwrap()
        .iter()
        .find(|webhook| webhook["name"] == "ERP");
    found.unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_come_from_the_environment_or_a_file_and_are_missed_before_anything_is_written() {
    let (full, shop) = (Shop::full().await, Shop::open().await);
    done(&full.run(&["export", "DIR"]).await);
    let file = std::fs::read_to_string(full.rules().join("webhooks/ERP.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        file["authentication"]["password"],
        json!({ "env": "WEBHOOK_ERP_PASSWORD" })
    );
    assert_eq!(
        file["sharedKey"],
        json!({ "env": "WEBHOOK_ERP_SHARED_KEY" })
    );
    let key = full.folder.path().join("key");
    full.edit("webhooks/ERP.json", |json| {
        json["sharedKey"] = json!({ "file": key })
    });
    let told = failed(
        &shop
            .run_as(&shop.operator(), &full.rules(), &["apply", "DIR"], &[])
            .await,
    );
    let missing = "webhooks/ERP.json: $.authentication.password is to be in the environment variable WEBHOOK_ERP_PASSWORD, which is not set";
    assert_eq!(told, format!("tillgate: {missing}\n"));
    let told = failed(&shop.run_on(&full, &["apply", "DIR"]).await);
    assert!(
        told.contains("$.sharedKey is to be in") && told.contains("which cannot be read"),
        "{told}"
    );
    for (content, fault) in [
        (String::new(), "is empty"),
        ("a".repeat(5000), "is larger than 4 KiB"),
        ("generate\n".to_owned(), "must not be \"generate\""),
    ] {
        std::fs::write(&key, content).unwrap();
        let told = failed(&shop.run_on(&full, &["apply", "DIR"]).await);
        assert!(told.contains(fault), "{told}");
    }
    assert_eq!(shop.get("/api/v1/entity-conditions").await, json!([]));
    std::fs::write(&key, "correct horse battery staple\r\n").unwrap();
    // Neither a comparison nor a dry run needs them.
    done(
        &shop
            .run_as(
                &shop.operator(),
                &full.rules(),
                &["apply", "DIR", "--dry-run"],
                &[],
            )
            .await,
    );
    done(&shop.run_on(&full, &["apply", "DIR"]).await);
    done(
        &shop
            .run_as(&shop.operator(), &full.rules(), &["diff", "DIR"], &[])
            .await,
    );
    assert_eq!(webhook(&shop).await["hasSharedKey"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_no_file_names_stays_and_those_that_are_named_are_sent_again_on_demand() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    let keep = |json: &mut Value| {
        json.as_object_mut().unwrap().remove("sharedKey");
        json["authentication"]
            .as_object_mut()
            .unwrap()
            .remove("password");
        json["maxPerSecond"] = json!(11);
    };
    shop.edit("webhooks/ERP.json", keep);
    done(
        &shop
            .run_as(&shop.operator(), &shop.rules(), &["apply", "DIR"], &[])
            .await,
    );
    let kept = webhook(&shop).await;
    assert_eq!(
        (&kept["hasSharedKey"], &kept["maxPerSecond"]),
        (&json!(true), &json!(11))
    );
    shop.edit("webhooks/ERP.json", |json| json["sharedKey"] = Value::Null);
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(
        printed.contains("      $.sharedKey: \"set\" -> \"not set\"\n"),
        "{printed}"
    );
    assert_eq!(webhook(&shop).await["hasSharedKey"], false);
    shop.edit("webhooks/ERP.json", |json| {
        json["sharedKey"] = json!({ "env": "WEBHOOK_ERP_SHARED_KEY" })
    });
    done(&shop.run(&["apply", "DIR"]).await);
    let before = webhook(&shop).await;
    assert!(done(&shop.run(&["apply", "DIR"]).await).ends_with(" are the same\n"));
    let other = [("WEBHOOK_ERP_SHARED_KEY", "another key for signatures")];
    let output = shop
        .run_as(
            &shop.operator(),
            &shop.rules(),
            &["apply", "DIR", "--secrets"],
            &other,
        )
        .await;
    assert!(done(&output).contains("      $.sharedKey: \"set\" -> \"set again\"\n"));
    assert_ne!(webhook(&shop).await["lastModified"], before["lastModified"]);
    let output = shop
        .run_as(
            &shop.operator(),
            &shop.rules(),
            &["apply", "DIR", "--secrets"],
            &[("WEBHOOK_ERP_SHARED_KEY", "short")],
        )
        .await;
    let told = failed(&output);
    assert!(
        told.contains("webhooks/ERP.json: the host answered 400")
            && told.contains("$.sharedKey must be"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_the_service_has_disabled_is_no_difference_and_temporary_ones_are_left_out()
{
    let shop = Shop::full().await;
    let listener =
        json!({ "name": "mine", "forwardTo": "http://127.0.0.1:1/hook", "eventTypes": ["*"] });
    shop.send(Method::POST, "/api/v1/webhooks/listen", listener)
        .await;
    done(&shop.run(&["export", "DIR", "--only", "webhooks"]).await);
    assert_eq!(super::tree(&shop.rules()).len(), 3);
    let output = shop.run(&["diff", "DIR"]).await;
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    assert!(
        !text(&output.stdout).contains("mine"),
        "{}",
        text(&output.stdout)
    );
}
