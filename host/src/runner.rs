//! The background runner: queues of jobs in the store, each with a handler, done by whichever host claims them first.
//!
//! A queue is registered by its name and knows no feature; what a job means is its handler's. The runner finds the
//! partitions that have due jobs by the store's hints and by a scan that bounds how long one can be missed, lets
//! partitions take turns (`schedule.rs`), and runs a bounded number of jobs at once. A job is one host's until its lease
//! ends: the handler settles it in the commit that does its work ([`Work::settle`]), and what has not ended shortly
//! before the lease does is stopped and handed back, so two hosts never work on one job. A job that takes longer is done
//! in steps ([`Work::continue_at`]). A job that fails is tried again with growing pauses and never blocks the others; after
//! [`Queue::max_attempts`] it is set aside as a record under [`DEAD_LETTERS`], and an error in the log names it.

mod schedule;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinError, JoinSet};

use self::schedule::Schedule;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::records::{Change, Records};
use crate::store::{ChangedPartitions, Hints, Job, Partition, PartitionHints, Store};

/// How far a job's due time may be ahead of this host's clock: hosts and store have clocks of their own.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The prefix of the records of jobs that were set aside: `dead-letter/{queue}/{job}`, in the job's own partition.
pub const DEAD_LETTERS: &str = "dead-letter/";

/// How often all partitions of a queue are looked at, in case a hint was lost.
const SCAN: Duration = Duration::from_secs(30);

/// How long a timer may be: clocks may be wrong.
const MAX_TIMER: Duration = Duration::from_secs(30);

/// How long a partition is left alone after the store failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The pauses before a failed job is tried again: the first, and the longest.
const MIN_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(10 * 60);

/// How long running jobs may go on once the host is stopping.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How many partitions are listed at once.
const PAGE: usize = 500;

/// A queue, and the bounds within which its jobs run.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its name in the store.
    pub name: &'static str,
    /// The partitions that may have jobs on it.
    pub scope: Scope,
    /// How many of its jobs run at once on this host.
    pub concurrency: usize,
    /// How many of these may be of one partition.
    pub per_partition: usize,
    /// How long a job may take, together with handing it back.
    pub lease: Duration,
    /// How often a job is tried before it is set aside.
    pub max_attempts: u32,
}

/// The partitions that may have jobs on a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This one.
    Partition(Partition),
    /// All of them.
    AllPartitions,
}

impl Queue {
    /// A queue with the usual bounds: 8 jobs at once, half of them of one partition, 30 s for a job, 20 attempts.
    #[must_use]
    pub const fn new(name: &'static str, scope: Scope) -> Self {
        Self {
            name,
            scope,
            concurrency: 8,
            per_partition: 4,
            lease: Duration::from_secs(30),
            max_attempts: 20,
        }
    }
}

/// A job that was claimed.
#[derive(Clone, Debug)]
pub struct Work {
    /// The queue.
    pub queue: &'static str,
    /// The partition that the job is in.
    pub partition: Partition,
    /// The job.
    pub job: Job,
}

impl Work {
    /// Ends the job with a change.
    pub fn settle(&self, change: &mut Change) {
        change.settle(self.queue, &self.job);
    }

    /// Ends this step of the job with a change: it is due again at `next`, with another body. Its attempts count anew.
    pub fn continue_at(&self, change: &mut Change, next: Timestamp, body: Bytes) {
        change.settle(self.queue, &self.job);
        change.enqueue(self.queue, &self.job.id, next, body);
    }

    /// Ends this step of the job with a change: it is due again at `next`.
    pub fn settle_until(&self, change: &mut Change, next: Timestamp) {
        self.continue_at(change, next, self.job.body.clone());
    }
}

/// A job that was set aside.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The queue.
    pub queue: String,
    /// The job's id.
    pub job: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub cause: String,
    /// When it was set aside: RFC 3339, milliseconds.
    pub at: String,
    /// Its body, base64.
    pub body: String,
}

/// What a queue does on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The queue.
    pub queue: &'static str,
    /// How many partitions have due jobs that wait for a free slot.
    pub waiting_partitions: usize,
    /// Since when the longest of them has been waiting.
    pub waiting_since: Option<Timestamp>,
    /// How many jobs run now.
    pub running: usize,
    /// How many attempts have failed since the start.
    pub failures: u64,
    /// How many jobs were set aside since the start.
    pub set_aside: u64,
}

#[derive(Debug, Default)]
struct Counters {
    waiting_partitions: AtomicUsize,
    /// Microseconds since the epoch; 0 while none waits.
    waiting_since: AtomicU64,
    running: AtomicUsize,
    failures: AtomicU64,
    set_aside: AtomicU64,
}

