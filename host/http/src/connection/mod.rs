//! Connections: accepting them, with TLS or without, bounding what a slow or large header may cost, and ending them in
//! order.

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

impl Connection for Head {
    fn closed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.incoming.clone().closed())
    }
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

    /// Has a server answer until `end` is there, then lets requests that have begun finish. From then on the server's answers
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
                    // Out of file descriptors: others must end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // What the system has accepted by now would be reset, with what was asked on it.
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
