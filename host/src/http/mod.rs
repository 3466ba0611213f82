//! HTTP: one table of all routes, and the way every request takes through it.
//!
//! Path and method first, then the caller, then what the body may be, then the body; the handler parses, makes one
//! domain call and wraps the answer. warp carries requests and answers; the table finds the route, so that a permission
//! stands beside each and 405 knows what is allowed. What each route does stands in its feature's `http.rs`.

pub mod caller;
pub mod reply;
mod server;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH,
    IF_NONE_MATCH,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use uuid::Uuid;
use warp::Filter;

pub use self::caller::Caller;
pub use self::reply::Reply;
pub use self::server::{Listener, Peer};
use crate::app::App;
use crate::error::{Error, Result};
use crate::etag::{Etag, Preconditions};
use crate::tokens::permission::Permission;

/// The largest body of most routes: 1 MiB.
pub const MAX_BODY: usize = 1 << 20;

/// How long a body of [`MAX_BODY`] may take to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Who may call a route.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Anyone.
    Public,
    /// A caller with this permission.
    With(Permission),
    /// A caller with any of these.
    Either(&'static [Permission]),
    /// A caller with all of these.
    All(&'static [Permission]),
}

/// What body a route takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// None; one that is sent is ignored.
    Nothing,
    /// JSON of at most that many bytes.
    Json(usize),
    /// Whatever comes, of at most that many bytes: the handler looks at its type.
    Anything(usize),
}

type Handler = dyn Fn(Arc<App>, Request) -> BoxFuture<'static, Result<Reply>> + Send + Sync;

/// One row of the table.
#[derive(Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, its parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    takes: Takes,
    gives: &'static str,
    refuses: Refuse,
    handler: Arc<Handler>,
}

/// How an error of HTTP itself reads: a status and a sentence.
type Refuse = fn(StatusCode, &str, Uuid) -> Reply;

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.method, self.path, self.access)
    }
}

impl Route {
    /// A route and what answers it.
    pub fn new<F, A>(
        method: Method,
        path: &'static str,
        access: Access,
        takes: Takes,
        handler: F,
    ) -> Self
    where
        F: Fn(Arc<App>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Reply>> + Send + 'static,
    {
        let handler = move |app, request| -> BoxFuture<'static, _> {
            Box::pin(handler(app, request))
        };
        let (gives, refuses) = ("application/json", Reply::problem as Refuse);
        Self { method, path, access, takes, gives, refuses, handler: Arc::new(handler) }
    }

    /// The same, where errors of HTTP itself read otherwise: those of the whole path, whatever the method.
    #[must_use]
    pub const fn refusing(mut self, refuses: Refuse) -> Self {
        self.refuses = refuses;
        self
    }

    /// The same, answering another media type than JSON.
    #[must_use]
    pub const fn giving(mut self, media_type: &'static str) -> Self {
        self.gives = media_type;
        self
    }
}

/// A request that found its route.
#[derive(Debug)]
pub struct Request {
    /// The path's parameters, percent-decoded, in order.
    pub params: Vec<String>,
    /// The query, as sent.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// Where it came from.
    pub peer: IpAddr,
    /// Its correlation id.
    pub correlation: Uuid,
    /// The body.
    pub body: Bytes,
    caller: Option<Caller>,
}

impl Request {
    /// The caller; every route but the public ones has one.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn caller(&self) -> Result<&Caller> {
        self.caller.as_ref().ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// A parameter of the path.
    ///
    /// # Errors
    /// [`Error::Bug`] when the route has fewer.
    pub fn param(&self, index: usize) -> Result<&str> {
        let param = self.params.get(index).map(String::as_str);
        param.ok_or_else(|| Error::Bug("a route lacks a parameter".to_owned()))
    }

    /// Whether the caller has this version already (`If-None-Match`, weak comparison).
    #[must_use]
    pub fn has(&self, etag: &Etag) -> bool {
        tags(&self.headers, &IF_NONE_MATCH).any(|tag| tag == "*" || tag == etag)
    }

