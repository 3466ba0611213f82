//! `apply` when it is killed, when answers are lost, and when others write meanwhile: the next run does the rest and
//! overwrites nothing.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::clock::SystemClock;

use super::fixture::{SECRETS, Shop, command, done, failed, rate, text, tree};
use super::proxy::{holding, holding_answer, lossy};
use crate::support::hanging::{Hanging, unfinished};
use crate::support::switched::Switched;
use crate::support::wait::{DEADLINE, Lines, ended};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_in_the_middle_is_finished_by_the_next() {
    let full = Shop::full().await;
    done(&full.run(&["export", "DIR"]).await);
    for commits in [1, 3, 7, 12] {
        let store = Switched::new(Arc::new(SystemClock));
        let there: Arc<dyn tillgate_store::Store> = store.clone();
        let shop = Shop::open_on(there).await;
        // After this many commits the host accepts no more, so the command waits.
        store.commits_left.store(commits, Ordering::SeqCst);
        let mut apply = command(&["apply", "DIR"], &full.rules(), &shop.operator(), &SECRETS);
        let mut apply = apply
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = Lines::of("tillgate apply", apply.stderr.take().unwrap());
        let waits = tokio::task::spawn_blocking(move || {
            told.find("that it waits", |line| line.ends_with(": trying again"))
        });
        waits.await.unwrap();
        apply.kill().unwrap();
        ended("tillgate apply, killed", &mut apply);
        store.commits_left.store(usize::MAX, Ordering::SeqCst);
        let output = shop.run_on(&full, &["diff", "DIR"]).await;
        assert_eq!(
            output.status.code(),
            Some(2),
            "{commits}: {}",
            text(&output.stdout)
        );
        done(&shop.run_on(&full, &["apply", "DIR"]).await);
        done(&shop.run_on(&full, &["diff", "DIR"]).await);
        done(&shop.run(&["export", "DIR"]).await);
        assert_eq!(tree(&shop.rules()), tree(&full.rules()), "{commits}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_removes_what_a_killed_one_has_left() {
    let shop = Shop::full().await;
    let export = command(
        &["export", "DIR"],
        &shop.rules(),
        &shop.operator(),
        &SECRETS,
    );
    let killed = tokio::task::block_in_place(|| Hanging::start(export, &shop.rules()));
    drop(killed);
    assert_eq!(unfinished(&shop.rules()).len(), 1);
    done(&shop.run(&["export", "DIR"]).await);
    assert_eq!(unfinished(&shop.rules()).len(), 0);
    done(&shop.run(&["diff", "DIR"]).await);
}

/// Makes a pipe for a secret. The command reads secrets after planning and before writing, so it waits there.
fn pipe(shop: &Shop) -> PathBuf {
    let pipe = shop.folder.path().join("key");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    pipe
}

/// Starts a command that has made its plan and waits for a secret.
async fn waiting(shop: &Shop, arguments: &[&str], pipe: PathBuf) -> (Child, File) {
    let mut apply = command(arguments, &shop.rules(), &shop.operator(), &SECRETS);
    let apply = apply
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let open = move || OpenOptions::new().write(true).open(pipe).unwrap();
    (apply, tokio::task::spawn_blocking(open).await.unwrap())
}

async fn output_of(command: Child) -> Output {
    let output = tokio::task::spawn_blocking(move || command.wait_with_output().unwrap());
    output.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_not_deleted_with_a_rate_that_was_set_after_the_plan_was_made() {
    let shop = Shop::open().await;
    let unit = |id: &str| json!({ "id": id, "type": "COMPANY" }).to_string();
    shop.write("business-units/kept.json", &unit("kept"));
    shop.write("business-units/gone.json", &unit("gone"));
    done(&shop.run(&["apply", "DIR"]).await);
    std::fs::remove_file(shop.rules().join("business-units/gone.json")).unwrap();
    let pipe = pipe(&shop);
    let webhook = json!({
        "name": "ERP", "callbackUrl": "https://127.0.0.1:9/hook", "eventTypes": ["*"], "authentication": { "type": "BEARER" },
        "sharedKey": { "file": pipe },
    });
    shop.write("webhooks/ERP.json", &webhook.to_string());
    let (apply, mut key) = waiting(&shop, &["apply", "DIR", "--prune"], pipe).await;
    let rates = "/api/v1/business-units/gone/exchange-rates";
    let rate = json!({ "rateValue": 11 });
    shop.send(Method::PUT, &format!("{rates}/SALES/SEK/EUR"), rate)
        .await;
    key.write_all(b"correct horse battery staple\n").unwrap();
    drop(key);
    let told = failed(&output_of(apply).await);
    let outdated = "business-units/gone: was changed by someone else since the plan was made";
    assert!(told.contains(outdated), "{told}");
    assert_eq!(shop.get(rates).await[0]["rateValue"], 11);
    shop.delete(&format!("{rates}/SALES/SEK/EUR")).await;
    std::fs::remove_dir_all(shop.rules().join("webhooks")).unwrap();
    let printed = done(&shop.run(&["apply", "DIR", "--prune"]).await);
    assert!(printed.ends_with("done: 1 deleted\n"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_write_after_the_plan_was_made_is_not_overwritten() {
    let shop = Shop::full().await;
    done(&shop.run(&["export", "DIR"]).await);
    shop.edit("conditions/till_1.json", |json| {
        json["enabled"] = json!(true)
    });
    shop.edit("business-units/se-002.json", |json| {
        json["name"] = json!("Two")
    });
    shop.edit("rates/se-001.json", |json| {
        json["rates"][1]["rateValue"] = json!(12)
    });
    shop.edit("templates/office_1.json", |json| {
        json["name"] = json!("Offices")
    });
    let pipe = pipe(&shop);
    shop.edit("webhooks/ERP.json", |json| {
        json["sharedKey"] = json!({ "file": pipe });
        json["maxPerSecond"] = json!(11);
    });
    let (apply, mut key) = waiting(&shop, &["apply", "DIR", "--secrets"], pipe).await;
    let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 30 } });
    shop.send(Method::PUT, "/api/v1/entity-conditions/till:1", age)
        .await;
    shop.send(
        Method::PUT,
        "/api/v1/business-units/se-002",
        json!({ "type": "STORE", "parentId": "SE", "name": "2" }),
    )
    .await;
    shop.send(
        Method::PUT,
        "/api/v1/business-units/se-001/exchange-rates/SALES/SEK/DKK",
        json!({ "rateValue": 1.5 }),
    )
    .await;
    let template = json!({ "softwareId": "office", "softwareVersion": "1", "name": "An office", "claimsSchema": {} });
    shop.send(
        Method::PUT,
        "/v1/tenants/platform/templates/office/1",
        template,
    )
    .await;
    let before = shop.all().await;
    key.write_all(b"correct horse battery staple\n").unwrap();
    drop(key);
    let told = failed(&output_of(apply).await);
    let outdated = "was changed by someone else since the plan was made";
    assert!(
        told.contains(&format!("templates/office_1.json: {outdated}")),
        "{told}"
    );
    assert!(told.contains("0 of 5 were written: run it again"), "{told}");
    assert_eq!(shop.all().await, before);
    // After planning again it continues, and other members that someone else has set stay.
    shop.edit("webhooks/ERP.json", |json| {
        json["sharedKey"] = json!({ "env": "WEBHOOK_ERP_SHARED_KEY" })
    });
    done(&shop.run(&["apply", "DIR"]).await);
    let rates = shop
        .get("/api/v1/business-units/se-001/exchange-rates")
        .await;
    let values: Vec<Value> = rates
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| rate["rateValue"].clone())
        .collect();
    assert_eq!(values, [json!(0.09), json!(1.5), json!(12)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_made_again_and_found_to_have_taken_effect() {
    let shop = Shop::full().await;
    done(
        &shop
            .run(&["export", "DIR", "--only", "conditions,rates,webhooks"])
            .await,
    );
    shop.edit("conditions/till_1.json", |json| {
        json["enabled"] = json!(true)
    });
    shop.edit("rates/se-001.json", |json| {
        json["rates"][1]["rateValue"] = json!(12)
    });
    shop.delete("/api/v1/entity-conditions/beer").await;
    let url = lossy(&shop.host.url, "PUT /api/v1/entity-conditions/till%3A1", 2);
    let output = shop.run(&["apply", "DIR", "--url", &url]).await;
    assert!(done(&output).ends_with("done: 1 created, 2 changed\n"));
    assert!(
        text(&output.stderr).contains("trying again"),
        "{}",
        text(&output.stderr)
    );
    shop.edit("rates/se-001.json", |json| {
        json["rates"][1]["rateValue"] = json!(13)
    });
    let url = lossy(&shop.host.url, "POST /api/v1/business-units", 1);
    assert!(done(&shop.run(&["apply", "DIR", "--url", &url]).await).ends_with("done: 1 changed\n"));

    // A webhook that was created is not created again: the next run finds it.
    shop.write("webhooks/new.json", r#"{ "name": "new", "callbackUrl": "https://127.0.0.1:9/a", "eventTypes": ["*"], "authentication": { "type": "BEARER" } }"#);
    let url = lossy(&shop.host.url, "POST /api/v1/webhooks", 1);
    let told = failed(&shop.run(&["apply", "DIR", "--url", &url]).await);
    assert!(told.starts_with("tillgate: webhooks/new.json: "), "{told}");
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(printed.ends_with(" are the same\n"), "{printed}");
    assert_eq!(
        shop.get("/api/v1/webhooks").await.as_array().unwrap().len(),
        4
    );
}

/// The beginning of the requests for the rates of a unit.
const RATES_OF_ACME: &str = "POST /api/v1/business-units/acme/";

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_a_person_sets_between_two_requests_of_a_large_change_stays() {
    set_meanwhile(|host| holding(host, RATES_OF_ACME, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_a_person_sets_before_the_first_request_of_a_large_change_is_answered_stays() {
    set_meanwhile(|host| holding_answer(host, RATES_OF_ACME)).await;
}

/// Sets a rate by hand while a change with more rates than fit into one request is held after the first request.
async fn set_meanwhile(hold: impl FnOnce(&str) -> (String, Receiver<()>, Sender<()>)) {
    const CURRENCIES: [&str; 33] = [
        "AED", "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR",
        "ILS", "INR", "ISK", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK",
        "SGD", "THB", "TRY", "UAH", "USD", "VND", "ZAR",
    ];
    let shop = Shop::open().await;
    let unit = json!({ "id": "acme", "type": "COMPANY" });
    shop.write("business-units/acme.json", &unit.to_string());
    // 1,056 rates, both directions of each pair.
    let of_currency = |from: &'static str| {
        let others = CURRENCIES.into_iter().filter(move |to| *to != from);
        others.map(move |to| rate(from, to, json!(2)))
    };
    let all: Vec<Value> = CURRENCIES.into_iter().flat_map(of_currency).collect();
    let file = json!({ "businessUnitId": "acme", "rates": all });
    shop.write("rates/a.json", &file.to_string());
    let (url, is_held, let_go) = hold(&shop.host.url);
    let arguments = ["apply", "DIR", "--url", url.as_str()];
    let apply = command(&arguments, &shop.rules(), &shop.operator(), &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let held = tokio::task::spawn_blocking(move || is_held.recv_timeout(DEADLINE));
    held.await.unwrap().unwrap();

    let rates = "/api/v1/business-units/acme/exchange-rates";
    let first = shop.get(rates).await.as_array().unwrap().clone();
    assert_eq!(first.len(), 1_000);
    let is_set = |from: &Value, to: &Value| {
        let is_it = |rate: &Value| rate["currencyIdFrom"] == *from && rate["currencyIdTo"] == *to;
        first.iter().any(is_it)
    };
    let mut missing = all
        .iter()
        .map(|rate| (&rate["currencyIdFrom"], &rate["currencyIdTo"]));
    let (from, to) = missing.find(|&(from, to)| !is_set(from, to)).unwrap();
    let (from, to) = (from.as_str().unwrap(), to.as_str().unwrap());
    let path = format!("{rates}/SALES/{from}/{to}");
    shop.send(Method::PUT, &path, json!({ "rateValue": 7.7 }))
        .await;
    let_go.send(()).unwrap();

    let told = failed(&output_of(apply).await);
    let outdated = "rates/a.json: the rates of the business unit acme were changed by someone else after 1 of 2 requests";
    assert!(told.contains(outdated), "{told}");
    assert!(told.contains("1 of 2 were written: run it again"), "{told}");
    let theirs = shop.get(&path).await;
    assert_eq!(
        (&theirs["rateValue"], theirs.get("managedBy")),
        (&json!(7.7), None)
    );
    assert_eq!(shop.get(rates).await.as_array().unwrap().len(), 1_001);
    // The next run first says what it would overwrite, then does the rest.
    let planned = done(&shop.run(&["apply", "DIR", "--dry-run"]).await);
    assert!(
        planned.contains(&format!("SALES {from} {to}: 7.7 -> 2\n")),
        "{planned}"
    );
}