type Handler = Arc<dyn Fn(Work) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// All queues of a host. Dropping it ends them at once.
#[derive(Debug)]
pub struct Runner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    queues: Mutex<Vec<Registered>>,
}

#[derive(Debug)]
struct Registered {
    name: &'static str,
    counters: Arc<Counters>,
    commands: mpsc::UnboundedSender<Command>,
    task: AbortHandle,
}

#[derive(Debug)]
enum Command {
    /// Look at everything now; answer when nothing that is due is left.
    RunDue(oneshot::Sender<()>),
    /// Claim nothing more; answer when nothing runs any more.
    Stop(oneshot::Sender<()>),
}

impl Runner {
    /// A runner without queues.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            queues: Mutex::default(),
        }
    }

    /// Does the jobs of a queue from now on. The handler settles a job in the commit that does its work; a failure that
    /// is [`Error::Conflict`] means that the job is somebody else's by now, and is no failure.
    pub fn register<F, A>(&self, queue: Queue, handler: F)
    where
        F: Fn(Work) -> A + Send + Sync + 'static,
        A: Future<Output = Result<()>> + Send + 'static,
    {
        let (commands, received) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        let name = queue.name;
        let worker = Worker {
            hints: QueueHints::new(self.store.as_ref(), &queue.scope),
            schedule: Schedule::new(queue.concurrency, queue.per_partition),
            jobs: Jobs {
                store: Arc::clone(&self.store),
                clock: Arc::clone(&self.clock),
                counters: Arc::clone(&counters),
                handler: Arc::new(move |work| Box::pin(handler(work))),
                queue,
            },
            running: JoinSet::new(),
            claimed: HashMap::new(),
            commands: received,
            waiting_for_idle: Vec::new(),
            store_fails: false,
        };
        let task = tokio::spawn(worker.run()).abort_handle();
        self.lock().push(Registered {
            name,
            counters,
            commands,
            task,
        });
    }

    /// Does everything that is due now, and what becomes due by that; the background would do it by itself, a little
    /// later.
    pub async fn run_due(&self) {
        self.command(Command::RunDue).await;
    }

    /// Claims nothing more and lets running jobs end; hands back those that take too long.
    pub async fn stop(&self) {
        self.command(Command::Stop).await;
    }

    /// What each queue does now.
    #[must_use]
    pub fn status(&self) -> Vec<QueueStatus> {
        let queues = self.lock();
        let status = queues.iter().map(|queue| {
            let Registered { name, counters, .. } = queue;
            let since = counters.waiting_since.load(Ordering::Relaxed);
            QueueStatus {
                queue: name,
                waiting_partitions: counters.waiting_partitions.load(Ordering::Relaxed),
                waiting_since: (since > 0).then_some(Timestamp(since)),
                running: counters.running.load(Ordering::Relaxed),
                failures: counters.failures.load(Ordering::Relaxed),
                set_aside: counters.set_aside.load(Ordering::Relaxed),
            }
        });
        status.collect()
    }

    async fn command(&self, command: fn(oneshot::Sender<()>) -> Command) {
        let send = |queue: &Registered| {
            let (reply, done) = oneshot::channel();
            // A queue that has stopped drops the command, which counts as done.
            let _ = queue.commands.send(command(reply));
            done
        };
        let pending: Vec<_> = self.lock().iter().map(send).collect();
        for done in pending {
            let _ = done.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Registered>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.lock().iter().for_each(|queue| queue.task.abort());
    }
}

/// The store's hints about the partitions of a queue.
enum QueueHints {
    One(Partition, Hints),
    All(PartitionHints),
}

impl QueueHints {
    fn new(store: &dyn Store, scope: &Scope) -> Self {
        match scope {
            Scope::Partition(partition) => Self::One(partition.clone(), store.hints(partition)),
            Scope::AllPartitions => Self::All(store.partition_hints()),
        }
    }

    /// Waits until partitions of the queue may have changed.
    async fn changed(&mut self) -> ChangedPartitions {
        match self {
            Self::All(hints) => hints.changed().await,
            Self::One(partition, hints) => {
                if hints.changed().await.is_err() {
                    // The store gives no more hints: it is closed.
                    tokio::time::sleep(STORE_PAUSE).await;
                }
                ChangedPartitions::These([partition.clone()].into())
            }
        }
    }
}

