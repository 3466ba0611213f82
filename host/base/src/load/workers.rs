//! Threads of lower priority: for background jobs, and for what keeps a processor busy on behalf of a request. Those that
//! serve requests go first, so nothing that runs here keeps a small request waiting.
//!
//! Work that keeps a processor busy needs a permit: as many as there are processors, of which one requester has at most
//! half, and one of its clients two, so that one who asks for much keeps the others waiting for no more than what runs
//! already. Decisions have permits of their own, of which one client may have all of its tenant's, so that no other work of
//! the tenant keeps them waiting. What waits for a permit ends with its connection.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tillgate_store::priority;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use super::allocator::give_all_back;
use super::budget::Limit;
use super::context::Context;
use super::requester::Requester;
use super::semaphore::FairSemaphore;
use crate::error::{Error, Result};

/// How many permits one client may have.
const OF_CLIENT: usize = 2;

/// How many permits a client may have; where it is not known, as many as its requester.
fn of_client(client: &Option<Arc<str>>) -> usize {
    client.as_ref().map_or(usize::MAX, |_| OF_CLIENT)
}

/// How long work that cannot be interrupted may go on when the threads end.
const GRACE: Duration = Duration::from_secs(1);

/// See the module's documentation. Dropping it ends what runs there.
#[derive(Debug)]
pub struct Workers {
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
    deciding: Permits,
    reading: Permits,
    other: Permits,
}

/// The permits for a kind of work, by requester and client.
type Permits = Arc<FairSemaphore<Requester, Option<Arc<str>>>>;

impl Workers {
    /// Starts so many threads of a name.
    ///
    /// # Errors
    /// [`Error::Bug`] when the system gives no threads.
    pub fn start(name: &str, threads: NonZeroUsize) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.get())
            .thread_name(name)
            .on_thread_park(give_all_back)
            .on_thread_start(|| priority::lower_own(priority::BACKGROUND))
            .enable_all()
            .build();
        let limit = Limit {
            all: threads.get(),
            each: threads.get().div_ceil(2),
        };
        let permits = || FairSemaphore::with_members(limit, of_client);
        let deciding = FairSemaphore::new(limit);
        Ok(Self {
            runtime: Some(runtime.map_err(|cause| bug(&cause))?),
            deciding,
            reading: permits(),
            other: permits(),
        })
    }

    /// The threads.
    #[must_use]
    pub fn handle(&self) -> Handle {
        match &self.runtime {
            Some(runtime) => runtime.handle().clone(),
            None => Handle::current(),
        }
    }

    /// Runs work that keeps a processor busy, when the client of this task has a permit.
    ///
    /// # Errors
    /// [`Error::Gone`] when nobody waits for it any more; [`Error::Bug`] when it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.run_with(&self.other, work).await
    }

    /// Runs a decision in the same way, with a permit of those for decisions.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn decide<T: Send + 'static>(
        &self,
        decide: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.run_with(&self.deciding, decide).await
    }

    async fn run_with<T: Send + 'static>(
        &self,
        permits: &Permits,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let context = Context::current();
        let (requester, client) = (context.requester.clone(), context.client.clone());
        let permit = context.wait(permits.acquire(requester, client)).await?;
        let permit = permit.ok_or_else(|| bug(&"a permit was lost"))?;
        let done = self.handle().spawn_blocking(move || {
            // Held to the end of the work, also when its request is gone.
            let _permit = permit;
            work()
        });
        done.await.map_err(|cause| bug(&cause))
    }

    /// Does work here that reads something and is then busy with it, when the requester of this task has a permit to read:
    /// what was read waits for no permit. The work must not need another one to read.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn run_reading<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let (handle, work) = (self.handle(), Context::current().run(work));
        let work = move || handle.block_on(work);
        self.run_with(&self.reading, work).await
    }

    /// Does work here that takes long though it seldom keeps a processor busy, without a permit. It ends when this is
    /// dropped.
    ///
    /// # Errors
    /// [`Error::Bug`] when it panics.
    pub async fn run_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(Context::current().run(work), &self.handle());
        match tasks.join_next().await {
            Some(done) => done.map_err(|cause| bug(&cause)),
            None => Err(bug(&"work was lost")),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        // What its tasks hold, such as the store, is free afterwards. A runtime must not be waited for on a thread that
        // serves, so another one does.
        let ending = std::thread::spawn(move || runtime.shutdown_timeout(GRACE));
        let _ = ending.join();
    }
}

fn bug(cause: &dyn std::fmt::Display) -> Error {
    Error::Bug(cause.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Long enough for what has a permit to begin.
    const MOMENT: Duration = Duration::from_secs(1);

    #[tokio::test(flavor = "multi_thread")]
    async fn a_client_has_two_permits_however_many_its_requester_has() {
        let Some(threads) = NonZeroUsize::new(8) else {
            return;
        };
        let Ok(workers) = Workers::start("test", threads).map(Arc::new) else {
            unreachable!("there are threads");
        };
        let (begun, has_begun) = channel();
        let begin = |client: &'static str| {
            let (begun, (end, ended)) = (begun.clone(), channel::<()>());
            let context = Context {
                requester: Requester::Platform,
                client: Some(client.into()),
                connection: None,
            };
            let workers = Arc::clone(&workers);
            let work = move || {
                let _ = begun.send(client);
                ended.recv()
            };
            tokio::spawn(context.run(async move { workers.run(work).await }));
            end
        };
        let next = |has_begun: &Receiver<&'static str>| has_begun.recv_timeout(MOMENT).ok();
        let first: Vec<Sender<()>> = (0..4).map(|_| begin("a")).collect();
        assert_eq!([next(&has_begun), next(&has_begun)], [Some("a"); 2]);
        let second = begin("b");
        assert_eq!(next(&has_begun), Some("b"));
        assert_eq!(next(&has_begun), None, "two have begun and two wait");
        drop(first);
        assert_eq!([next(&has_begun), next(&has_begun)], [Some("a"); 2]);
        drop(second);
    }
}
