//! Connections: accepting them, bounding what a slow or large header may cost, and ending them in order.

pub(super) mod admission;
pub(super) mod body;
pub(super) mod bulk;
pub(super) mod incoming;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::HOST;
use http::{HeaderMap, Method, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_io_timeout::TimeoutWriter;
use warp::Filter;

use self::admission::{Admitted, ConnectionLimits, Connections};
use self::bulk::{Bulk, Connection, Threads};
use self::incoming::Incoming;
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
        Ok(Self { socket, limits })
    }

    /// The same socket, on which only so many connections are open at once.
    #[must_use]
    pub fn limited(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
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
        let filter = filter(server.clone());
        let connections = GracefulShutdown::new();
        let open = Connections::new(self.limits);
        let threads = Arc::new(Threads {
            serving: Handle::current(),
            low_priority: move || server.workers(),
        });
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut end => break,
            };
            match accepted {
                Ok((socket, peer)) => {
                    // One too many is closed at once.
                    let Some(admitted) = open.admit(peer.ip()) else {
                        continue;
                    };
                    let _ = socket.set_nodelay(true);
                    connect(
                        &filter,
                        socket,
                        (peer.ip(), admitted),
                        (&connections, &threads),
                    );
                }
                Err(cause) => {
                    tracing::warn!(%cause, "a connection was not accepted");
                    // Out of file descriptors: others must end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        let finished = tokio::time::timeout(SHUTDOWN_DEADLINE, connections.shutdown()).await;
        if finished.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
    }
}

fn connect<F, L>(
    filter: &F,
    socket: TcpStream,
    (peer, admitted): (IpAddr, Admitted),
    (connections, threads): (&GracefulShutdown, &Arc<Threads<L>>),
) where
    L: Fn() -> Handle + Send + Sync + 'static,
    F: Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let bulk = Bulk::default();
    let (incoming, outgoing) = socket.into_split();
    let incoming = Incoming::from(incoming);
    let service = Service {
        inner: warp::service(filter.clone()),
        peer,
        bulk: bulk.clone(),
        incoming: incoming.clone(),
    };
    let mut socket = TimeoutWriter::new(tokio::io::join(incoming, outgoing));
    socket.set_timeout(Some(WRITE_DEADLINE));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(MAX_HEAD)
        .half_close(true)
        .serve_connection(TokioIo::new(Box::pin(socket)), service);
    let connection = Connection {
        inner: Box::pin(connections.watch(connection)),
        bulk,
        threads: Arc::clone(threads),
        admitted,
    };
    connection.serve();
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