    /// What must hold before something is changed.
    #[must_use]
    pub fn preconditions(&self) -> Preconditions {
        let named = self.headers.contains_key(IF_MATCH);
        Preconditions {
            tags: named.then(|| tags(&self.headers, &IF_MATCH).map(str::to_owned).collect()),
            absent: tags(&self.headers, &IF_NONE_MATCH).any(|tag| tag == "*"),
        }
    }
}

fn tags<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|tag| tag.trim().trim_start_matches("W/"))
}

/// All routes, by path and method.
#[derive(Debug)]
pub struct Table {
    paths: matchit::Router<BTreeMap<&'static str, Route>>,
}

impl Table {
    /// The table of these routes.
    ///
    /// # Errors
    /// [`Error::Bug`] when two contradict each other.
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Result<Self> {
        let mut by_path: BTreeMap<&'static str, BTreeMap<&'static str, Route>> = BTreeMap::new();
        for route in routes {
            let name = match route.method {
                Method::GET => "GET",
                Method::PUT => "PUT",
                Method::POST => "POST",
                Method::DELETE => "DELETE",
                _ => return Err(Error::Bug(format!("{route:?} has an unusual method"))),
            };
            if by_path.entry(route.path).or_default().insert(name, route).is_some() {
                return Err(Error::Bug("a route is there twice".to_owned()));
            }
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            let inserted = paths.insert(path, methods);
            inserted.map_err(|cause| Error::Bug(format!("{path}: {cause}")))?;
        }
        Ok(Self { paths })
    }
}

/// The filter that answers every request.
pub fn filter(
    app: Arc<App>,
    table: Arc<Table>,
) -> impl Filter<Extract = (warp::reply::Response,), Error = warp::Rejection> + Clone + Send + Sync + 'static
{
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::method()
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Peer>())
        .and(warp::body::stream())
        .then(move |method, path, query, headers, peer: Peer, body| {
            let (app, table) = (Arc::clone(&app), Arc::clone(&table));
            async move {
                let head = Head { method, path, query, headers, peer: peer.0 };
                answer(app, &table, head, body).await
            }
        })
}

/// A request without its body.
struct Head {
    method: Method,
    path: warp::path::FullPath,
    query: String,
    headers: HeaderMap,
    peer: IpAddr,
}

async fn answer<B: Buf>(
    app: Arc<App>,
    table: &Table,
    head: Head,
    body: impl Stream<Item = Result<B, warp::Error>> + Send,
) -> warp::reply::Response {
    let correlation = correlation(&head.headers);
    let gzip = accepts_gzip(&head.headers);
    let reply = match dispatch(app, table, head, correlation, body).await {
        Ok(reply) | Err(Stop::Reply(reply)) => reply,
        Err(Stop::Error(error)) => Reply::error(&error, correlation),
    };
    reply.into_response(correlation, gzip)
}

/// Why a request got no further.
enum Stop {
    Error(Error),
    Reply(Reply),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

async fn dispatch<B: Buf>(
    app: Arc<App>,
    table: &Table,
    head: Head,
    correlation: Uuid,
    body: impl Stream<Item = Result<B, warp::Error>> + Send,
) -> Result<Reply, Stop> {
    let refuse = |status, detail: &str| Stop::Reply(Reply::problem(status, detail, correlation));
    let found = table.paths.at(head.path.as_str());
    let found = found.map_err(|_| refuse(StatusCode::NOT_FOUND, "there is nothing at this path"))?;
    let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
    let Some(route) = found.value.get(method.as_str()) else {
        let allow = found.value.keys().copied().collect::<Vec<_>>().join(", ");
        let refuses = found.value.values().next().map_or(Reply::problem as Refuse, |r| r.refuses);
        let detail = format!("this path takes {allow}");
        let reply = refuses(StatusCode::METHOD_NOT_ALLOWED, &detail, correlation);
        let allow = HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static("GET"));
        return Err(Stop::Reply(reply.with(ALLOW, allow)));
    };
    let refuse = |status, detail: &str| Stop::Reply((route.refuses)(status, detail, correlation));
    let params = found.params.iter().map(|(_, value)| percent_decode_str(value).decode_utf8());
    let params: Result<Vec<_>, _> = params.map(|param| param.map(|p| p.into_owned())).collect();
    let params = params
        .map_err(|_| refuse(StatusCode::BAD_REQUEST, "the path must be percent-encoded UTF-8"))?;

