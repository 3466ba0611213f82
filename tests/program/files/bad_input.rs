//! Invalid files: each is reported with the place of its fault, and nothing is written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Shop, code, done, failed, text};

const AGE: &str =
    r#"{ "id": "beer", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } }"#;

/// Returns the lines that the commands print about the files; both commands must print the same.
async fn told(shop: &Shop) -> Vec<String> {
    let mut told = Vec::new();
    for arguments in [["diff", "DIR"].as_slice(), &["apply", "DIR", "--prune"]] {
        let output = shop.run(arguments).await;
        assert_eq!(
            code(&output),
            3,
            "{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        assert_eq!(text(&output.stdout), "");
        let lines: Vec<String> = text(&output.stderr)
            .lines()
            .skip(1)
            .map(|line| line.trim().to_owned())
            .collect();
        assert!(told.is_empty() || told == lines);
        told = lines;
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_file_is_named_by_its_path_and_nothing_is_written() {
    let shop = Shop::open().await;
    let place = "must be the place of the secret, {\"env\": \"NAME\"} or {\"file\": \"PATH\"}: files hold no secrets";
    for (name, content, faults) in [
        (
            "conditions/a.json",
            "",
            vec!["$ must be JSON: EOF while parsing a value at line 1 column 0"],
        ),
        ("conditions/a.json", "[]", vec!["$ must be an object"]),
        ("conditions/a.json", "\u{feff}{}", vec!["$.id is required"]),
        (
            "conditions/a.json",
            r#"{ "id": "a", "id": "b" }"#,
            vec!["$.id appears twice"],
        ),
        (
            "conditions/a.json",
            r#"{ "id": "a/b", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 1 } }"#,
            vec!["$.id must be 1 to 64 of A-Z a-z 0-9 _ . : -"],
        ),
        (
            "conditions/a.json",
            r#"{ "id": "a", "rule": "AGE_RESTRICTION", "enable": false, "condition_value": { "minimum_age": 18, "maximum": 2 }, "tests": [{ "name": "a", "reqest": 1 }], "managedBy": "me" }"#,
            vec![
                "$.enable is unknown: is enabled meant?",
                "$.managedBy is unknown",
                "$.condition_value.maximum is unknown",
                "$.tests[0].reqest is unknown",
                "$.tests[0].request is required",
                "$.tests[0].expect is required",
            ],
        ),
        (
            "projects/a.json",
            r#"{ "projectId": "1", "restrictions": [{ "type": "WHITELIST", "propertyName": "a", "allowedValue": ["b"], "deniedValues": [] }, { "type": "NONE" }] }"#,
            vec![
                "$.restrictions[0].allowedValue is unknown",
                "$.restrictions[0].deniedValues is unknown",
                "$.projectId must be a UUID",
            ],
        ),
        (
            "projects/a.json",
            r#"{ "projectId": "0B8A5D3E-6C1F-4A52-9D7E-2F4B8C6D1E90", "restrictions": [{ "type": "NONE" }] }"#,
            vec!["$.restrictions[0].type must be"],
        ),
        (
            "business-units/a.json",
            r#"{ "id": "a", "type": "SHOP", "markupPercentage": 100, "markups": [{}] }"#,
            vec![
                "$.type must be",
                "$.markupPercentage must be",
                "$.markups[0].exchangeRateType is required",
                "$.markups[0].currencyIdFrom",
                "$.markups[0].currencyIdTo",
                "$.markups[0].markupPercentage",
            ],
        ),
        (
            "rates/a.json",
            r#"{ "businessUnitId": "a", "rates": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "SEK", "rateValue": 1.1234567 }, { "exchangeRateType": "BUY", "currencyIdFrom": "XXX", "currencyIdTo": 1, "rateValue": "1", "asOf": "today" }] }"#,
            vec![
                "$.rates[0].rateValue must have at most six decimals",
                "$.rates[0].currencyIdTo must differ from currencyIdFrom",
                "$.rates[1].asOf is unknown",
                "$.rates[1].exchangeRateType must be SALES, PURCHASE or INTERCOMPANY",
                "$.rates[1].currencyIdFrom must be the ISO 4217 code of a currency, in capitals",
                "$.rates[1].currencyIdTo must be a string",
                "$.rates[1].rateValue must be a number",
            ],
        ),
        (
            "rates/a.json",
            r#"{ "businessUnitId": "a", "rates": [{ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 1 }, { "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 1.0 }, { "exchangeRateType": "SALES", "currencyIdFrom": "IDR", "currencyIdTo": "EUR", "rateValue": 3000000 }] }"#,
            vec![
                "$.rates[1] is set twice",
                "$.rates[2].rateValue has an opposite that rounds to 0.000000",
            ],
        ),
        (
            "webhooks/a.json",
            r#"{ "name": "a", "callbackUrl": "ftp://a.example", "eventTypes": ["A"], "authentication": { "type": "BASIC", "username": "a", "password": "secret" }, "sharedKey": "generate", "filter": [{ "path": "$.data.a", "is": [1] }] }"#,
            vec![
                "$.filter[0].is is unknown",
                &format!("$.authentication.password {place}"),
                &format!("$.sharedKey {place}"),
                "$.callbackUrl must be",
                "$.eventTypes[0] must",
                "$.filter[0].in is required",
            ],
        ),
        (
            "webhooks/a.json",
            r#"{ "name": "a", "callbackUrl": "https://127.0.0.1:9/a", "eventTypes": ["*"], "authentication": { "type": "BEARER", "password": { "env": "A" } }, "sharedKey": { "env": "A=B" } }"#,
            vec![
                "$.authentication.password is unknown",
                &format!("$.sharedKey {place}"),
            ],
        ),
        (
            "roles/a.json",
            r#"{ "roleId": "ecs.viewer", "permissions": ["a"] }"#,
            vec!["$.roleId is the id of a built-in role"],
        ),
        (
            "roles/a.json",
            r#"{ "roleId": "..", "permissions": [] }"#,
            vec!["$.roleId must not be . or .."],
        ),
        (
            "templates/a.json",
            r#"{ "softwareId": "a", "softwareVersion": "1", "name": "A", "claimsSchema": { "type": "objekt" }, "roles": [{ "roleId": "a", "rôle": 1 }] }"#,
            vec!["$.roles[0]['rôle'] is unknown"],
        ),
        (
            "templates/a.json",
            r#"{ "softwareId": "a", "softwareVersion": "1", "name": "A", "claimsSchema": { "type": "objekt" } }"#,
            vec!["$.claimsSchema"],
        ),
    ] {
        let _ = std::fs::remove_dir_all(shop.rules());
        shop.write(name, content);
        shop.write("conditions/beer.json", AGE);
        let told = told(&shop).await;
        // A schema may have several faults in one place.
        let is_schema = name.starts_with("templates/");
        assert!(told.len() == faults.len() || is_schema, "{told:#?}");
        assert!(told.len() >= faults.len(), "{told:#?}");
        for (line, fault) in told.iter().zip(faults) {
            assert!(
                line.starts_with(&format!("{name}: {fault}")),
                "{line} is not {name}: {fault}"
            );
        }
        assert_eq!(shop.get("/api/v1/entity-conditions").await, json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_folders_that_do_not_belong_there_are_named() {
    let shop = Shop::open().await;
    shop.write("conditions/a.json", AGE);
    shop.write("conditions/b.json", AGE);
    shop.write("conditions/B.json", &AGE.replace("beer", "wine"));
    shop.write("conditions/c.jsn", AGE);
    shop.write("conditions/deeper/d.json", AGE);
    shop.write("conditions/.gitkeep", "");
    shop.write("condition/e.json", AGE);
    shop.write("f.json", AGE);
    shop.write("README.md", "what this is");
    let rules = shop.rules();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("g.json"), AGE).unwrap();
    symlink(
        elsewhere.path().join("g.json"),
        rules.join("conditions/g.json"),
    )
    .unwrap();
    symlink(elsewhere.path(), rules.join("projects")).unwrap();
    std::fs::create_dir(rules.join("rates")).unwrap();
    let large = std::fs::File::create(rules.join("rates/large.json")).unwrap();
    large.set_len(1 << 30).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(rules.join("rates/pipe.json"))
        .status();
    assert!(made.unwrap().success());
    let kinds = "roles, global-templates, templates, global-conditions, conditions, projects, business-units, rates, webhooks";
    assert_eq!(
        told(&shop).await,
        [
            format!("condition: is not one of the known folders: {kinds}"),
            "conditions/b.json: differs from conditions/B.json only in case: where case does not count, one replaces the other".to_owned(),
            "conditions/c.jsn: must have a name that ends in .json".to_owned(),
            "conditions/deeper: must be a file, and not a link that leads out of the top folder".to_owned(),
            "conditions/g.json: must be a file, and not a link that leads out of the top folder".to_owned(),
            format!("f.json: must be in the folder of its kind: {kinds}"),
            "projects: must be a folder, and not a link that leads out of the top folder".to_owned(),
            "rates/large.json: is larger than 4 MiB".to_owned(),
            "rates/pipe.json: must be a file, and not a link that leads out of the top folder".to_owned(),
        ]
    );
    std::fs::remove_dir_all(&rules).unwrap();
    shop.write("conditions/a.json", AGE);
    shop.write("conditions/b.json", AGE);
    assert_eq!(
        told(&shop).await,
        ["conditions/b.json: is another file of the condition beer, which is in conditions/a.json"]
    );
    std::fs::remove_dir_all(&rules).unwrap();
    assert!(
        failed(&shop.run(&["diff", "DIR"]).await).contains("rules cannot be read: No such file")
    );
    shop.write("notes.txt", "");
    assert!(
        failed(&shop.run(&["apply", "DIR"]).await)
            .contains(&format!("rules has none of the folders {kinds}"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn names_with_control_characters_are_refused_except_of_dot_files() {
    let shop = Shop::open().await;
    shop.write("conditions/a\u{1b}[2J\ntillgate: all is well.json", AGE);
    shop.write("con\u{202e}ditions/a.json", AGE);
    assert_eq!(
        told(&shop).await,
        [
            r"conditions/a\u001b[2J\u000atillgate: all is well.json: must have a name without control characters",
            r"con\u202editions: is not one of the known folders: roles, global-templates, templates, global-conditions, conditions, projects, business-units, rates, webhooks",
        ]
    );
    std::fs::remove_dir_all(shop.rules()).unwrap();
    shop.write("conditions/beer.json", AGE);
    for folder in [shop.rules(), shop.rules().join("conditions")] {
        std::fs::write(folder.join(OsStr::from_bytes(b".a\xff.json")), "{").unwrap();
    }
    done(&shop.run(&["apply", "DIR"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_contradicts_the_host_is_named_before_anything_is_written() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    let age = |id: &str| {
        format!(
            r#"{{ "id": "{id}", "rule": "AGE_RESTRICTION", "condition_value": {{ "minimum_age": 1 }} }}"#
        )
    };
    shop.write("conditions/alcohol.json", &age("alcohol"));
    std::fs::remove_file(shop.rules().join("global-conditions/tobacco.json")).unwrap();
    shop.write("conditions/tobacco.json", &age("tobacco"));
    shop.write("conditions/new.json", &age("new"));
    shop.write(
        "business-units/a.json",
        r#"{ "id": "a", "type": "STORE", "parentId": "nowhere" }"#,
    );
    shop.write(
        "business-units/b.json",
        r#"{ "id": "b", "type": "STORE", "parentId": "se-001" }"#,
    );
    shop.edit("business-units/SE.json", |json| {
        json["parentId"] = json!("c")
    });
    shop.write(
        "business-units/c.json",
        r#"{ "id": "c", "type": "GROUP", "parentId": "SE" }"#,
    );
    shop.edit("business-units/se-003.json", |json| {
        json["type"] = json!("GROUP")
    });
    shop.write(
        "rates/nowhere.json",
        r#"{ "businessUnitId": "nowhere", "rates": [] }"#,
    );
    shop.write("webhooks/basic.json", r#"{ "name": "basic", "callbackUrl": "https://127.0.0.1:9/a", "eventTypes": ["*"], "authentication": { "type": "BASIC", "username": "a" } }"#);
    shop.edit("webhooks/ERP.json", |json| {
        json["callbackUrl"] = json!("https://127.0.0.1:10/hook");
        json["authentication"]
            .as_object_mut()
            .unwrap()
            .remove("password");
    });
    let other = json!({ "name": "Loyalty (card)", "callbackUrl": "https://127.0.0.1:9/a", "eventTypes": ["*"], "authentication": { "type": "BEARER" } });
    shop.send(Method::POST, "/api/v1/webhooks", other).await;
    let before = shop.all().await;
    let told = failed(&shop.run(&["apply", "DIR"]).await);
    for line in [
        "tillgate: 11 contradictions:",
        "business-units/se-003.json: $.type must stay STORE: a business unit keeps its type",
        "business-units/SE.json: $.parentId would put the business unit below itself: c",
        "business-units/a.json: $.parentId names no business unit: nowhere",
        "business-units/b.json: $.parentId names a STORE, which is always a leaf: se-001",
        "business-units/c.json: $.parentId would put the business unit below itself: SE",
        "conditions/alcohol.json: $.id is the id of a global condition too, in global-conditions/alcohol.json",
        "conditions/tobacco.json: $.id is the id of a global condition",
        "rates/nowhere.json: $.businessUnitId names no business unit: nowhere",
        "webhooks/ERP.json: $.authentication.password is required",
        "webhooks/basic.json: $.authentication.password is required",
        "2 webhooks of the host are called Loyalty (card): rename all but one of them",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(shop.all().await, before);
    let told = failed(&shop.run(&["export", "DIR", "--replace"]).await);
    assert!(
        told.contains("2 webhooks of the host are called Loyalty (card)"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_refuses_is_named_with_its_file_and_what_was_done_stays() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    shop.edit("roles/reader.json", |json| {
        json["permissions"] = json!(["ecs.condition.read"])
    });
    shop.edit("templates/office_1.json", |json| {
        json["roles"] = json!([{ "roleId": "nobody" }])
    });
    shop.edit("conditions/beer.json", |json| {
        json["enabled"] = json!(false)
    });
    let told = failed(&shop.run(&["apply", "DIR", "--accept-failing-tests"]).await);
    assert!(
        told.contains("templates/office_1.json: the host answered 400 Bad Request: "),
        "{told}"
    );
    assert!(
        told.contains("$.roles[0].roleId is not the id of a role"),
        "{told}"
    );
    assert!(told.contains("1 of 3 were written: run it again"), "{told}");
    // The JSON output says which steps were done.
    shop.edit("roles/reader.json", |json| {
        json["permissions"] = json!(["ecs.project.read"])
    });
    let output = shop
        .run(&["apply", "DIR", "--accept-failing-tests", "--json"])
        .await;
    assert!(failed(&output).contains("1 of 3 were written"));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = printed["steps"].as_array().unwrap().iter();
    let made: Vec<_> = steps.map(|step| (&step["kind"], &step["done"])).collect();
    assert_eq!(
        made,
        [
            (&json!("roles"), &json!(true)),
            (&json!("templates"), &json!(false)),
            (&json!("conditions"), &json!(false)),
        ]
    );
    let errors = printed["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &printed["done"]), (1, &json!(false)));
    let error = errors[0].as_str().unwrap();
    assert!(
        error.starts_with("templates/office_1.json: the host answered 400"),
        "{error}"
    );
    shop.edit("templates/office_1.json", |json| json["roles"] = json!([]));
    assert!(
        done(&shop.run(&["apply", "DIR", "--accept-failing-tests"]).await)
            .ends_with("done: 2 changed\n")
    );
}
