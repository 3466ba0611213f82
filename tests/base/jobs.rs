//! Dead letters, as an operator handles them over HTTP and with `tillgate jobs`.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::error::Error;
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::{Queue, Scope};
use tillgate_store::clock::SystemClock;

use crate::base::metrics::scrape_until;
use crate::support::exposition::Scrape;
use crate::support::host::{Host, Program};
use crate::support::wait::output;

const QUEUE: &str = "orders";
const DEAD_LETTERS: &str = "/v1/jobs/dead-letters";

/// A host with dead letters of two tenants, and a switch for whether their jobs still fail.
struct Shop {
    host: Host,
    operator: String,
    folder: tempfile::TempDir,
    fails: Arc<AtomicBool>,
}

impl Shop {
    async fn open() -> Self {
        let host = Host::start().await;
        let fails = Arc::new(AtomicBool::new(true));
        let (failing, store) = (Arc::clone(&fails), Arc::clone(&host.app.store));
        let queue = Queue {
            max_attempts: 1,
            ..Queue::new(QUEUE, Scope::AllPartitions)
        };
        host.app.runner.register(queue, move |work| {
            let (failing, store) = (Arc::clone(&failing), Arc::clone(&store));
            async move {
                if failing.load(Ordering::SeqCst) {
                    return Err(Error::Bug("the till answered \u{1b}[31m500".to_owned()));
                }
                let mut change = Change::default();
                change.put(&format!("done/{}", work.job.id), &"done")?;
                work.settle(&mut change);
                let records =
                    tillgate_base::data::records::Records::new(store, work.partition.clone());
                records.commit(change).await.map(drop)
            }
        });
        for (tenant, jobs) in [("acme", ["1", "2"]), ("best", ["1", "3"])] {
            let mut change = Change::default();
            for job in jobs {
                let body = Bytes::from_static(b"sesame");
                change.enqueue(QUEUE, job, host.app.clock.now(), body);
            }
            let tenant = TenantId::new(tenant).unwrap();
            let records = host.app.records(tenant.partition());
            records.commit(change).await.unwrap();
        }
        host.run_due().await;
        let client = host.client("platform", &["platform.operator"]).await;
        let folder = tempfile::tempdir().unwrap();
        let credentials = json!({
            "clientId": client.client_id, "clientSecret": client.client_secret,
            "tokenUrl": format!("{}/oauth2/token", host.url), "audience": host.app.config.audience,
        });
        std::fs::write(folder.path().join("operator.json"), credentials.to_string()).unwrap();
        let (id, secret) = (&client.client_id, client.client_secret.reveal());
        let operator = crate::support::host::token(&host.http, &host.url, id, secret).await;
        Self {
            host,
            operator,
            folder,
            fails,
        }
    }

    async fn send(&self, method: Method, path: &str) -> (u16, Value) {
        let request = self.host.request(method, path, &self.operator);
        crate::support::host::read(request.send().await.unwrap()).await
    }

    async fn get(&self, query: &str) -> Value {
        let (status, page) = self
            .send(Method::GET, &format!("{DEAD_LETTERS}{query}"))
            .await;
        assert_eq!(status, 200, "{page}");
        page
    }

