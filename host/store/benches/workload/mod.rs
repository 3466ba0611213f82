//! The code that the benches of the store share: a typical commit, and the summary of figures.
#![allow(dead_code, reason = "each bench uses a part")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{Commit, CommitId, Op, Partition, Store};

/// The body of an entry, of a message and of a job.
pub static BODY: [u8; 300] = [b'x'; 300];

/// Returns a commit of an entry, a message and a job of some 300 bytes each.
pub fn typical(partition: &Partition) -> Commit {
    let id = CommitId::random();
    // Like a delivery that is retried in a minute.
    let due = SystemClock.now().plus(Duration::from_secs(60));
    let name = format!("{:032x}", id.0);
    let (value, body) = (Bytes::from_static(&BODY), Bytes::from_static(&BODY));
    let ops = vec![
        Op::Put {
            key: name.clone(),
            value,
        },
        Op::Append {
            log: "log".to_owned(),
            attributes: vec![("Tenant-Id".to_owned(), "tenant".to_owned())],
            body: body.clone(),
        },
        Op::Enqueue {
            queue: "queue".to_owned(),
            job: name,
            due,
            body,
        },
    ];
    Commit {
        partition: partition.clone(),
        id,
        checks: Vec::new(),
        ops,
    }
}

/// Returns how long `committers` at once take for `commits` typical commits in total.
pub async fn commit_many(store: Arc<dyn Store>, committers: u64, commits: u64) -> Duration {
    let partition = Partition::new("tenant").unwrap();
    let start = Instant::now();
    let tasks: Vec<_> = (0..committers)
        .map(|task| {
            let (store, partition) = (Arc::clone(&store), partition.clone());
            let mine = commits / committers + u64::from(task < commits % committers);
            tokio::spawn(async move {
                for _ in 0..mine {
                    store.commit(typical(&partition)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed()
}

/// Returns the milliseconds since a moment.
pub fn ms_since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// Returns the milliseconds of processor time that this process has used, in all its threads.
pub fn processor_ms() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 * 1e3 + used.tv_nsec as f64 / 1e6
}

/// Returns the median; of an even number of values, the upper one.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the machine's load average over the last minute; figures from a busy machine say little.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Records figures for `tests/bench`.
pub fn record(name: &str, figures: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/criterion");
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(format!("{folder}/{name}.json"), figures).unwrap();
}
