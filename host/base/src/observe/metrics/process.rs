//! The version and resource usage of this process, under the names that Prometheus' own libraries use. On a system
//! without `/proc`, only the processor time is known.

use rustix::time::{ClockId, clock_gettime};

use super::{MetricFamily, Metrics, Sample};

pub(super) fn register(metrics: &Metrics) {
    let family = MetricFamily::gauge("tillgate_build_info", "1, with the version of the program");
    metrics.collect(family, || {
        vec![Sample::count(
            [("version", env!("CARGO_PKG_VERSION"))],
            1_u8,
        )]
    });
    let family = MetricFamily::counter("process_cpu", "The processor time used").seconds();
    metrics.collect(family, || {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let nanoseconds = u32::try_from(used.tv_nsec).unwrap_or_default();
        let seconds = u32::try_from(used.tv_sec).unwrap_or(u32::MAX);
        let seconds = f64::from(seconds) + f64::from(nanoseconds) / 1e9;
        vec![Sample::new([], seconds)]
    });
    let family = MetricFamily::gauge("process_resident_memory", "The memory in use").bytes();
    metrics.collect(family, || sample(resident_bytes()));
    let family = MetricFamily::gauge("process_open_fds", "The number of open files and sockets");
    metrics.collect(family, || sample(open_files()));
}

fn sample(value: Option<usize>) -> Vec<Sample> {
    value
        .map(|value| Sample::count([], value))
        .into_iter()
        .collect()
}

fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

fn open_files() -> Option<usize> {
    // Reading the folder opens it.
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some(open.saturating_sub(1))
}
