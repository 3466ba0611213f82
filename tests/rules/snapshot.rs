//! A host that starts while its Redis is away decides from the snapshot that it has kept, and from nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_base::data::records::Records;
use tillgate_base::data::snapshot::{Contents, SnapshotWriter};
use tillgate_store::clock::{StoppedClock, SystemClock, Timestamp};
use tillgate_store::{MemoryStore, Partition, RedisStore, RedisUrl, Store};

use crate::support::host::{Host, Program};
use crate::support::redis::Server;
use crate::support::wait::{answered, output, until};

const ISSUER: &str = "https://tillgate.example/";
const CONDITION: &str = "/api/v1/entity-conditions/beer";
const EVALUATE: &str = "/api/v1/conditions/beer/evaluate";

/// A host with a snapshot, and its Redis.
struct Shop {
    redis: Server,
    folder: TempDir,
    program: Program,
    http: Client,
    client: tillgate_tokens::Credentials,
    token: String,
}

impl Shop {
    /// Opens a shop that has made a decision and has written its snapshot.
    async fn open() -> Self {
        let redis = Server::durable();
        let store = RedisUrl::parse(&redis.url()).unwrap().unwrap();
        let store = RedisStore::connect(&store, Arc::new(SystemClock)).unwrap();
        let other = Host::start_configured(Arc::new(store), Arc::new(SystemClock), |config| {
            config.issuer = ISSUER.to_owned();
        })
        .await;
        let roles = ["ecs.editor", "ecs.evaluator", "exe.editor"];
        let token = other.token("acme", &roles).await;
        let client = other.client("acme", &roles).await;
        let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let (status, _) = other.send(Method::PUT, CONDITION, &token, &beer).await;
        assert_eq!(status, 201);
        drop(other);
        let folder = TempDir::new().unwrap();
        let program = Program::spawn(&mut serve(&redis.url(), folder.path()), "");
        let shop = Self {
            redis,
            folder,
            program,
            http: crate::support::host::client(),
            client,
            token,
        };
        let fresh = shop.until(|answer| answer.status() == 200).await;
        assert!(!is_stale(&fresh));
        // Global conditions, clients and keys, the identity provider, and the tenant.
        shop.saved(4).await;
        shop
    }

    fn snapshot(&self) -> PathBuf {
        self.folder.path().join("snapshot")
    }

    /// Waits for a snapshot of `partitions` partitions that is newer than now.
    async fn saved(&self, partitions: usize) {
        let now = fs::metadata(self.folder.path())
            .unwrap()
            .modified()
            .unwrap();
        let is_saved = || {
            let as_of = fs::metadata(self.snapshot().join("as-of.json"));
            as_of.is_ok_and(|file| file.modified().unwrap() > now)
                && files(&self.snapshot()).len() > partitions
        };
        until("the snapshot is written", async || is_saved()).await;
        // Waits for one more save, because one in progress may have missed recent changes.
        let as_of = || fs::read(self.snapshot().join("as-of.json")).unwrap();
        let before = as_of();
        until("the snapshot is kept", async || as_of() != before).await;
    }

    /// Kills the host and its Redis, and starts the host again.
    fn start_without_redis(&mut self) {
        self.program.kill();
        self.redis.kill();
        self.program = Program::spawn(&mut serve(&self.redis.url(), self.folder.path()), "");
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.program.url);
        self.http.request(method, url).bearer_auth(&self.token)
    }

    async fn ready(&self) -> Value {
        let answer = self.request(Method::GET, "/readyz").send().await.unwrap();
        answer.json().await.unwrap()
    }

    async fn decide(&self) -> Response {
        let question = json!({ "item": { "id": "1" }, "context": {} });
        let request = self.request(Method::POST, EVALUATE).json(&question);
        request.send().await.unwrap()
    }

    /// Repeats a decision until the answer is as wanted.
    async fn until(&self, wanted: impl Fn(&Response) -> bool) -> Response {
        answered("the wanted decision", async || {
            let answer = self.decide().await;
            if wanted(&answer) {
                Ok(answer)
            } else {
                Err(format!("{answer:?}"))
            }
        })
        .await
    }
}

