//! The scripts, one a verb that is not a command of Redis, and requests to run them.
//!
//! A server is asked by a script's digest; who does not know it is sent the whole script, which it then knows
//! (`servers.rs`).

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Script};

pub(super) static COMMIT: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("commit.lua")));
pub(super) static SCAN: LazyLock<Source> = LazyLock::new(|| Source::new(include_str!("scan.lua")));
pub(super) static READ: LazyLock<Source> = LazyLock::new(|| Source::new(include_str!("read.lua")));
pub(super) static TRIM: LazyLock<Source> = LazyLock::new(|| Source::new(include_str!("trim.lua")));
pub(super) static CLAIM: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("claim.lua")));

pub(super) static OUTLINE: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("outline.lua")));
pub(super) static JOBS: LazyLock<Source> = LazyLock::new(|| Source::new(include_str!("jobs.lua")));
pub(super) static RESTORE: LazyLock<Source> =
    LazyLock::new(|| Source::new(include_str!("restore.lua")));

/// How long an answer may take, and how much longer for each MiB that is sent or asked for.
const PATIENCE: Duration = Duration::from_secs(3);
const PATIENCE_A_MEBIBYTE: Duration = Duration::from_millis(250);

/// A script.
pub(super) struct Source {
    text: &'static str,
    digest: String,
}

impl Source {
    fn new(text: &'static str) -> Self {
        let digest = Script::new(text).get_hash().to_owned();
        Self { text, digest }
    }
}

/// What is asked of a server, once or again.
pub(super) struct Request {
    work: Work,
    /// How long the answer may take.
    pub(super) patience: Duration,
}

enum Work {
    Script {
        source: &'static Source,
        keys: Vec<Bytes>,
        arguments: Vec<Bytes>,
    },
    Command(Cmd),
}

impl Request {
    /// To run a script. Before these arguments it gets the moment, by the server's clock, after which nobody waits for
    /// its answer any more: what changes something does nothing from then on.
    pub(super) fn script(source: &'static Source, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Self {
        let bytes: usize = arguments.iter().map(Bytes::len).sum();
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        Self {
            patience: PATIENCE.saturating_add(PATIENCE_A_MEBIBYTE.saturating_mul(mebibytes)),
            work: Work::Script {
                source,
                keys,
                arguments,
            },
        }
    }

    /// A command of Redis.
    pub(super) const fn command(command: Cmd) -> Self {
        Self {
            patience: PATIENCE,
            work: Work::Command(command),
        }
    }

    /// As it is sent: by the script's digest, or with the whole script.
    pub(super) fn packed(&self, latest: u64, whole: bool) -> Cmd {
        match &self.work {
            Work::Command(command) => command.clone(),
            Work::Script {
                source,
                keys,
                arguments,
            } => {
                let mut command = if whole {
                    let mut command = redis::cmd("EVAL");
                    command.arg(source.text);
                    command
                } else {
                    let mut command = redis::cmd("EVALSHA");
                    command.arg(source.digest.as_str());
                    command
                };
                command.arg(keys.len());
                for key in keys {
                    command.arg(key.as_ref());
                }
                command.arg(latest);
                for argument in arguments {
                    command.arg(argument.as_ref());
                }
                command
            }
        }
    }
}