    let caller = authorize(&app, route.access, &head.headers).await?;
    if !accepts(&head.headers, route.gives) {
        let detail = format!("this answers {}", route.gives);
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, &detail));
    }
    let limit = match route.takes {
        Takes::Nothing => 0,
        Takes::Anything(limit) => limit,
        Takes::Json(limit) => {
            if !is_json(&head.headers) {
                let detail = "the body must be application/json, not encoded";
                return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
            }
            limit
        }
    };
    let body = match limit {
        0 => Bytes::new(),
        limit => read(&head.headers, body, limit).await.map_err(|unread| match unread {
            Unread::TooLarge => {
                let detail = format!("the body must be at most {limit} bytes");
                refuse(StatusCode::PAYLOAD_TOO_LARGE, &detail)
            }
            Unread::TooSlow => refuse(StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
            Unread::Broken => refuse(StatusCode::BAD_REQUEST, "the body did not arrive whole"),
        })?,
    };

    let private = caller.is_some();
    let Head { query, headers, peer, .. } = head;
    let request = Request { params, query, headers, peer, correlation, body, caller };
    let handled = (route.handler)(app, request).await;
    let mut reply = handled.unwrap_or_else(|error| Reply::error(&error, correlation));
    if private {
        reply.keep_private();
    }
    Ok(reply)
}

async fn authorize(app: &App, access: Access, headers: &HeaderMap) -> Result<Option<Caller>> {
    if matches!(access, Access::Public) {
        return Ok(None);
    }
    let caller = caller::of(app, headers).await?;
    match access {
        Access::Public => {}
        Access::With(permission) => caller.may(permission)?,
        Access::All(permissions) => permissions.iter().try_for_each(|p| caller.may(*p))?,
        Access::Either(permissions) => {
            if !permissions.iter().any(|p| caller.permissions.contains(*p)) {
                permissions.first().map_or(Ok(()), |first| caller.may(*first))?;
            }
        }
    }
    Ok(Some(caller))
}

/// Why there is no body.
enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

async fn read<B: Buf>(
    headers: &HeaderMap,
    body: impl Stream<Item = Result<B, warp::Error>> + Send,
    limit: usize,
) -> Result<Bytes, Unread> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) {
        return Err(Unread::TooLarge);
    }
    let collect = async {
        let mut body = std::pin::pin!(body);
        let mut whole = BytesMut::new();
        while let Some(chunk) = body.next().await {
            let mut chunk = chunk.map_err(|_| Unread::Broken)?;
            if whole.len() + chunk.remaining() > limit {
                return Err(Unread::TooLarge);
            }
            if whole.is_empty() && announced == Some(chunk.remaining()) {
                return Ok(chunk.copy_to_bytes(chunk.remaining()));
            }
            whole.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
        }
        Ok(whole.freeze())
    };
    let mebibytes = u32::try_from(limit.div_ceil(MAX_BODY)).unwrap_or(1);
    let within = tokio::time::timeout(BODY_DEADLINE * mebibytes, collect);
    within.await.unwrap_or(Err(Unread::TooSlow))
}

/// The caller's correlation id when it is a UUID, otherwise a new one.
fn correlation(headers: &HeaderMap) -> Uuid {
    let sent = headers.get(reply::CORRELATION_ID).and_then(|value| value.to_str().ok());
    let sent = sent.filter(|text| text.len() == 36).and_then(|text| Uuid::try_parse(text).ok());
    sent.unwrap_or_else(Uuid::new_v4)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = accepted.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// Whether an `Accept` header, when there is one, takes the media type or an error about it.
fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .filter(|range| !range.is_empty())
        .peekable();
    let family = media_type.split('/').next().unwrap_or_default();
    ranges.peek().is_none()
        || ranges.any(|range| {
            range == "*/*"
                || range.eq_ignore_ascii_case(media_type)
                || range.strip_suffix("/*").is_some_and(|named| named == family)
        })
}

/// Whether the body may be JSON: of that type or of none, and not compressed.
fn is_json(headers: &HeaderMap) -> bool {
    let json = headers.get(CONTENT_TYPE).is_none_or(|value| {
        let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("application/json")
    });
    let plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    json && plain
}
