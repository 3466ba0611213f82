//! Measures the cost of knowing that memory is fresh while nothing changes: ten hosts on a cluster of three masters,
//! with ten thousand tenants in use on each host.
//!
//! Prints the commands per second of each master, the processor time of each master and of a host, and the maximum age
//! of memory. `cargo bench -p tillgate-store --bench freshness`; it needs `redis-server` and takes half a minute.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking and measures time"
)]

#[path = "../../../tests/support"]
mod support {
    pub mod redis;
    pub mod wait;
}

use std::sync::Arc;
use std::time::{Duration, Instant};

use support::redis::{Cluster, Server};
use support::wait::wait_for;
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{Partition, RedisStore, RedisUrl, Store};

const HOSTS: u32 = 10;
const TENANTS: usize = 10_000;
const SPAN: Duration = Duration::from_secs(20);

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let cluster = Cluster::start();
    let servers = cluster.servers.iter();
    let masters: Vec<_> = servers.filter(|server| role(server)).collect();
    let url = RedisUrl::parse(&cluster.url()).unwrap().unwrap();
    let open = |_| RedisStore::connect(&url, Arc::new(SystemClock)).unwrap();
    let hosts: Vec<RedisStore> = (0..HOSTS).map(open).collect();
    let mut hints = Vec::new();
    for host in &hosts {
        for tenant in 0..TENANTS {
            let partition = Partition::new(&format!("tenant:{tenant}")).unwrap();
            hints.push(host.hints(&partition));
        }
    }
    wait_for("hints are complete", || {
        hosts.iter().all(|host| host.hints_as_of().is_some())
    });
    let sum = |field| -> Vec<f64> {
        let all = masters.iter();
        all.map(|server| number(server, field)).collect()
    };
    let before = (
        sum("total_commands_processed"),
        sum("used_cpu_user"),
        sum("used_cpu_sys"),
        processor_time(),
    );
    let begin = Instant::now();
    let (mut oldest, mut ages, mut samples) = (Duration::ZERO, Duration::ZERO, 0);
    while begin.elapsed() < SPAN {
        tokio::time::sleep(Duration::from_millis(7)).await;
        for host in &hosts {
            let age = SystemClock.now().since(host.hints_as_of().unwrap());
            (oldest, ages, samples) = (oldest.max(age), ages + age, samples + 1);
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let own = (processor_time() - before.3).as_secs_f64();
    let after = (
        sum("total_commands_processed"),
        sum("used_cpu_user"),
        sum("used_cpu_sys"),
    );
    println!("{HOSTS} hosts, {TENANTS} tenants each, {seconds:.0} s:");
    for master in 0..masters.len() {
        // The last commands are those of the measurement itself.
        let commands = (after.0[master] - before.0[master] - 3.0) / seconds;
        let busy = after.1[master] - before.1[master] + after.2[master] - before.2[master];
        let core = 100.0 * busy / seconds;
        println!("master {master}: {commands:.1} commands/s, {core:.2} % of a core");
    }
    let each = 100.0 * own / seconds / f64::from(HOSTS);
    println!("a host: {each:.3} % of a core");
    let mean = ages / samples;
    println!("age: mean {mean:.0?}, oldest {oldest:.0?}");
}

fn role(server: &Server) -> bool {
    server.cli(&["role"]).starts_with("master")
}

/// Reads a number from the server's `INFO`.
fn number(server: &Server, field: &str) -> f64 {
    let info = server.cli(&["info"]);
    let lines = info.lines().filter_map(|line| line.trim().split_once(':'));
    let mut values = lines.filter(|(name, _)| *name == field);
    values.next().expect(field).1.parse().unwrap()
}

/// Returns the processor time that this process has used, including the measurement.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}
