//! A host for tests: in this process on a free port, or the real program in a separate process.
//!
//! When a host in this process on a store in memory is dropped, it fails its test if work is left over: jobs that are
//! due, or messages in a log that is not declared as kept.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use tillgate::routes::Features;
use tillgate_base::app::App;
use tillgate_base::config::{Config, Flags, Loaded};
use tillgate_base::data::feed::CHANGES;
use tillgate_base::egress::{Names, SystemNames};
use tillgate_base::identity::TenantId;
use tillgate_http::Listener;
use tillgate_rates::topic::TOPIC;
use tillgate_rules::decision_log::DecisionLog;
use tillgate_store::clock::{Clock, SystemClock, Timestamp};
use tillgate_store::portable::Portable;
use tillgate_store::{MemoryStore, Partition, RedisStore, Store, Unavailable};
use tillgate_tokens::Credentials;
use tillgate_webhooks::EVENT_LOG;
use tokio::task::JoinHandle;

use super::wait::{DEADLINE, Lines, ended};

#[path = "keys.rs"]
pub mod keys;

/// The path of the program, if cargo provides it.
pub const PROGRAM: Option<&str> = option_env!("CARGO_BIN_EXE_tillgate");

/// The logs that keep messages on purpose: the change feed until it is trimmed, the topic, the events, and the log
/// that tests read.
const KEPT_LOGS: &[&str] = &[CHANGES, TOPIC, EVENT_LOG, "events"];

/// The number of partitions to list at once.
const PAGE: usize = 500;

/// A host in this process.
pub struct Host {
    pub app: Arc<App>,
    pub features: Features,
    pub url: String,
    pub http: Client,
    /// The time allowed for the jobs that are due at its end.
    pub patience: Duration,
    store: HostStore,
    serving: JoinHandle<()>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.serving.abort();
        // A test that fails already says why.
        if let HostStore::Memory(store) = &self.store
            && !std::thread::panicking()
        {
            let begin = Instant::now();
            let mut left_over = left_over(store, self.app.clock.now());
            // Jobs that have just become due are running on other threads.
            while !left_over.is_empty() && begin.elapsed() < self.patience {
                std::thread::sleep(Duration::from_millis(1));
                left_over = self::left_over(store, self.app.clock.now());
            }
            assert!(left_over.is_empty(), "left over: {left_over:#?}");
        }
    }
}

/// The store of a host. Leftovers are checked only on a store in memory.
#[derive(Clone, Debug)]
pub enum HostStore {
    Memory(Arc<MemoryStore>),
    Other(Arc<dyn Store>),
}

impl HostStore {
    fn shared(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Other(store) => store.clone(),
        }
    }
}

impl Deref for HostStore {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Memory(store) => store.as_ref(),
            Self::Other(store) => store.as_ref(),
        }
    }
}

impl From<Arc<MemoryStore>> for HostStore {
    fn from(store: Arc<MemoryStore>) -> Self {
        Self::Memory(store)
    }
}

impl From<Arc<RedisStore>> for HostStore {
    fn from(store: Arc<RedisStore>) -> Self {
        Self::Other(store)
    }
}

impl From<Arc<dyn Store>> for HostStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::Other(store)
    }
}

/// Returns the jobs that are due and not under a lease, and the logs with messages that are not kept on purpose.
fn left_over(store: &MemoryStore, now: Timestamp) -> Vec<String> {
    let mut left_over = Vec::new();
    let mut after: Option<Partition> = None;
    loop {
        let name = after.as_ref().map(Partition::as_str);
        let page = at_once(store.partitions(name, PAGE));
        for partition in &page {
            let metadata = at_once(store.metadata(partition));
            for queue in &metadata.queues {
                // The first job is the one that is due first. A job under a lease is due when the lease ends.
                let first = at_once(store.jobs(partition, queue, None, 1)).pop();
                let due = first.filter(|job| job.due <= now);
                left_over.extend(due.map(|job| format!("{partition:?} {queue}: {job:?}")));
            }
            for (log, bounds) in &metadata.logs {
                if bounds.trimmed < bounds.last && !KEPT_LOGS.contains(&log.as_str()) {
                    left_over.push(format!("{partition:?} {log}: {bounds:?}"));
                }
            }
        }
        after = page.last().cloned();
        if page.len() < PAGE {
            return left_over;
        }
    }
}

