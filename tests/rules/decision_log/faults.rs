//! The log when its disk is full, when it grows, and when its host ends: decisions continue, and missing decisions are
//! counted and reported in the log.

use std::fs;
use std::path::Path;

use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::{Shop, lines, record_in};
use crate::base::metrics::scrape_until;
use crate::support::exposition::Scrape;
use crate::support::failing_disk::{ENOSPC, FailingDisk};
use crate::support::host::{Program, client, read, token};
use crate::support::wait::{answered, ended, output};

/// The real program with a decision log, and its operator, whose tenant wants all decisions logged.
struct Recording {
    folder: tempfile::TempDir,
    program: Program,
    http: Client,
    token: String,
}

impl Recording {
    async fn start(settings: &[(&str, &str)], disk: Option<&FailingDisk>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = Self::serve(&folder, settings, disk);
        Self::of(folder, program).await
    }

    async fn of(folder: tempfile::TempDir, program: Program) -> Self {
        let http = client();
        let file = fs::read(folder.path().join("store/operator.json")).unwrap();
        let operator: Value = serde_json::from_slice(&file).unwrap();
        let text = |member: &str| operator[member].as_str().unwrap().to_owned();
        let token = token(
            &http,
            &program.url,
            &text("clientId"),
            &text("clientSecret"),
        )
        .await;
        let recording = Self {
            folder,
            program,
            http,
            token,
        };
        let all = json!({ "decisionLog": "all" });
        let path = "/v1/tenants/platform/decision-log";
        assert_eq!(recording.send(Method::PUT, path, &all).await.0, 200);
        recording
    }

