//! Findings about rules: over HTTP as a rule owner's page requests them, and on the command line as in a pipeline.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::{Host, Program};
use crate::support::wait::output;
use crate::vectors::vector::{self, Call};

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];

fn age(minimum: u8) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } })
}

fn own(id: &str) -> String {
    format!("/api/v1/entity-conditions/{id}")
}

fn global(id: &str) -> String {
    format!("/api/v1/global-entity-conditions/{id}")
}

fn project() -> String {
    format!("/api/v1/projects/{PROJECT}")
}

async fn findings(host: &Host, token: &str, path: &str) -> Value {
    let (status, answer) = host.get(&format!("{path}/findings"), token).await;
    assert_eq!(status, 200, "{answer}");
    answer["findings"].clone()
}

async fn put(host: &Host, token: &str, path: &str, body: &Value) {
    let (status, answer) = host.send(Method::PUT, path, token, body).await;
    assert!(matches!(status, 200 | 201), "{answer}");
}

#[tokio::test]
async fn a_rule_says_what_is_wrong_with_it_until_it_is_corrected() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    put(&host, &token, &own("beer"), &age(0)).await;
    let expected = json!([{
        "kind": "INEFFECTIVE",
        "message": "A minimum age of 0 denies no customer whose age is known.",
        "places": ["$.condition_value.minimum_age"],
        "witness": { "item": { "id": "item" }, "context": { "customer": { "customer_age": 0 } } },
    }]);
    assert_eq!(findings(&host, &token, &own("beer")).await, expected);
    put(&host, &token, &own("beer"), &age(18)).await;
    assert_eq!(findings(&host, &token, &own("beer")).await, json!([]));

    let mut restrictions = json!({ "restrictions": [
        { "type": "BLACKLIST", "propertyName": "category", "deniedValues": ["foam", "paint"] },
        { "type": "WHITELIST", "propertyName": "category", "allowedValues": ["paint"] },
    ] });
    put(&host, &token, &project(), &restrictions).await;
    let expected = json!([{
        "kind": "UNSATISFIABLE",
        "message": "Nothing can be bought: no category is both allowed and not denied.",
        "places": ["$.restrictions[0]", "$.restrictions[1]"],
    }]);
    assert_eq!(findings(&host, &token, &project()).await, expected);
    restrictions["restrictions"][0]["deniedValues"] = json!([]);
    restrictions["restrictions"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    put(&host, &token, &project(), &restrictions).await;
    assert_eq!(findings(&host, &token, &project()).await, json!([]));
}

#[tokio::test]
async fn a_condition_that_a_global_one_shares_its_id_with_says_which_decides() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    put(&host, &token, &own("wine"), &age(16)).await;
    assert_eq!(findings(&host, &token, &own("wine")).await, json!([]));
    put(&host, &operator, &global("wine"), &age(20)).await;
    let expected = json!([{
        "kind": "SHADOWED",
        "message": "The tenant has a rule of its own with this id: that one decides in place of this one.",
        "places": ["$.id"],
        "witness": { "item": { "id": "item" }, "context": { "customer": { "customer_age": 19 } } },
    }]);
    assert_eq!(findings(&host, &token, &own("wine")).await, expected);
    let other = host.token("other", ROLES).await;
    assert_eq!(findings(&host, &other, &own("wine")).await, json!([]));
}