/// The task of one queue.
struct Worker {
    jobs: Jobs,
    schedule: Schedule,
    hints: QueueHints,
    running: JoinSet<()>,
    /// The job of each running task.
    claimed: HashMap<tokio::task::Id, Work>,
    commands: mpsc::UnboundedReceiver<Command>,
    waiting_for_idle: Vec<oneshot::Sender<()>>,
    /// Whether the store has failed since it last answered.
    store_fails: bool,
}

impl Worker {
    async fn run(mut self) {
        let mut scan = tokio::time::interval(SCAN);
        scan.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.start_due().await;
            self.publish_status();
            let timer = tokio::time::sleep(self.timer());
            tokio::select! {
                ended = self.running.join_next_with_id(), if !self.running.is_empty() => {
                    if let Some(ended) = ended {
                        self.ended(ended).await;
                    }
                }
                changed = self.hints.changed() => self.note(changed).await,
                command = self.commands.recv() => match command {
                    Some(Command::RunDue(reply)) => {
                        self.waiting_for_idle.push(reply);
                        self.note(ChangedPartitions::All).await;
                    }
                    Some(Command::Stop(reply)) => {
                        self.stop().await;
                        let _ = reply.send(());
                        return;
                    }
                    None => return,
                },
                _ = scan.tick() => self.note(ChangedPartitions::All).await,
                () = timer => {}
            }
        }
    }

    /// How long until a job is due.
    fn timer(&self) -> Duration {
        let now = self.jobs.clock.now();
        let next = self.schedule.next_timer();
        next.map_or(MAX_TIMER, |at| at.since(now).min(MAX_TIMER))
    }

    /// Has the partitions looked at that may have changed.
    async fn note(&mut self, changed: ChangedPartitions) {
        match (changed, &self.jobs.queue.scope) {
            (ChangedPartitions::These(partitions), _) => {
                partitions
                    .into_iter()
                    .for_each(|partition| self.schedule.look_at(partition));
            }
            (ChangedPartitions::All, Scope::Partition(ours)) => self.schedule.look_at(ours.clone()),
            (ChangedPartitions::All, Scope::AllPartitions) => self.scan().await,
        }
    }

    /// Has every partition of the store looked at.
    async fn scan(&mut self) {
        let mut after: Option<Partition> = None;
        loop {
            let name = after.as_ref().map(Partition::as_str);
            let page = match self.jobs.store.partitions(name, PAGE).await {
                Ok(page) => page,
                Err(cause) => return self.store_failed(&cause),
            };
            after = page.last().cloned();
            let is_last = page.len() < PAGE;
            page.into_iter()
                .for_each(|partition| self.schedule.look_at(partition));
            if is_last {
                return;
            }
        }
    }

    /// Claims and starts what is due, as far as there are free slots.
    async fn start_due(&mut self) {
        while let Some((partition, max)) = self.schedule.next_turn(self.jobs.clock.now()) {
            let Jobs {
                store,
                queue,
                clock,
                ..
            } = &self.jobs;
            let claimed = store.claim(&partition, queue.name, queue.lease, max).await;
            let now = clock.now();
            let claimed = match claimed {
                Ok(claimed) => claimed,
                Err(cause) => {
                    self.schedule
                        .look_at_later(partition, now.plus(STORE_PAUSE));
                    self.store_failed(&cause);
                    continue;
                }
            };
            self.store_fails = false;
            let count = claimed.jobs.len();
            self.schedule
                .claimed(&partition, max, count, claimed.next_due, now);
            for job in claimed.jobs {
                let work = Work {
                    queue: self.jobs.queue.name,
                    partition: partition.clone(),
                    job,
                };
                let task = self.running.spawn(self.jobs.clone().attempt(work.clone()));
                self.claimed.insert(task.id(), work);
            }
        }
        if self.schedule.is_idle() {
            for waiting in self.waiting_for_idle.drain(..) {
                let _ = waiting.send(());
            }
        }
    }

    fn store_failed(&mut self, cause: &crate::store::Unavailable) {
        let queue = self.jobs.queue.name;
        if !self.store_fails {
            tracing::warn!(queue, %cause, "due jobs cannot be claimed");
        }
        self.store_fails = true;
        // Nobody can wait for what the store does not tell.
        self.waiting_for_idle.clear();
    }

    async fn ended(&mut self, ended: Result<(tokio::task::Id, ()), JoinError>) {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, None),
            Err(cause) => (cause.id(), Some(cause.to_string())),
        };
        let Some(work) = self.claimed.remove(&id) else {
            return;
        };
        self.schedule.ended(&work.partition);
        if !self.waiting_for_idle.is_empty() {
            // A further step may be due by now, whose hint has not come yet.
            self.schedule.look_at(work.partition.clone());
        }
        if let Some(cause) = panicked {
            self.jobs.failed(&work, &cause).await;
        }
    }

    /// Waits for what runs, and hands back what takes too long.
    async fn stop(&mut self) {
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_GRACE, all).await.is_ok() {
            return;
        }
        self.running.abort_all();
        while self.running.join_next().await.is_some() {}
        for work in self.claimed.values() {
            self.jobs.hand_back(work, Duration::ZERO).await;
        }
    }

    fn publish_status(&self) {
        let (waiting, since) = self.schedule.backlog();
        let counters = &self.jobs.counters;
        counters
            .waiting_partitions
            .store(waiting, Ordering::Relaxed);
        let since = since.map_or(0, |since| since.0);
        counters.waiting_since.store(since, Ordering::Relaxed);
        counters
            .running
            .store(self.running.len(), Ordering::Relaxed);
    }
}

