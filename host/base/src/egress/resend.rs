//! Resends a request if the other end had closed its idle connection. That does not count as an attempt.
//!
//! Only a request on a reused connection may need a spare body. If a connection is opened for a request, its spare body
//! is dropped at once: receivers that never answer must not keep the bodies sent to them in memory.

use std::cell::Cell;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll};

use bytes::Bytes;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// The spare body of the request that this task sends.
    static SPARE: Cell<Option<Bytes>>;
}

/// Sends a request. Also returns its spare body, unless a connection was opened for the request.
pub(super) async fn with_spare<T>(
    body: Bytes,
    sending: impl Future<Output = T>,
) -> (T, Option<Bytes>) {
    let sending = async {
        let sent = sending.await;
        (sent, SPARE.with(Cell::take))
    };
    SPARE.scope(Cell::new(Some(body)), sending).await
}

/// Makes a connector drop the spare body of the request that it opens a connection for.
#[derive(Clone, Copy, Debug)]
pub(super) struct DropSpare;

/// A connector that drops spare bodies.
#[derive(Clone, Debug)]
pub(super) struct Connector<S>(S);

impl<S> Layer<S> for DropSpare {
    type Service = Connector<S>;

    fn layer(&self, connector: S) -> Connector<S> {
        Connector(connector)
    }
}

impl<S: Service<T>, T> Service<T> for Connector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: T) -> S::Future {
        // Not every request has a spare body.
        let _ = SPARE.try_with(Cell::take);
        self.0.call(target)
    }
}

/// Returns whether a request failed because its connection was closed before the answer.
pub(super) fn was_closed(error: &reqwest::Error) -> bool {
    let is_closed = |error: &(dyn Error + 'static)| {
        let of_hyper = error.downcast_ref::<hyper::Error>();
        let of_h2 = error.downcast_ref::<h2::Error>();
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        of_hyper.is_some_and(|it| it.is_incomplete_message() || it.is_canceled() || it.is_closed())
            || of_h2.is_some_and(|it| {
                it.is_go_away() || it.reason() == Some(h2::Reason::REFUSED_STREAM)
            })
            || matches!(
                kind,
                Some(
                    ErrorKind::BrokenPipe
                        | ErrorKind::ConnectionAborted
                        | ErrorKind::ConnectionReset
                        | ErrorKind::NotConnected
                        | ErrorKind::UnexpectedEof
                )
            )
    };
    causes(error).any(is_closed)
}

/// Returns whether the end of the connection cut off an answer.
pub(super) fn is_end_of_connection(error: &reqwest::Error) -> bool {
    let mut causes = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == ErrorKind::UnexpectedEof)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Error::source(error), |&cause| cause.source())
}
