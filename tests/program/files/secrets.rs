//! The secrets of webhooks: files name their places, and stored secrets stay unless a file says otherwise.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Shop, done, failed};
use crate::support::receiver::{Answer, Receiver};

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
async fn missing_secrets_are_reported_before_anything_is_written() {
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
    let missing = "webhooks/ERP.json: $.authentication.password must be in the environment variable WEBHOOK_ERP_PASSWORD, which is not set";
    assert_eq!(told, format!("tillgate: {missing}\n"));
    let told = failed(&shop.run_on(&full, &["apply", "DIR"]).await);
    assert!(
        told.contains("$.sharedKey must be in") && told.contains("which cannot be read"),
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
async fn a_change_sends_the_secrets_that_the_plan_names_and_no_others() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR", "--only", "webhooks"]).await);
    let id = webhook(&shop).await["id"].as_str().unwrap().to_owned();
    // The key was rotated since: the old one signs too for an hour, unless a key is set.
    let rotate = format!("/api/v1/webhooks/{id}/shared-key?overlap=1h");
    shop.send(Method::POST, &rotate, Value::Null).await;
    let rotated = webhook(&shop).await["previousSharedKeyEndsAt"].clone();
    assert!(rotated.is_string(), "{rotated}");
    shop.edit("webhooks/ERP.json", |json| json["maxPerSecond"] = json!(11));
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(!printed.contains("set again"), "{printed}");
    let kept = webhook(&shop).await;
    assert_eq!(
        (&kept["maxPerSecond"], &kept["previousSharedKeyEndsAt"]),
        (&json!(11), &rotated)
    );
    // A secret that is not sent need not exist.
    shop.edit("webhooks/ERP.json", |json| json["maxPerSecond"] = json!(12));
    let run = async |env| {
        shop.run_as(&shop.operator(), &shop.rules(), &["apply", "DIR"], env)
            .await
    };
    done(&run(&[]).await);
    // A host does not keep a password for another receiver or for another user name.
    let again = "      $.authentication.password: \"set\" -> \"set again\"\n";
    let edits: [fn(&mut Value); 2] = [
        |json| json["authentication"]["username"] = json!("tills"),
        |json| json["callbackUrl"] = json!("https://127.0.0.1:10/hook"),
    ];
    for edit in edits {
        shop.edit("webhooks/ERP.json", edit);
        let told = failed(&run(&[]).await);
        assert!(
            told.contains("$.authentication.password must be in"),
            "{told}"
        );
        let printed = done(&run(&[("WEBHOOK_ERP_PASSWORD", "hunter3")]).await);
        assert!(printed.contains(again), "{printed}");
    }
    assert_eq!(webhook(&shop).await["previousSharedKeyEndsAt"], rotated);
    let printed = done(&shop.run(&["apply", "DIR", "--secrets"]).await);
    assert!(
        printed.contains(again)
            && printed.contains("      $.sharedKey: \"set\" -> \"set again\"\n"),
        "{printed}"
    );
    assert_eq!(webhook(&shop).await["previousSharedKeyEndsAt"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_that_it_enables_a_webhook_which_the_service_has_disabled() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let erp = json!({
        "name": "ERP", "callbackUrl": receiver.url, "eventTypes": ["*"],
        "authentication": { "type": "BASIC", "username": "till", "password": "hunter2 of the ERP" },
    });
    shop.send(Method::POST, "/api/v1/webhooks", erp).await;
    receiver.answer(Answer::Status(410, "", ""));
    let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    shop.send(Method::PUT, "/api/v1/entity-conditions/beer", age)
        .await;
    // The event, its delivery and the outcome are separate jobs.
    for _ in 0..100 {
        shop.host.run_due().await;
        if webhook(&shop).await["disabledReason"] == "GONE" {
            break;
        }
    }
    assert_eq!(webhook(&shop).await["disabledReason"], "GONE");
    done(&shop.run(&["export", "DIR", "--only", "webhooks"]).await);
    done(&shop.run(&["diff", "DIR"]).await);
    let enables = "      $.enabled: \"disabled by the service: GONE\" -> \"enabled\"\n";
    let printed = done(&shop.run(&["apply", "DIR", "--adopt", "--dry-run"]).await);
    let adopts = format!("= adopt   webhooks/ERP\n{enables}");
    assert!(printed.starts_with(&adopts), "{printed}");
    shop.edit("webhooks/ERP.json", |json| json["maxPerSecond"] = json!(11));
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    let changes = format!("~ change  webhooks/ERP (made or changed by hand)\n{enables}");
    assert!(printed.starts_with(&changes), "{printed}");
    assert_eq!(webhook(&shop).await["enabled"], true);
    shop.host.run_due().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_webhooks_never_have_their_secrets_at_one_place() {
    let shop = Shop::open().await;
    for name in ["a-b", "a.b", "a b"] {
        let webhook = json!({
            "name": name, "callbackUrl": "https://127.0.0.1:9/hook", "eventTypes": ["*"], "sharedKey": "correct horse battery staple",
            "authentication": { "type": "BASIC", "username": "till", "password": "hunter2 of the ERP" },
        });
        shop.send(Method::POST, "/api/v1/webhooks", webhook).await;
    }
    let told = failed(&shop.run(&["export", "DIR"]).await);
    assert_eq!(
        told,
        "tillgate: the secrets of the webhooks a b, a-b, a.b would be in the same variables of the environment: rename all but \
         one of them, or leave webhooks out\n"
    );
    assert!(super::tree(&shop.rules()).is_empty(), "nothing was written");
    done(&shop.run(&["export", "DIR", "--only", "conditions"]).await);
}
