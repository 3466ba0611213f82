//! Compares the embedded store with bare SQLite running the same statements: durable commits per second, by one
//! committer and by 64 at once, in turns. Also measures two operations that hold up writers: a backup, and trimming
//! ten million messages.
//!
//! Bare SQLite executes the statements of the same commits on one thread with the same settings, in transactions of as
//! many commits as there are committers; no caller waits and nothing crosses threads.
//!
//!     cargo bench -p tillgate-store --profile release --bench embedded [commits | stops] [MESSAGES]
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking, prints what it measures, and nothing outside can reach it"
)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rusqlite::{Connection, params};
use tillgate_store::clock::{Clock, StoppedClock, SystemClock, Timestamp};
use tillgate_store::{
    Commit, CommitId, EmbeddedStore, MAX_OPS, Op, Partition, REMEMBER, Store, backup,
};
use tokio::runtime::Runtime;

mod workload;

use self::workload::{load, median, ms_since, processor_ms, typical};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of turns for each, and the length of a turn.
const TURNS: usize = 8;
const TURN: Duration = Duration::from_secs(3);

/// The number of messages to trim.
const MESSAGES: usize = 10_000_000;

/// The number of commits per second during the trim and during a backup.
const RATE: u64 = 1_000;

/// The settings of the store's writer.
const SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -32768;";

fn partition() -> Partition {
    Partition::new("tenant").unwrap()
}

struct Bare {
    db: Connection,
    revision: i64,
}

impl Bare {
    fn open(file: &Path) -> Self {
        let db = Connection::open(file).unwrap();
        db.execute_batch(SETTINGS).unwrap();
        db.execute_batch(include_str!("../src/embedded/schema.sql"))
            .unwrap();
        db.set_prepared_statement_cache_capacity(64);
        Self { db, revision: 0 }
    }

    /// Makes typical commits for a turn, `together` of them in each transaction; returns the figures of the turn.
    fn turn(&mut self, together: usize) -> Reached {
        let (begin, processor) = (Instant::now(), processor_ms());
        let mut latencies = Vec::new();
        while begin.elapsed() < TURN {
            let begin = Instant::now();
            self.transaction(together);
            latencies.extend(std::iter::repeat_n(ms_since(begin), together));
        }
        Reached::new(latencies, begin, processor)
    }

    fn transaction(&mut self, together: usize) {
        let tx = self.db.transaction().unwrap();
        for _ in 0..together {
            self.revision += 1;
            let commit = typical(&partition());
            execute(&tx, &commit, self.revision).unwrap();
        }
        tx.commit().unwrap();
    }
}

/// Executes the statements of a commit as the store does.
fn execute(db: &Connection, commit: &Commit, revision: i64) -> rusqlite::Result<()> {
    let now = i64::try_from(SystemClock.now().0).unwrap();
    let (tenant, id) = (commit.partition.as_str(), commit.id.0.to_be_bytes());
    let found = |sql: &str| db.prepare_cached(sql);
    let one: Option<i64> = found("SELECT id, revision, at, lease FROM partitions WHERE name = ?")?
        .query_row([tenant], |row| row.get(0))
        .ok();
    let known =
        found("SELECT revision, at, positions FROM commits WHERE partition = ? AND id = ?")?
            .exists(params![one.unwrap_or(0), id])?;
    assert!(!known);
    let partition: i64 = found(
        "INSERT INTO partitions (name, revision, at, lease) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (name) DO UPDATE SET revision = ?2, at = ?3, lease = ?4 RETURNING id",
    )?
    .query_row(params![tenant, revision, now, 0], |row| row.get(0))?;
    let mut position = 0;
    for op in &commit.ops {
        match op {
            Op::Put { key, value } => {
                found(
                    "REPLACE INTO entries (partition, key, revision, value) VALUES (?, ?, ?, ?)",
                )?
                .execute(params![partition, key, revision, &value[..]])?;
            }
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let of: i64;
                (of, position) = found(
                    "INSERT INTO logs (partition, name, last, trimmed) VALUES (?, ?, 1, 0) \
                     ON CONFLICT (partition, name) DO UPDATE SET last = last + 1 RETURNING id, last",
                )?
                .query_row(params![partition, log], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let attributes = serde_json::to_string(attributes).unwrap();
                found("INSERT INTO messages (log, position, at, attributes, body) VALUES (?, ?, ?, ?, ?)")?
                    .execute(params![of, position, now, attributes, &body[..]])?;
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                let of: Option<i64> =
                    found("SELECT id FROM queues WHERE partition = ? AND name = ?")?
                        .query_row(params![partition, queue], |row| row.get(0))
                        .ok();
                let of = match of {
                    Some(of) => of,
                    None => {
                        found("INSERT INTO queues (partition, name) VALUES (?, ?) RETURNING id")?
                            .query_row(params![partition, queue], |row| row.get(0))?
                    }
                };
                let due = i64::try_from(due.0).unwrap();
                found("REPLACE INTO jobs (queue, id, due, lease, attempt, body) VALUES (?, ?, ?, NULL, ?, ?)")?
                    .execute(params![of, job, due, 0, &body[..]])?;
            }
            Op::Delete { .. } | Op::Settle { .. } => {}
        }
    }
    let positions = format!("[{position}]");
    found("INSERT INTO commits (partition, id, revision, at, positions) VALUES (?, ?, ?, ?, ?)")?
        .execute(params![partition, id, revision, now, positions])?;
    Ok(())
}

