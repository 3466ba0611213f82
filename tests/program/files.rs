//! `tillgate export`, `diff` and `apply`: the real commands against real hosts.

mod bad_input;
mod export;
mod fixture;
mod interrupted;
mod mounted;
mod mutations;
mod ownership;
mod permissions;
mod proxy;
mod secrets;
mod units;

use serde_json::{Value, json};

use self::fixture::{Shop, code, done, failed, text, tree};
use crate::support::host::Program;

#[tokio::test(flavor = "multi_thread")]
async fn what_one_host_has_of_every_kind_is_applied_to_another() {
    let (one, other) = (Shop::full().await, Shop::open().await);
    let printed = done(&one.run(&["export", "DIR"]).await);
    assert_eq!(
        printed.split(": ").nth(1).unwrap(),
        "roles 1, global-templates 1, templates 2, global-conditions 2, conditions 4, projects 2, business-units 5, rates 2, webhooks 3\n"
    );
    let files = tree(&one.rules());
    assert_eq!(files.len(), 22, "{:#?}", files.keys());
    for (name, content) in &files {
        let json: Value = serde_json::from_str(content).unwrap();
        assert!(
            json.get("managedBy").is_none() && content.ends_with("}\n"),
            "{name}: {content}"
        );
    }
    assert_eq!(
        code(&one.run(&["diff", "DIR"]).await),
        0,
        "the host that was exported"
    );

    let printed = done(&other.run_on(&one, &["apply", "DIR"]).await);
    assert!(
        printed.contains("+ create  conditions/till:1\n"),
        "{printed}"
    );
    assert!(printed.ends_with("done: 22 created\n"), "{printed}");
    let printed = done(&other.run_on(&one, &["diff", "DIR"]).await);
    assert!(
        printed.starts_with("22 files and the tenant platform at http://"),
        "{printed}"
    );
    assert!(printed.ends_with(" are the same\n"), "{printed}");
    done(&other.run(&["export", "DIR"]).await);
    assert_eq!(tree(&other.rules()), files);
    let printed = done(&other.run_on(&one, &["apply", "DIR", "--prune"]).await);
    assert!(printed.ends_with(" are the same\n"), "{printed}");
    let webhooks = other.get("/api/v1/webhooks").await;
    let erp = webhooks
        .as_array()
        .unwrap()
        .iter()
        .find(|webhook| webhook["name"] == "ERP");
    assert_eq!(erp.unwrap()["hasSharedKey"], true);
    assert_eq!(erp.unwrap()["managedBy"], "tillgate-apply");
    let beer = other.get("/api/v1/entity-conditions/beer").await;
    assert_eq!(
        beer["tests"][0]["request"]["context"]["customer"]["licenses"][0]["price"].to_string(),
        "1.5"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_applied_to_an_empty_host() {
    let demo = Program::demo();
    let folder = tempfile::tempdir().unwrap();
    let find = |name: &str| {
        let line = demo
            .printed
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        line.unwrap().split_whitespace().last().unwrap().to_owned()
    };
    let credentials = json!({
        "clientId": find("client id"), "clientSecret": find("secret"),
        "tokenUrl": find("token URL"), "audience": find("audience"),
    });
    let file = folder.path().join("demo.json");
    std::fs::write(&file, credentials.to_string()).unwrap();
    let rules = folder.path().join("rules");
    let output = fixture::tillgate(&["export", "DIR"], &rules, &file, &[]);
    let told = text(&output.stderr).to_owned();
    assert!(
        told.contains("roles are left out: they are the platform's"),
        "{told}"
    );
    assert!(told.contains("global-conditions are left out"), "{told}");
    done(&output);
    let files = tree(&rules);
    assert!(
        files.contains_key("business-units/SE-003.json"),
        "{:?}",
        files.keys()
    );
    assert_eq!(
        files["rates/SE-003.json"],
        r#"{
  "businessUnitId": "SE-003",
  "rates": [
    {
      "exchangeRateType": "SALES",
      "currencyIdFrom": "SEK",
      "currencyIdTo": "EUR",
      "rateValue": 11.05
    }
  ]
}
"#
    );
    assert!(
        !files.contains_key("rates/nordic-retail.json"),
        "reference rates are no part of files"
    );
    done(&fixture::tillgate(&["diff", "DIR"], &rules, &file, &[]));

    let mut command = Program::command();
    let operator = folder.path().join("operator.json");
    command
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "memory:",
            "--operator-file",
        ])
        .arg(&operator)
        .env("TILLGATE_WEBHOOKS__ALLOW_HTTP", "true")
        .env("TILLGATE_WEBHOOKS__ALLOW_PRIVATE", "127.0.0.0/8");
    let empty = Program::spawn(&mut command, "");
    let key = [("WEBHOOK_ERP_SHARED_KEY", "correct horse battery staple")];
    let printed = done(&fixture::tillgate(
        &["apply", "DIR"],
        &rules,
        &operator,
        &key,
    ));
    assert!(
        printed.ends_with(&format!("done: {} created\n", files.len())),
        "{printed}"
    );
    done(&fixture::tillgate(&["diff", "DIR"], &rules, &operator, &[]));
    let again = folder.path().join("again");
    let kinds = "templates,conditions,projects,business-units,rates,webhooks";
    done(&fixture::tillgate(
        &["export", "DIR", "--only", kinds],
        &again,
        &operator,
        &[],
    ));
    assert_eq!(tree(&again), files);
    drop(empty);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_replaces_files_only_when_it_is_told_to() {
    let shop = Shop::full().await;
    done(
        &shop
            .run(&["export", "DIR", "--only", "conditions,webhooks"])
            .await,
    );
    let files = tree(&shop.rules());
    assert_eq!(files.len(), 7, "{:?}", files.keys());
    let told = failed(&shop.run(&["export", "DIR", "--only", "conditions"]).await);
    assert!(told.contains("conditions exists: use --replace"), "{told}");
    shop.write("conditions/draft.json", "{");
    shop.write("conditions/notes.txt", "mine");
    std::fs::remove_file(shop.rules().join("conditions/beer.json")).unwrap();
    let printed = done(
        &shop
            .run(&[
                "export",
                "DIR",
                "--only",
                "conditions",
                "--replace",
                "--json",
            ])
            .await,
    );
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        printed,
        json!({ "tenantId": "platform", "files": { "conditions": 4 } })
    );
    std::fs::remove_file(shop.rules().join("conditions/notes.txt")).unwrap();
    assert_eq!(tree(&shop.rules()), files);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_empty_means_none_and_one_that_is_absent_is_out_of_scope() {
    let (full, empty) = (Shop::full().await, Shop::open().await);
    done(
        &empty
            .run(&["export", "DIR", "--only", "conditions,roles"])
            .await,
    );
    let kept = std::fs::read_dir(empty.rules().join("conditions")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, [".gitkeep"]);
    done(&full.run(&["export", "DIR"]).await);
    done(&empty.run_on(&full, &["apply", "DIR"]).await);
    std::fs::remove_dir_all(full.rules().join("projects")).unwrap();
    for file in tree(&full.rules())
        .keys()
        .filter(|name| name.starts_with("conditions/"))
    {
        std::fs::remove_file(full.rules().join(file)).unwrap();
    }
    let output = empty.run_on(&full, &["diff", "DIR"]).await;
    assert_eq!(code(&output), 2);
    let printed = text(&output.stdout).to_owned();
    assert!(
        printed.contains("- delete  conditions/beer\n")
            && printed.contains("differ: 4 to delete\n"),
        "{printed}"
    );
    let printed = done(&empty.run_on(&full, &["apply", "DIR"]).await);
    assert!(
        printed.contains("deleted only with --prune: conditions/Spirits, conditions/beer, "),
        "{printed}"
    );
    let printed = done(&empty.run_on(&full, &["apply", "DIR", "--prune"]).await);
    assert!(printed.ends_with("done: 4 deleted\n"), "{printed}");
    assert_eq!(
        empty
            .get("/api/v1/projects")
            .await
            .as_array()
            .unwrap()
            .len(),
        2
    );
    done(&empty.run_on(&full, &["diff", "DIR"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_printed_for_people_and_for_programs_and_a_dry_run_writes_nothing() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    shop.edit("conditions/beer.json", |json| {
        json["condition_value"]["minimum_age"] = json!(17)
    });
    shop.edit(
        "projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90.json",
        |json| {
            json["restrictions"][0]["allowedValues"] = json!(["timber", true, "paint"]);
        },
    );
    shop.edit("rates/se-001.json", |json| {
        json["rates"][1]["rateValue"] = json!(11.5)
    });
    shop.edit("webhooks/Loyalty__card_.json", |json| {
        json["callbackUrl"] = json!("http://127.0.0.1:9/hook?key=secret")
    });
    let before = shop.all().await;
    let output = shop
        .run(&["apply", "DIR", "--dry-run", "--accept-failing-tests"])
        .await;
    let printed = done(&output);
    assert_eq!(
        printed.lines().take(10).collect::<Vec<_>>(),
        [
            "~ change  conditions/beer (made or changed by hand)",
            "      $.condition_value.minimum_age: 18 -> 17",
            "~ change  projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90 (made or changed by hand)",
            "      $.restrictions[0].allowedValues: - \"insulation\"",
            "      $.restrictions[0].allowedValues: + \"paint\"",
            "~ change  rates/se-001",
            "      SALES SEK EUR: 11.05 -> 11.5",
            "~ change  webhooks/Loyalty (card) (made or changed by hand)",
            "      $.callbackUrl: \"https://127.0.0.1:9/hook\" -> \"http://127.0.0.1:9/hook?***\"",
            &format!(
                "22 files and the tenant platform at {} differ: 4 to change",
                shop.host.url
            ),
        ],
        "{printed}"
    );
    let output = shop.run(&["diff", "DIR", "--json"]).await;
    assert_eq!(code(&output), 2);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        json["counts"],
        json!({ "create": 0, "change": 4, "adopt": 0, "delete": 0 }),
        "{json}"
    );
    assert_eq!(
        json["steps"][0],
        json!({
            "action": "CHANGE", "kind": "conditions", "id": "beer", "file": "conditions/beer.json",
            "differences": [{ "path": "$.condition_value.minimum_age", "before": 18, "after": 17 }],
        })
    );
    assert_eq!(
        (&json["done"], &json["tenantId"]),
        (&json!(false), &json!("platform"))
    );
    assert!(!json.to_string().contains("key=secret"), "{json}");
    assert_eq!(shop.all().await, before, "nothing was written");
    let output = shop
        .run(&["apply", "DIR", "--json", "--accept-failing-tests"])
        .await;
    let json: Value = serde_json::from_str(&done(&output)).unwrap();
    assert_eq!(json["done"], true);
    done(&shop.run(&["diff", "DIR"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_when_tests_beside_a_rule_fail() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    shop.edit("conditions/beer.json", |json| {
        json["condition_value"]["minimum_age"] = json!(16)
    });
    shop.edit(
        "projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90.json",
        |json| json["name"] = json!("B"),
    );
    let output = shop.run(&["apply", "DIR"]).await;
    assert_eq!(code(&output), 4);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "tillgate: tests fail:\n  conditions/beer.json: $.tests[0] \"seven\\\"teen\": expected HARD_DENY, is ALLOW\n"
    );
    let project = shop
        .get("/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90")
        .await;
    assert_eq!(project["name"], "A");
    let output = shop.run(&["apply", "DIR", "--accept-failing-tests"]).await;
    assert!(done(&output).ends_with("done: 2 changed\n"));
    assert!(text(&output.stderr).contains("expected HARD_DENY"));
}
