//! The context of work: on whose behalf it is done, and who waits for the answer. It is set once for each request, and
//! everything that the request calls can read it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};

use super::requester::Requester;
use crate::error::{Error, Result};

tokio::task_local! {
    static CONTEXT: Context;
}

/// The connection whose client waits for an answer.
pub trait Connection: fmt::Debug + Send + Sync {
    /// Completes once the other end has closed its side and may no longer wait for the answer.
    fn closed(&self) -> BoxFuture<'static, ()>;
}

/// The requester that a task works for, and the connection that waits for the answer.
#[derive(Clone, Debug)]
pub struct Context {
    /// The key by which load is limited.
    pub requester: Requester,
    /// The requester's client, if it is known.
    pub client: Option<Arc<str>>,
    /// The connection that waits for the answer; `None` for a background job.
    pub connection: Option<Arc<dyn Connection>>,
}

impl Requester {
    /// Returns the requester that the task works for.
    #[must_use]
    pub fn current() -> Self {
        Context::current().requester
    }
}

impl Context {
    /// Returns the context of the task.
    #[must_use]
    pub fn current() -> Self {
        CONTEXT.try_with(Self::clone).unwrap_or(Self {
            requester: Requester::Platform,
            client: None,
            connection: None,
        })
    }

    /// Runs work in this context.
    pub fn run<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        CONTEXT.scope(self, work)
    }

    /// Waits for something, such as a permit, for as long as the client waits for the answer. If it is ready at once,
    /// the connection is not checked, since a client may close its side after it has sent its request.
    ///
    /// # Errors
    /// [`Error::Gone`] when the client no longer waits for the answer.
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

    /// Checks that the client still waits for the answer. Long work calls this between its parts.
    ///
    /// # Errors
    /// [`Error::Gone`] when the client no longer does.
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
