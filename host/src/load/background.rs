//! Threads for what may keep every processor busy, such as background jobs: requests are served as if it did not.

use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::memory::give_all_back;
use crate::error::{Error, Result};
use crate::store::priority;

/// How long work that cannot be interrupted may go on when the runtime ends.
const GRACE: Duration = Duration::from_secs(1);

/// A runtime on threads of low priority. Dropping it ends what runs on them.
#[derive(Debug)]
pub struct Background {
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl Background {
    /// So many threads of this name.
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
        let runtime = runtime.map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// What a [`Runner`](crate::jobs::Runner) runs its jobs on.
    #[must_use]
    pub fn handle(&self) -> Handle {
        match &self.runtime {
            Some(runtime) => runtime.handle().clone(),
            None => Handle::current(),
        }
    }
}

impl Drop for Background {
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
