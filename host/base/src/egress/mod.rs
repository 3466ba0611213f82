//! Outgoing HTTP: clients that are bounded in time and size, follow no redirects, use no proxies, and dial only allowed
//! addresses.
//!
//! Every request that this service sends goes through a [`Client`]. Safety depends on the address that is dialed, not
//! on the name in the URL: each connection resolves the name, checks every address of the answer and dials one of these
//! (`address.rs`, `names.rs`). A name that first resolves to an allowed address and later to another one cannot get
//! around that.
//!
//! No error reveals the address of a name: a tenant could map the operator's network by trying names. Nor does an error
//! repeat the URL, whose query may be a secret; other code shows a URL as `url_redaction.rs` does.
//!
//! An answer is read in full ([`Client::send`]), or as a stream of events (`events.rs`) that continues for as long as
//! something arrives ([`Client::open`]).

mod address;
mod connections;
mod error;
mod events;
mod names;
mod resend;
mod trust;
mod url_redaction;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};
use reqwest::{Method, Request, RequestBuilder, Response, StatusCode, Url, Version};
use tokio::time::timeout;

pub use self::address::Destinations;
use self::connections::{Connections, MAX_IDLE};
pub use self::error::EgressError;
use self::error::{failure, in_full};
pub use self::events::{Event, EventStream, StreamLimits};
use self::names::CheckedResolver;
pub use self::names::{Names, Refusal, SystemNames};
use self::resend::{DropSpare, is_end_of_connection, was_closed, with_spare};
pub use self::trust::{Distrust, Trust};
pub use self::url_redaction::{shown, with_urls_shown};

/// The `User-Agent` of this service, unless a request sets another.
pub const USER_AGENT: &str = concat!("tillgate/", env!("CARGO_PKG_VERSION"));

/// The longest time for opening a connection, within the deadline of the request.
const CONNECT: Duration = Duration::from_secs(5);

/// The time for which an idle connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(60);

/// The silence on an HTTP/2 connection with a waiting request after which the other end is pinged. If it does not
/// answer within the deadline of a request, later requests get another connection.
const SILENCE: Duration = Duration::from_secs(5);

/// The time within which a connection that was closed while idle fails a request. After that, the request itself may be
/// the reason why it was closed.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The most headers of an answer over HTTP/1.1.
const MAX_HEADERS: usize = 1_000;

/// The limits of a client's requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest time for a request, from resolving the name to the end of the answer, or to the head of a stream.
    pub deadline: Duration,
    /// The most bytes that are read of an answer, after decompression.
    pub max_answer: usize,
    /// The addresses that may be dialed.
    pub destinations: Destinations,
}

/// A client that reuses its connections (`connections.rs`).
#[derive(Clone, Debug)]
pub struct Client {
    connections: Arc<Connections>,
    limits: Limits,
}

/// An answer, read in full.
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

impl Client {
    /// Creates a client with these limits.
    ///
    /// # Errors
    /// [`EgressError::Setup`] when TLS cannot be set up on this machine.
    pub fn new(limits: Limits) -> Result<Self, EgressError> {
        Self::with(limits, Arc::new(SystemNames), Trust::System)
    }

    /// Creates a client that trusts other certificates than this machine does.
    ///
    /// # Errors
    /// [`EgressError::Setup`] when TLS cannot be set up on this machine, or with these authorities.
    pub fn trusting(limits: Limits, trust: Trust) -> Result<Self, EgressError> {
        Self::with(limits, Arc::new(SystemNames), trust)
    }