/// Returns a client for hosts. It has no TLS, so it need not read the certificates of this machine. It fails when an
/// answer stalls.
pub fn client() -> Client {
    let client = Client::builder().tls_danger_accept_invalid_certs(true);
    let client = client.connect_timeout(DEADLINE);
    client.read_timeout(DEADLINE).build().unwrap()
}

/// Returns the answer of a store in memory, which never waits.
fn at_once<T>(answer: impl Future<Output = Result<T, Unavailable>>) -> T {
    let answer = answer.now_or_never();
    answer.expect("a store in memory answers at once").unwrap()
}

impl Host {
    /// Starts a host on an empty store in memory.
    pub async fn start() -> Self {
        let clock = Arc::new(SystemClock);
        Self::start_on(Arc::new(MemoryStore::new(clock.clone())), clock).await
    }

    /// Starts a host on a store, with a clock.
    pub async fn start_on(store: impl Into<HostStore>, clock: Arc<dyn Clock>) -> Self {
        Self::start_configured(store, clock, |_| ()).await
    }

    /// Starts a host with other settings than the defaults.
    pub async fn start_configured(
        store: impl Into<HostStore>,
        clock: Arc<dyn Clock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let (listener, mut config) = prepare().await;
        configure(&mut config);
        Self::start_with(config, store.into(), clock, listener, Arc::new(SystemNames)).await
    }

    /// Starts a host that resolves the names of receivers with this resolver.
    pub async fn start_resolving(
        store: impl Into<HostStore>,
        clock: Arc<dyn Clock>,
        names: Arc<dyn Names>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let (listener, mut config) = prepare().await;
        configure(&mut config);
        Self::start_with(config, store.into(), clock, listener, names).await
    }

    async fn start_with(
        config: Config,
        store: HostStore,
        clock: Arc<dyn Clock>,
        listener: Listener,
        names: Arc<dyn Names>,
    ) -> Self {
        let url = config.public_url();
        keys::provide(&store.shared(), &clock).await;
        let decision_log = DecisionLog::open(&config.decisions, &clock).unwrap();
        let app = App::start(config, store.shared(), clock).await.unwrap();
        let features = Features::start_with(&app, decision_log, names).await;
        let features = features.unwrap();
        let server = features.server(&app).unwrap();
        let serving = tokio::spawn(listener.serve(server, std::future::pending()));
        Self {
            app,
            features,
            url,
            http: client(),
            patience: DEADLINE,
            store,
            serving,
        }
    }

    /// Runs the background jobs that are due, and refreshes memory.
    pub async fn run_due(&self) {
        self.app.runner.run_due().await;
    }

    /// Creates a client of a tenant with these roles.
    pub async fn client(&self, tenant: &str, roles: &[&str]) -> Credentials {
        let tenant = TenantId::new(tenant).unwrap();
        self.features
            .tokens
            .provision(&tenant, "test", roles)
            .await
            .unwrap()
    }

    /// Returns an access token of a client of a tenant with these roles.
    pub async fn token(&self, tenant: &str, roles: &[&str]) -> String {
        let client = self.client(tenant, roles).await;
        token(
            &self.http,
            &self.url,
            &client.client_id,
            client.client_secret.reveal(),
        )
        .await
    }

    pub fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(token)
    }

    /// Sends JSON; returns the status and the JSON of the answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: &Value,
    ) -> (u16, Value) {
        read(
            self.request(method, path, token)
                .json(body)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    /// Gets a path; returns the status and JSON.
    pub async fn get(&self, path: &str, token: &str) -> (u16, Value) {
        read(self.request(Method::GET, path, token).send().await.unwrap()).await
    }
}

/// Returns a free port of this machine, and the settings of a host that listens there on a store in memory.
async fn prepare() -> (Listener, Config) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let flags = Flags {
        listen: Some(listener.address().unwrap()),
        store: Some("memory:".to_owned()),
        ..Flags::default()
    };
    let config = Loaded::read(None, &flags).unwrap().config;
    (listener, config)
}

