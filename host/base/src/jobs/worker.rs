//! The task of one queue: it finds due jobs, starts them within the queue's bounds, and stops in an orderly way.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tillgate_store::{
    ChangedPartitions, Hints, Partition, PartitionHints, Store, Unavailable, hinted,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::attempt::{Attempts, STORE_PAUSE};
use super::queue::{Scope, Work};
use super::schedule::Schedule;

/// The longest timer, since clocks may be wrong.
const MAX_TIMER: Duration = Duration::from_secs(30);

/// The time that running jobs have to end once the host is stopping.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// The time for which hints are collected after a claim that found nothing due, since most hints are about other
/// changes.
const COLLECT: Duration = Duration::from_millis(5);

/// The number of partitions that are listed at once.
const PAGE: usize = 500;

/// A command to the task of a queue.
#[derive(Debug)]
pub(super) enum Command {
    /// Check all partitions now; reply when no due job is left.
    RunDue(oneshot::Sender<()>),
    /// Claim no more jobs; reply when none is running.
    Stop(oneshot::Sender<()>),
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
                hinted(hints).await;
                ChangedPartitions::These([partition.clone()].into())
            }
        }
    }
}

/// The task of one queue.
pub(super) struct Worker {
    attempts: Attempts,
    schedule: Schedule,
    hints: QueueHints,
    running: JoinSet<()>,
    /// The job of each running task.
    claimed: HashMap<tokio::task::Id, Claimed>,
    /// The tasks that will give up their slots, each with the time when it does.
    yields: VecDeque<(Instant, tokio::task::Id)>,
    commands: mpsc::UnboundedReceiver<Command>,
    waiting_for_idle: Vec<oneshot::Sender<()>>,
    /// Set while the store fails, so that only the first failure is logged.
    store_fails: bool,
    /// The time of the last claim, if it found nothing due.
    last_empty_claim: Option<Instant>,
    /// The time to list all partitions again, if the store did not answer.
    scan_again: Option<Instant>,
}

/// A running job.
struct Claimed {
    work: Work,
    has_yielded: bool,
}

impl Worker {
    pub(super) fn new(attempts: Attempts, commands: mpsc::UnboundedReceiver<Command>) -> Self {
        let queue = &attempts.queue;
        Self {
            hints: QueueHints::new(attempts.store.as_ref(), &queue.scope),
            schedule: Schedule::new(queue),
            attempts,
            running: JoinSet::new(),
            claimed: HashMap::new(),
            yields: VecDeque::new(),
            commands,
            waiting_for_idle: Vec::new(),
            store_fails: false,
            last_empty_claim: None,
            scan_again: None,
        }
    }

    pub(super) async fn run(mut self) {
        self.mark_ready(ChangedPartitions::All).await;
        loop {
            // A stopping host must not claim jobs only to hand them back.
            while let Ok(command) = self.commands.try_recv() {
                if self.execute(command).await {
                    return;
                }
            }
            self.start_due().await;
            self.publish_status();
            let timer = tokio::time::sleep(self.timer());
            let collect = self.collect_time();
            let next_yield = self.next_yield();
            let scan_again = self.scan_again;
            tokio::select! {
                ended = self.running.join_next_with_id(), if !self.running.is_empty() => {
                    // Handles all jobs that have ended by now, so that one claim fills their slots.
                    let mut next = ended;
                    while let Some(ended) = next {
                        self.ended(ended).await;
                        next = self.running.try_join_next_with_id();
                    }
                }
                changed = self.hints.changed(), if collect.is_none() => self.mark_ready(changed).await,
                () = tokio::time::sleep(collect.unwrap_or_default()), if collect.is_some() => {}
                command = self.commands.recv() => match command {
                    Some(command) => if self.execute(command).await { return },
                    None => return,
                },
                () = sleep_until(next_yield.unwrap_or_else(Instant::now)), if next_yield.is_some() => self.yield_slots(),
                () = timer => {}
                () = sleep_until(scan_again.unwrap_or_else(Instant::now)), if scan_again.is_some() => self.scan().await,
            }
        }
    }

    /// Executes a command and returns whether the task ends.
    async fn execute(&mut self, command: Command) -> bool {
        match command {
            Command::RunDue(reply) => {
                self.waiting_for_idle.push(reply);
                self.mark_ready(ChangedPartitions::All).await;
                false
            }
            Command::Stop(reply) => {
                self.stop().await;
                let _ = reply.send(());
                true
            }
        }
    }

    /// Returns the time until the next job is due.
    fn timer(&self) -> Duration {
        let now = self.attempts.clock.now();
        let next = self.schedule.next_timer();
        next.map_or(MAX_TIMER, |at| at.since(now).min(MAX_TIMER))
    }

    /// Returns the time when the next job gives up its slot.
    fn next_yield(&mut self) -> Option<Instant> {
        while let Some((until, id)) = self.yields.front() {
            if self.claimed.contains_key(id) {
                return Some(*until);
            }
            self.yields.pop_front();
        }
        None
    }