/// What it takes to do a job of a queue.
#[derive(Clone)]
struct Jobs {
    queue: Queue,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    counters: Arc<Counters>,
    handler: Handler,
}

impl Jobs {
    /// Tries a job once.
    async fn attempt(self, work: Work) {
        // Nobody has heard how the attempts before ended: whoever made them may have died of it.
        if work.job.attempt > self.queue.max_attempts {
            return self.set_aside(&work, "its hosts ended during it").await;
        }
        let deadline = self.queue.lease.mul_f64(0.8);
        match tokio::time::timeout(deadline, (self.handler)(work.clone())).await {
            // Another host has the job, or what it is about has changed meanwhile.
            Ok(Ok(()) | Err(Error::Conflict(_))) => {}
            // The store's failures are not the job's.
            Ok(Err(cause @ (Error::Unavailable(_) | Error::Busy))) => {
                tracing::debug!(queue = work.queue, job = work.job.id, %cause, "a job waits for the store");
                self.hand_back(&work, STORE_PAUSE).await;
            }
            Ok(Err(Error::Bug(cause))) => self.failed(&work, &cause).await,
            Ok(Err(cause)) => self.failed(&work, &cause.to_string()).await,
            Err(_) => self.failed(&work, "it did not end in time").await,
        }
    }

    /// Has a job that failed tried again later, or sets it aside.
    async fn failed(&self, work: &Work, cause: &str) {
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        let Work {
            queue,
            partition,
            job,
        } = work;
        let attempt = job.attempt;
        if attempt >= self.queue.max_attempts {
            return self.set_aside(work, cause).await;
        }
        tracing::warn!(
            queue,
            ?partition,
            job = job.id,
            attempt,
            cause,
            "a job failed and will be tried again"
        );
        let mut change = Change::default();
        let next = self.clock.now().plus(retry_pause(attempt));
        change.settle_until(queue, job, next);
        self.commit(work, change).await;
    }

    async fn set_aside(&self, work: &Work, cause: &str) {
        let Work {
            queue,
            partition,
            job,
        } = work;
        let letter = DeadLetter {
            queue: (*queue).to_owned(),
            job: job.id.clone(),
            attempts: job.attempt,
            cause: cause.to_owned(),
            at: self.clock.now().to_millis_text(),
            body: BASE64_STANDARD.encode(&job.body),
        };
        let mut change = Change::default();
        work.settle(&mut change);
        let put = change.put(&format!("{DEAD_LETTERS}{queue}/{}", job.id), &letter);
        if put.is_ok() && self.commit(work, change).await {
            self.counters.set_aside.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                queue,
                ?partition,
                job = job.id,
                attempts = job.attempt,
                cause,
                "a job was set aside"
            );
        }
    }

    /// Gives a job back that this host will not finish. That is no failure: its attempts count anew.
    async fn hand_back(&self, work: &Work, pause: Duration) {
        let mut change = Change::default();
        work.settle_until(&mut change, self.clock.now().plus(pause));
        self.commit(work, change).await;
    }

    /// Commits; when that fails, the lease ends by itself and the job is claimed again.
    async fn commit(&self, work: &Work, change: Change) -> bool {
        let records = Records::new(Arc::clone(&self.store), work.partition.clone());
        matches!(records.commit(change).await, Ok(Some(_)))
    }
}

/// How long a job rests after its attempt of this number has failed.
fn retry_pause(attempt: u32) -> Duration {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(MIN_RETRY)
        .with_max_delay(MAX_RETRY)
        .without_max_times()
        .build();
    let mut pauses = pauses.skip(usize::try_from(attempt.saturating_sub(1)).unwrap_or(0));
    pauses.next().unwrap_or(MAX_RETRY)
}
