//! Outgoing HTTP: clients that are bounded in time and size, follow no redirects, use no proxies, and dial only the
//! addresses that they may.
//!
//! Every request that this service sends goes through a [`Client`]. What matters for safety is the address that is
//! dialled, not the name in the URL: each connection resolves the name, checks every address of the answer and dials
//! one of these (`address.rs`). A name that resolves to an allowed address first and to another one later does not get
//! around that.
//!
//! No error says which address a name has: a tenant could map the operator's network by asking for names. Nor does it repeat
//! the URL, whose query may be a secret; others show a URL as `shown.rs` does.
//!
//! An answer is read whole ([`Client::send`]), or as a stream of events (`events.rs`) that goes on for as long as
//! something arrives ([`Client::open`]).

mod address;
mod connections;
mod events;
mod shown;
mod trust;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::time::timeout;

pub use self::address::Destinations;
use self::connections::{Connections, MAX_IDLE};
pub use self::events::{Event, EventStream, StreamLimits};
pub use self::shown::{shown, with_urls_shown};
use self::trust::distrust;
pub use self::trust::{Distrust, Trust};

/// The `User-Agent` of this service, unless a request sets another.
pub const USER_AGENT: &str = concat!("tillgate/", env!("CARGO_PKG_VERSION"));

/// How long a connection may take to be opened, within the deadline of the request.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(60);

/// What bounds the requests of a client.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a request may take, from resolving the name to the end of the answer, or to the head of a stream.
    pub deadline: Duration,
    /// The most bytes of an answer that are read, after decompression.
    pub max_answer: usize,
    /// The addresses that may be dialled.
    pub destinations: Destinations,
}

/// A client, whose connections are reused (`connections.rs`).
#[derive(Clone, Debug)]
pub struct Client {
    connections: Arc<Connections>,
    limits: Limits,
}

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The head of an answer, and the beginning of its body.
#[derive(Clone, Debug)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The beginning of the body.
    pub beginning: Bytes,
}

/// The answer to a request for a stream of events.
#[derive(Debug)]
pub enum Opened {
    /// Events.
    Events(Box<EventStream>),
    /// Anything else, such as an error.
    Answer(Answer),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The address of this host may not be dialled.
    #[error("{0} must not be dialled from here: its address is not allowed")]
    Refused(String),
    /// No connection could be opened.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The certificate of the other end was not accepted.
    #[error("no connection: {in_full}")]
    Untrusted {
        /// The error with its causes.
        in_full: String,
        /// Why not.
        why: Distrust,
    },
    /// The deadline has passed.
    #[error("no answer within {}", humantime::format_duration(*.0))]
    Deadline(Duration),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// Nothing has arrived of a stream for too long.
    #[error("nothing has arrived for {}", humantime::format_duration(*.0))]
    Silent(Duration),
    /// An event of a stream is too large.
    #[error("an event is larger than {0} bytes")]
    EventTooLarge(usize),
    /// The connection broke, or what came is not HTTP.
    #[error("the answer could not be read: {0}")]
    Broken(String),
    /// TLS cannot be set up on this machine, which may have no certificates of authorities.
    #[error("TLS cannot be set up here: {0}")]
    Setup(String),
}

impl Client {
    /// A client with these limits.
    ///
    /// # Errors
    /// [`EgressError::Setup`] when TLS cannot be set up on this machine.
    pub fn new(limits: Limits) -> Result<Self, EgressError> {
        Self::with(limits, Arc::new(SystemNames), Trust::System)
    }

    /// The same, which trusts other certificates than this machine does.
    ///
    /// # Errors
    /// [`EgressError::Setup`] when TLS cannot be set up on this machine, or with these authorities.
    pub fn trusting(limits: Limits, trust: Trust) -> Result<Self, EgressError> {
        Self::with(limits, Arc::new(SystemNames), trust)
    }

    /// The same, with another way to find the addresses of a name.
    ///
    /// # Errors
    /// [`EgressError::Setup`] when TLS cannot be set up on this machine.
    pub fn with_names(limits: Limits, names: Arc<dyn Names>) -> Result<Self, EgressError> {
        Self::with(limits, names, Trust::System)
    }

    fn with(limits: Limits, names: Arc<dyn Names>, trust: Trust) -> Result<Self, EgressError> {
        let resolver = Arc::new(CheckedResolver {
            names,
            destinations: limits.destinations.clone(),
        });
        let connect_timeout = CONNECT.min(limits.deadline);
        let connections = Connections::new(move || {
            trust
                .apply(reqwest::Client::builder())
                .connect_timeout(connect_timeout)
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(MAX_IDLE)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .user_agent(USER_AGENT)
                // `Content-Type`, as existing receivers know it: some compare names with their capitals.
                .http1_title_case_headers()
                .dns_resolver(Arc::clone(&resolver))
                .build()
        });
        let connections = connections.map_err(|cause| EgressError::Setup(in_full(cause)))?;
        Ok(Self {
            connections: Arc::new(connections),
            limits,
        })
    }

