//! HTTP: one table of all routes, and the way every request takes through it.
//!
//! Path and method first, then the caller, then what the body may be, then the body; the handler parses, makes one
//! domain call and wraps the answer. warp carries requests and answers; the table finds the route, so that a permission
//! stands beside each and 405 knows what is allowed. What each route does stands in its feature's `http.rs`.

mod body;
pub mod caller;
pub mod reply;
mod request;
mod server;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, CONNECTION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use uuid::Uuid;
use warp::Filter;

use self::body::{NoBody, Unread, read};
pub use self::reply::Reply;
pub use self::request::Request;
use self::request::{accepts, accepts_gzip, behind_proxies, correlation, is_json};
pub use self::server::{Listener, Peer};
use crate::app::App;
use crate::error::{Error, Result};
use crate::tokens::Caller;
use crate::tokens::permission::Permission;

/// The largest body of most routes: 1 MiB.
pub const MAX_BODY: usize = 1 << 20;

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
        let handler =
            move |app, request| -> BoxFuture<'static, _> { Box::pin(handler(app, request)) };
        let (gives, refuses) = ("application/json", Reply::problem as Refuse);
        Self {
            method,
            path,
            access,
            takes,
            gives,
            refuses,
            handler: Arc::new(handler),
        }
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
            if by_path
                .entry(route.path)
                .or_default()
                .insert(name, route)
                .is_some()
            {
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
) -> impl Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
+ Clone
+ Send
+ Sync
+ 'static {
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
                let head = Head {
                    method,
                    path,
                    query,
                    headers,
                    peer: peer.0,
                };
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
    let mut body = std::pin::pin!(body);
    let unread = Unread::of(&head.headers);
    let (mut reply, unread) = match find(table, &head, correlation) {
        Ok((route, params)) => {
            let private = !matches!(route.access, Access::Public);
            let serving = serve(app, route, params, head, correlation, body.as_mut(), unread);
            let (mut reply, unread) = serving.await;
            if private {
                reply.keep_private();
            }
            (reply, unread)
        }
        Err(reply) => (*reply, unread),
    };
    if !unread.drain(body).await {
        reply = reply.with(CONNECTION, HeaderValue::from_static("close"));
    }
    if gzip && reply.is_large() {
        let compressed =
            tokio::task::spawn_blocking(move || reply.into_response(correlation, gzip));
        return compressed.await.unwrap_or_else(|cause| {
            let error = Error::Bug(cause.to_string());
            Reply::error(&error, correlation).into_response(correlation, false)
        });
    }
    reply.into_response(correlation, gzip)
}

/// The route of a request's path and method, and the path's parameters; otherwise what to answer.
fn find<'t>(
    table: &'t Table,
    head: &Head,
    correlation: Uuid,
) -> Result<(&'t Route, Vec<String>), Box<Reply>> {
    let found = table.paths.at(head.path.as_str()).map_err(|_| {
        let detail = "there is nothing at this path";
        Box::new(Reply::problem(StatusCode::NOT_FOUND, detail, correlation))
    })?;
    let method = match head.method {
        Method::HEAD => &Method::GET,
        ref other => other,
    };
    let Some(route) = found.value.get(method.as_str()) else {
        let mut allow: Vec<_> = found.value.keys().copied().collect();
        if allow.contains(&"GET") {
            allow.push("HEAD");
        }
        allow.sort_unstable();
        let allow = allow.join(", ");
        let first = found.value.values().next();
        let refuses = first.map_or(Reply::problem as Refuse, |route| route.refuses);
        let detail = format!("this path takes {allow}");
        let reply = refuses(StatusCode::METHOD_NOT_ALLOWED, &detail, correlation);
        let allow = HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static("GET"));
        return Err(Box::new(reply.with(ALLOW, allow)));
    };
    let params = found.params.iter();
    let params = params.map(|(_, value)| percent_decode_str(value).decode_utf8());
    let params: Result<Vec<_>, _> = params.map(|param| param.map(|p| p.into_owned())).collect();
    let params = params.map_err(|_| {
        let detail = "the path must be percent-encoded UTF-8";
        Box::new((route.refuses)(
            StatusCode::BAD_REQUEST,
            detail,
            correlation,
        ))
    })?;
    Ok((route, params))
}

/// Takes a request through its route: the caller, what the body may be, the body, the handler. Answers what of the body
/// is left.
async fn serve<B: Buf>(
    app: Arc<App>,
    route: &Route,
    params: Vec<String>,
    head: Head,
    correlation: Uuid,
    body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    unread: Unread,
) -> (Reply, Unread) {
    let refuse = |status, detail: &str| (route.refuses)(status, detail, correlation);
    let caller = match authorize(&app, route.access, &head.headers).await {
        Ok(caller) => caller,
        Err(error) => return (Reply::error(&error, correlation), unread),
    };
    if !accepts(&head.headers, route.gives) {
        let detail = format!("this answers {}", route.gives);
        return (refuse(StatusCode::NOT_ACCEPTABLE, &detail), unread);
    }
    let limit = match route.takes {
        Takes::Nothing => 0,
        Takes::Anything(limit) => limit,
        Takes::Json(limit) => {
            if !is_json(&head.headers) {
                let detail = "the body must be application/json, not encoded";
                return (refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail), unread);
            }
            limit
        }
    };
    let (body, unread) = match limit {
        0 => (Bytes::new(), unread),
        limit => match read(body, limit, unread.announced).await {
            Ok(body) => (body, Unread::NOTHING),
            Err(NoBody::TooLarge) => {
                let detail = format!("the body must be at most {limit} bytes");
                return (refuse(StatusCode::PAYLOAD_TOO_LARGE, &detail), unread);
            }
            Err(NoBody::TooSlow) => {
                let detail = "the body came too slowly";
                return (refuse(StatusCode::REQUEST_TIMEOUT, detail), unread);
            }
            Err(NoBody::Broken) => {
                let detail = "the body did not arrive whole";
                return (refuse(StatusCode::BAD_REQUEST, detail), unread);
            }
        },
    };
    let Head {
        query,
        headers,
        peer,
        ..
    } = head;
    let peer = behind_proxies(peer, &headers, &app.config.trusted_proxies);
    let request = Request {
        params,
        query,
        headers,
        peer,
        correlation,
        body,
        caller,
    };
    let handled = (route.handler)(app, request).await;
    let reply = handled.unwrap_or_else(|error| Reply::error(&error, correlation));
    (reply, unread)
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
                permissions
                    .first()
                    .map_or(Ok(()), |first| caller.may(*first))?;
            }
        }
    }
    Ok(Some(caller))
}