    /// Makes the jobs that have held their slots long enough give them up.
    fn yield_slots(&mut self) {
        let now = Instant::now();
        while let Some((_, id)) = self.yields.pop_front_if(|(until, _)| *until <= now) {
            if let Some(claimed) = self.claimed.get_mut(&id) {
                claimed.has_yielded = self.schedule.yield_slot(&claimed.work.partition);
            }
        }
    }

    /// Returns the time for which hints are still collected.
    fn collect_time(&self) -> Option<Duration> {
        let left = COLLECT.checked_sub(self.last_empty_claim?.elapsed());
        left.filter(|left| !left.is_zero())
    }

    /// Marks the partitions that may have changed as ready.
    async fn mark_ready(&mut self, changed: ChangedPartitions) {
        match (changed, &self.attempts.queue.scope) {
            (ChangedPartitions::These(partitions), _) => {
                partitions
                    .into_iter()
                    .for_each(|partition| self.schedule.mark_ready(partition));
            }
            (ChangedPartitions::All, Scope::Partition(ours)) => {
                self.schedule.mark_ready(ours.clone())
            }
            (ChangedPartitions::All, Scope::AllPartitions) => self.scan().await,
        }
    }

    /// Marks every partition of the store as ready, or schedules another scan if the store does not answer.
    async fn scan(&mut self) {
        self.scan_again = None;
        let mut after: Option<Partition> = None;
        loop {
            let name = after.as_ref().map(Partition::as_str);
            let page = match self.attempts.store.partitions(name, PAGE).await {
                Ok(page) => page,
                Err(cause) => {
                    self.scan_again = Some(Instant::now() + STORE_PAUSE);
                    return self.store_failed(&cause);
                }
            };
            after = page.last().cloned();
            let is_last = page.len() < PAGE;
            page.into_iter()
                .for_each(|partition| self.schedule.mark_ready(partition));
            if is_last {
                return;
            }
        }
    }

    /// Claims and starts due jobs as long as slots are free.
    async fn start_due(&mut self) {
        while let Some((partition, max)) = self.schedule.next_claim(self.attempts.clock.now()) {
            let Attempts {
                store,
                queue,
                clock,
                ..
            } = &self.attempts;
            let claimed = store.claim(&partition, queue.name, queue.lease, max).await;
            let now = clock.now();
            let claimed = match claimed {
                Ok(claimed) => claimed,
                Err(cause) => {
                    self.schedule
                        .mark_ready_at(partition, now.plus(STORE_PAUSE));
                    self.store_failed(&cause);
                    continue;
                }
            };
            self.store_fails = false;
            let count = claimed.jobs.len();
            self.last_empty_claim = (count == 0).then(Instant::now);
            self.schedule
                .claimed(&partition, max, count, claimed.next_due, now);
            for job in claimed.jobs {
                let work = Work {
                    queue: self.attempts.queue.name,
                    partition: partition.clone(),
                    job,
                };
                let task = self.running.spawn(self.attempts.clone().run(work.clone()));
                if let Some(yielding) = self.attempts.queue.yielding {
                    let until = Instant::now() + yielding.after;
                    self.yields.push_back((until, task.id()));
                }
                let has_yielded = false;
                self.claimed
                    .insert(task.id(), Claimed { work, has_yielded });
            }
        }
        if self.schedule.is_idle() {
            for waiting in self.waiting_for_idle.drain(..) {
                let _ = waiting.send(());
            }
        }
    }

    fn store_failed(&mut self, cause: &Unavailable) {
        let queue = self.attempts.queue.name;
        if !self.store_fails {
            tracing::debug!(queue, %cause, "due jobs cannot be claimed");
        }
        self.store_fails = true;
        // While the store is unavailable, the due jobs are unknown.
        self.waiting_for_idle.clear();
    }

    async fn ended(&mut self, ended: Result<(tokio::task::Id, ()), JoinError>) {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, None),
            Err(cause) => (cause.id(), Some(cause.to_string())),
        };
        let Some(Claimed { work, has_yielded }) = self.claimed.remove(&id) else {
            return;
        };
        self.schedule.ended(&work.partition, has_yielded);
        if !self.waiting_for_idle.is_empty() {
            // The job's next step may already be due before its hint arrives.
            self.schedule.mark_ready(work.partition.clone());
        }
        if let Some(cause) = panicked {
            self.attempts.failed(&work, &cause).await;
        }
    }

    /// Waits for the running jobs, and hands back those that take too long.
    async fn stop(&mut self) {
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_GRACE, all).await.is_ok() {
            return;
        }
        self.running.abort_all();
        while self.running.join_next().await.is_some() {}
        for claimed in self.claimed.values() {
            self.attempts.hand_back(&claimed.work, Duration::ZERO).await;
        }
    }

    fn publish_status(&self) {
        let (waiting, since) = self.schedule.backlog();
        let counters = &self.attempts.counters;
        counters.publish(waiting, since, self.running.len());
    }
}
