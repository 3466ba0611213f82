//! Decisions that tills upload: the answer comes once they are on disk; each is there once, in order, and nothing
//! else is.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::clock::StoppedClock;
use tillgate_store::{MemoryStore, Store};

use super::{AT, START, Shop, lines, record_in};
use crate::support::host::{Host, Program};
use crate::support::switched::Switched;
use crate::support::wait::output;

const UPLOAD: &str = "/api/v1/decisions";
const TILLS: &str = "/api/v1/decisions/tills";

fn decision(sequence: u64) -> Value {
    json!({
        "sequence": sequence, "at": "2025-12-31T23:59:59.5Z", "itemId": "beer-1", "conditionId": "beer",
        "decision": "HARD_DENY", "reason": "age_restriction.underage",
    })
}

fn allowed(sequence: u64) -> Value {
    json!({
        "sequence": sequence, "at": "2025-12-31T23:59:59Z", "itemId": "glue",
        "projectId": super::PROJECT, "decision": "ALLOW",
    })
}

fn report(till: &str, decisions: impl IntoIterator<Item = Value>) -> Value {
    json!({ "till": till, "decisions": decisions.into_iter().collect::<Vec<_>>() })
}

impl Shop {
    async fn upload(&self, report: &Value) -> (u16, Value) {
        self.host
            .send(Method::POST, UPLOAD, &self.token, report)
            .await
    }

    /// Returns the lines of the log now; the host need not stop.
    fn uploads(&self) -> Vec<Value> {
        lines(&record_in(&self.folder))
    }
}

fn receipt(till: &str, sequence: u64, [written, repeated, left_out]: [u64; 3]) -> (u16, Value) {
    let receipt = json!({
        "till": till, "sequence": sequence, "written": written, "repeated": repeated, "leftOut": left_out,
    });
    (200, receipt)
}

#[tokio::test]
async fn what_a_till_hands_in_is_on_record_when_that_is_answered() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let digest = "0123456789abcdef".repeat(4);
    let mut first = decision(7);
    for (member, value) in [
        ("engine", json!(digest)),
        ("etag", json!(digest)),
        ("catalog", json!(digest)),
        ("businessUnitId", json!("SE-003")),
        (
            "correlationId",
            json!("7f0c1d52-3a1b-4c5d-8e6f-0a1b2c3d4e5f"),
        ),
        ("droppedBefore", json!(3)),
    ] {
        first[member] = value;
    }
    let mut second = allowed(9);
    second["restriction"] = json!("itemId");
    let uploads = shop.upload(&report("till-7", [first, second])).await;
    assert_eq!(uploads, receipt("till-7", 9, [2, 0, 0]));
    let expected = [
        json!({
            "at": "2025-12-31T23:59:59.500Z", "tenantId": "acme", "clientId": shop.client, "till": "till-7",
            "sequence": 7, "missing": 3, "received": AT,
        }),
        json!({
            "at": "2025-12-31T23:59:59.500Z", "tenantId": "acme", "clientId": shop.client,
            "businessUnitId": "SE-003", "itemId": "beer-1", "conditionId": "beer", "etag": digest,
            "decision": "HARD_DENY", "reason": "age_restriction.underage", "engine": digest, "catalog": digest,
            "correlationId": "7f0c1d52-3a1b-4c5d-8e6f-0a1b2c3d4e5f", "till": "till-7", "sequence": 7,
            "received": AT,
        }),
        json!({
            "at": "2025-12-31T23:59:59.000Z", "tenantId": "acme", "clientId": shop.client, "itemId": "glue",
            "projectId": super::PROJECT, "decision": "ALLOW", "restriction": "itemId",
            "till": "till-7", "sequence": 9, "received": AT,
        }),
    ];
    assert_eq!(shop.uploads(), expected);
}

