//! Facts about the machine and what it gives a host, without the machine's name.

use std::num::NonZeroUsize;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use tillgate_store::clock::{Clock, SystemClock};

use super::folder::space;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Machine {
    system: &'static str,
    architecture: &'static str,
    kernel: Option<String>,
    time: String,
    cores: usize,
    memory_bytes: Option<u64>,
    available_memory_bytes: Option<u64>,
    /// The limits of the container, from its control group.
    memory_limit: Option<String>,
    processor_limit: Option<String>,
    /// The most files that a process started here may have open.
    open_files_limit: Option<u64>,
    disk: Option<Disk>,
}

/// The disk of the store's folder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Disk {
    free_bytes: u64,
    total_bytes: u64,
}

impl Machine {
    /// Describes this machine, and the disk that a folder is on.
    pub(super) fn this(folder: Option<&Path>) -> Self {
        let memory = text("/proc/meminfo");
        let space = folder.and_then(space);
        Self {
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            kernel: text("/proc/sys/kernel/osrelease"),
            time: SystemClock.now().to_millis_text(),
            cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            memory_bytes: bytes(memory.as_deref(), "MemTotal:"),
            available_memory_bytes: bytes(memory.as_deref(), "MemAvailable:"),
            memory_limit: text("/sys/fs/cgroup/memory.max"),
            processor_limit: text("/sys/fs/cgroup/cpu.max"),
            open_files_limit: getrlimit(Resource::Nofile).current,
            disk: space.map(|(free_bytes, total_bytes)| Disk {
                free_bytes,
                total_bytes,
            }),
        }
    }
}

fn text(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned())
}

/// Returns a line of `/proc/meminfo`, in bytes.
fn bytes(memory: Option<&str>, name: &str) -> Option<u64> {
    let line = memory?.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}
