//! The embedded store beside SQLite (WAL, `synchronous=FULL`): durable commits a second, in turns, in one run.
//!
//! A commit is a typical one: an entry, a message and a job of some 300 bytes each. SQLite gets what makes it fast here:
//! one writer with group commit, prepared statements, tables without row ids, a cache that holds everything. It does less
//! than the store: it remembers no commits, checks nothing and counts no revisions.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking, prints what it measures, and nothing outside can reach it"
)]

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Statement, params};
use tillgate_store::clock::SystemClock;
use tillgate_store::{Commit, EmbeddedStore, Op, Partition, Store};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{mpsc, oneshot};

mod workload;

use self::workload::{commit_many, load, median, processor_ms, typical};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often the stores take turns, and how long each turn lasts.
const TURNS: usize = 8;
const TURN_OF_ONE: Duration = Duration::from_secs(1);
const TURN_OF_MANY: Duration = Duration::from_secs(3);

/// How long the machine rests after each turn, so that none pays for what another left to do in the background.
const REST: Duration = Duration::from_millis(700);

/// The most commits of a transaction, as many as may wait.
const MAX_COMMITS: usize = 4_096;

const SCHEMA: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA wal_autocheckpoint = 8192;
    PRAGMA cache_size = -1048576;
    CREATE TABLE entries (partition, key, value, PRIMARY KEY (partition, key)) WITHOUT ROWID;
    CREATE TABLE messages (partition, log, position, attributes, body,
        PRIMARY KEY (partition, log, position)) WITHOUT ROWID;
    CREATE TABLE jobs (partition, queue, id, due, body, PRIMARY KEY (partition, queue, id)) WITHOUT ROWID;
    CREATE INDEX due ON jobs (partition, queue, due);";

/// A commit that waits.
type Waiting = (Commit, oneshot::Sender<()>);

/// A store on SQLite that can commit and nothing else.
struct Sqlite {
    commits: mpsc::Sender<Waiting>,
    writer: JoinHandle<()>,
}

impl Sqlite {
    fn open(file: &Path) -> Self {
        let connection = Connection::open(file).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let synchronous: i64 = connection
            .query_row("PRAGMA synchronous", [], |row| row.get(0))
            .unwrap();
        let mode: String = connection
            .query_row("PRAGMA journal_mode", [], |row| row.get(0))
            .unwrap();
        assert_eq!((synchronous, mode.as_str()), (2, "wal"));
        let (commits, waiting) = mpsc::channel(MAX_COMMITS);
        let runtime = Handle::current();
        let writer = std::thread::spawn(move || write(&connection, waiting, &runtime));
        Self { commits, writer }
    }

    async fn commit(&self, commit: Commit) {
        let (answer, answered) = oneshot::channel();
        self.commits.send((commit, answer)).await.unwrap();
        answered.await.unwrap();
    }

    /// Closes it; returns once everything is written.
    fn close(self) {
        drop(self.commits);
        self.writer.join().unwrap();
    }
}

/// Writes all commits that wait in one transaction, again and again.
fn write(connection: &Connection, mut waiting: mpsc::Receiver<Waiting>, runtime: &Handle) {
    let mut statements = Statements::new(connection);
    let (mut position, mut batch) = (0, Vec::new());
    while waiting.blocking_recv_many(&mut batch, MAX_COMMITS) > 0 {
        statements.begin.execute([]).unwrap();
        for (commit, _) in &batch {
            position += 1;
            statements.apply(commit, position);
        }
        statements.commit.execute([]).unwrap();
        let answers = std::mem::take(&mut batch);
        // As the embedded store does: from this thread, each answer might have to wake one of the runtime's threads.
        let answer = move || {
            answers
                .into_iter()
                .for_each(|(_, answer)| answer.send(()).unwrap())
        };
        runtime.spawn(async move { answer() });
    }
}

struct Statements<'a> {
    begin: Statement<'a>,
    commit: Statement<'a>,
    put: Statement<'a>,
    append: Statement<'a>,
    enqueue: Statement<'a>,
}

