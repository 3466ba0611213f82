//! `kill -9` of a process in the middle of commits: no acknowledged commit is lost, none is incomplete, and none is
//! applied twice.
//!
//! The process is this test binary again, running only the test `child`, which does nothing unless the environment
//! names a task. It prints each commit on stdout once it is acknowledged.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fixture::*;
use super::folders::copy_of;
use super::support::failing_disk::FailingDisk;
use super::support::wait::{DEADLINE, Lines, wait_for};
use tempfile::TempDir;
use tillgate_store::clock::{Clock, StoppedClock, SystemClock};
use tillgate_store::{Commit, CommitId, EmbeddedStore, Health, Partition, Position, Store};

const ROUNDS: u32 = 12;
const TASKS: u128 = 6;

/// The environment variables of a child: its task and its folder.
const TASK: &str = "TILLGATE_TEST_TASK";
const FOLDER: &str = "TILLGATE_TEST_FOLDER";

/// The prefix of the lines that a child prints, unlike those of the test runner.
const MARK: &str = "child: ";

/// A process of this test binary; killed when dropped.
pub struct Child {
    process: std::process::Child,
    lines: Lines,
}

impl Child {
    pub fn start(task: &str, folder: &Path) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), task, folder)
    }

    /// Starts a child whose files are limited to 8 MiB until [`Child::make_room`]; a write beyond that fails.
    pub fn start_on_small_disk(task: &str, folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -S -f 16384; exec \"$0\" \"$@\""]);
        shell.arg(std::env::current_exe().unwrap());
        Self::run(shell, task, folder)
    }

    /// Starts a child whose disk fails when the test wants it to.
    pub fn start_on_failing_disk(task: &str, folder: &Path, disk: &FailingDisk) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        disk.apply(&mut command);
        Self::run(command, task, folder)
    }

    fn run(mut command: Command, task: &str, folder: &Path) -> Self {
        command.args([
            "--exact",
            "crashes::child",
            "--nocapture",
            "--test-threads=1",
        ]);
        command
            .env(TASK, task)
            .env(FOLDER, folder)
            .stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = Lines::of("the child", process.stdout.take().unwrap());
        Self { process, lines }
    }

    /// Returns the next line that it prints, or `None` when it has ended.
    pub fn line(&mut self) -> Option<String> {
        // The test runner prints before the first line, without a line break.
        std::iter::from_fn(|| self.lines.next())
            .find_map(|line| line.split_once(MARK).map(|(_, line)| line.to_owned()))
    }

    /// Removes the limit on its files.
    pub fn make_room(&self) {
        let process = i32::try_from(self.process.id()).unwrap();
        let unlimited = rustix::process::Rlimit {
            current: None,
            maximum: None,
        };
        rustix::process::prlimit(
            rustix::process::Pid::from_raw(process),
            rustix::process::Resource::Fsize,
            unlimited,
        )
        .unwrap();
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _already_gone = self.process.kill();
        let _status = self.process.wait();
    }
}

/// Not a test: the code that a [`Child`] runs.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how a test passes arguments to its child"
)]
fn child() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let folder = std::env::var(FOLDER).unwrap();
    // The cache is so small that most pages are read from the disk.
    let clock = Arc::new(SystemClock);
    let opened = EmbeddedStore::open_with_cache(Path::new(&folder), 1 << 20, clock);
    if task == "refused" {
        return report(opened.unwrap_err());
    }
    let store = opened.unwrap();
    match task.as_str() {
        "hold" => hold(store),
        "claim" => block_on(claim(&store)),
        "work" => block_on(work(store, 0)),
        "heavy work" => block_on(work(store, 200_000)),
        "fill" => block_on(fill(store)),
        "read" => block_on(read(&store)),
        "fail once" => block_on(fail_once(&store)),
        _ => panic!("{task}"),
    }
}

fn report(line: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{MARK}{line}").unwrap();
    stdout.flush().unwrap();
}

/// Keeps the store open until it is killed.
fn hold(_store: EmbeddedStore) {
    report("open");
    loop {
        std::thread::park();
    }
}

/// Claims all jobs of a queue for an hour, and waits until it is killed.
async fn claim(store: &EmbeddedStore) {
    let jobs = ["a", "b", "c"].map(|job| enqueue("queue", job, START));
    store.commit(commit(jobs)).await.unwrap();
    let claimed = store.claim(&partition(), "queue", HOUR, 9).await.unwrap();
    report(format_args!("claimed {}", claimed.jobs.len()));
    std::future::pending().await
}