/// Returns the command that starts the program on a Redis, with a snapshot.
fn serve(redis: &str, folder: &Path) -> std::process::Command {
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", redis])
        .arg("--operator-file")
        .arg(folder.join("operator.json"))
        .env("TILLGATE_SNAPSHOT", folder.join("snapshot"))
        .env("TILLGATE_ISSUER", ISSUER)
        .stderr(Stdio::inherit());
    command
}

/// Returns the error of a start that fails.
fn failed_start(redis: &str, folder: &Path) -> String {
    let ended = output(&mut serve(redis, folder));
    assert_eq!(ended.status.code(), Some(1));
    String::from_utf8(ended.stderr).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten();
    files.map(|file| file.unwrap().path()).collect()
}

fn is_stale(response: &Response) -> bool {
    response.headers().contains_key("tillgate-stale")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_starts_and_decides_while_its_redis_is_away_and_goes_on_when_it_is_back() {
    let mut shop = Shop::open().await;
    let fresh: Value = shop.decide().await.json().await.unwrap();
    shop.start_without_redis();
    // For the first second, saved data counts as fresh.
    let stale = shop.until(is_stale).await;
    assert_eq!(stale.status(), 200);
    assert_eq!(stale.headers()["age"], stale.headers()["tillgate-stale"]);
    assert_eq!(stale.json::<Value>().await.unwrap(), fresh);
    let catalog = shop
        .request(Method::GET, "/api/v1/catalog")
        .send()
        .await
        .unwrap();
    assert_eq!((catalog.status().as_u16(), is_stale(&catalog)), (200, true));

    let ready = shop.ready().await;
    assert_eq!(ready["status"], "degraded", "{ready}");
    assert_eq!(ready["checks"]["store"]["status"], "away", "{ready}");
    assert_eq!(ready["checks"]["keys"]["status"], "read-only", "{ready}");

    // Nothing else works: no writes, no tokens, and data outside the snapshot is not reported as missing.
    let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    let write = shop.request(Method::PUT, CONDITION).json(&beer);
    let webhooks = shop.request(Method::GET, "/api/v1/webhooks");
    let url = format!("{}/oauth2/token", shop.program.url);
    let token = shop
        .http
        .post(url)
        .basic_auth(
            &shop.client.client_id,
            Some(shop.client.client_secret.reveal()),
        )
        .header("content-type", "application/x-www-form-urlencoded")
        .body("grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example");
    for request in [write, webhooks, token] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 503, "{answer:?}");
        assert_eq!(answer.headers()["retry-after"], "1");
    }

    shop.redis.restart();
    shop.until(|answer| answer.status() == 200 && !is_stale(answer))
        .await;
    let write = shop.request(Method::PUT, CONDITION).json(&beer);
    assert_eq!(write.send().await.unwrap().status(), 200);
    assert_eq!(shop.ready().await["status"], "ready");
    // The snapshot continues to be saved: it contains the last write.
    shop.saved(4).await;
    shop.start_without_redis();
    let catalog = shop.request(Method::GET, CONDITION).send().await.unwrap();
    assert_eq!(catalog.status(), 200);
    let condition: Value = catalog.json().await.unwrap();
    assert_eq!(condition["condition_value"]["minimum_age"], 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_for_its_owner_alone_and_holds_no_secrets() {
    let shop = Shop::open().await;
    let files = files(&shop.snapshot());
    assert!(files.len() >= 5, "{files:?}");
    let pepper = shop.redis.cli(&["HGET", "{tillgate:iam}:values", "pepper"]);
    let keys = shop.redis.cli(&["HGET", "{tillgate:iam}:values", "keys"]);
    let (_, keys) = keys.split_once(' ').unwrap();
    let keys: Value = serde_json::from_str(keys).unwrap();
    let private = keys[0]["private"].as_str().unwrap().to_owned();
    let pepper = pepper.split('"').nth(1).unwrap().to_owned();
    assert!(private.len() > 1_000 && pepper.len() > 20);
    for file in files {
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        let content = fs::read_to_string(&file).unwrap();
        for secret in [&private, &pepper, &"\"hash\"".to_owned()] {
            assert!(!content.contains(secret), "{}", file.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_in_a_snapshot_is_named_and_not_served() {
    let mut shop = Shop::open().await;
    let of_tenant = files(&shop.snapshot()).into_iter().find(|file| {
        let content = fs::read_to_string(file).unwrap();
        content.contains("\"tenant:acme\"")
    });
    let of_tenant = of_tenant.expect("the tenant is in it");
    let content = fs::read_to_string(&of_tenant).unwrap();
    shop.program.kill();
    fs::write(&of_tenant, content.replace("18", "08")).unwrap();
    shop.start_without_redis();
    assert_eq!(
        shop.decide().await.status(),
        503,
        "nothing is known of the tenant"
    );
    fs::write(&of_tenant, &content).unwrap();
    shop.start_without_redis();
    assert_eq!(shop.decide().await.status(), 200);
    shop.program.kill();

    let as_of = shop.snapshot().join("as-of.json");
    let whole = fs::read(&as_of).unwrap();
    fs::write(&as_of, &whole[..whole.len() - 3]).unwrap();
    let said = failed_start(&shop.redis.url(), shop.folder.path());
    assert!(
        said.contains("the snapshot in") && said.contains("checksum"),
        "{said}"
    );
    fs::write(&as_of, &whole).unwrap();
    let of_another = format!("{}?prefix=other", shop.redis.url());
    let said = failed_start(&of_another, shop.folder.path());
    assert!(said.contains("it is of the store redis://"), "{said}");
    fs::remove_dir_all(shop.snapshot()).unwrap();
    let said = failed_start(&shop.redis.url(), shop.folder.path());
    assert!(said.contains("the snapshot in"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_complete_again_only_when_all_of_an_earlier_one_is_kept_again() {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
    let start =
        || SnapshotWriter::start(folder.path().into(), "it".to_owned(), clock.clone()).unwrap();
    let keep = |writer: &SnapshotWriter, name: &str| {
        let records = Records::new(store.clone(), Partition::new(name).unwrap());
        writer.keep(records, Contents::new(&["condition/"]));
    };
    let as_of = async || {
        tokio::time::sleep(Duration::from_secs(10)).await;
        fs::read(folder.path().join("as-of.json")).unwrap()
    };
    let writer = start();
    keep(&writer, "iam");
    keep(&writer, "tenant:acme");
    let before = as_of().await;
    drop(writer);

    // An hour later only one part is saved again: the rest may have changed since.
    clock.advance(Duration::from_secs(3_600));
    let writer = start();
    keep(&writer, "iam");
    assert_eq!(as_of().await, before);
    assert_eq!(writer.awaited(), [Partition::new("tenant:acme").unwrap()]);
    keep(&writer, "tenant:acme");
    assert_ne!(as_of().await, before);
}

#[tokio::test(start_paused = true)]
async fn removed_partitions_leave_no_files() {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
    let writer = SnapshotWriter::start(folder.path().into(), "it".to_owned(), clock).unwrap();
    let acme = Partition::new("tenant:acme").unwrap();
    let keep = |partition: &Partition| {
        let records = Records::new(store.clone(), partition.clone());
        writer.keep(records, Contents::new(&["condition/"]));
    };
    let partitions = async || {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let files = files(folder.path()).into_iter();
        let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
        files
            .filter(|file| name(file).ends_with(".partition.json"))
            .count()
    };
    keep(&Partition::new("iam").unwrap());
    keep(&acme);
    assert_eq!(partitions().await, 2);
    writer.remove(&acme);
    assert_eq!(partitions().await, 1);
    writer.remove(&acme);
    keep(&acme);
    assert_eq!(partitions().await, 2, "it is kept again");
    // It is kept again before its file is removed.
    writer.remove(&acme);
    keep(&acme);
    assert_eq!(partitions().await, 2);
}
