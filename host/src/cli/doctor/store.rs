//! The store: checks whether it exists and is sound, how its servers are set up, and whether its clock agrees with this
//! machine's. The store is only read, and a host may serve it meanwhile.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use tillgate_base::config::Config;
use tillgate_store::backup::{Contents, inspect};
use tillgate_store::clock::{Clock, SystemClock, Timestamp};
use tillgate_store::inspection::{Issue, Listing, MAX_CLOCK_SKEW, Server};
use tillgate_store::{RedisUrl, StoreUrl, list_folder, list_servers, servers};

use super::report::{Finding, fail, ok, warn};
use crate::cli::backup::describe;

const STORE: &str = "store";
const CLOCK: &str = "clock";

/// Checks the store and its clock.
pub(super) async fn check(config: &Config, url: &StoreUrl) -> Vec<Finding> {
    match url {
        StoreUrl::Memory => vec![in_memory(config.require_durable_store)],
        StoreUrl::Embedded { folder, .. } => in_folder(folder),
        StoreUrl::Redis(url) => on_servers(url, config.require_durable_store).await,
    }
}

fn in_memory(durable: bool) -> Finding {
    let what = "memory: is lost when its process ends";
    if durable {
        fail(
            STORE,
            what,
            "choose another store, since require_durable_store is set",
        )
    } else {
        warn(STORE, what, "choose another store for data that must last")
    }
}

fn in_folder(folder: &Path) -> Vec<Finding> {
    let shown = folder.display();
    match inspect(folder) {
        Ok(contents) => vec![
            ok(
                STORE,
                format!("the store in {shown} is sound {}", describe(contents)),
            ),
            clock_of(&contents, SystemClock.now()),
        ],
        Err(why) => {
            if is_new(folder) {
                let remedy = "the first tillgate serve creates one; if there is one already, name it with --store";
                return vec![warn(STORE, why, remedy)];
            }
            let remedy = match folder.join("tillgate.db").try_exists() {
                Ok(true) => "the host's page of the embedded store says what to do",
                Ok(false) => {
                    "tillgate serve creates one at its first start; name another with --store"
                }
                Err(_) => "run it as root, or as the user of the host",
            };
            vec![fail(STORE, why, remedy)]
        }
    }
}

/// Returns whether nothing was ever stored in a folder: it is missing or empty.
fn is_new(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(mut files) => files.next().is_none(),
        Err(cause) => cause.kind() == ErrorKind::NotFound,
    }
}

/// Checks the clock: the publish times of a store only increase, so the newest one reveals a clock that was ahead.
fn clock_of(contents: &Contents, now: Timestamp) -> Finding {
    let ahead = contents.newest.since(now);
    if ahead <= MAX_CLOCK_SKEW {
        return ok(
            CLOCK,
            "the newest change in the store is not ahead of this machine's clock",
        );
    }
    let ahead_s = std::time::Duration::from_secs(ahead.as_secs());
    let ahead = humantime::format_duration(ahead_s);
    warn(
        CLOCK,
        format!("the newest change in the store is {ahead} ahead of this machine's clock"),
        "synchronize the clock by NTP; until it has caught up, changes are given later times than that",
    )
}

async fn on_servers(url: &RedisUrl, durable: bool) -> Vec<Finding> {
    let servers = match servers(url, Arc::new(SystemClock)).await {
        Ok(servers) => servers,
        Err(why) => {
            let remedy =
                "start the server, or correct the URL with --store or in the configuration";
            return vec![fail(STORE, why, remedy)];
        }
    };
    let versions: Vec<String> = servers
        .iter()
        .map(|server| format!("{} has version {}", server.address, server.version))
        .collect();
    let mut findings = vec![ok(STORE, format!("{url} answers: {}", versions.join(", ")))];
    for server in &servers {
        let issues = server.issues.iter();
        findings.extend(issues.map(|issue| unsafe_setting(server, issue, durable)));
    }
    findings.push(clock_of_servers(&servers));
    findings
}

fn unsafe_setting(server: &Server, issue: &Issue, durable: bool) -> Finding {
    let what = format!("{}: {}", server.address, issue.what);
    if issue.loses_commits && durable {
        fail(
            STORE,
            format!("{what}, so a host with require_durable_store does not start"),
            issue.remedy,
        )
    } else {
        warn(STORE, what, issue.remedy)
    }
}

fn clock_of_servers(servers: &[Server]) -> Finding {
    let apart = servers.iter().filter(|it| it.skew() > MAX_CLOCK_SKEW);
    let apart: Vec<String> = apart
        .map(|server| format!("{} by {} s", server.address, server.skew().as_secs()))
        .collect();
    if apart.is_empty() {
        ok(CLOCK, "the clocks of the servers agree with this machine's")
    } else {
        warn(
            CLOCK,
            format!("clocks differ from this machine's: {}", apart.join(", ")),
            "synchronize all clocks by NTP",
        )
    }
}

/// Lists the store, without content.
///
/// # Errors
/// If the store cannot be listed.
pub(super) async fn list(url: &StoreUrl) -> Result<Listing, String> {
    match url {
        StoreUrl::Memory => Err("a store in memory exists only while its process runs".to_owned()),
        StoreUrl::Embedded { folder, .. } => list_folder(folder),
        StoreUrl::Redis(url) => list_servers(url, Arc::new(SystemClock)).await,
    }
}