    /// Creates a client that looks up the addresses of a name in another way.
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
        let deadline = limits.deadline;
        let connections = Connections::new(move || {
            trust
                .apply(reqwest::Client::builder())
                .connect_timeout(CONNECT.min(deadline))
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(MAX_IDLE)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .user_agent(USER_AGENT)
                // Sends names such as `Content-Type`, as existing receivers know them: some compare names with their
                // capitals.
                .http1_title_case_headers()
                // Answers whose faults other clients tolerate are accepted.
                .http1_allow_obsolete_multiline_headers_in_responses(true)
                .http1_allow_spaces_after_header_name_in_responses(true)
                .http1_ignore_invalid_headers_in_responses(true)
                .http1_max_headers(MAX_HEADERS)
                .http2_keep_alive_interval(SILENCE)
                .http2_keep_alive_timeout(deadline)
                .connector_layer(DropSpare)
                .dns_resolver(Arc::clone(&resolver))
                .build()
        });
        let connections = connections.map_err(|cause| EgressError::Setup(in_full(cause)))?;
        Ok(Self {
            connections: Arc::new(connections),
            limits,
        })
    }

    /// Creates a request. The caller adds headers and a body, and sends it with [`Client::send`].
    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.connections.any().request(method, url)
    }

    /// Returns a refusal if a URL has an address in place of a host name, and it may not be dialed. Such an address is
    /// dialed as it is; a name is checked when it is resolved.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<Refusal> {
        let address = literal(url).filter(|at| !self.limits.destinations.allow(*at))?;
        Some(Refusal::new(address.to_string(), address))
    }

    /// Sends a request and reads the answer in full, whatever its status.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn send(&self, request: RequestBuilder) -> Result<Answer, EgressError> {
        let answer = async { self.read(self.execute(request).await?).await };
        self.in_time(answer).await
    }

    /// Sends a request and reads its answer, so that the connection can be used again. Returns the first bytes of the
    /// body. Reading stops at the limit for answers.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn send_for_head(
        &self,
        request: RequestBuilder,
        max_beginning: usize,
    ) -> Result<Head, EgressError> {
        let answer = async {
            let response = self.execute(request).await?;
            self.read_head(response, max_beginning).await
        };
        self.in_time(answer).await
    }

    /// Posts a body, and reads the answer as [`Client::send_for_head`] does. If the other end had closed the connection
    /// while it was idle, the request is sent again at once.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn post_for_head(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: Bytes,
        max_beginning: usize,
    ) -> Result<Head, EgressError> {
        let answer = async {
            let response = self.post(url, headers, body).await?;
            self.read_head(response, max_beginning).await
        };
        self.in_time(answer).await
    }

    /// Sends a request for a stream of events. The deadline applies only until the stream begins.
    ///
    /// # Errors
    /// When there is neither a stream nor an answer.
    pub async fn open(
        &self,
        request: RequestBuilder,
        limits: StreamLimits,
    ) -> Result<Opened, EgressError> {
        let opened = async {
            let response = self.execute(request).await?;
            Ok(if is_events(&response) {
                Opened::Events(Box::new(EventStream::new(response, limits)))
            } else {
                Opened::Answer(self.read(response).await?)
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

    async fn post(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response, EgressError> {
        let execute = async |body: Bytes| {
            let spare = body.clone();
            // This body can be read only once: reqwest would keep a copy for a retry until there is an answer.
            let body_once = reqwest::Body::wrap(Full::new(body));
            let request = self.request(Method::POST, url.clone());
            let request = request.headers(headers.clone()).body(body_once);
            let (http, request) = self.checked(request)?;
            Ok::<_, EgressError>(with_spare(spare, http.execute(request)).await)
        };
        let begin = Instant::now();
        let sent = match execute(body).await? {
            // Resend only once, and only soon: a later close may mean that the receiver failed on this request.
            (Err(cause), Some(spare)) if was_closed(&cause) && begin.elapsed() < AT_ONCE => {
                execute(spare).await?.0
            }
            (sent, _) => sent,
        };
        sent.map_err(|cause| failure(cause, self.limits.deadline))
    }

    /// Sends a request, and reads the head of the answer.
    async fn execute(&self, request: RequestBuilder) -> Result<Response, EgressError> {
        let (http, request) = self.checked(request)?;
        let sent = http.execute(request).await;
        sent.map_err(|cause| failure(cause, self.limits.deadline))
    }

    /// Returns a request that may be sent, and the client that sends it.
    fn checked(&self, request: RequestBuilder) -> Result<(reqwest::Client, Request), EgressError> {
        let failed = |cause| failure(cause, self.limits.deadline);
        let request = request.build().map_err(failed)?;
        if let Some(refusal) = self.refusal(request.url()) {
            return Err(EgressError::Refused(refusal));
        }
        let http = self.connections.to(request.url()).map_err(failed)?;
        Ok((http, request))
    }

    /// Reads an answer, and keeps its beginning.
    async fn read_head(
        &self,
        mut response: Response,
        max_beginning: usize,
    ) -> Result<Head, EgressError> {
        let (mut beginning, mut read) = (Vec::new(), 0);
        while read <= self.limits.max_answer {
            let chunk = response.chunk().await;
            let chunk = match chunk {
                // TLS may end without notice if the end of the connection is also the end of the answer.
                Err(cause) if ends_with_connection(&response) && is_end_of_connection(&cause) => {
                    break;
                }
                chunk => chunk.map_err(|cause| failure(cause, self.limits.deadline))?,
            };
            let Some(chunk) = chunk else { break };
            read += chunk.len();
            let room = max_beginning
                .saturating_sub(beginning.len())
                .min(chunk.len());
            beginning.extend_from_slice(chunk.get(..room).unwrap_or_default());
        }
        Ok(Head {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            beginning: beginning.into(),
        })
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

/// Returns whether an answer ends where its connection ends.
fn ends_with_connection(response: &Response) -> bool {
    let says_more = [CONTENT_LENGTH, TRANSFER_ENCODING];
    let mut says_more = says_more.iter();
    response.version() <= Version::HTTP_11
        && !says_more.any(|name| response.headers().contains_key(name))
}

fn is_events(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok()?.split(';').next());
    response.status() == StatusCode::OK
        && media_type.is_some_and(|it| it.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// Returns the address that a URL has in place of a host name.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}