    /// A request, to be given headers and a body and then sent with [`Client::send`].
    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.connections.any().request(method, url)
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn send(&self, request: RequestBuilder) -> Result<Answer, EgressError> {
        let answer = async { self.read(self.execute(request).await?).await };
        self.in_time(answer).await
    }

    /// Sends a request and reads its answer, so that the connection can be used again; answers the first bytes of the body.
    /// Reading ends at the limit for answers.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn send_for_head(
        &self,
        request: RequestBuilder,
        max_beginning: usize,
    ) -> Result<Head, EgressError> {
        let answer = async {
            let mut response = self.execute(request).await?;
            let failed = |cause| failure(cause, self.limits.deadline);
            let (mut beginning, mut read) = (Vec::new(), 0);
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                read += chunk.len();
                let room = max_beginning
                    .saturating_sub(beginning.len())
                    .min(chunk.len());
                beginning.extend_from_slice(chunk.get(..room).unwrap_or_default());
                if read > self.limits.max_answer {
                    break;
                }
            }
            Ok(Head {
                status: response.status(),
                headers: std::mem::take(response.headers_mut()),
                beginning: beginning.into(),
            })
        };
        self.in_time(answer).await
    }

    /// Sends a request for a stream of events. Only until it begins does the deadline apply.
    ///
    /// # Errors
    /// Why there is neither a stream nor an answer.
    pub async fn open(
        &self,
        request: RequestBuilder,
        limits: StreamLimits,
    ) -> Result<Opened, EgressError> {
        let opened = async {
            let response = self.execute(request).await?;
            Ok(match is_events(&response) {
                true => Opened::Events(Box::new(EventStream::new(response, limits))),
                false => Opened::Answer(self.read(response).await?),
            })
        };
        self.in_time(opened).await
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, EgressError>>,
    ) -> Result<T, EgressError> {
        let deadline = self.limits.deadline;
        let done = timeout(deadline, work).await;
        done.unwrap_or(Err(EgressError::Deadline(deadline)))
    }

    /// Sends a request, and reads the head of the answer.
    async fn execute(&self, request: RequestBuilder) -> Result<Response, EgressError> {
        let failed = |cause| failure(cause, self.limits.deadline);
        let request = request.build().map_err(failed)?;
        // A name is checked where it is resolved; an address in the URL is dialled as it stands there.
        if let Some(address) = literal(request.url())
            && !self.limits.destinations.allow(address)
        {
            return Err(EgressError::Refused(address.to_string()));
        }
        let http = self.connections.to(request.url()).map_err(failed)?;
        http.execute(request).await.map_err(failed)
    }

    /// Reads the whole body of an answer.
    async fn read(&self, mut response: Response) -> Result<Answer, EgressError> {
        let failed = |cause| failure(cause, self.limits.deadline);
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > self.limits.max_answer {
                return Err(EgressError::TooLarge(self.limits.max_answer));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status,
            headers: std::mem::take(response.headers_mut()),
            body: body.into(),
        })
    }
}

/// Whether an answer is a stream of events.
fn is_events(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok()?.split(';').next());
    response.status() == StatusCode::OK
        && media_type.is_some_and(|it| it.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn failure(cause: reqwest::Error, deadline: Duration) -> EgressError {
    if let Some(host) = refused_host(&cause) {
        return EgressError::Refused(host);
    }
    if cause.is_timeout() {
        return EgressError::Deadline(deadline);
    }
    match (distrust(&cause), cause.is_connect()) {
        (Some(why), true) => EgressError::Untrusted {
            in_full: in_full(cause),
            why,
        },
        (None, true) => EgressError::Unreachable(in_full(cause)),
        (_, false) => EgressError::Broken(in_full(cause)),
    }
}

/// The address that a URL names in place of a host name.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

/// Finds the addresses of names.
pub trait Names: Send + Sync + fmt::Debug + 'static {
    /// The addresses of a name.
    fn look_up(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Names as this machine knows them.
#[derive(Clone, Copy, Debug)]
pub struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|found| found.ip()).collect())
        })
    }
}

/// Resolves names, and refuses an answer that has an address which may not be dialled.
struct CheckedResolver {
    names: Arc<dyn Names>,
    destinations: Destinations,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking_up = self.names.look_up(name.as_str());
        let (host, destinations) = (name.as_str().to_owned(), self.destinations.clone());
        Box::pin(async move {
            let found = looking_up.await?;
            // An answer with both is refused as a whole: it may be an attempt to get around the check.
            if let Some(refused) = found.iter().find(|at| !destinations.allow(**at)) {
                tracing::debug!(host, address = %refused, "an address must not be dialled");
                return Err(EgressError::Refused(host).into());
            }
            let found = found.into_iter().map(|at| SocketAddr::new(at, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

/// The host whose address the resolver has refused, if that is what an error comes from.
fn refused_host(error: &reqwest::Error) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(EgressError::Refused(host)) = error.downcast_ref() {
            return Some(host.clone());
        }
        cause = error.source();
    }
    None
}

/// An error with its causes, without the URL.
fn in_full(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
