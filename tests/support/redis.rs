//! Real Redis servers, on free ports of this machine and in temporary folders; gone when the tests are, however they end.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything may take that is waited for.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A server, killed when dropped and when this process ends.
pub struct Server {
    pub port: u16,
    /// A file of settings, which comes before the options.
    file: Option<String>,
    options: Vec<String>,
    folder: TempDir,
    /// The server, and who ends it when this process ends.
    running: Option<(Child, Child)>,
}

impl Server {
    /// A server that keeps nothing.
    pub fn start() -> Self {
        Self::with(&["--save", "", "--appendonly", "no"])
    }

    /// A server that has everything on its disk before it says so.
    pub fn durable() -> Self {
        Self::with(&[
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--aof-load-truncated",
            "no",
        ])
    }

    pub fn with(options: &[&str]) -> Self {
        Self::made(options, None)
    }

    fn made(options: &[&str], file: Option<String>) -> Self {
        let mut server = Self {
            file,
            port: free_port(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            folder: TempDir::new().unwrap(),
            running: None,
        };
        server.restart();
        server
    }

    /// One with a file of settings, which it may write.
    pub fn of_file(file: &Path, options: &[&str]) -> Self {
        Self::made(options, Some(file.to_str().unwrap().to_owned()))
    }

    /// Starts it again with what it has on its disk.
    pub fn restart(&mut self) {
        self.kill();
        let folder = self.folder.path();
        mend(folder);
        let child = Command::new("redis-server")
            .args(self.file.as_slice())
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args([
                "--dir",
                folder.to_str().unwrap(),
                "--loglevel",
                "warning",
                "--logfile",
                "log",
            ])
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let watch = watch(child.id(), folder);
        self.running = Some((child, watch));
        wait_for("redis answers", || self.cli(&["ping"]) == "PONG");
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some((mut child, mut watch)) = self.running.take() {
            // Its number may be another process' from now on.
            if let Some(mut told) = watch.stdin.take() {
                let _ = writeln!(told, "end");
            }
            let _ = watch.wait();
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Has it stand still (`STOP`), or go on (`CONT`).
    pub fn signal(&self, signal: &str) {
        let (child, _) = self.running.as_ref().unwrap();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// What `redis-cli` prints.
    pub fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, arguments)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What `redis-cli` prints, by a server.
pub fn cli(port: u16, arguments: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .args(["-p", &port.to_string()])
        .args(arguments)
        .output();
    String::from_utf8(output.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// Three masters and their three replicas.
pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    /// A cluster that keeps nothing.
    pub fn start() -> Self {
        Self::with(&["--appendonly", "no"])
    }

    /// A cluster whose servers have everything on their disks before they say so.
    pub fn durable() -> Self {
        Self::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    fn with(options: &[&str]) -> Self {
        let servers: Vec<Server> = (0..6)
            .map(|_| {
                let bus = free_port().to_string();
                let mut all = vec![
                    "--save",
                    "",
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    &bus,
                ];
                all.extend([
                    "--cluster-node-timeout",
                    "15000",
                    "--repl-diskless-sync-delay",
                    "0",
                ]);
                all.extend(options);
                Server::with(&all)
            })
            .collect();
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]);
        create.args(
            servers
                .iter()
                .map(|server| format!("127.0.0.1:{}", server.port)),
        );
        create.args(["--cluster-replicas", "1", "--cluster-yes"]);
        let created = create.output().unwrap();
        assert!(created.status.success(), "{created:?}");
        let cluster = Self { servers };
        cluster.wait_until_whole();
        cluster
    }

    /// Waits until every server sees all slots owned and every replica follows its master.
    pub fn wait_until_whole(&self) {
        wait_for("the cluster is whole", || {
            self.servers.iter().all(|server| {
                let whole = server
                    .cli(&["cluster", "info"])
                    .contains("cluster_state:ok");
                let nodes = server.cli(&["cluster", "nodes"]);
                let whole = whole && nodes.matches("slave").count() == self.servers.len() / 2;
                let replication = server.cli(&["info", "replication"]);
                whole
                    && (replication.contains("master_link_status:up")
                        || replication.contains("state=online"))
            })
        });
    }

    pub fn url(&self) -> String {
        let addresses = self
            .servers
            .iter()
            .map(|server| format!("127.0.0.1:{}", server.port));
        format!(
            "redis+cluster://{}",
            addresses.collect::<Vec<_>>().join(",")
        )
    }
}

/// The one server that all tests share which do it no harm.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// The same for a cluster.
pub fn shared_cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

/// Waits for something, and gives up only so that a test that fails also ends.
pub fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < DEADLINE, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Cuts a half-written transaction off the end of what a server has on its disk, as
/// `host/src/store/redis/README.md` says.
fn mend(folder: &Path) {
    let manifest = folder.join("appendonlydir/appendonly.aof.manifest");
    if !manifest.exists() {
        return;
    }
    let mut mending = Command::new("redis-check-aof")
        .arg("--fix")
        .arg(&manifest)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It asks only when there is something to cut.
    let _ = mending.stdin.take().unwrap().write_all(b"y\n");
    assert!(
        mending.wait().unwrap().success(),
        "the server's files are mended"
    );
}

/// A port that nobody listens on, nor on the one of its cluster's bus, 10,000 above. Each is given once, and the system
/// gives neither to others who ask it for any: between here and the server's start nobody takes it.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 100).unwrap() * 100;
    loop {
        let port = 10_000 + first.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % 10_000;
        let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + 10_000) {
            return port;
        }
    }
}

/// Kills a process and removes its folder when this process is gone: what is static is never dropped.
fn watch(process: u32, folder: &Path) -> Child {
    Command::new("sh")
        .args([
            "-c",
            "trap '' INT TERM; read -r end; [ \"$end\" ] || { kill -9 \"$0\" && rm -rf \"$1\"; }",
        ])
        .args([&process.to_string(), folder.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