#[tokio::test]
async fn what_is_uploaded_again_is_counted_and_not_written_again() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let both = report("t", [decision(1), decision(2)]);
    assert_eq!(shop.upload(&both).await, receipt("t", 2, [2, 0, 0]));
    assert_eq!(shop.upload(&both).await, receipt("t", 2, [0, 2, 0]));
    let more = report("t", [decision(2), decision(3), decision(5)]);
    assert_eq!(shop.upload(&more).await, receipt("t", 5, [2, 1, 0]));
    let late = report("t", [decision(4)]);
    assert_eq!(shop.upload(&late).await, receipt("t", 5, [0, 1, 0]));
    // Another till has separate numbers.
    assert_eq!(
        shop.upload(&report("u", [decision(1)])).await,
        receipt("u", 1, [1, 0, 0])
    );
    let sequences: Vec<_> = shop
        .uploads()
        .iter()
        .map(|line| line["sequence"].clone())
        .collect();
    assert_eq!(sequences, [1, 2, 3, 5, 1]);
    let listed = shop.host.get(TILLS, &shop.token).await;
    let tills = json!([
        { "till": "t", "clientId": shop.client, "sequence": 5, "uploadedAt": AT },
        { "till": "u", "clientId": shop.client, "sequence": 1, "uploadedAt": AT },
    ]);
    assert_eq!(listed, (200, json!({ "items": tills })));
    let page = shop
        .host
        .get(&format!("{TILLS}?limit=1"), &shop.token)
        .await
        .1;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let next = page["next"].as_str().unwrap();
    let rest = shop
        .host
        .get(&format!("{TILLS}?limit=1&cursor={next}"), &shop.token)
        .await
        .1;
    assert_eq!(
        (&rest["items"][0]["till"], rest.get("next")),
        (&json!("u"), None)
    );
}

#[tokio::test]
async fn the_tenants_choice_holds_for_uploads() {
    let shop = Shop::open().await;
    let all = report("t", [decision(1), allowed(2)]);
    assert_eq!(shop.upload(&all).await, receipt("t", 2, [0, 0, 2]));
    assert_eq!(
        shop.host.get(TILLS, &shop.token).await.1,
        json!({ "items": [] })
    );
    shop.choose("denials").await;
    assert_eq!(shop.upload(&all).await, receipt("t", 2, [1, 0, 1]));
    assert_eq!(shop.upload(&all).await, receipt("t", 2, [0, 2, 0]));
    let more = report("t", [allowed(3), decision(4)]);
    assert_eq!(shop.upload(&more).await, receipt("t", 4, [1, 0, 1]));
    let written = shop.uploads();
    let numbers: Vec<_> = written
        .iter()
        .map(|line| line["sequence"].clone())
        .collect();
    assert_eq!(numbers, [1, 4]);
}

