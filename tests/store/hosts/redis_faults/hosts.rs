//! Three hosts on one Redis, one of which is killed under load: the real program, used over HTTP.
//!
//! Each host accepts registrations, and each worker removes clients that nobody has authorized, here without delay,
//! through a queue that all hosts share. Every removal is a line of the audit log, so duplicates can be counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_store::{Partition, RedisUrl, Store};
use tokio::task::JoinHandle;

use super::load::{open, with_prefix};
use crate::support::host::{Program, client, token};
use crate::support::redis::Server;
use crate::support::wait::{DEADLINE, until};

/// The number of concurrent clients of each host.
const CLIENTS_PER_HOST: usize = 2;

/// Hosts on one store, and the load on them.
struct Hosts {
    redis: Server,
    url: RedisUrl,
    folder: TempDir,
    programs: Vec<Program>,
    done: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Acknowledged>>,
}

/// The requests that were answered with 201.
#[derive(Default)]
struct Acknowledged {
    conditions: Vec<String>,
    clients: Vec<String>,
}

/// The result of the load.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    acknowledged: usize,
    /// Conditions that do not exist, and clients that were not removed.
    lost: usize,
    /// Clients that were removed twice.
    duplicated: usize,
}

impl Hosts {
    async fn start() -> Self {
        let (redis, folder) = (Server::durable(), tempfile::tempdir().unwrap());
        let url = with_prefix(&redis.url());
        let store = format!("{}?prefix={}", redis.url(), url.prefix);
        let programs = (0..3).map(|number| serve(&store, folder.path(), number));
        let programs: Vec<Program> = programs.collect();
        let mut hosts = Self {
            redis,
            url,
            folder,
            programs,
            done: Arc::default(),
            ending: Arc::default(),
            clients: Vec::new(),
        };
        hosts.start_load().await;
        hosts
    }

    async fn start_load(&mut self) {
        let http = client();
        let operator = self.operator(&http).await;
        let template = json!({
            "softwareId": "till", "softwareVersion": "1", "name": "A till",
            "claimsSchema": { "type": "object" }, "roles": [],
        });
        let templates = format!("{}/v1/tenants/acme/templates", self.programs[0].url);
        let created = http
            .post(templates)
            .bearer_auth(&operator)
            .json(&template)
            .send()
            .await
            .unwrap();
        assert_eq!(created.status(), 201);
        for (number, program) in self.programs.iter().enumerate() {
            for task in 0..CLIENTS_PER_HOST {
                let client = LoadClient {
                    http: http.clone(),
                    url: program.url.clone(),
                    operator: operator.clone(),
                    name: format!("{number}-{task}"),
                    done: Arc::clone(&self.done),
                    ending: Arc::clone(&self.ending),
                };
                self.clients.push(tokio::spawn(client.run()));
            }
        }
    }

    async fn operator(&self, http: &Client) -> String {
        let file = std::fs::read(self.folder.path().join("operator.json")).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        let text = |member: &str| file[member].as_str().unwrap();
        token(
            http,
            &self.programs[0].url,
            text("clientId"),
            text("clientSecret"),
        )
        .await
    }