#[tokio::test]
async fn what_is_not_there_has_no_findings_and_reading_them_is_reading() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let evaluator = host.token("shop", &["ecs.evaluator"]).await;
    let other = host.token("other", ROLES).await;
    put(&host, &token, &own("beer"), &age(18)).await;
    put(&host, &token, &project(), &json!({ "restrictions": [] })).await;
    for (path, missing, invalid) in [
        (own("beer"), own("wine"), own("a b").replace(' ', "%20")),
        (
            project(),
            project().replace("0b8a", "1b8a"),
            "/api/v1/projects/school".to_owned(),
        ),
    ] {
        let status = async |path: &str, token: &str| {
            let (status, _) = host.get(&format!("{path}/findings"), token).await;
            status
        };
        assert_eq!(status(&path, &token).await, 200, "{path}");
        assert_eq!(status(&path, &evaluator).await, 403, "{path}");
        assert_eq!(status(&path, &other).await, 404, "{path}");
        assert_eq!(status(&missing, &token).await, 404, "{missing}");
        assert_eq!(status(&invalid, &token).await, 400, "{invalid}");
        assert_eq!(status(&path, "none").await, 401, "{path}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_values_are_looked_at() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let allowed: Vec<String> = (0..50_000).map(|id| format!("sku-{id:06}")).collect();
    let denied: Vec<String> = (0..50_000).map(|id| format!("SKU-{id:06}")).collect();
    let body = json!({ "restrictions": [
        { "type": "WHITELISTEDITEMS", "itemIds": allowed },
        { "type": "BLACKLISTEDITEMS", "itemIds": denied },
    ] });
    put(&host, &token, &project(), &body).await;
    let found = findings(&host, &token, &project()).await;
    let found = found.as_array().unwrap();
    let both = json!(["$.restrictions[0]", "$.restrictions[1]"]);
    assert_eq!(found.len(), 101);
    assert_eq!(found[0]["kind"], "INEFFECTIVE");
    assert_eq!(
        (&found[1]["kind"], &found[1]["places"]),
        (&json!("SUSPICIOUS"), &both)
    );
    let left_out = "There are 49901 more findings: correct these first.";
    assert_eq!(
        (&found[100]["message"], &found[100]["places"]),
        (&json!(left_out), &json!([]))
    );
}

#[tokio::test]
async fn a_host_finds_what_the_vectors_say() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    let mut run = 0;
    for vector in vector::all() {
        let Call::Findings(rule) = &vector.call else {
            continue;
        };
        let Ok(rule) = serde_json::from_slice::<Value>(rule) else {
            continue;
        };
        let Some(expected) = vector.answer.strip_prefix(b"0") else {
            continue;
        };
        let expected: Value = serde_json::from_slice(expected).unwrap();
        let (path, condition, other) = match (&rule["project"], &rule["condition"]) {
            (Value::Object(_), _) => (project(), &rule["project"], None),
            (_, Value::Object(condition)) => {
                let id = condition["id"].as_str().unwrap();
                (own(id), &rule["condition"], Some((id, &rule["other"])))
            }
            _ => continue,
        };
        if rule["project"]["projectId"].is_string() {
            continue;
        }
        match other {
            // A GET answers the global one where there are two, so findings are requested for that one.
            Some((id, other @ Value::Object(_))) if condition["scope"] == "GLOBAL" => {
                put(&host, &token, &own(id), &unscoped(other)).await;
                put(&host, &operator, &global(id), &unscoped(condition)).await;
            }
            Some((_, Value::Object(_))) => continue,
            _ => put(&host, &token, &path, condition).await,
        }
        let (status, found) = host.get(&format!("{path}/findings"), &token).await;
        assert_eq!((status, &found), (200, &expected), "{}", vector.name);
        if let Some((id, Value::Object(_))) = other {
            let gone = host.request(Method::DELETE, &global(id), &operator);
            assert_eq!(gone.send().await.unwrap().status(), 204);
        }
        run += 1;
    }
    assert!(run > 60, "{run} vectors");
}

/// Returns a condition without its scope, which its route implies.
fn unscoped(condition: &Value) -> Value {
    let mut condition = condition.clone();
    condition.as_object_mut().unwrap().remove("scope");
    condition
}

struct Catalog {
    folder: tempfile::TempDir,
}