#[tokio::test]
async fn every_fault_is_named_and_nothing_about_the_customer_is_taken() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let with = |member: &str, value: Value| {
        let mut one = decision(1);
        match value {
            Value::Null => drop(one.as_object_mut().unwrap().remove(member)),
            value => one[member] = value,
        }
        report("t", [one])
    };
    let unknown = "is unknown";
    let sequence = "must be an integer from 1 to 9007199254740991";
    for (body, fault) in [
        (
            json!({ "decisions": [decision(1)] }),
            "$.till is required".to_owned(),
        ),
        (
            report("a b", [decision(1)]),
            "$.till must be 1 to 64 of A-Z a-z 0-9 . _ -".to_owned(),
        ),
        (
            report("..", [decision(1)]),
            "$.till must not be . or ..: HTTP clients take these for dot segments".to_owned(),
        ),
        (json!({ "till": "t" }), "$.decisions is required".to_owned()),
        (
            report("t", []),
            "$.decisions must have 1 to 1000 elements".to_owned(),
        ),
        (
            report("t", (1..=1_001).map(decision)),
            "$.decisions must have 1 to 1000 elements".to_owned(),
        ),
        (
            report("t", [json!(1)]),
            "$.decisions[0] must be an object".to_owned(),
        ),
        (
            report("t", [decision(2), decision(2)]),
            "$.decisions[1].sequence must be greater than the one before".to_owned(),
        ),
        (
            with("sequence", json!(0)),
            format!("$.decisions[0].sequence {sequence}"),
        ),
        (
            with("sequence", json!(9_007_199_254_740_992_u64)),
            format!("$.decisions[0].sequence {sequence}"),
        ),
        (
            with("sequence", json!("1")),
            format!("$.decisions[0].sequence {sequence}"),
        ),
        (
            with("at", json!("today")),
            "$.decisions[0].at must be a time such as 2026-11-20T17:40:00Z".to_owned(),
        ),
        (
            with("itemId", json!("")),
            "$.decisions[0].itemId must be a string of 1 to 256 characters".to_owned(),
        ),
        (
            with("itemId", json!("i".repeat(257))),
            "$.decisions[0].itemId must be a string of 1 to 256 characters".to_owned(),
        ),
        (
            with("conditionId", Value::Null),
            "$.decisions[0] must have either a conditionId or a projectId".to_owned(),
        ),
        (
            with("projectId", json!(super::PROJECT)),
            "$.decisions[0] must have either a conditionId or a projectId".to_owned(),
        ),
        (
            with("decision", json!("DENY")),
            "$.decisions[0].decision must be ALLOW, SOFT_DENY or HARD_DENY".to_owned(),
        ),
        (
            with("decision", json!("ALLOW")),
            "$.decisions[0].reason must be absent: the item was allowed".to_owned(),
        ),
        (
            with("reason", Value::Null),
            "$.decisions[0].reason is required, unless the item was allowed".to_owned(),
        ),
        (
            with("reason", json!("too young")),
            "$.decisions[0].reason must be a reason such as age_restriction.underage".to_owned(),
        ),
        (
            with("engine", json!("abc")),
            "$.decisions[0].engine must be a SHA-256: 64 of 0-9 a-f".to_owned(),
        ),
        (
            with("correlationId", json!("1")),
            "$.decisions[0].correlationId must be a UUID".to_owned(),
        ),
        (
            with("customer_age", json!(17)),
            format!("$.decisions[0].customer_age {unknown}"),
        ),
        (
            with("context", json!({ "customer": { "licenses": [] } })),
            format!("$.decisions[0].context {unknown}"),
        ),
        (
            json!({ "till": "t", "decisions": [decision(1)], "birthDate": "1984-07-07" }),
            format!("$.birthDate {unknown}"),
        ),
    ] {
        let (status, answer) = shop.upload(&body).await;
        assert_eq!((status, &answer["message"]), (400, &json!([fault])));
    }
    let both = json!({ "till": "t", "decisions": [{ "sequence": 1, "age": 17 }] });
    let (_, answer) = shop.upload(&both).await;
    assert_eq!(answer["message"].as_array().unwrap().len(), 5, "{answer}");
    assert_eq!(shop.uploads(), Vec::<Value>::new());
    assert_eq!(
        shop.host.get(TILLS, &shop.token).await.1,
        json!({ "items": [] })
    );
}

#[tokio::test]
async fn evaluators_upload_decisions_and_administrators_forget_tills() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let one = report("t", [decision(1)]);
    let till = "/api/v1/decisions/tills/t";
    let viewer = shop.host.token("acme", &["ecs.viewer"]).await;
    let evaluator = shop.host.token("acme", &["ecs.evaluator"]).await;
    let admin = shop.host.token("acme", &["iam.admin"]).await;
    let other = shop.host.token("other", super::ROLES).await;
    let upload = async |token: &str| shop.host.send(Method::POST, UPLOAD, token, &one).await.0;
    assert_eq!((upload(&viewer).await, upload(&admin).await), (403, 403));
    assert_eq!(upload(&evaluator).await, 200);
    for token in [&viewer, &evaluator, &admin] {
        assert_eq!(shop.host.get(TILLS, token).await.1["items"][0]["till"], "t");
    }
    assert_eq!(shop.host.get(TILLS, &other).await.1, json!({ "items": [] }));
    let forget = async |token: &str| {
        shop.host
            .send(Method::DELETE, till, token, &Value::Null)
            .await
            .0
    };
    assert_eq!(
        (
            forget(&viewer).await,
            forget(&evaluator).await,
            forget(&other).await
        ),
        (403, 403, 404)
    );
    assert_eq!((forget(&admin).await, forget(&admin).await), (204, 404));
    let bad = shop.host.get(&format!("{TILLS}?limit=0"), &admin).await.1;
    assert_eq!(bad["message"], json!(["$.limit must be 1 to 1000"]));
}

