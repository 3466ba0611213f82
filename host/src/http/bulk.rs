//! Connections that are sent bulk: a large answer, or one without end.
//!
//! They are served by threads of lower priority until their next request: thousands of them would stand in line with
//! small requests otherwise, whatever turns they take (`fair.rs`).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use hyper::body::Body;
use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tower_service::Service;

use super::connections::Admitted;
use super::fair::TURN;

/// Whether a connection is sent bulk.
#[derive(Clone, Debug, Default)]
pub(super) struct Bulk(Arc<AtomicBool>);

impl Bulk {
    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, is_bulk: bool) {
        self.0.store(is_bulk, Ordering::Relaxed);
    }

    /// A service that says for each answer whether it is bulk.
    pub(super) const fn seen_by<S>(self, inner: S) -> Seen<S> {
        Seen { inner, bulk: self }
    }
}

/// See [`Bulk::seen_by`].
#[derive(Clone)]
pub(super) struct Seen<S> {
    inner: S,
    bulk: Bulk,
}

impl<S, A, B> Service<Request<A>> for Seen<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    B: Body,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        self.bulk.set(false);
        Answering {
            answer: self.inner.call(request),
            bulk: self.bulk.clone(),
        }
    }
}

pin_project! {
    pub(super) struct Answering<F> {
        #[pin]
        answer: F,
        bulk: Bulk,
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answering = self.project();
        let answer = ready!(answering.answer.poll(context));
        if let Ok(answer) = &answer {
            let size = answer.body().size_hint().upper();
            let fits = size.is_some_and(|size| size <= TURN as u64);
            answering.bulk.set(!fits);
        }
        Poll::Ready(answer)
    }
}

/// The threads that serve connections.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) requests: Handle,
    pub(super) bulk: Handle,
}

/// A connection, until it ends.
pub(super) struct Connection<C> {
    pub(super) inner: Pin<Box<C>>,
    pub(super) bulk: Bulk,
    pub(super) threads: Arc<Threads>,
    pub(super) admitted: Admitted,
}

impl<C> Connection<C>
where
    C: Future<Output = hyper::Result<()>> + Send + 'static,
{
    /// Serves it on the threads for what it is sent, and has others go on when that changes.
    pub(super) fn serve(mut self) {
        let is_bulk = self.bulk.get();
        let threads = match is_bulk {
            true => &self.threads.bulk,
            false => &self.threads.requests,
        };
        threads.clone().spawn(async move {
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

    use super::super::connections::{ConnectionLimits, Connections};
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
        let (requests, sender) = (threads("requests"), threads("bulk"));
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
        let connection = Connection {
            inner: Box::pin(inner),
            bulk,
            threads: Arc::new(Threads {
                requests: requests.handle().clone(),
                bulk: sender.handle().clone(),
            }),
            admitted: admitted.unwrap_or_else(|| unreachable!()),
        };
        connection.serve();
        assert_eq!(ended.recv(), Ok(()));
        let seen = seen.lock().unwrap_or_else(|_| unreachable!());
        assert_eq!(*seen, ["requests", "bulk", "bulk", "requests"]);
    }
}