impl Catalog {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("catalog.json"), text).unwrap();
        Self { folder }
    }

    fn lint(&self, options: &[&str]) -> Output {
        let mut command = Program::command();
        command
            .arg("lint")
            .arg(self.folder.path().join("catalog.json"));
        output(command.args(options))
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn catalog() -> Value {
    json!({
        "tenantId": "shop",
        "global": [{ "id": "wine", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 121 } }],
        "tenant": [
            { "id": "beer", "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } },
            { "id": "wine", "rule": "LICENSE_REQUIREMENT", "condition_value": {}, "enabled": false },
        ],
        "projects": [{ "projectId": PROJECT, "restrictions": [
            { "type": "WHITELIST", "propertyName": "category", "allowedValues": [] },
            { "type": "BLACKLISTEDITEMS", "itemIds": ["i", "I\u{1b}[2J"] },
            { "type": "BLACKLISTEDITEMS", "itemIds": ["i"] },
        ] }],
    })
}

#[test]
fn lint_prints_a_line_for_each_finding_and_ends_with_4() {
    let found = Catalog::of(&catalog().to_string()).lint(&[]);
    let lines: Vec<&str> = text(&found.stdout).lines().collect();
    assert_eq!(
        lines,
        [
            "global condition wine: SUSPICIOUS at $.condition_value.minimum_age: A minimum age of 121 is more than people live.",
            "condition wine: SHADOWED at $.id, $.enabled: A global rule has this id too: this one is off, so that one decides.",
            &format!(
                "project {PROJECT}: UNSATISFIABLE at $.restrictions[0]: Nothing can be bought: a list of allowed values of category is empty."
            ),
            &format!(
                "project {PROJECT}: INEFFECTIVE at $.restrictions[2]: A restriction on items adds nothing: without it, the same is allowed."
            ),
        ]
    );
    assert_eq!(found.status.code(), Some(4));
    assert_eq!(text(&found.stderr), "");
}

#[test]
fn lint_prints_json_that_names_each_rule() {
    let found = Catalog::of(&catalog().to_string()).lint(&["--format", "json"]);
    assert_eq!(found.status.code(), Some(4));
    let printed: Value = serde_json::from_slice(&found.stdout).unwrap();
    let findings = printed["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 4);
    assert_eq!(
        findings[0],
        json!({
            "rule": { "kind": "condition", "id": "wine", "scope": "GLOBAL" },
            "kind": "SUSPICIOUS",
            "message": "A minimum age of 121 is more than people live.",
            "places": ["$.condition_value.minimum_age"],
            "witness": { "item": { "id": "item" }, "context": { "customer": { "customer_age": 120 } } },
        })
    );
    assert_eq!(
        findings[2]["rule"],
        json!({ "kind": "project", "id": PROJECT })
    );
    assert!(findings[2].get("witness").is_none());
}

#[test]
fn lint_of_a_catalog_in_order_prints_nothing_and_ends_with_0() {
    let clean = json!({ "global": [], "tenant": [{ "id": "beer", "rule": "LICENSE_REQUIREMENT", "condition_value": {} }] });
    let catalog = Catalog::of(&clean.to_string());
    let found = catalog.lint(&[]);
    assert_eq!((found.status.code(), text(&found.stdout)), (Some(0), ""));
    let found = catalog.lint(&["--format=json"]);
    assert_eq!(
        (found.status.code(), text(&found.stdout)),
        (Some(0), "{\"findings\":[]}\n")
    );
}

#[test]
fn lint_of_what_is_no_catalog_names_every_fault_and_ends_with_3() {
    let rows = [
        ("{", "must be JSON"),
        ("[]", "$ must be an object"),
        (
            r#"{"global":[],"tenant":[{"id":"a"}]}"#,
            "$.tenant[0].rule is required; $.tenant[0].condition_value is required",
        ),
    ];
    for (document, fault) in rows {
        let refused = Catalog::of(document).lint(&[]);
        assert_eq!(refused.status.code(), Some(3), "{document}");
        assert_eq!(text(&refused.stdout), "", "{document}");
        assert!(
            text(&refused.stderr).contains(fault),
            "{}",
            text(&refused.stderr)
        );
    }
}

#[test]
fn lint_reads_stdin_and_a_file_that_is_not_there_ends_with_1() {
    for name in ["-", "/dev/stdin"] {
        let mut command = Program::command();
        let mut process = command
            .args(["lint", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(catalog().to_string().as_bytes()).unwrap();
        drop(stdin);
        let found = process.wait_with_output().unwrap();
        assert_eq!(
            (found.status.code(), text(&found.stdout).lines().count()),
            (Some(4), 4)
        );
    }
    let missing = output(Command::args(
        &mut Program::command(),
        ["lint", "no-such-catalog.json"],
    ));
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("no-such-catalog.json cannot be read"));
}

#[test]
fn a_pipe_or_a_device_in_place_of_a_file_is_refused_and_not_waited_for() {
    let catalog = Catalog::of(&catalog().to_string());
    let folder = catalog.folder.path();
    let (file, pipe) = (folder.join("catalog.json"), folder.join("pipe.json"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let [lint, test, evaluate] = ["lint", "test", "evaluate"].map(OsStr::new);
    for other in [pipe.as_path(), Path::new("/dev/zero"), folder] {
        let (file, name) = (file.as_os_str(), other.as_os_str());
        for arguments in [
            vec![lint, name],
            vec![test, name],
            vec![evaluate, name, file],
            vec![evaluate, file, name],
        ] {
            let refused = output(Program::command().args(&arguments));
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
            let told = format!(
                "tillgate: {} cannot be read: it is not a regular file\n",
                other.display()
            );
            assert_eq!(text(&refused.stderr), told);
        }
    }
}
