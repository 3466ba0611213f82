//! The Lua scripts, one for each operation that is not a single Redis command, and requests to servers.
//!
//! A script is run by its digest (`EVALSHA`); a server that does not have it gets its source (`EVAL`) and keeps it
//! (`router.rs`).

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Cmd;

pub(super) static COMMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("commit.lua")));
pub(super) static LIST: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("list.lua")));
pub(super) static SCAN: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scan.lua")));
pub(super) static READ: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("read.lua")));
pub(super) static TRIM: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("trim.lua")));
pub(super) static CLAIM: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("claim.lua")));

pub(super) static METADATA: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("metadata.lua")));
pub(super) static JOBS: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("jobs.lua")));
pub(super) static RESTORE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("restore.lua")));

pub(super) static LISTING: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("listing.lua")));

/// Does nothing; it shows whether a server runs scripts.
pub(super) static PROBE: LazyLock<Script> =
    LazyLock::new(|| Script::new("#!lua flags=no-writes\nreturn 1"));

/// The time limit for a reply, and its extension for each MiB that is sent.
const TIMEOUT: Duration = Duration::from_secs(3);
const TIMEOUT_PER_MEBIBYTE: Duration = Duration::from_millis(250);

pub(super) struct Script {
    source: &'static str,
    digest: String,
}

impl Script {
    fn new(source: &'static str) -> Self {
        let digest = redis::Script::new(source).get_hash().to_owned();
        Self { source, digest }
    }
}

/// A request to a server.
pub(super) struct Request {
    work: Work,
    /// The time limit for the reply.
    pub(super) timeout: Duration,
    /// The number of replicas that must have everything that was written before the reply.
    pub(super) replicas: u32,
}

enum Work {
    Script {
        script: &'static Script,
        keys: Vec<Bytes>,
        arguments: Vec<Bytes>,
    },
    Command(Cmd),
}

impl Request {
    /// Creates a request to run a script. Sending adds its first argument: the deadline by the server's clock, after
    /// which its caller no longer waits, and a script that writes does nothing.
    pub(super) fn script(script: &'static Script, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Self {
        let bytes: usize = arguments.iter().map(Bytes::len).sum();
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        Self {
            timeout: TIMEOUT.saturating_add(TIMEOUT_PER_MEBIBYTE.saturating_mul(mebibytes)),
            replicas: 0,
            work: Work::Script {
                script,
                keys,
                arguments,
            },
        }
    }

    /// Creates a request to run a Redis command.
    pub(super) const fn command(command: Cmd) -> Self {
        Self {
            timeout: TIMEOUT,
            replicas: 0,
            work: Work::Command(command),
        }
    }

    /// Makes the reply come only once this many replicas have what was written.
    pub(super) fn replicated(mut self, replicas: u32) -> Self {
        self.replicas = replicas;
        self
    }

    /// Returns the command to send. `with_source` sends the source of a script instead of its digest.
    pub(super) fn to_command(&self, deadline: u64, with_source: bool) -> Cmd {
        match &self.work {
            Work::Command(command) => command.clone(),
            Work::Script {
                script,
                keys,
                arguments,
            } => {
                let mut command = if with_source {
                    let mut command = redis::cmd("EVAL");
                    command.arg(script.source);
                    command
                } else {
                    let mut command = redis::cmd("EVALSHA");
                    command.arg(script.digest.as_str());
                    command
                };
                command.arg(keys.len());
                for key in keys {
                    command.arg(key.as_ref());
                }
                command.arg(deadline);
                for argument in arguments {
                    command.arg(argument.as_ref());
                }
                command
            }
        }
    }
}
