//! The context of work: on whose behalf it is done, and who waits for the answer. It is set once for each request, and all
//! that the request calls can ask for it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};

use super::requester::Requester;
use crate::error::{Error, Result};

tokio::task_local! {
    static CONTEXT: Context;
}

/// The connection on which an answer is waited for.
pub trait Connection: fmt::Debug + Send + Sync {
    /// Ready once the other end has closed its side: nobody may wait for the answer any more.
    fn closed(&self) -> BoxFuture<'static, ()>;
}

/// On whose behalf a task works, and who waits for the answer.
#[derive(Clone, Debug)]
pub struct Context {
    /// The key by which load is limited.
    pub requester: Requester,
    /// Which of the requester's clients it is, if it is known.
    pub client: Option<Arc<str>>,
    /// Where the answer is waited for; `None` for a background job.
    pub connection: Option<Arc<dyn Connection>>,
}

impl Requester {
    /// On whose behalf the task works.
    #[must_use]
    pub fn current() -> Self {
        Context::current().requester
    }
}

impl Context {
    /// The context of the task.
    #[must_use]
    pub fn current() -> Self {
        CONTEXT.try_with(Self::clone).unwrap_or(Self {
            requester: Requester::Platform,
            client: None,
            connection: None,
        })
    }

    /// Does work in it.
    pub fn run<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        CONTEXT.scope(self, work)
    }

    /// Waits for something, such as a permit, for as long as the client waits for the answer. What is there at once is taken
    /// without a look at the connection, since a client may close its side when it has sent its request.
    ///
    /// # Errors
    /// [`Error::Gone`] when nobody waits for the answer any more.
    pub async fn wait<T>(&self, something: impl Future<Output = T>) -> Result<T> {
        let Some(connection) = &self.connection else {
            return Ok(something.await);
        };
        tokio::select! {
            biased;
            got = something => Ok(got),
            () = connection.closed() => Err(Error::Gone),
        }
    }

    /// Checks that somebody still waits for the answer. Long work calls it between its parts.
    ///
    /// # Errors
    /// [`Error::Gone`] when nobody does.
    pub fn look(&self) -> Result<()> {
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        match connection.closed().now_or_never() {
            Some(()) => Err(Error::Gone),
            None => Ok(()),
        }
    }
}