impl<'a> Statements<'a> {
    fn new(connection: &'a Connection) -> Self {
        let prepare = |sql| connection.prepare(sql).unwrap();
        Self {
            begin: prepare("BEGIN IMMEDIATE"),
            commit: prepare("COMMIT"),
            put: prepare("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)"),
            append: prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?)"),
            enqueue: prepare("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?)"),
        }
    }

    fn apply(&mut self, commit: &Commit, position: i64) {
        let partition = commit.partition.as_str();
        for op in &commit.ops {
            let changed = match op {
                Op::Put { key, value } => self.put.execute(params![partition, key, &value[..]]),
                Op::Append {
                    log,
                    attributes,
                    body,
                } => {
                    let (name, value) = &attributes[0];
                    let attributes = format!("{name}={value}");
                    self.append
                        .execute(params![partition, log, position, attributes, &body[..]])
                }
                Op::Enqueue {
                    queue,
                    job,
                    due,
                    body,
                } => {
                    let due = i64::try_from(due.0).unwrap();
                    self.enqueue
                        .execute(params![partition, queue, job, due, &body[..]])
                }
                Op::Delete { .. } | Op::Settle { .. } => continue,
            };
            assert_eq!(changed.unwrap(), 1);
        }
    }
}

/// How long so many committers take for so many commits in all.
async fn commit_to_sqlite(sqlite: &Arc<Sqlite>, committers: u64, commits: u64) -> Duration {
    let partition = Partition::new("tenant").unwrap();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..committers)
        .map(|_| {
            let (sqlite, partition) = (Arc::clone(sqlite), partition.clone());
            tokio::spawn(async move {
                for _ in 0..commits / committers {
                    sqlite.commit(typical(&partition)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    begin.elapsed()
}

/// What a store reached in a turn.
#[derive(Clone, Copy)]
struct Reached {
    /// Commits a second.
    rate: f64,
    /// Microseconds of processor time a commit, of committers and store: they do not depend on what else the machine does.
    processor_us: f64,
}

/// What is reached by a function that makes so many commits and returns how long they took.
async fn reach<F: Future<Output = Duration>>(
    committers: u64,
    time: Duration,
    commit: impl Fn(u64) -> F,
) -> Reached {
    let (mut done, mut took, processor) = (0, Duration::ZERO, processor_ms());
    while took < time {
        let some = 50 * committers;
        took += commit(some).await;
        done += some;
    }
    tokio::time::sleep(REST).await;
    Reached {
        rate: done as f64 / took.as_secs_f64(),
        processor_us: (processor_ms() - processor) * 1e3 / done as f64,
    }
}

async fn compare(folder: &Path) {
    let sqlite = Arc::new(Sqlite::open(&folder.join("sqlite")));
    let store = EmbeddedStore::open(&folder.join("embedded"), Arc::new(SystemClock)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    // Of each committer count: what the store and SQLite reached in each turn.
    let mut rates = [(1, TURN_OF_ONE), (64, TURN_OF_MANY)].map(|how| (how, Vec::new()));
    for turn in 1..=TURNS {
        for ((committers, time), rates) in &mut rates {
            let commit = |some| commit_many(Arc::clone(&store), *committers, some);
            let embedded = reach(*committers, *time, commit).await;
            let commit = |some| commit_to_sqlite(&sqlite, *committers, some);
            let other = reach(*committers, *time, commit).await;
            print(
                &format!("turn {turn}, {committers} at once"),
                embedded,
                other,
            );
            rates.push((embedded, other));
        }
    }
    let mut figures = Vec::new();
    for ((committers, _), rates) in rates {
        let middle = |of: fn(&(Reached, Reached)) -> Reached| Reached {
            rate: median(rates.iter().map(|both| of(both).rate)),
            processor_us: median(rates.iter().map(|both| of(both).processor_us)),
        };
        let (embedded, other) = (middle(|both| both.0), middle(|both| both.1));
        print(&format!("medians, {committers} at once"), embedded, other);
        let ratios = || rates.iter().map(|both| both.0.rate / both.1.rate);
        let (ratio, least) = (median(ratios()), ratios().fold(f64::MAX, f64::min));
        println!("  in a turn: {ratio:.1} times as many, at least {least:.1}");
        figures.push(format!("[{}, {}, {ratio}]", embedded.rate, other.rate));
    }
    workload::record("sqlite", &format!("[{}]", figures.join(", ")));
    Arc::into_inner(sqlite).unwrap().close();
}

fn print(what: &str, embedded: Reached, other: Reached) {
    println!(
        "{what}: embedded {:.0}/s ({:.0} us of processor time each), SQLite {:.0}/s ({:.0} us), {:.1} \
         times as many; load {}",
        embedded.rate,
        embedded.processor_us,
        other.rate,
        other.processor_us,
        embedded.rate / other.rate,
        load()
    );
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("SQLite {}", rusqlite::version());
    Runtime::new().unwrap().block_on(compare(folder.path()));
}