    /// Runs a command against the host until it ends.
    async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Program::command();
        command.arg("jobs").args(arguments).arg("--credentials");
        command.arg(self.folder.path().join("operator.json"));
        let running = tokio::task::spawn_blocking(move || output(&mut command));
        running.await.unwrap()
    }

    async fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the completed jobs of a tenant.
    async fn done_of(&self, tenant: &str) -> Vec<String> {
        let tenant = TenantId::new(tenant).unwrap();
        let records = self.host.app.records(tenant.partition());
        let done = records.all::<String>("done/").await.unwrap();
        done.into_iter().map(|(job, _)| job).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_lists_retries_and_drops_jobs_over_http() {
    let shop = Shop::open().await;
    let page = shop.get("").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!((items.len(), page.get("next")), (4, None));
    let first = &items[0];
    assert_eq!(
        (
            &first["queue"],
            &first["job"],
            &first["tenantId"],
            &first["attempts"]
        ),
        (&json!(QUEUE), &json!("1"), &json!("acme"), &json!(1))
    );
    assert_eq!(first["error"], "the till answered \u{1b}[31m500");
    assert!(!page.to_string().contains("sesame"), "what it was to do");
    let cursor = shop.get("?limit=3").await["next"]
        .as_str()
        .unwrap()
        .to_owned();
    let last = shop.get(&format!("?limit=3&cursor={cursor}")).await;
    assert_eq!(last, json!({ "items": [items[3]] }));

    shop.fails.store(false, Ordering::SeqCst);
    let id = first["id"].as_str().unwrap();
    let retry = format!("{DEAD_LETTERS}/{id}/retry");
    let (status, retried) = shop.send(Method::POST, &retry).await;
    assert_eq!((status, &retried), (202, first));
    shop.host.run_due().await;
    assert_eq!(shop.done_of("acme").await, ["1"]);
    assert_eq!(shop.done_of("best").await, [""; 0]);
    let drop = format!("{DEAD_LETTERS}/{}", items[1]["id"].as_str().unwrap());
    assert_eq!(shop.send(Method::DELETE, &drop).await.0, 204);
    for (method, path) in [(Method::POST, &retry), (Method::DELETE, &drop)] {
        assert_eq!(shop.send(method, path).await.0, 404);
    }
    assert_eq!(shop.get("").await["items"], json!([items[2], items[3]]));
    for (query, place) in [
        ("?limit=0", "$.limit"),
        ("?cursor=x", "$.cursor"),
        ("?cursor=", "$.cursor"),
    ] {
        let (status, refused) = shop
            .send(Method::GET, &format!("{DEAD_LETTERS}{query}"))
            .await;
        assert_eq!(status, 400);
        assert!(
            refused["message"][0].as_str().unwrap().starts_with(place),
            "{refused}"
        );
    }
    for (method, path) in [
        (Method::POST, "/v1/jobs/dead-letters/..%2f/retry"),
        (Method::DELETE, "/v1/jobs/dead-letters/w%C3%A9"),
    ] {
        assert_eq!(shop.send(method, path).await.0, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_counted_after_a_restart() {
    let shop = Shop::open().await;
    let are_counted = async |host: &Host, jobs: f64| {
        let count = |it: &Scrape| {
            let of_queue = [("queue", QUEUE)];
            it.sum("tillgate_queue_dead_letters", &of_queue) == jobs
        };
        scrape_until(&host.url, count).await;
    };
    are_counted(&shop.host, 4.0).await;
    let restarted = Host::start_on(shop.host.app.store.clone(), Arc::new(SystemClock)).await;
    let queue = Queue::new(QUEUE, Scope::AllPartitions);
    restarted.app.runner.register(queue, |_| async { Ok(()) });
    are_counted(&restarted, 4.0).await;
    for job in shop.get("").await["items"].as_array().unwrap() {
        let path = format!("{DEAD_LETTERS}/{}", job["id"].as_str().unwrap());
        assert_eq!(shop.send(Method::DELETE, &path).await.0, 204);
    }
    are_counted(&shop.host, 0.0).await;
    are_counted(&restarted, 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_listed_retried_and_dropped_by_commands() {
    let shop = Shop::open().await;
    let listed = shop.done(&["list"]).await;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 5, "{listed}");
    let titles: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(titles, ["FAILED", "QUEUE", "TENANT", "JOB", "ID", "ERROR"]);
    assert!(
        lines[1].ends_with("the till answered \\u001b[31m500"),
        "{listed}"
    );
    let jobs: Vec<Value> = serde_json::from_str(&shop.done(&["list", "--json"]).await).unwrap();
    let id = |index: usize| jobs[index]["id"].as_str().unwrap();

    shop.fails.store(false, Ordering::SeqCst);
    let told = shop.done(&["retry", id(0)]).await;
    assert_eq!(told, "the job 1 of orders is tried again\n");
    assert_eq!(shop.done(&["drop", id(1)]).await, "the job is dropped\n");
    let retried = shop.done(&["retry", "--all", "--json"]).await;
    let retried: Vec<Value> = serde_json::from_str(&retried).unwrap();
    assert_eq!(retried, jobs[2..]);
    shop.host.run_due().await;
    assert_eq!(shop.done_of("acme").await, ["1"]);
    assert_eq!(shop.done_of("best").await, ["1", "3"]);
    assert_eq!(shop.done(&["list"]).await, "there are no dead letters\n");
    assert_eq!(
        shop.done(&["retry", "--all"]).await,
        "0 jobs are tried again\n"
    );
    for command in ["retry", "drop"] {
        let gone = shop.run(&[command, id(0)]).await;
        assert_eq!(gone.status.code(), Some(1));
        let told = String::from_utf8(gone.stderr).unwrap();
        let named = format!("there is no job {:?}", id(0));
        assert!(told.contains(&named), "{told}");
    }
}
