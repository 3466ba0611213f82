//! HTTP: serves every request through the table of routes.
//!
//! It checks the path and method first, then the caller, the query, the body's type, and the body. The handler parses,
//! makes one domain call and wraps the answer. warp carries requests and answers. The table finds the route, so that a
//! permission stands beside each and a 405 can name the allowed methods. Each feature has its routes in its `http.rs`.

mod answer_budget;
mod connection;
mod cors;
pub mod document;
mod events;
mod headers;
mod problem_document;
mod query;
pub mod reply;
mod route;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use ::http::header::{ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CONNECTION};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::{Buf, Bytes};
use bytesize::ByteSize;
use futures_util::Stream;
use ipnet::IpNet;
use tillgate_api::Body;
use tillgate_api::problem::{
    INVALID, METHOD_NOT_ALLOWED, NOT_ACCEPTABLE, PATH_NOT_FOUND, UNSUPPORTED_MEDIA_TYPE,
};
use tillgate_base::app::App;
use tillgate_base::config::UnknownMembers;
use tillgate_base::data::feed::Staleness;
use tillgate_base::error::Error;
use tillgate_base::identity::Caller;
use tillgate_base::load::room::Room;
use tillgate_base::load::{Context, Requester, Workers};
use tillgate_base::observe::metrics::Tenants;
use tillgate_base::observe::traces::RequestSpan;
use tillgate_engine::json::BYTE_ORDER_MARK;
use uuid::Uuid;

use self::answer_budget::Answers;
use self::connection::Head;
pub use self::connection::admission::ConnectionLimits;
use self::connection::body::{BodyError, MAX_WAITING, Unread, read};
pub use self::connection::tls::{Certificate, Tls};
pub use self::connection::{Current, Listener};
use self::events::Streams;
pub use self::events::{Event, Followed};
pub use self::headers::{ContentType, content_type};
use self::headers::{
    PREFERENCE_APPLIED, accepts, accepts_by_name, accepts_coding, behind_proxies, correlation,
    is_json, prefers_lenient,
};
pub use self::query::{Faults, Query};
pub use self::reply::Reply;
pub use self::route::access::{Access, Takes};
use self::route::audit::Asked;
pub use self::route::audit::{Audited, Audits};
pub use self::route::caller::Authenticate;
use self::route::caller::{caller_of, named};
pub use self::route::operation::Operation;
pub use self::route::query_parameter::{CURSOR_RULE, LIMIT, QueryParameter};
pub use self::route::request::Request;
pub use self::route::tag::Tag;
pub use self::route::{Described, Describes, Route, Table};
use self::route::{Measured, values_of};

/// The largest body of most routes: 1 MiB.
pub const MAX_BODY: usize = 1 << 20;

fn as_count(size: ByteSize) -> usize {
    usize::try_from(size.as_u64()).unwrap_or(usize::MAX)
}

/// The server that answers requests: the routes, and all that is needed to reach them.
#[derive(Debug)]
pub struct Server {
    table: Table,
    /// Authenticates callers.
    tokens: Arc<dyn Authenticate>,
    trusted_proxies: Vec<IpNet>,
    /// Set if unknown members and parameters are ignored unless the request says otherwise.
    ignores_unknown: bool,
    streams: Streams,
    workers: Arc<Workers>,
    /// The room for large bodies that are being read or acted on: those of callers, and of anonymous requests.
    bodies: Room,
    anonymous_bodies: Room,
    answers: Answers,
    /// Counts requests by tenant, if that is switched on.
    tenants: Option<Arc<Tenants>>,
}

impl Server {
    /// Creates the server of these routes.
    #[must_use]
    pub fn new(table: Table, tokens: Arc<dyn Authenticate>, app: &App) -> Arc<Self> {
        let limits = &app.config.limits;
        Arc::new(Self {
            bodies: Room::new(as_count(limits.request_bytes), MAX_WAITING),
            anonymous_bodies: Room::new(as_count(limits.request_bytes) / 4, MAX_WAITING),
            answers: Answers::new(as_count(limits.answer_bytes)),
            table,
            tokens,
            trusted_proxies: app.config.trusted_proxies.clone(),
            ignores_unknown: app.config.http.unknown_members == UnknownMembers::Ignore,
            streams: Streams::new(
                app.stopping(),
                app.workers.handle(),
                app.config.quotas.streams,
            ),
            workers: Arc::clone(&app.workers),
            tenants: app.metrics.tenants().cloned(),
        })
    }
}