#[tokio::test]
async fn the_number_of_tills_is_limited() {
    let shop = Shop::configured(|config| config.quotas.tills = 2).await;
    shop.choose("all").await;
    let upload = async |till: &str| shop.upload(&report(till, [decision(1)])).await;
    assert_eq!((upload("a").await.0, upload("b").await.0), (200, 200));
    let (status, answer) = upload("c").await;
    let detail = "a tenant may have at most 2 tills that upload decisions";
    assert_eq!((status, &answer["detail"]), (409, &json!(detail)));
    assert_eq!(upload("a").await.0, 200, "it is there");
    let usage = shop.host.get("/v1/tenants/acme/usage", &shop.token).await.1;
    assert_eq!(usage["tills"], json!({ "used": 2, "quota": 2 }));
    let forgotten = shop
        .host
        .send(
            Method::DELETE,
            "/api/v1/decisions/tills/a",
            &shop.token,
            &Value::Null,
        )
        .await;
    assert_eq!(forgotten.0, 204);
    assert_eq!(upload("c").await.0, 200);
    assert_eq!(shop.uploads().len(), 3);
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_uploaded_later() {
    let full =
        |config: &mut tillgate_base::config::Config| config.decisions.log = "/dev/full".to_owned();
    let shop = Shop::configured(full).await;
    shop.choose("all").await;
    let one = report("t", [decision(1)]);
    for _ in 0..3 {
        let request = shop
            .host
            .request(Method::POST, UPLOAD, &shop.token)
            .json(&one);
        let refused = request.send().await.unwrap();
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        let answer: Value = refused.json().await.unwrap();
        assert_eq!(
            answer["detail"],
            "this host writes no decision log now: try again"
        );
    }
    assert_eq!(
        shop.host.get(TILLS, &shop.token).await.1,
        json!({ "items": [] })
    );
    // A host without a log refuses too, and the till keeps its decisions for a host that has one.
    let shop = Shop::configured(|config| config.decisions.log = String::new()).await;
    shop.choose("all").await;
    assert_eq!(shop.upload(&one).await.0, 503);
}

#[tokio::test]
async fn what_was_written_and_not_acknowledged_is_on_record_twice_and_read_once() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Switched::new(clock.clone());
    let opened: Arc<dyn Store> = store.clone();
    let shop = Shop::on(opened, clock, |_| ()).await;
    shop.choose("all").await;
    assert_eq!(shop.upload(&report("t", [decision(1)])).await.0, 200);
    let more = report("t", [decision(2), decision(3)]);
    store.set_read_only(true);
    assert_eq!(shop.upload(&more).await.0, 503);
    store.set_read_only(false);
    assert_eq!(shop.upload(&more).await, receipt("t", 3, [2, 0, 0]));
    let written = shop.uploads();
    let sequences: Vec<_> = written
        .iter()
        .map(|line| line["sequence"].clone())
        .collect();
    assert_eq!(sequences, [1, 2, 3, 2, 3]);
    assert_eq!(printed(&shop, "sequence"), [1, 2, 3]);
}

#[tokio::test]
async fn a_till_that_hands_in_on_two_hosts_at_once_has_each_decision_on_record() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let same = |config: &mut tillgate_base::config::Config| {
        config.issuer = "https://tillgate.example/".to_owned();
    };
    let one = Shop::on(store.clone(), clock.clone(), same).await;
    one.choose("all").await;
    let other = one.folder.path().join("other.jsonl").display().to_string();
    let two = Host::start_configured(store, clock, |config| {
        same(config);
        config.decisions.log = other.clone();
    })
    .await;
    for round in 0..20 {
        let first = round * 10 + 1;
        let body = report("t", (first..first + 10).map(decision));
        let (here, there) = tokio::join!(
            one.upload(&body),
            two.send(Method::POST, UPLOAD, &one.token, &body)
        );
        assert_eq!((here.0, there.0), (200, 200));
    }
    let files = [record_in(&one.folder), other.into()];
    let mut command = Program::command();
    command.args(["decisions", "--format", "json"]).args(&files);
    let found = output(&mut command);
    assert_eq!(found.status.code(), Some(0));
    let printed = String::from_utf8(found.stdout).unwrap();
    let mut read: Vec<u64> = printed
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["sequence"]
                .as_u64()
                .unwrap()
        })
        .collect();
    read.sort_unstable();
    assert_eq!(read, (1..=200).collect::<Vec<_>>());
}

/// Returns the items or numbers that `tillgate decisions` prints of a log.
fn printed(shop: &Shop, member: &str) -> Vec<Value> {
    let mut command = Program::command();
    command
        .args(["decisions", "--format", "json"])
        .arg(record_in(&shop.folder));
    let found = output(&mut command);
    assert_eq!(found.status.code(), Some(0));
    let printed = String::from_utf8(found.stdout).unwrap();
    let lines = printed.lines();
    lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap()[member].clone())
        .collect()
}