/// The figures of a turn.
#[derive(Clone, Copy)]
struct Reached {
    /// Commits per second.
    rate: f64,
    /// Milliseconds from the call to the answer.
    p50: f64,
    p99: f64,
    /// Microseconds of processor time per commit, which do not depend on other load of the machine.
    processor_us: f64,
}

impl Reached {
    fn new(mut latencies: Vec<f64>, begin: Instant, processor: f64) -> Self {
        let (count, took) = (latencies.len() as f64, begin.elapsed().as_secs_f64());
        latencies.sort_by(f64::total_cmp);
        Self {
            rate: count / took,
            p50: latencies[latencies.len() / 2],
            p99: latencies[latencies.len() * 99 / 100],
            processor_us: (processor_ms() - processor) * 1e3 / count,
        }
    }
}

/// Runs `committers` committers for a turn, each making one commit after the other.
async fn turn(store: &Arc<dyn Store>, committers: usize) -> Reached {
    let (begin, processor) = (Instant::now(), processor_ms());
    let tasks: Vec<_> = (0..committers)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while begin.elapsed() < TURN {
                    let begin = Instant::now();
                    store.commit(typical(&partition())).await.unwrap();
                    latencies.push(ms_since(begin));
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    Reached::new(latencies, begin, processor)
}

/// Runs both in turns; prints the medians, and returns them for `tests/bench`.
async fn compare(folder: &Path) -> Vec<String> {
    let store = EmbeddedStore::open(&folder.join("embedded"), Arc::new(SystemClock)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let mut bare = Bare::open(&folder.join("bare.db"));
    let mut turns = [(1, Vec::new()), (64, Vec::new())];
    for number in 1..=TURNS {
        for (committers, turns) in &mut turns {
            let ours = turn(&store, *committers).await;
            let theirs = tokio::task::block_in_place(|| bare.turn(*committers));
            println!(
                "turn {number}, {committers} at once: embedded {:.0}/s, p50 {:.2} ms, p99 {:.2} ms, {:.0} us of \
                 processor time each; bare SQLite {:.0}/s, {:.0} us; load {}",
                ours.rate,
                ours.p50,
                ours.p99,
                ours.processor_us,
                theirs.rate,
                theirs.processor_us,
                load()
            );
            turns.push((ours, theirs));
        }
    }
    let mut figures = Vec::new();
    for (committers, turns) in turns {
        let of = |value: fn(&(Reached, Reached)) -> f64| median(turns.iter().map(value));
        let figure = [
            of(|both| both.0.rate),
            of(|both| both.1.rate),
            of(|both| both.0.rate / both.1.rate),
            of(|both| both.0.p50),
            of(|both| both.0.p99),
        ];
        println!(
            "medians, {committers} at once: embedded {:.0}/s, bare SQLite {:.0}/s, {:.2} x; p50 {:.2} ms, p99 {:.2} ms",
            figure[0], figure[1], figure[2], figure[3], figure[4]
        );
        figures.push(format!("{figure:?}"));
    }
    let log = std::fs::metadata(folder.join("embedded/tillgate.db-wal"));
    println!(
        "after this the log has {} MiB; resident {:.0} MiB",
        log.unwrap().len() >> 20,
        resident_mib()
    );
    figures
}

/// Measures commits per second while the store forgets as many commits from a quarter of an hour ago, as under lasting
/// load.
async fn forgetting(folder: &Path) {
    let clock = Arc::new(StoppedClock::at(SystemClock.now()));
    let store = EmbeddedStore::open(&folder.join("forgetting"), clock.clone()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let mut reached = Vec::new();
    for _ in 0..3 {
        for _ in 0..5 {
            reached.push(turn(&store, 64).await.rate);
        }
        clock.advance(REMEMBER + Duration::from_secs(1));
    }
    let rate = |from: usize| median(reached[from..from + 5].iter().copied());
    println!(
        "64 at once: {:.0}/s while nothing is forgotten; then, while what was committed before is forgotten, {:.0}/s and \
         {:.0}/s",
        rate(0),
        rate(5),
        rate(10)
    );
}

/// Commits at [`RATE`] until `done` is set; returns the milliseconds that each commit took from its scheduled start.
fn commit_at_a_rate(
    store: &Arc<dyn Store>,
    done: &Arc<AtomicBool>,
) -> tokio::task::JoinHandle<Vec<f64>> {
    let (store, done) = (Arc::clone(store), Arc::clone(done));
    tokio::spawn(async move {
        let mut commits = tokio::time::interval(Duration::from_micros(1_000_000 / RATE));
        let mut tasks = Vec::new();
        while !done.load(Ordering::Acquire) {
            let begin = commits.tick().await.into_std();
            let store = Arc::clone(&store);
            tasks.push(tokio::spawn(async move {
                store.commit(typical(&partition())).await.unwrap();
                ms_since(begin)
            }));
        }
        let mut latencies = Vec::new();
        for task in tasks {
            latencies.push(task.await.unwrap());
        }
        latencies.sort_by(f64::total_cmp);
        latencies
    })
}

/// Measures how long commits take while `work` runs: p50, p99 and the maximum.
async fn meanwhile(store: &Arc<dyn Store>, what: &str, work: impl Future<Output = ()>) -> [f64; 3] {
    let done = Arc::new(AtomicBool::new(false));
    let commits = commit_at_a_rate(store, &done);
    let begin = Instant::now();
    work.await;
    let took = begin.elapsed().as_secs_f64();
    done.store(true, Ordering::Release);
    let latencies = commits.await.unwrap();
    let at = |part: usize| latencies[(latencies.len() * part / 1_000).min(latencies.len() - 1)];
    let figures = [at(500), at(990), at(1_000)];
    println!(
        "{what}: {took:.1} s; meanwhile {} commits at {RATE}/s: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, at most \
         {:.2} ms; load {}",
        latencies.len(),
        figures[0],
        figures[1],
        at(999),
        figures[2],
        load()
    );
    figures
}

/// Returns a commit of as many messages as fit.
fn appends(log: &str) -> Commit {
    let append = |_| Op::Append {
        log: log.to_owned(),
        attributes: Vec::new(),
        body: Bytes::from_static(&[b'x'; 200]),
    };
    Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: (0..MAX_OPS).map(append).collect(),
    }
}

/// Measures commits while another process makes a backup of a large store, and while all messages are trimmed.
async fn stops(folder: &Path, messages: usize) -> [[f64; 3]; 3] {
    let path = folder.join("stops");
    let store = EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let begin = Instant::now();
    for _ in 0..messages / MAX_OPS {
        store.commit(appends("old")).await.unwrap();
    }
    let file = path.join("tillgate.db");
    let size = || std::fs::metadata(&file).unwrap().len() >> 20;
    println!(
        "{messages} messages appended in {:.1} s; the file has {} MiB, resident {:.0} MiB",
        begin.elapsed().as_secs_f64(),
        size(),
        resident_mib()
    );
    let rest = Duration::from_secs(10);
    let alone = meanwhile(&store, "nothing", tokio::time::sleep(rest)).await;

    let to = folder.join("backup");
    let mut backup = tokio::process::Command::new(std::env::current_exe().unwrap());
    backup.arg("backup").arg(&path).arg(&to);
    let backup = async move { assert!(backup.status().await.unwrap().success()) };
    let backup = meanwhile(&store, "a backup", backup).await;
    std::fs::remove_file(to).unwrap();

    let trim = async {
        let end = Timestamp(u64::MAX);
        let dropped = store.trim(&partition(), "old", end, usize::MAX).await;
        assert_eq!(dropped.unwrap(), messages / MAX_OPS * MAX_OPS);
    };
    let trim = meanwhile(&store, "a trim", trim).await;
    let before = size();
    for _ in 0..1_000 {
        store.commit(appends("new")).await.unwrap();
    }
    println!(
        "a million messages more: the file had {before} MiB and has {}; resident {:.0} MiB",
        size(),
        resident_mib()
    );
    [alone, backup, trim]
}

/// Returns the resident memory of this process, in MiB.
fn resident_mib() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4.0 / 1_024.0
}

/// Returns the median time, in microseconds, that the disk takes to sync as much as a commit writes, into allocated
/// blocks.
fn sync_us(folder: &Path) -> f64 {
    const TIMES: u64 = 300;
    let file = File::create(folder.join("sync")).unwrap();
    let some = [0; 4_096];
    (0..TIMES).for_each(|at| file.write_all_at(&some, at * 4_096).unwrap());
    file.sync_all().unwrap();
    median((0..TIMES).map(|at| {
        let start = Instant::now();
        file.write_all_at(&some, at * 4_096).unwrap();
        file.sync_data().unwrap();
        start.elapsed().as_secs_f64() * 1e6
    }))
}

fn main() {
    // Cargo passes `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    if let [command, from, to] = &arguments[..]
        && command == "backup"
    {
        tillgate_store::priority::lower_own(tillgate_store::priority::UPKEEP);
        backup::backup(Path::new(from), Path::new(to), &mut |_| ()).unwrap();
        return;
    }
    let messages = arguments.last().and_then(|last| last.parse().ok());
    let messages = messages.unwrap_or(MESSAGES);
    let wanted = |part: &str| arguments.first().is_none_or(|first| first == part);
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let sync = sync_us(folder.path());
    println!("SQLite {}; a sync takes {sync:.0} us", rusqlite::version());
    let mut figures = Vec::new();
    if wanted("commits") {
        figures.extend(runtime.block_on(compare(folder.path())));
        runtime.block_on(forgetting(folder.path()));
    }
    if wanted("stops") {
        let stops = runtime.block_on(stops(folder.path(), messages));
        figures.extend(stops.map(|figures| format!("{figures:?}")));
    }
    if arguments.is_empty() {
        workload::record("embedded", &format!("[{sync}, {}]", figures.join(", ")));
    }
}
