//! Connections: accepts them with or without TLS, limits what a slow or large head may cost, and ends them in order.

mod accepted;
pub(super) mod admission;
pub(super) mod body;
pub(super) mod bulk;
mod current;
pub(super) mod socket;
pub(super) mod tls;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::HOST;
use http::{HeaderMap, Method, Uri, Version};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tillgate_base::load::Connection;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use self::accepted::{Accepted, Serving};
use self::admission::{ConnectionLimits, Connections};
use self::bulk::{Bulk, Threads};
pub use self::current::Current;
use self::current::filter;
use self::socket::Incoming;
use self::tls::Tls;

/// The approximate number of bytes of an answer that the system buffers. Its default is megabytes, which it would hold
/// for each client that does not read.
const SEND_BUFFER: usize = 64 << 10;

/// A request without its body, as it arrived. The filters pass it on as one value.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    /// The address of the other end of the connection.
    pub(super) peer: IpAddr,
    /// Set if it names one host, as it must (RFC 9112, section 3.2).
    pub(super) names_host: bool,
    /// Set while its connection is sent bulk.
    pub(super) bulk: Bulk,
    /// The incoming side of its connection.
    pub(super) incoming: Incoming,
}

impl Connection for Head {
    fn closed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.incoming.clone().closed())
    }
}

/// A socket that is open but not served yet.
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
    /// When the address is taken or does not belong to this machine.
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

    /// Limits the connections that are open at once.
    #[must_use]
    pub fn limited(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Starts connections with TLS if there is a certificate.
    #[must_use]
    pub fn secured(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// Returns the address it listens on.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers requests until `end` completes, then lets requests in progress finish. From then on the server's answers
    /// should say that their connection ends.
    pub async fn serve(self, server: impl Into<Current>, end: impl Future<Output = ()>) {
        let server = server.into();
        let mut accepted = Accepted {
            tls: self.tls,
            serving: Serving {
                filter: filter(server.clone()),
                threads: Arc::new(Threads {
                    serving: Handle::current(),
                    low_priority: move || server.workers(),
                }),
            },
            open: Connections::new(self.limits),
            connections: GracefulShutdown::new(),
            handshakes: JoinSet::new(),
        };
        let mut end = std::pin::pin!(end);
        loop {
            let next = tokio::select! {
                next = self.socket.accept() => next,
                () = &mut end => break,
            };
            match next {
                Ok((socket, peer)) => accepted.take(socket, peer.ip()),
                Err(cause) => {
                    tracing::warn!(%cause, "a connection was not accepted");
                    // Out of file descriptors: other connections must end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // Otherwise, connections that the system has accepted by now would be reset, with their requests.
        if let Ok(socket) = self.socket.into_std() {
            while let Ok((socket, peer)) = socket.accept() {
                let socket = socket
                    .set_nonblocking(true)
                    .and(TcpStream::from_std(socket));
                let _taken = socket.map(|socket| accepted.take(socket, peer.ip()));
            }
        }
        accepted.finish().await;
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