impl Server {
    async fn answer<B: Buf>(
        self: Arc<Self>,
        head: Arc<Head>,
        body: impl Stream<Item = Result<B, warp::Error>> + Send,
    ) -> warp::reply::Response {
        let begin = Instant::now();
        let correlation = correlation(&head.headers);
        let gzip = accepts_coding(&head.headers, "gzip");
        let bulk = head.bulk.clone();
        let cors = self.table.cors.as_ref();
        let cors = cors.map(|cors| (cors, cors.reader(&head.headers)));
        let mut body = std::pin::pin!(body);
        let unread = Unread::of(&head.headers);
        let found = self.find(&head, correlation);
        let route = found.as_ref().ok().map(|(found, _)| found.route.path);
        let span = RequestSpan::begin(
            &head.method,
            head.uri.path(),
            &head.headers,
            route,
            correlation,
        );
        let (mut reply, unread, recorder) = match found {
            Ok((measured, params)) => {
                let is_private = !matches!(measured.route.access, Access::Public);
                let prefers = prefers_lenient(&head.headers).filter(|_| is_private);
                // Awaited in place: a future that is held in a variable takes twice the memory, and is copied.
                let (mut reply, unread) = self
                    .serve(measured, params, head, correlation, body.as_mut(), unread)
                    .await;
                if is_private {
                    reply.keep_private();
                }
                if let Some(lenient) = prefers {
                    let applied = if lenient {
                        "handling=lenient"
                    } else {
                        "handling=strict"
                    };
                    reply = reply.with(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
                }
                (reply, unread, &measured.recorder)
            }
            Err(reply) => (*reply, unread, &self.table.unrouted),
        };
        recorder.record(reply.status().as_u16(), begin.elapsed());
        span.end(reply.status());
        if !unread.drain(body).await || self.streams.is_stopping() {
            reply = reply.with(CONNECTION, HeaderValue::from_static("close"));
        }
        if reply.is_bulk() {
            bulk.set(true);
            // The yield lets the connection move to other threads before any of the answer is written.
            tokio::task::yield_now().await;
        }
        let mut response = reply.into_response(correlation, gzip);
        if let Some((cors, reader)) = cors {
            cors.mark(reader, response.headers_mut());
        }
        response
    }

    /// Returns the route for the request's path and method with the path's parameters, or else the answer.
    fn find(&self, head: &Head, correlation: Uuid) -> Result<(&Measured, Vec<String>), Box<Reply>> {
        if !head.names_host {
            let detail = "the request must have one Host header";
            let reply = Reply::problem(INVALID, detail, correlation);
            return Err(Box::new(reply));
        }
        // HAProxy checks a host this way by default. Only `/readyz` says whether this host can decide.
        let is_check = head.method == Method::OPTIONS && head.uri.path() == "/";
        if is_check && !head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return Err(Box::new(Reply::empty(StatusCode::NO_CONTENT)));
        }
        let Some(found) = self.table.at(head.uri.path()) else {
            let detail = self.table.why_nothing(head.uri.path());
            let reply = Reply::problem(PATH_NOT_FOUND, detail, correlation);
            return Err(Box::new(reply));
        };
        let methods = found.value;
        let method = match head.method {
            Method::HEAD => &Method::GET,
            ref other => other,
        };
        let Some(measured) = methods.get(method.as_str()) else {
            let mut allow: Vec<_> = methods.keys().copied().collect();
            if allow.contains(&"GET") {
                allow.push("HEAD");
            }
            allow.sort_unstable();
            let allow = allow.join(", ");
            let value = HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static("GET"));
            let cors = self.table.cors.as_ref();
            if let Some(reply) = cors.and_then(|cors| cors.preflight(head, &value)) {
                return Err(Box::new(reply));
            }
            let first = methods.values().next();
            let write_error = first.map_or(Reply::problem as _, |first| first.route.write_error);
            let detail = format!("this path takes {allow}");
            let reply = write_error(METHOD_NOT_ALLOWED, &detail, correlation);
            return Err(Box::new(reply.with(ALLOW, value)));
        };
        let params = values_of(&found.params).map_err(|detail| {
            let write_error = measured.route.write_error;
            Box::new(write_error(INVALID, &detail, correlation))
        })?;
        Ok((measured, params))
    }

    /// Takes a request through its route: the caller, the type of the body, the body, the handler. Returns the answer,
    /// and what is left of the body.
    async fn serve<B: Buf>(
        self: &Arc<Self>,
        Measured { route, query, .. }: &Measured,
        params: Vec<String>,
        head: Arc<Head>,
        correlation: Uuid,
        body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
        unread: Unread,
    ) -> (Reply, Unread) {
        let refuse = |code, detail: &str| (route.write_error)(code, detail, correlation);
        let (caller, staleness) = match self.authorize(route.access, &head.headers).await {
            Ok(authorized) => authorized,
            Err(error) => return (Reply::error(&error, correlation), unread),
        };
        if let Some(media_type) = route.gives
            && !accepts(&head.headers, media_type)
            // A client of an operation whose answer has no body may accept errors only.
            && !accepts_by_name(&head.headers, problem_document::MEDIA_TYPE)
        {
            let detail = format!("the answer is {media_type}, which Accept must allow");
            return (refuse(NOT_ACCEPTABLE, &detail), unread);
        }
        // Public routes, including those of OAuth, ignore what they do not know.
        let lenient =
            caller.is_none() || prefers_lenient(&head.headers).unwrap_or(self.ignores_unknown);
        let sent = head.uri.query().filter(|_| caller.is_some());
        let known = query.as_deref().filter(|_| !lenient);
        if let Some(sent) = sent
            && let Err(error) = query::check(sent, known)
        {
            return (Reply::error(&error, correlation), unread);
        }
        let limit = match route.takes {
            Takes::Nothing => 0,
            Takes::Anything(limit) => limit,
            Takes::Json(limit) => {
                if !is_json(&head.headers) {
                    let detail = "the body must be application/json, not encoded";
                    return (refuse(UNSUPPORTED_MEDIA_TYPE, detail), unread);
                }
                limit
            }
        };
        let peer = behind_proxies(head.peer, &head.headers, &self.trusted_proxies);
        let context = Context {
            requester: Requester::of(caller.as_deref(), peer),
            client: caller.as_ref().map(|caller| Arc::clone(&caller.subject)),
            connection: Some(head.clone()),
        };
        let read_and_answer = std::pin::pin!(async {
            let (body, unread) = match limit {
                0 => (Bytes::new(), unread),
                limit => {
                    let bodies = self.bodies_of(caller.is_some());
                    match read(body, limit, unread.announced, bodies).await {
                        Ok(mut body) => {
                            let is_json = matches!(route.takes, Takes::Json(_));
                            if is_json && body.starts_with(BYTE_ORDER_MARK) {
                                body.advance(BYTE_ORDER_MARK.len());
                            }
                            (body, Unread::NOTHING)
                        }
                        Err(why) => return (refuse_body(&why, limit, route, correlation), unread),
                    }
                }
            };
            let request = Request {
                params,
                head: Arc::clone(&head),
                peer,
                correlation,
                body: Body {
                    bytes: body,
                    lenient,
                },
                caller,
                access: route.access,
                server: Arc::clone(self),
                room: None,
            };
            let answered = self.answer_within_limits(route, request).await;
            let reply = answered.unwrap_or_else(|error| Reply::error(&error, correlation));
            (reply.stale(staleness), unread)
        });
        context.run(read_and_answer).await
    }

    /// Returns the room for bodies of callers, or of anonymous requests.
    const fn bodies_of(&self, has_caller: bool) -> &Room {
        if has_caller {
            &self.bodies
        } else {
            &self.anonymous_bodies
        }
    }

    /// Reserves memory for what the route reads, answers on the threads for it, and counts the answer.
    async fn answer_within_limits(
        &self,
        route: &Route,
        mut request: Request,
    ) -> tillgate_base::error::Result<Reply> {
        let accepts_gzip = request.accepts_coding("gzip");
        let asked = Asked::of(route.audits, &request);
        let operator = request.operator();
        let (handled, held) = match self.answers.hold(route.room).await {
            Ok(held) => {
                request.room.clone_from(&held);
                let answer = route.answer(request);
                let handled = if route.is_heavy {
                    Box::pin(self.workers.run_task(answer)).await.flatten()
                } else {
                    answer.await
                };
                (handled, held)
            }
            Err(error) => (Err(error), None),
        };
        let is_change = asked.is_some();
        if let Some(asked) = asked {
            asked.write(&handled);
        }
        let mut reply = handled.map_err(|error| named(error, operator))?.reply;
        if accepts_gzip && reply.takes_long_to_compress() {
            reply = Box::pin(self.workers.run(|| reply.compress())).await?;
        }
        self.answers.count(reply, held, is_change)
    }

    /// Returns the caller, if it may call a route of this access, and how stale the cached data about it is. A public
    /// route has no caller.
    async fn authorize(
        &self,
        access: Access,
        headers: &HeaderMap,
    ) -> tillgate_base::error::Result<(Option<Arc<Caller>>, Staleness)> {
        if matches!(access, Access::Public) {
            return Ok((None, Staleness::default()));
        }
        let (caller, staleness) = caller_of(self.tokens.as_ref(), headers).await?;
        if let Some(tenants) = &self.tenants {
            tenants.count_request(caller.tenant.as_str());
        }
        access.check(&caller)?;
        Ok((Some(caller), staleness))
    }
}

/// Returns the answer to a request whose body could not be read.
fn refuse_body(why: &BodyError, limit: usize, route: &Route, correlation: Uuid) -> Reply {
    let Some((code, detail)) = why.answer(limit) else {
        let error = Error::Overloaded("too many large bodies are being read");
        return Reply::error(&error, correlation);
    };
    (route.write_error)(code, &detail, correlation)
}