    fn serve(
        folder: &tempfile::TempDir,
        settings: &[(&str, &str)],
        disk: Option<&FailingDisk>,
    ) -> Program {
        let mut command = Program::command();
        let store = format!("embedded:{}", folder.path().join("store").display());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
            .env("TILLGATE_DECISIONS__LOG", record_in(folder))
            // The same issuer after another start on another port.
            .env("TILLGATE_ISSUER", "https://tillgate.example/")
            .envs(settings.iter().copied());
        if let Some(disk) = disk {
            disk.apply(&mut command);
        }
        Program::spawn(&mut command, "")
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self
            .http
            .request(method, format!("{}{path}", self.program.url));
        read(
            request
                .bearer_auth(&self.token)
                .json(body)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    async fn decide(&self, item: &str) {
        let request = json!({ "items": [{ "id": item }], "context": {} });
        let (status, answer) = self
            .send(Method::POST, "/api/v1/evaluations", &request)
            .await;
        assert_eq!((status, &answer["decision"]), (200, &json!("ALLOW")));
    }

    fn on_record(&self) -> Vec<Value> {
        lines(&record_in(&self.folder))
    }
}

fn missing(scrape: &Scrape) -> f64 {
    scrape.sum("tillgate_decision_log_missing_total", &[])
}

#[tokio::test]
async fn decisions_continue_on_a_full_disk_and_missing_ones_are_counted() {
    const DECISIONS: usize = 400;
    let disk = FailingDisk::new();
    let queue = ("TILLGATE_DECISIONS__QUEUE_BYTES", "64 KiB");
    let recording = Recording::start(&[queue], Some(&disk)).await;
    recording.decide("before").await;
    let url = recording.program.url.clone();
    scrape_until(&url, |scrape| {
        scrape.sum("tillgate_decision_log_lines_total", &[]) >= 1.0
    })
    .await;

    disk.fail("record-write", ENOSPC);
    for number in 0..DECISIONS {
        recording.decide(&format!("item-{number}")).await;
    }
    let scrape = scrape_until(&url, |scrape| missing(scrape) > 0.0).await;
    let dropped = missing(&scrape);
    let why = "decisions wait because they cannot be written to their log";
    answered("a warning", async || {
        let (status, ready) = recording.send(Method::GET, "/readyz", &Value::Null).await;
        assert_eq!((status, &ready["status"]), (200, &json!("ready")));
        let warning = &ready["warnings"]["decision_log"];
        if warning["why"] == why && warning["count"].as_f64() == Some(dropped) {
            Ok(())
        } else {
            Err(ready)
        }
    })
    .await;

    disk.work_again("record-write");
    let items = |written: &[Value]| {
        let items = written.iter().filter(|line| line.get("itemId").is_some());
        items.count() as f64
    };
    let written = answered("what has waited, and what is missing", async || {
        let written = recording.on_record();
        let is_said = written.iter().any(|line| line.get("missing").is_some());
        match items(&written) + dropped {
            all if is_said && all >= (DECISIONS + 1) as f64 => Ok(written),
            all => Err(format!("{all} decisions, those missing said: {is_said}")),
        }
    })
    .await;
    let said = written
        .iter()
        .filter_map(|line| Some((line, line.get("missing")?)));
    let said: Vec<_> = said.collect();
    assert_eq!(said.len(), 1);
    let (line, count) = said[0];
    assert_eq!(count.as_f64(), Some(dropped));
    assert!(line["since"].as_str().unwrap() <= line["at"].as_str().unwrap());
    assert_eq!(items(&written) + dropped, (DECISIONS + 1) as f64);
    answered("no warning any more", async || {
        let (_, ready) = recording.send(Method::GET, "/readyz", &Value::Null).await;
        ready
            .get("warnings")
            .map_or(Ok(()), |warnings| Err(warnings.to_string()))
    })
    .await;
}

#[tokio::test]
async fn a_basket_with_more_lines_than_there_is_room_for_is_decided_and_counted() {
    let shop = Shop::configured(|config| {
        config.decisions.queue_bytes = "1 MiB".parse().unwrap();
    })
    .await;
    shop.choose("all").await;
    // Each of these characters takes six bytes, both in the request and in each line.
    let items =
        (0..500).map(|_| json!({ "id": "\u{1}".repeat(256), "conditionIds": vec!["beer"; 64] }));
    let basket = json!({ "items": items.collect::<Vec<_>>(), "context": {} });
    shop.decide("evaluations", &basket).await;
    answered(
        "the missing decision, although no other follows",
        async || {
            let written = lines(&record_in(&shop.folder));
            match written.as_slice() {
                [line] if line["missing"] == 1 => Ok(()),
                _ => Err(format!("{written:?}")),
            }
        },
    )
    .await;
    shop.sell("beer", 17).await;
    let written = shop.on_record().await;
    let said = written
        .iter()
        .map(|line| (line.get("missing"), line.get("itemId")));
    let said: Vec<_> = said.collect();
    let (one, beer) = (json!(1), json!("beer"));
    assert_eq!(said, [(Some(&one), None), (None, Some(&beer))]);
}

#[tokio::test]
async fn the_file_is_renamed_when_it_is_large_and_the_oldest_are_removed() {
    let shop = Shop::configured(|config| {
        config.decisions.file_bytes = "64 KiB".parse().unwrap();
        config.decisions.old_files = 2;
    })
    .await;
    shop.choose("all").await;
    let items = (0..40).flat_map(|_| std::iter::repeat_n(json!({ "id": "i".repeat(200) }), 40));
    let items: Vec<Value> = items.collect();
    for chunk in items.chunks(40) {
        let basket = json!({ "items": chunk, "context": {} });
        shop.decide("evaluations", &basket).await;
    }
    shop.on_record().await;
    let mut names: Vec<String> = fs::read_dir(shop.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let [current, old @ ..] = &*names else {
        panic!("{names:?}")
    };
    assert_eq!((current.as_str(), old.len()), ("decisions.jsonl", 2));
    assert_eq!(old, ["decisions.jsonl.1", "decisions.jsonl.2"]);
    let mut read = 0;
    for name in old.iter().chain([current]) {
        read += lines(&shop.folder.path().join(name)).len();
    }
    let mut command = Program::command();
    command
        .args(["decisions", "--format", "json"])
        .arg(record_in(&shop.folder));
    let found = output(&mut command);
    assert_eq!(found.status.code(), Some(0));
    let printed = String::from_utf8(found.stdout).unwrap();
    assert_eq!(printed.lines().count(), read);
}

#[tokio::test]
async fn the_target_of_a_link_is_rotated() {
    let real = tempfile::tempdir().unwrap();
    let target = real.path().join("real.jsonl");
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("link.jsonl");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let shop = Shop::configured(|config| {
        config.decisions.log = link.display().to_string();
        config.decisions.file_bytes = "64 KiB".parse().unwrap();
    })
    .await;
    shop.choose("all").await;
    let basket: Vec<Value> = (0..40).map(|_| json!({ "id": "i".repeat(200) })).collect();
    for _ in 0..60 {
        let basket = json!({ "items": basket, "context": {} });
        shop.decide("evaluations", &basket).await;
    }
    let log = shop.host.features.conditions.decision_log().unwrap();
    log.close().await;
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(real.path().join("real.jsonl.1").exists());
    let mut command = Program::command();
    command.args(["decisions", "--format", "json"]).arg(&link);
    let found = output(&mut command);
    assert_eq!(found.status.code(), Some(0));
    let printed = String::from_utf8(found.stdout).unwrap();
    assert_eq!(printed.lines().count(), 2_400);
}

#[tokio::test]
async fn a_log_that_nobody_reads_causes_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = record_in(&folder);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let queue = ("TILLGATE_DECISIONS__QUEUE_BYTES", "64 KiB");
    let program = Recording::serve(&folder, &[queue], None);
    let recording = Recording::of(folder, program).await;
    // The first baskets fill the pipe, and the next ones fill the queue.
    let items: Vec<Value> = (0..100).map(|_| json!({ "id": "i".repeat(200) })).collect();
    let basket = json!({ "items": items, "context": {} });
    let warning = answered("a warning", async || {
        let decided = recording
            .send(Method::POST, "/api/v1/evaluations", &basket)
            .await;
        assert_eq!(decided.0, 200);
        let (_, ready) = recording.send(Method::GET, "/readyz", &Value::Null).await;
        let warning = ready["warnings"]["decision_log"].clone();
        if warning.is_null() {
            Err(ready)
        } else {
            Ok(warning)
        }
    })
    .await;
    assert!(warning["count"].as_u64() > Some(0), "{warning}");
}

#[tokio::test]
async fn what_was_decided_before_a_host_is_told_to_end_is_on_record() {
    let mut recording = Recording::start(&[], None).await;
    for number in 0..50 {
        recording.decide(&format!("item-{number}")).await;
    }
    assert_eq!(recording.program.terminate(), Some(0));
    assert_eq!(recording.on_record().len(), 50);
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_whole_lines_and_the_next_goes_on_after_them() {
    let mut recording = Recording::start(&[], None).await;
    recording.decide("first").await;
    answered("the first is on record", async || {
        match recording.on_record().len() {
            1 => Ok(()),
            other => Err(other),
        }
    })
    .await;
    recording.program.kill();
    recording.program = Recording::serve(&recording.folder, &[], None);
    recording.decide("second").await;
    assert_eq!(recording.program.terminate(), Some(0));
    let items = recording.on_record().into_iter();
    let items: Vec<_> = items.map(|line| line["itemId"].clone()).collect();
    assert_eq!(items, ["first", "second"]);
}

#[tokio::test]
async fn a_record_that_cannot_be_written_keeps_a_host_from_starting() {
    let recording = Recording::start(&[], None).await;
    let refused = |log: &Path| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Program::command();
        command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--store",
                "memory:",
                "--operator-file",
            ])
            .arg(folder.path().join("operator.json"))
            .env("TILLGATE_DECISIONS__LOG", log);
        let ended = output(&mut command);
        assert_eq!(ended.status.code(), Some(1));
        String::from_utf8(ended.stderr).unwrap()
    };
    let told = refused(&record_in(&recording.folder));
    assert!(told.contains("another process writes to it"), "{told}");
    let told = refused(&recording.folder.path().join("nowhere/decisions.jsonl"));
    assert!(told.contains("decisions.log, "), "{told}");
    assert!(told.contains("No such file or directory"), "{told}");
}

