//! Threads of lower priority, for background jobs and for work of requests that keeps a processor busy. The threads
//! that serve requests go first, so nothing that runs here keeps a small request waiting.
//!
//! Work that keeps a processor busy needs a permit. There are as many as processors; one requester has at most half of
//! them, and one of its clients two, so that a client that asks for a lot only makes others wait for what is already
//! running. Decisions have permits of their own, so that no other work of the tenant keeps them waiting; one client may
//! have all of its tenant's. Work that waits for a permit ends with its connection.

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

/// The most permits that one client may have.
const OF_CLIENT: usize = 2;

/// Returns the most permits that a client may have; an unknown one may have as many as its requester.
fn of_client(client: &Option<Arc<str>>) -> usize {
    client.as_ref().map_or(usize::MAX, |_| OF_CLIENT)
}

/// The time that work which cannot be interrupted has left when the threads end.
const GRACE: Duration = Duration::from_secs(1);

/// Threads of lower priority, and the permits to work on them. Dropping this ends what runs there.
#[derive(Debug)]
pub struct Workers {
    /// `None` while this is dropped.
    runtime: Option<Runtime>,
    deciding: Permits,
    reading: Permits,
    other: Permits,
}

/// The permits for a kind of work, by requester and client.
type Permits = Arc<FairSemaphore<Requester, Option<Arc<str>>>>;

impl Workers {
    /// Starts this many threads with a name.
    ///
    /// # Errors
    /// [`Error::Bug`] when the system cannot start threads.
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

    /// Returns the handle of the threads.
    #[must_use]
    pub fn handle(&self) -> Handle {
        match &self.runtime {
            Some(runtime) => runtime.handle().clone(),
            None => Handle::current(),
        }
    }

    /// Runs work that keeps a processor busy, once the client of this task has a permit.
    ///
    /// # Errors
    /// [`Error::Gone`] when the client no longer waits for the answer; [`Error::Bug`] when the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.run_with(&self.other, work).await
    }

    /// Runs a decision in the same way, with a permit for decisions.
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
            // Held until the work ends, even if its request is gone.
            let _permit = permit;
            work()
        });
        done.await.map_err(|cause| bug(&cause))
    }

    /// Runs work here that reads something and is then busy with it, once the client of this task has a permit to read,
    /// so that nothing that was read waits for a permit. The work must not need another permit to read.
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

    /// Runs work here that takes long but seldom keeps a processor busy, without a permit. The work ends when this
    /// future is dropped.
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
        // Afterwards, whatever its tasks held, such as the store, is free. A serving thread must not wait for a
        // runtime, so another thread does.
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

    /// Long enough for work with a permit to begin.
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
