//! Real Redis servers on free ports of this machine, in temporary folders that are removed when the tests end, however
//! they end.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

use super::wait::{ended, output, wait_for};

/// A server, killed when dropped and when this process ends.
pub struct Server {
    pub port: u16,
    /// A configuration file, which precedes the options.
    file: Option<String>,
    options: Vec<String>,
    folder: TempDir,
    /// The server, and the watchdog that kills it when this process ends.
    running: Option<(Child, Child)>,
}

impl Server {
    /// Starts a server without persistence.
    pub fn start() -> Self {
        Self::with(&["--save", "", "--appendonly", "no"])
    }

    /// Starts a server that acknowledges a write only when it is on disk.
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

    /// Starts a durable server with so much data that loading it takes seconds, during which it refuses requests.
    pub fn slow_to_load() -> Self {
        let server = Self::with(&[
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--key-load-delay",
            "200",
        ]);
        let fill = "for i = 1, 10000 do redis.call('set', 'filler:' .. i, i) end return 'OK'";
        assert_eq!(server.cli(&["eval", fill, "0"]), "OK");
        server
    }

    pub fn with(options: &[&str]) -> Self {
        Self::new(options, None)
    }

    fn new(options: &[&str], file: Option<String>) -> Self {
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

    /// Starts a server with a configuration file, which it may rewrite.
    pub fn with_file(file: &Path, options: &[&str]) -> Self {
        Self::new(options, Some(file.to_str().unwrap().to_owned()))
    }

    /// Kills the server if it runs, and starts it with the data on its disk.
    pub fn restart(&mut self) {
        self.kill();
        let folder = self.folder.path();
        repair(folder);
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
        let watchdog = watchdog(child.id(), folder);
        self.running = Some((child, watchdog));
        wait_for("redis answers", || {
            let answer = self.cli(&["ping"]);
            answer == "PONG" || answer.starts_with("NOAUTH")
        });
    }

    pub fn kill(&mut self) {
        if let Some((mut child, mut watchdog)) = self.running.take() {
            // The watchdog ends first: once the server has ended, another process may get its id.
            if let Some(mut stdin) = watchdog.stdin.take() {
                let _ = writeln!(stdin, "end");
            }
            let _ = watchdog.wait();
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Pauses it (`STOP`) or resumes it (`CONT`).
    pub fn signal(&self, signal: &str) {
        let (child, _) = self.running.as_ref().unwrap();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Returns the output of `redis-cli`.
    pub fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, arguments)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the port of the cluster bus.
    fn bus(&self) -> String {
        let nodes = self.cli(&["cluster", "nodes"]);
        let myself = nodes.lines().find(|line| line.contains("myself")).unwrap();
        let address = myself.split(' ').nth(1).unwrap();
        address.rsplit('@').next().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the output of `redis-cli` for the server on a port.
pub fn cli(port: u16, arguments: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port.to_string()]).args(arguments);
    String::from_utf8(output(&mut command).stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// Three masters and their three replicas.
pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster without persistence.
    pub fn start() -> Self {
        Self::with(&["--appendonly", "no"])
    }

    /// Starts a cluster whose servers acknowledge a write only when it is on disk.
    pub fn durable() -> Self {
        Self::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// Starts a durable cluster whose replicas take over two seconds after their master is gone.
    pub fn quick() -> Self {
        Self::with(&[
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--cluster-node-timeout",
            "2000",
        ])
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
        let created = output(&mut create);
        assert!(created.status.success(), "{created:?}");
        let cluster = Self { servers };
        cluster.wait_until_complete();
        cluster
    }

    /// Adds a master without slots.
    pub fn add_master(&self) -> Server {
        let bus = free_port().to_string();
        let new = Server::with(&[
            "--save",
            "",
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            &bus,
        ]);
        let known = self.servers[0].port.to_string();
        let met = new.cli(&[
            "cluster",
            "meet",
            "127.0.0.1",
            &known,
            &self.servers[0].bus(),
        ]);
        assert_eq!(met, "OK");
        let all = self.servers.len() + 1;
        wait_for("every server knows the new one", || {
            self.servers.iter().chain([&new]).all(|server| {
                let nodes = server.cli(&["cluster", "nodes"]);
                nodes.lines().count() == all && !nodes.contains("handshake")
            })
        });
        new
    }

    /// Waits until every server sees all slots owned and every replica follows its master.
    pub fn wait_until_complete(&self) {
        wait_for("the cluster is complete", || {
            self.servers.iter().all(|server| {
                let complete = server
                    .cli(&["cluster", "info"])
                    .contains("cluster_state:ok");
                let nodes = server.cli(&["cluster", "nodes"]);
                let complete = complete && nodes.matches("slave").count() == self.servers.len() / 2;
                let replication = server.cli(&["info", "replication"]);
                complete
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

/// Returns the server shared by all tests that do not disturb it.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Returns the cluster shared by all tests that do not disturb it.
pub fn shared_cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

/// Removes an incomplete transaction from the end of the files of a server, as `host/store/src/redis/README.md` documents.
fn repair(folder: &Path) {
    let manifest = folder.join("appendonlydir/appendonly.aof.manifest");
    if !manifest.exists() {
        return;
    }
    let mut repair = Command::new("redis-check-aof")
        .arg("--fix")
        .arg(&manifest)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It asks only if there is something to remove.
    let _ = repair.stdin.take().unwrap().write_all(b"y\n");
    assert!(
        ended("the server's files are repaired", &mut repair).success(),
        "the server's files cannot be repaired"
    );
}

/// Returns a free port whose cluster bus port, 10,000 above, is free too. Each is returned only once, and both are
/// below the system's ephemeral ports, so no other process takes them before the server starts.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 100).unwrap() * 100;
    let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    for _ in 0..10_000 {
        let port = 10_000 + first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
        if free(port) && free(port + 10_000) {
            return port;
        }
    }
    panic!("no port of this machine is free");
}

/// Starts a watchdog that kills a process and removes its folder when this process ends, because statics are never
/// dropped.
fn watchdog(process: u32, folder: &Path) -> Child {
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