#[tokio::test]
async fn no_client_makes_the_decisions_of_anothers_till_look_like_repetitions() {
    const GREATEST: u64 = (1 << 53) - 1;
    let shop = Shop::open().await;
    shop.choose("all").await;
    let other = shop.host.token("acme", &["ecs.evaluator"]).await;
    let upload =
        async |token: &str, body: &Value| shop.host.send(Method::POST, UPLOAD, token, body).await;
    let own = |sequence| report("t", [decision(sequence)]);
    assert_eq!(shop.upload(&own(1)).await, receipt("t", 1, [1, 0, 0]));
    let greatest = upload(&other, &report("t", [decision(GREATEST)])).await;
    assert_eq!(greatest, receipt("t", GREATEST, [1, 0, 0]));
    // Its decisions are not counted as new again either.
    assert_eq!(shop.upload(&own(1)).await, receipt("t", 1, [0, 1, 0]));
    assert_eq!(shop.upload(&own(2)).await, receipt("t", 2, [1, 0, 0]));
    let same = upload(&other, &own(2)).await;
    assert_eq!(same, receipt("t", GREATEST, [0, 1, 0]));
    assert_eq!(printed(&shop, "sequence"), [1, GREATEST, 2]);
    let first = shop
        .host
        .get(&format!("{TILLS}?limit=1"), &shop.token)
        .await
        .1;
    let next = first["next"].as_str().unwrap();
    let second = format!("{TILLS}?limit=1&cursor={next}");
    let second = shop.host.get(&second, &shop.token).await.1;
    let mut listed = [first, second].map(|page| page["items"][0].clone());
    listed.sort_by_key(|till| till["sequence"].as_u64());
    assert_eq!(listed[0]["clientId"], json!(shop.client));
    assert_eq!(listed.map(|till| till["till"].clone()), ["t", "t"]);
    // Forgetting a name forgets all clients that have uploaded under it.
    let till = format!("{TILLS}/t");
    let forget = || {
        shop.host
            .send(Method::DELETE, &till, &shop.token, &Value::Null)
    };
    assert_eq!((forget().await.0, forget().await.0), (204, 404));
    let usage = shop.host.get("/v1/tenants/acme/usage", &shop.token).await.1;
    assert_eq!(usage["tills"]["used"], 0);
}

#[tokio::test]
async fn uploads_are_written_to_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = record_in(&folder).display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let shop = Shop::configured(|config| config.decisions.log = pipe).await;
    shop.choose("all").await;
    let one = report("t", [decision(1)]);
    assert_eq!(shop.upload(&one).await, receipt("t", 1, [1, 0, 0]));
}

#[tokio::test]
async fn what_a_till_decides_after_it_was_forgotten_is_printed() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    for minute in 0..3 {
        let at_minute = |sequence| {
            let mut decision = decision(sequence);
            decision["at"] = json!(format!("2025-12-31T23:{minute:02}:00Z"));
            decision
        };
        let both = report("t", [at_minute(1), at_minute(2)]);
        assert_eq!(shop.upload(&both).await, receipt("t", 2, [2, 0, 0]));
        let till = format!("{TILLS}/t");
        let forgotten = shop
            .host
            .send(Method::DELETE, &till, &shop.token, &Value::Null);
        assert_eq!(forgotten.await.0, 204);
    }
    assert_eq!(printed(&shop, "sequence"), [1, 2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn what_a_till_has_dropped_is_said_also_before_a_decision_that_is_left_out() {
    let shop = Shop::open().await;
    shop.choose("denials").await;
    let dropped = |mut decision: Value, count: u64| {
        decision["droppedBefore"] = json!(count);
        decision
    };
    let first = report("t", [dropped(allowed(1), 5), allowed(2)]);
    assert_eq!(shop.upload(&first).await, receipt("t", 2, [0, 0, 2]));
    let rest = [dropped(decision(3), 2), decision(4)];
    assert_eq!(
        shop.upload(&report("t", rest)).await,
        receipt("t", 4, [2, 0, 0])
    );
    let said: Vec<_> = shop
        .uploads()
        .iter()
        .map(|line| (line["sequence"].clone(), line.get("missing").cloned()))
        .collect();
    let missing = |number: u64, count: u64| (json!(number), Some(json!(count)));
    let decided = |number: u64| (json!(number), None);
    assert_eq!(said, [missing(1, 5), missing(3, 2), decided(3), decided(4)]);
}
