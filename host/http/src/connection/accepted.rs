//! Accepted connections, from the first byte to the end: counts them, starts TLS if that is set, and limits what a slow
//! or large head may cost.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use warp::Filter;

use super::Service;
use super::admission::{Admitted, Connections};
use super::bulk::{Bulk, Connection, Threads};
use super::socket::Socket;
use super::tls::Tls;

/// The time limit for a request's head to arrive, and for an idle connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);

/// The most bytes of a request's head.
const MAX_HEAD: usize = 16 << 10;

/// The time limit for requests in progress to finish after a shutdown has begun.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(8);

/// The time for which connections stay open after a shutdown has begun. A client that sends one request after another
/// learns from an answer that its connection ends, so it sends no request that would go unread.
const LAST_CALL: Duration = Duration::from_millis(250);

/// The time limit for the other end to read any of an answer.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// The connections of a socket: those accepted so far, and the next ones.
pub(super) struct Accepted<F, L> {
    pub(super) tls: Option<Tls>,
    pub(super) serving: Serving<F, L>,
    pub(super) open: Connections,
    pub(super) connections: GracefulShutdown,
    /// The connections on which TLS has not begun yet.
    pub(super) handshakes: JoinSet<()>,
}

/// The filters and threads that serve a connection.
pub(super) struct Serving<F, L> {
    pub(super) filter: F,
    pub(super) threads: Arc<Threads<L>>,
}

/// The other end of a connection, its place in the count, and the signal for its end.
struct Origin {
    peer: IpAddr,
    admitted: Admitted,
    watcher: Watcher,
}

impl<F, L> Accepted<F, L>
where
    L: Fn() -> Handle + Send + Sync + 'static,
    F: Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
        + Clone
        + Send
        + Sync
        + 'static,
{
    /// Serves a connection, or closes it at once if it is one too many.
    pub(super) fn take(&mut self, socket: TcpStream, peer: IpAddr) {
        // Otherwise, handshakes that have ended stay in the set.
        while self.handshakes.try_join_next().is_some() {}
        let Some(admitted) = self.open.admit(peer) else {
            return;
        };
        let _ = socket.set_nodelay(true);
        let origin = Origin {
            peer,
            admitted,
            watcher: self.connections.watcher(),
        };
        let serving = self.serving.clone();
        let Some(tls) = self.tls.clone() else {
            return serving.serve(Socket::new(socket), origin);
        };
        // A handshake keeps a processor busy, and requests must not wait for many of them.
        let threads = (serving.threads.low_priority)();
        let handshake = async move {
            match tls.accept(socket).await {
                Ok(socket) => serving.serve(Socket::new(socket), origin),
                Err(cause) => tracing::debug!(%cause, "a TLS handshake failed"),
            }
        };
        self.handshakes.spawn_on(handshake, &threads);
    }

    /// Lets requests in progress finish.
    pub(super) async fn finish(self) {
        if self.connections.count() > 0 {
            sleep(LAST_CALL).await;
        }
        // Where TLS has not begun, no request has been sent yet.
        drop(self.handshakes);
        let finished = timeout(SHUTDOWN_DEADLINE, self.connections.shutdown()).await;
        if finished.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
    }
}

impl<F: Clone, L> Clone for Serving<F, L> {
    fn clone(&self) -> Self {
        Self {
            filter: self.filter.clone(),
            threads: Arc::clone(&self.threads),
        }
    }
}

impl<F, L> Serving<F, L>
where
    L: Fn() -> Handle + Send + Sync + 'static,
    F: Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
        + Clone
        + Send
        + Sync
        + 'static,
{
    fn serve(self, socket: Socket, origin: Origin) {
        let bulk = Bulk::default();
        let service = Service {
            inner: warp::service(self.filter),
            peer: origin.peer,
            bulk: bulk.clone(),
            incoming: socket.incoming(),
        };
        let mut socket = TimeoutWriter::new(socket);
        socket.set_timeout(Some(WRITE_DEADLINE));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            .max_buf_size(MAX_HEAD)
            .half_close(true)
            .serve_connection(TokioIo::new(Box::pin(socket)), service);
        let connection = Connection {
            inner: Box::pin(origin.watcher.watch(connection)),
            bulk,
            threads: self.threads,
            admitted: origin.admitted,
        };
        connection.serve();
    }
}