/// Returns the status of an answer, and its JSON; null if it has no body.
pub async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = response.bytes().await.unwrap();
    let json = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body).unwrap()
    };
    (status, json)
}

/// Returns an access token for a client's credentials.
pub async fn token(http: &Client, url: &str, id: &str, secret: &str) -> String {
    let form = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example";
    let request = http
        .post(format!("{url}/oauth2/token"))
        .basic_auth(id, Some(secret))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let (status, body) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    body["access_token"].as_str().unwrap().to_owned()
}

/// The real program in a separate process, killed when dropped.
pub struct Program {
    child: Child,
    pub url: String,
    /// The lines that it printed to stdout until it was ready, except the first.
    pub printed: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Program {
    /// Runs `tillgate serve` on a store in a folder.
    pub fn serve(folder: &Path) -> Self {
        let store = format!("embedded:{}", folder.display());
        Self::start(&["serve", "--listen", "127.0.0.1:0", "--store", &store], "")
    }

    /// Runs `tillgate serve` on a store in a folder, with its log as JSON in a file.
    pub fn serve_logging(folder: &Path, log: &Path) -> Self {
        let store = format!("embedded:{}", folder.display());
        let mut command = Command::new(PROGRAM.expect("tests know where the program is"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
            .env("TILLGATE_LOG__FORMAT", "json")
            .env("TILLGATE_LOG__LEVEL", "debug")
            .stderr(std::fs::File::create(log).unwrap());
        Self::spawn(&mut command, "")
    }

    /// Runs `tillgate serve` on a store in memory, with its operator's credentials in `operator.json` of a folder.
    pub fn serve_in_memory(folder: &Path) -> Self {
        let file = folder.join("operator.json").display().to_string();
        let store = ["--store", "memory:", "--operator-file", &file];
        Self::start(
            &[["serve", "--listen", "127.0.0.1:0"].as_slice(), &store].concat(),
            "",
        )
    }

    /// Runs `tillgate demo`.
    pub fn demo() -> Self {
        Self::start(&["demo", "--listen", "127.0.0.1:0"], "curl ")
    }

    /// Starts the program and reads its output up to a line that begins with `until`.
    fn start(arguments: &[&str], until: &str) -> Self {
        let mut command = Self::command();
        Self::spawn(command.args(arguments).stderr(Stdio::inherit()), until)
    }

    /// Returns the command of the program, without arguments.
    pub fn command() -> Command {
        Command::new(PROGRAM.expect("tests know where the program is"))
    }

    /// Starts a complete command, and reads its output up to a line that begins with `until`.
    pub fn spawn(command: &mut Command, until: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = Lines::of("the program", child.stdout.take().unwrap());
        // From here on, the process is killed whatever happens.
        let mut program = Self {
            child,
            url: String::new(),
            printed: String::new(),
        };
        let first = lines.next().expect("it prints where it listens");
        let url = first.strip_prefix("listening on ").expect("the first line");
        url.clone_into(&mut program.url);
        if !until.is_empty() {
            lines.find(until, |line| {
                program.printed += &format!("{line}\n");
                line.starts_with(until)
            });
        }
        program
    }

    /// Returns the processor time that it has used, in seconds.
    pub fn processor_time(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        let fields: Vec<&str> = after_name.split(' ').collect();
        // utime and stime, in hundredths of a second.
        let ticks = |field: usize| fields[field].parse::<f64>().unwrap() / 100.0;
        ticks(11) + ticks(12)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends SIGTERM; returns the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        ended("the program ends when it is told to", &mut self.child).code()
    }
}

/// Removes the name of the last editor from an answer; returns it, or null.
pub fn take_modifier(answer: &mut Value) -> Value {
    let taken = answer.as_object_mut().unwrap().remove("lastModifiedBy");
    taken.map_or(Value::Null, |by| by["name"].clone())
}