#[tokio::test]
async fn a_record_on_standard_output_has_lines_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("printed");
    let mut command = Program::command();
    let store = format!("embedded:{}", folder.path().join("store").display());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
        .env("TILLGATE_DECISIONS__LOG", "stdout")
        .stdout(fs::File::create(&printed).unwrap());
    let mut child = command.spawn().unwrap();
    let print = async |what: &'static str| {
        answered(what, async || {
            let text = fs::read_to_string(&printed).unwrap();
            if text.contains(what) {
                Ok(text)
            } else {
                Err(text)
            }
        })
        .await
    };
    let text = print("listening on ").await;
    let url = text.trim_end().strip_prefix("listening on ").unwrap();
    let (http, tenant) = (client(), "/v1/tenants/platform/decision-log");
    let file = fs::read(folder.path().join("store/operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&file).unwrap();
    let [id, secret] = ["clientId", "clientSecret"].map(|name| operator[name].as_str().unwrap());
    let token = token(&http, url, id, secret).await;
    let send = async |method, path, body: Value| {
        let request = http.request(method, format!("{url}{path}"));
        let sent = request.bearer_auth(&token).json(&body).send().await;
        assert_eq!(sent.unwrap().status(), 200);
    };
    send(Method::PUT, tenant, json!({ "decisionLog": "all" })).await;
    let basket = |item: &str| json!({ "items": [{ "id": item }], "context": {} });
    send(Method::POST, "/api/v1/evaluations", basket("first")).await;
    print("first").await;
    send(Method::POST, "/api/v1/evaluations", basket("last")).await;
    let pid = child.id().to_string();
    let told = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(told.unwrap().success());
    assert_eq!(ended("the end of the host", &mut child).code(), Some(0));
    let text = print("last").await;
    let (record, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('{'));
    // Programs read it as the first line.
    assert!(
        text.starts_with("listening on ") && rest.len() == 1,
        "{text}"
    );
    let record = record
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect(line));
    let items: Vec<_> = record.map(|line| line["itemId"].clone()).collect();
    assert_eq!(items, ["first", "last"]);
}

#[test]
fn a_host_that_does_not_start_puts_nothing_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Program::command();
    let store = format!("embedded:{}", folder.path().join("store").display());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
        .env("TILLGATE_DECISIONS__LOG", "stdout")
        .env(
            "TILLGATE_METRICS__LISTEN",
            taken.local_addr().unwrap().to_string(),
        );
    let ended = output(&mut command);
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot listen on "), "{told}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "");
}
