//! Connections that are sent bulk: answers that are large or endless.
//!
//! Threads of lower priority serve them until their next request: otherwise thousands of them would stand in line with
//! small requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::runtime::Handle;

use super::admission::Admitted;

/// Set while a connection is sent bulk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bulk(Arc<AtomicBool>);

impl Bulk {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, is_bulk: bool) {
        // An unchanged flag is not written, so that its cache line stays where it is.
        if self.get() != is_bulk {
            self.0.store(is_bulk, Ordering::Relaxed);
        }
    }
}

/// The threads that serve connections. Those of lower priority may be replaced.
pub(super) struct Threads<F> {
    pub(super) serving: Handle,
    pub(super) low_priority: F,
}

/// A connection, until it ends.
pub(super) struct Connection<C, F> {
    pub(super) inner: Pin<Box<C>>,
    pub(super) bulk: Bulk,
    pub(super) threads: Arc<Threads<F>>,
    pub(super) admitted: Admitted,
}

impl<C, F> Connection<C, F>
where
    C: Future<Output = hyper::Result<()>> + Send + 'static,
    F: Fn() -> Handle + Send + Sync + 'static,
{
    /// Serves it on the threads for what it is sent, and moves it to the others when that changes.
    pub(super) fn serve(mut self) {
        let is_bulk = self.bulk.get();
        let threads = if is_bulk {
            (self.threads.low_priority)()
        } else {
            self.threads.serving.clone()
        };
        threads.spawn(async move {
            let ended = poll_fn(|context| match self.inner.as_mut().poll(context) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if self.bulk.get() != is_bulk => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            let Some(ended) = ended.await else {
                return self.serve();
            };
            if let Err(cause) = ended {
                tracing::debug!(%cause, "a connection ended early");
            }
            drop(self.admitted);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Mutex;

    use tokio::runtime::{Builder, Runtime};

    use super::super::admission::{ConnectionLimits, Connections};
    use super::*;

    fn threads(name: &str) -> Runtime {
        let threads = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .build();
        threads.unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn a_connection_is_served_by_other_threads_while_it_is_sent_bulk() {
        let (serving, low_priority) = (threads("serving"), threads("low priority"));
        let limits = ConnectionLimits {
            all: 1,
            per_address: 1,
            exempt: Vec::new(),
        };
        let admitted = Connections::new(limits).admit(IpAddr::from([127, 0, 0, 1]));
        let (bulk, seen) = (Bulk::default(), Arc::new(Mutex::new(Vec::new())));
        let (end, ended) = std::sync::mpsc::channel();
        let inner = {
            let (bulk, seen) = (bulk.clone(), Arc::clone(&seen));
            async move {
                for is_bulk in [true, true, false, false] {
                    let name = std::thread::current().name().unwrap_or_default().to_owned();
                    seen.lock().unwrap_or_else(|_| unreachable!()).push(name);
                    bulk.set(is_bulk);
                    tokio::task::yield_now().await;
                }
                let _ = end.send(());
                Ok(())
            }
        };
        let handle = low_priority.handle().clone();
        let connection = Connection {
            inner: Box::pin(inner),
            bulk,
            threads: Arc::new(Threads {
                serving: serving.handle().clone(),
                low_priority: move || handle.clone(),
            }),
            admitted: admitted.unwrap_or_else(|| unreachable!()),
        };
        connection.serve();
        let minute = std::time::Duration::from_secs(60);
        assert_eq!(ended.recv_timeout(minute), Ok(()), "the connection ends");
        let seen = seen.lock().unwrap_or_else(|_| unreachable!());
        assert_eq!(
            *seen,
            ["serving", "low priority", "low priority", "serving"]
        );
    }
}