/// Commits from several concurrent tasks, each commit with `filler` bytes of filler, with claims and trims between
/// them, until it is killed.
async fn work(store: EmbeddedStore, filler: usize) {
    let store = Arc::new(store);
    let tasks = (0..TASKS).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            loop {
                let id = CommitId(CommitId::random().0 / TASKS * TASKS + task);
                let mut commit = complete(id);
                commit
                    .ops
                    .push(put(format!("filler/{task}"), vec![b'x'; filler]));
                store.commit(commit).await.unwrap();
                report(format_args!("{:032x}", id.0));
            }
        })
    });
    let mut tasks: Vec<_> = tasks.collect();
    tasks.push(tokio::spawn(async move {
        loop {
            store
                .claim(&partition_of(CommitId(0)), "queue", MINUTE, 3)
                .await
                .unwrap();
            let old = commit([append("noise", "m"), put("noise", "m"), delete("noise")]);
            store
                .commit(Commit {
                    partition: partition_of(CommitId(0)),
                    ..old
                })
                .await
                .unwrap();
            store
                .trim(&partition_of(CommitId(0)), "noise", SystemClock.now(), 2)
                .await
                .unwrap();
        }
    }));
    futures_util::future::join_all(tasks).await;
}

/// Makes commits and repeats each until it succeeds, until 20 in a row have succeeded after a failure. Prints each
/// outcome, and reads after each failure.
async fn fill(store: EmbeddedStore) {
    let (mut failures, mut done_since) = (0, 0);
    let begin = Instant::now();
    while failures == 0 || done_since < 20 {
        let id = CommitId::random();
        let mut large = complete(id);
        large
            .ops
            .push(put(format!("filler/{:032x}", id.0), vec![b'x'; 100_000]));
        while let Err(error) = store.commit(large.clone()).await {
            let row = format!("row/{:032x}", id.0);
            let page = store.scan(&partition_of(id), &row, None, 1).await.unwrap();
            assert!(page.entries.is_empty(), "it was not committed");
            assert!(begin.elapsed() < DEADLINE, "commits go on failing: {error}");
            report(format_args!("failed {error}"));
            (failures, done_since) = (failures + 1, 0);
            std::thread::sleep(Duration::from_millis(5));
        }
        report(format_args!("done {:032x}", id.0));
        done_since += 1;
    }
}

/// Puts two hundred large entries, then reads them again and again; prints the results.
async fn read(store: &EmbeddedStore) {
    for n in 0..200 {
        let large = put(format!("{n:03}"), vec![b'x'; 10_000]);
        store.commit(commit([large])).await.unwrap();
    }
    loop {
        match store.scan(&partition(), "", None, 999).await {
            Ok(page) => report(format_args!("read {}", page.entries.len())),
            Err(why) => report(format_args!("failed {why}")),
        }
    }
}

/// Commits until it fails once, then waits until the store is up again; prints each outcome.
async fn fail_once(store: &EmbeddedStore) {
    report("open");
    while let Ok(committed) = store.commit(commit([append("log", "m")])).await {
        assert!(!committed.repeated);
    }
    assert!(matches!(store.health(), Health::ReadOnly { .. }));
    report("failed");
    wait_for("the store is up again", || store.health() == Health::Up);
    report("up");
    store.commit(commit([append("log", "m")])).await.unwrap();
    report("done");
}

/// Returns the partition of a commit: one of two, so that each has a history.
fn partition_of(id: CommitId) -> Partition {
    named(if id.0.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    })
}

/// Returns a commit of an entry, a message and a job that are all named by its id.
fn complete(id: CommitId) -> Commit {
    let name = format!("{:032x}", id.0);
    let job = enqueue("queue", &name, START);
    let ops = vec![
        put(format!("row/{name}"), name.clone()),
        append("log", name),
        job,
    ];
    Commit {
        partition: partition_of(id),
        id,
        checks: Vec::new(),
        ops,
    }
}

pub fn id_of(text: &str) -> CommitId {
    CommitId(u128::from_str_radix(text, 16).unwrap())
}

/// Returns the acknowledged commits that are missing, and the commits that are incomplete.
pub async fn losses(store: &EmbeddedStore, acknowledged: &[CommitId]) -> Vec<String> {
    let mut losses = Vec::new();
    let mut complete = BTreeSet::new();
    for partition in store.partitions(None, usize::MAX).await.unwrap() {
        let page = store
            .scan(&partition, "row/", None, usize::MAX)
            .await
            .unwrap();
        let rows: BTreeSet<_> = page
            .entries
            .iter()
            .map(|(_, entry)| text(&entry.value))
            .collect();
        let slice = store
            .read(&partition, "log", Position(0), usize::MAX)
            .await
            .unwrap();
        let messages: BTreeSet<_> = slice.messages.iter().map(|m| text(&m.body)).collect();
        if messages.len() < slice.messages.len() {
            losses.push(format!("{partition:?}: a message is duplicated"));
        }
        let mut jobs = BTreeSet::new();
        loop {
            let claimed = store
                .claim(&partition, "queue", HOUR * 99, usize::MAX)
                .await
                .unwrap();
            if claimed.jobs.is_empty() {
                break;
            }
            jobs.extend(claimed.jobs.iter().map(|job| text(&job.body)));
        }
        for name in rows
            .symmetric_difference(&messages)
            .chain(messages.symmetric_difference(&jobs))
        {
            losses.push(format!("{name} is incomplete"));
        }
        complete.extend(rows);
    }
    let missing = acknowledged.iter().map(|id| format!("{:032x}", id.0));
    losses.extend(
        missing
            .filter(|id| !complete.contains(id))
            .map(|id| format!("{id} is lost")),
    );
    losses
}

