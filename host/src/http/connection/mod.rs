//! Connections: accepting them, with TLS or without, bounding what a slow or large header may cost, and ending them in
//! order.

pub(super) mod admission;
pub(super) mod body;
pub(super) mod bulk;
pub(super) mod socket;
pub(super) mod tls;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::HOST;
use http::{HeaderMap, Method, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutWriter;
use warp::Filter;

use self::admission::{Admitted, ConnectionLimits, Connections};
use self::bulk::{Bulk, Connection, Threads};
use self::socket::{Incoming, Socket};
use self::tls::Tls;
use super::{Current, filter};

/// How long a request's head may take to arrive, and how long a connection may be idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);

/// The most bytes of a request's head.
const MAX_HEAD: usize = 16 << 10;

/// How long requests that have begun may go on after the end was asked for.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(8);

/// How long an answer may wait for the other end to read any of it.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// How many bytes of an answer the system takes before they are read, about. By default it takes megabytes, which readers
/// that do not read would make it keep for each of them.
const SEND_BUFFER: usize = 64 << 10;

/// A request without its body, as it arrived. The filters hand it on as one.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    /// The address of the other end of the connection.
    pub(super) peer: IpAddr,
    /// Whether it names one host, as it must (RFC 9112, section 3.2).
    pub(super) names_host: bool,
    /// Whether its connection is sent bulk.
    pub(super) bulk: Bulk,
    /// What its connection receives.
    pub(super) incoming: Incoming,
}

/// A socket that is open and not served yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    limits: ConnectionLimits,
    tls: Option<Tls>,
}

impl Listener {
    /// Opens a socket; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        // Connections inherit it.
        set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
        let limits = ConnectionLimits {
            all: usize::MAX,
            per_address: usize::MAX,
            exempt: Vec::new(),
        };
        Ok(Self {
            socket,
            limits,
            tls: None,
        })
    }

    /// The same socket, on which only so many connections are open at once.
    #[must_use]
    pub fn limited(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// The same socket, on which connections begin with TLS if there is a certificate.
    #[must_use]
    pub fn secured(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Has a server answer until `end` is there, then lets requests that have begun finish.
    pub async fn serve(self, server: impl Into<Current>, end: impl Future<Output = ()>) {
        let server = server.into();
        let served = Served {
            filter: filter(server.clone()),
            threads: Arc::new(Threads {
                serving: Handle::current(),
                low_priority: move || server.workers(),
            }),
        };
        let connections = GracefulShutdown::new();
        let open = Connections::new(self.limits);
        let mut handshakes = JoinSet::new();
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut end => break,
            };
            // What those that have ended have left.
            while handshakes.try_join_next().is_some() {}
            match accepted {
                Ok((socket, peer)) => {
                    // One too many is closed at once.
                    let Some(admitted) = open.admit(peer.ip()) else {
                        continue;
                    };
                    let _ = socket.set_nodelay(true);
                    let accepted = Accepted {
                        peer: peer.ip(),
                        admitted,
                        watcher: connections.watcher(),
                    };
                    let served = served.clone();
                    match self.tls.clone() {
                        None => served.serve(Socket::new(socket), accepted),
                        Some(tls) => served.shake_hands(&mut handshakes, tls, socket, accepted),
                    }
                }
                Err(cause) => {
                    tracing::warn!(%cause, "a connection was not accepted");
                    // Out of file descriptors: others must end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // Nothing was asked yet on the connections that have not begun.
        drop(handshakes);
        let finished = tokio::time::timeout(SHUTDOWN_DEADLINE, connections.shutdown()).await;
        if finished.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
    }
}

/// Whose connection it is, what counts it, and what tells it to end.
struct Accepted {
    peer: IpAddr,
    admitted: Admitted,
    watcher: Watcher,
}

/// What serves connections: the filters, and the threads.
struct Served<F, L> {
    filter: F,
    threads: Arc<Threads<L>>,
}

impl<F: Clone, L> Clone for Served<F, L> {
    fn clone(&self) -> Self {
        Self {
            filter: self.filter.clone(),
            threads: Arc::clone(&self.threads),
        }
    }
}

impl<F, L> Served<F, L>
where
    L: Fn() -> Handle + Send + Sync + 'static,
    F: Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
        + Clone
        + Send
        + Sync
        + 'static,
{
    /// Serves a connection once TLS has begun on it.
    fn shake_hands(
        self,
        handshakes: &mut JoinSet<()>,
        tls: Tls,
        socket: TcpStream,
        accepted: Accepted,
    ) {
        // It keeps a processor busy, and requests must not wait for many of them.
        let threads = (self.threads.low_priority)();
        let handshake = async move {
            match tls.accept(socket).await {
                Ok(socket) => self.serve(Socket::new(socket), accepted),
                Err(cause) => tracing::debug!(%cause, "a TLS handshake failed"),
            }
        };
        handshakes.spawn_on(handshake, &threads);
    }

    fn serve(self, socket: Socket, accepted: Accepted) {
        let bulk = Bulk::default();
        let service = Service {
            inner: warp::service(self.filter),
            peer: accepted.peer,
            bulk: bulk.clone(),
            incoming: socket.incoming(),
        };
        let mut socket = TimeoutWriter::new(socket);
        socket.set_timeout(Some(WRITE_DEADLINE));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            .max_buf_size(MAX_HEAD)
            .half_close(true)
            .serve_connection(TokioIo::new(Box::pin(socket)), service);
        let connection = Connection {
            inner: Box::pin(accepted.watcher.watch(connection)),
            bulk,
            threads: self.threads,
            admitted: accepted.admitted,
        };
        connection.serve();
    }
}

/// Hands the head of each request to the filters.
struct Service<S> {
    inner: S,
    peer: IpAddr,
    bulk: Bulk,
    incoming: Incoming,
}

impl<S, A, B> hyper::service::Service<http::Request<A>> for Service<S>
where
    S: tower_service::Service<http::Request<A>, Response = http::Response<B>, Error = Infallible>
        + Clone,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = S::Future;

    fn call(&self, request: http::Request<A>) -> Self::Future {
        self.bulk.set(false);
        let (parts, body) = request.into_parts();
        let hosts = parts.headers.get_all(HOST).iter().count();
        let head = Head {
            names_host: hosts == 1 || hosts == 0 && parts.version < Version::HTTP_11,
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            peer: self.peer,
            bulk: self.bulk.clone(),
            incoming: self.incoming.clone(),
        };
        let mut request = http::Request::new(body);
        request.extensions_mut().insert(Arc::new(head));
        // Filters are always ready.
        self.inner.clone().call(request)
    }
}