    async fn acknowledge(&self, more: usize) {
        let enough = self.done.load(Ordering::SeqCst) + more;
        until("requests are answered", async || {
            self.done.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    /// Ends the load; returns the acknowledged requests.
    async fn end(&mut self) -> Acknowledged {
        self.ending.store(true, Ordering::SeqCst);
        let mut all = Acknowledged::default();
        for client in self.clients.drain(..) {
            let acknowledged = client.await.unwrap();
            all.conditions.extend(acknowledged.conditions);
            all.clients.extend(acknowledged.clients);
        }
        all
    }

    /// Waits until the hosts have removed all clients but the operator's, then counts.
    async fn count(&self, acknowledged: &Acknowledged) -> Count {
        let (store, iam) = (open(&self.url), Partition::new("iam").unwrap());
        let removing = async {
            while store
                .scan(&iam, "client/", None, 2)
                .await
                .unwrap()
                .entries
                .len()
                > 1
            {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        // Clients that are not removed by then are counted below.
        let _late = tokio::time::timeout(DEADLINE, removing).await;
        let left = store.scan(&iam, "client/", None, usize::MAX).await.unwrap();
        let left: BTreeSet<_> = left
            .entries
            .iter()
            .filter_map(|(key, _)| key.strip_prefix("client/"))
            .collect();
        let keys: Vec<String> = acknowledged
            .conditions
            .iter()
            .map(|id| format!("condition/{id}"))
            .collect();
        let global = Partition::new("global").unwrap();
        let conditions = store.get(&global, &keys).await.unwrap();
        let kept = acknowledged
            .clients
            .iter()
            .filter(|id| left.contains(id.as_str()))
            .count();
        let removed = self.removed();
        Count {
            acknowledged: acknowledged.conditions.len() + acknowledged.clients.len(),
            lost: conditions.iter().filter(|entry| entry.is_none()).count() + kept,
            duplicated: removed.values().filter(|times| **times > 1).count(),
        }
    }

    /// Returns how many times the audit logs of the hosts report the removal of each client.
    fn removed(&self) -> BTreeMap<String, usize> {
        let mut removed = BTreeMap::new();
        for number in 0..3 {
            let log = std::fs::read_to_string(self.folder.path().join(number.to_string())).unwrap();
            for line in log.lines().filter(|line| line.contains("client.expired")) {
                let line: Value = serde_json::from_str(line).unwrap();
                let client = line["fields"]["client"].as_str().unwrap().to_owned();
                *removed.entry(client).or_default() += 1;
            }
        }
        removed
    }
}

/// Starts a host; its log is a file named by its number.
fn serve(store: &str, folder: &Path, number: usize) -> Program {
    let mut command = Program::command();
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--require-durable-store",
        "--operator-file",
    ]);
    command.arg(folder.join("operator.json"));
    command
        .env("TILLGATE_STORE", store)
        .env("TILLGATE_LOG__FORMAT", "json");
    command.env("TILLGATE_ISSUER", "https://tillgate.example/");
    command.env("TILLGATE_TOKENS__PENDING_LIFETIME", "0s");
    command.env("TILLGATE_TOKENS__REGISTRATIONS_PER_MINUTE", "1000000");
    command.stderr(File::create(folder.join(number.to_string())).unwrap());
    Program::spawn(&mut command, "")
}

/// Puts conditions and registers clients at one host, for as long as it responds.
struct LoadClient {
    http: Client,
    url: String,
    operator: String,
    name: String,
    done: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
}

impl LoadClient {
    async fn run(self) -> Acknowledged {
        let mut acknowledged = Acknowledged::default();
        for number in 0.. {
            let id = format!("{}-{number}", self.name);
            if self.ending.load(Ordering::SeqCst)
                || self.make(&id, &mut acknowledged).await.is_err()
            {
                break;
            }
        }
        acknowledged
    }

    async fn make(&self, id: &str, acknowledged: &mut Acknowledged) -> reqwest::Result<()> {
        let condition =
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let path = format!("{}/api/v1/global-entity-conditions/{id}", self.url);
        let put = self
            .http
            .put(path)
            .bearer_auth(&self.operator)
            .json(&condition);
        if put.send().await?.status() == 201 {
            acknowledged.conditions.push(id.to_owned());
            self.done.fetch_add(1, Ordering::SeqCst);
        }
        let registration = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false,
            "tenantId": "acme", "claims": { "id": id },
        });
        let post = self
            .http
            .post(format!("{}/v1/registration", self.url))
            .json(&registration);
        let response = post.send().await?;
        if response.status() == 201 {
            let body: Value = response.json().await?;
            acknowledged
                .clients
                .push(body["clientId"].as_str().unwrap().to_owned());
            self.done.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_hosts_killed_under_load_loses_and_duplicates_nothing() {
    let mut hosts = Hosts::start().await;
    hosts.acknowledge(200).await;
    hosts.programs[1].kill();
    hosts.acknowledge(200).await;
    let acknowledged = hosts.end().await;
    let count = hosts.count(&acknowledged).await;
    let expected = Count {
        acknowledged: acknowledged.conditions.len() + acknowledged.clients.len(),
        lost: 0,
        duplicated: 0,
    };
    assert_eq!(count, expected);
    let removers = (0..3).filter(|number| {
        let log = std::fs::read_to_string(hosts.folder.path().join(number.to_string())).unwrap();
        log.contains("client.expired")
    });
    assert!(removers.count() > 1, "the hosts share the work");

    // The control: the count detects losses and duplicates.
    let key = format!("{{{}:global}}:values", hosts.url.prefix);
    hosts.redis.cli(&[
        "hdel",
        &key,
        &format!("condition/{}", acknowledged.conditions[0]),
    ]);
    let log = hosts.folder.path().join("0");
    let mut lines = std::fs::read_to_string(&log).unwrap();
    let line = lines
        .lines()
        .find(|line| line.contains("client.expired"))
        .unwrap()
        .to_owned();
    lines += &format!("{line}\n");
    std::fs::write(&log, lines).unwrap();
    assert_eq!(
        hosts.count(&acknowledged).await,
        Count {
            lost: 1,
            duplicated: 1,
            ..expected
        }
    );
}