/// Opens a store that was just closed or killed. All leases of earlier rounds have ended.
fn open(folder: &Path) -> EmbeddedStore {
    open_when_free(folder, &Arc::new(StoppedClock::at(SystemClock.now())))
}

/// Like [`open`], with a clock. It waits, because a process that another test is starting holds copies of all locks
/// for a moment.
pub fn open_when_free(folder: &Path, clock: &Arc<StoppedClock>) -> EmbeddedStore {
    let begin = Instant::now();
    loop {
        match EmbeddedStore::open(folder, clock.clone()) {
            Ok(store) => return store,
            Err(why) => {
                assert!(begin.elapsed() < DEADLINE, "{why}");
                assert!(why.contains("is open in another process"), "{why}");
            }
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let acknowledged = kill_in("work", ROUNDS, 100);
    assert!(acknowledged > 100, "the children did almost nothing");
}

/// The child writes so much that there are checkpoints all the time.
#[test]
fn a_process_killed_during_a_checkpoint_loses_nothing_it_acknowledged() {
    let acknowledged = kill_in("heavy work", ROUNDS / 2, 600);
    assert!(acknowledged > 600, "the children wrote almost nothing");
}

/// Kills a child in each round, after fewer than `most` acknowledgements; returns the total number of acknowledgements.
fn kill_in(task: &str, rounds: u32, most: u128) -> usize {
    let folder = TempDir::new().unwrap();
    let mut acknowledged = Vec::new();
    for _ in 0..rounds {
        let mut child = Child::start(task, folder.path());
        let random = CommitId::random().0;
        // At a random moment: after some acknowledgements and some microseconds.
        let first = acknowledged.len();
        for _ in 0..random % most {
            acknowledged.push(id_of(&child.line().unwrap()));
        }
        for _ in 0..(random >> 64) % 2_000_000 {
            std::hint::spin_loop();
        }
        child.kill();
        while let Some(line) = child.line() {
            acknowledged.push(id_of(&line));
        }
        // The check runs on a copy, so that its recovery does not change the folder of the next round.
        let (copy, _file) = copy_of(folder.path());
        let store = open(copy.path());
        assert_eq!(
            block_on(losses(&store, &acknowledged)),
            Vec::<String>::new()
        );
        for id in &acknowledged[first..] {
            assert!(block_on(store.commit(complete(*id))).unwrap().repeated);
        }
        assert_eq!(
            block_on(losses(&open_again(store, copy.path()), &acknowledged)),
            [""; 0]
        );
    }
    acknowledged.len()
}

fn open_again(store: EmbeddedStore, folder: &Path) -> EmbeddedStore {
    drop(store);
    open(folder)
}

#[test]
fn a_process_killed_at_its_first_start_leaves_a_folder_that_opens() {
    for _ in 0..ROUNDS {
        let folder = TempDir::new().unwrap();
        let mut child = Child::start("hold", folder.path());
        for _ in 0..CommitId::random().0 % 20_000_000 {
            std::hint::spin_loop();
        }
        child.kill();
        block_on(open(folder.path()).commit(commit([put("row", "1")]))).unwrap();
    }
}

/// The control: the check detects each kind of loss.
#[test]
fn the_check_detects_losses() {
    let folder = TempDir::new().unwrap();
    let all: Vec<CommitId> = (0..10).map(|_| CommitId::random()).collect();
    let store = open(folder.path());
    for id in &all {
        block_on(store.commit(complete(*id))).unwrap();
    }
    assert_eq!(block_on(losses(&store, &all)), [""; 0]);
    drop(store);

    let name = format!("{:032x}", all[3].0);
    let in_partition = |ops: Vec<tillgate_store::Op>| Commit {
        partition: partition_of(all[3]),
        ..commit(ops)
    };
    let losses_after = |ops: Vec<tillgate_store::Op>| {
        let (copy, _file) = copy_of(folder.path());
        let store = open(copy.path());
        block_on(store.commit(in_partition(ops))).unwrap();
        block_on(losses(&store, &all))
    };
    let (incomplete, lost) = (format!("{name} is incomplete"), format!("{name} is lost"));
    assert_eq!(
        losses_after(vec![delete(&format!("row/{name}"))]),
        [incomplete, lost]
    );
    assert_eq!(
        losses_after(vec![append("log", "ff")]),
        ["ff is incomplete", "ff is incomplete"]
    );
    assert_eq!(
        losses_after(vec![enqueue("queue", "ff", START)]),
        ["ff is incomplete"]
    );
    assert_eq!(losses_after(vec![append("log", name)]).len(), 1);

    let (copy, _file) = copy_of(folder.path());
    let never = CommitId::random();
    let found = block_on(losses(&open(copy.path()), &[never]));
    assert_eq!(found, [format!("{:032x} is lost", never.0)]);
}
