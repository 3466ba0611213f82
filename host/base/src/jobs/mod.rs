//! The background runner: queues of jobs in the store, each with a handler. Any host may claim a job.
//!
//! A queue is registered by its name and knows no feature; its handler knows what a job means. The runner checks every
//! partition when it starts; from then on, hints about commits tell it when the next job of each partition is due. When
//! hints may have been lost, the store says so, and the runner checks every partition again. While nothing is due, it
//! asks the store nothing. The runner serves partitions round robin and runs a bounded number of jobs at once; a job
//! that mostly waits may give its slot to another ([`Yielding`]). A claimed job has a lease: the handler settles the
//! job in the commit that does its work ([`Work::settle`]). An attempt that is still running shortly before its lease
//! expires is cancelled and counts as failed, so that two hosts never work on one job. A job that takes longer is done
//! in steps ([`Work::continue_at`]). A failed job is retried with growing pauses and never blocks the others; after
//! [`Queue::max_attempts`] it becomes a record under [`DEAD_LETTERS`], and an error in the log names it; from there it
//! can be retried ([`dead_letters`]).
//!
//! Read it in this order: `queue.rs` (queues and jobs), `schedule.rs` (which partition is next, pure), `attempt.rs` (one
//! attempt at a job), `worker.rs` (the task of a queue), `dead_letters.rs` and `dead_letter_count.rs` (jobs that failed too
//! often).

mod attempt;
mod dead_letter_count;
pub mod dead_letters;
mod metrics;
mod queue;
mod schedule;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_store::Store;
use tillgate_store::clock::Clock;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use self::attempt::{Attempts, Counters};
use self::dead_letter_count::DeadLetterCount;
pub use self::queue::{
    CLOCK_SKEW, DEAD_LETTERS, DeadLetter, Queue, QueueStatus, Scope, Work, Yielding,
};
use self::worker::{Command, Worker};
use crate::error::Result;

/// All queues of a host. Dropping the runner ends them at once.
#[derive(Debug)]
pub struct Runner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    queues: Mutex<Vec<Registered>>,
    dead_letter_count: Arc<DeadLetterCount>,
    /// Set if jobs are left to other hosts.
    is_idle: bool,
}

#[derive(Debug)]
struct Registered {
    name: &'static str,
    counters: Arc<Counters>,
    commands: mpsc::UnboundedSender<Command>,
    task: AbortHandle,
}

impl Runner {
    /// Creates a runner without queues, whose jobs run on the given runtime.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, runtime: Handle) -> Self {
        Self {
            store,
            clock,
            runtime,
            queues: Mutex::default(),
            dead_letter_count: Arc::default(),
            is_idle: false,
        }
    }

    /// Makes the runner leave all jobs to other hosts.
    #[must_use]
    pub const fn idle(mut self) -> Self {
        self.is_idle = true;
        self
    }

    /// Starts a queue. The handler settles a job in the commit that does its work. The error
    /// [`Conflict`](crate::error::Error::Conflict) means that another host has the job by now, and is not a failure.
    pub fn register<F, A>(&self, queue: Queue, handler: F)
    where
        F: Fn(Work) -> A + Send + Sync + 'static,
        A: Future<Output = Result<()>> + Send + 'static,
    {
        if self.is_idle {
            return;
        }
        let (commands, received) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        let name = queue.name;
        let attempts = Attempts {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            counters: Arc::clone(&counters),
            dead_letter_count: Arc::clone(&self.dead_letter_count),
            handler: Arc::new(move |work| Box::pin(handler(work))),
            queue,
        };
        let worker = Worker::new(attempts, received);
        let task = self.runtime.spawn(worker.run()).abort_handle();
        self.queues.lock().push(Registered {
            name,
            counters,
            commands,
            task,
        });
    }

    /// Counts the dead letters and returns the pause until the next count; `None` if jobs are left to other hosts.
    pub async fn count_dead_letters(&self) -> Option<Duration> {
        if self.is_idle {
            return None;
        }
        Some(self.dead_letter_count.look(&self.store).await)
    }

    /// Runs every job that is due now, and the jobs that these make due. Without this call, they run a little later.
    pub async fn run_due(&self) {
        self.command(Command::RunDue).await;
    }

    /// Claims no more jobs, waits for the running ones, and hands back those that take too long.
    pub async fn stop(&self) {
        self.command(Command::Stop).await;
    }

    /// Returns the status of each queue.
    #[must_use]
    pub fn status(&self) -> Vec<QueueStatus> {
        let queues = self.queues.lock();
        let status = queues.iter().map(|queue| {
            let dead_letters = self.dead_letter_count.of(queue.name);
            queue.counters.status(queue.name, dead_letters)
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
        let pending: Vec<_> = self.queues.lock().iter().map(send).collect();
        for done in pending {
            let _ = done.await;
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.queues
            .lock()
            .iter()
            .for_each(|queue| queue.task.abort());
    }
}
