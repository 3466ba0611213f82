//! Routes and the table of them. A route says who may call a path and method, what body it takes, what the audit log
//! records of it, and which handler answers.

pub(super) mod access;
pub(super) mod audit;
pub(super) mod caller;
pub(super) mod operation;
pub(super) mod query_parameter;
pub(super) mod request;
pub(super) mod tag;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Method;
use percent_encoding::percent_decode_str;
use tillgate_api::Code;
use tillgate_base::config;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{STEP_RULE, is_step};
use tillgate_base::observe::metrics::{Recorder, Requests};
use uuid::Uuid;

use self::access::{Access, Takes};
use self::audit::{Audited, Audits};
use self::operation::{Operation, Place};
use self::request::Request;
use super::cors::Cors;
use super::reply::Reply;

/// Writes an error of HTTP itself, as a status and a sentence.
type WriteError = fn(Code, &str, Uuid) -> Reply;

/// The description of a route in the API's documents.
#[derive(Clone, Copy, Debug)]
pub enum Describes {
    /// None, and no reason is given. No route may stay this way.
    Nothing,
    /// None, for this reason.
    Exempt(&'static str),
    /// Returned by this function.
    With(fn() -> Operation),
}

impl Describes {
    /// Returns the names of the parameters that the query may have, if they are described.
    fn query(self) -> Option<Vec<&'static str>> {
        let Self::With(describe) = self else {
            return None;
        };
        let operation = describe();
        let parameters = operation.parameters.iter();
        let in_query = parameters.filter(|parameter| parameter.place == Place::Query);
        let names = in_query.map(|parameter| parameter.name);
        Some(
            names
                .chain(operation.earlier_names.iter().copied())
                .collect(),
        )
    }
}

/// A route as the API's documents see it.
#[derive(Clone, Debug)]
pub struct Described {
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// The callers that it admits.
    pub access: Access,
    /// Its description.
    pub describes: Describes,
    pub(super) takes: Takes,
}

type Handler<S> = dyn Fn(S, Request) -> BoxFuture<'static, Result<Audited>> + Send + Sync;

/// A route. `S` is the state that its handler acts on; a bound route has it already.
pub struct Route<S = ()> {
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// The callers that it admits.
    pub access: Access,
    /// Its record in the audit log.
    pub audits: Audits,
    describes: Describes,
    pub(super) takes: Takes,
    /// The media type of its answers; `None` if that depends on the request.
    pub(super) gives: Option<&'static str>,
    pub(super) write_error: WriteError,
    /// Set if it may take long.
    pub(super) is_heavy: bool,
    /// The bytes to reserve for one request; 0 for a route that reads a few records.
    pub room: usize,
    /// The name under which its requests are counted.
    counted_as: &'static str,
    handler: Arc<Handler<S>>,
}

impl<S> fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.method, self.path, self.access)
    }
}

impl<S: Clone + Send + Sync + 'static> Route<S> {
    /// Creates a route whose handler changes nothing.
    pub fn new<F, A>(
        method: Method,
        path: &'static str,
        access: Access,
        takes: Takes,
        handler: F,
    ) -> Self
    where
        F: Fn(S, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Reply>> + Send + 'static,
    {
        let handler = move |state, request| -> BoxFuture<'static, _> {
            let answer = handler(state, request);
            Box::pin(answer.map(|answer| answer.map(Reply::unchanged)))
        };
        let handler = Arc::new(handler);
        Self::with_handler((method, path, access, takes), Audits::Nothing, handler)
    }

    /// Creates a route whose handler changes something. The audit log gets a line with this action for each change.
    pub fn changing<F, A>(
        method: Method,
        path: &'static str,
        access: Access,
        takes: Takes,
        action: &'static str,
        handler: F,
    ) -> Self
    where
        F: Fn(S, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Audited>> + Send + 'static,
    {
        let handler =
            move |state, request| -> BoxFuture<'static, _> { Box::pin(handler(state, request)) };
        let handler = Arc::new(handler);
        Self::with_handler(
            (method, path, access, takes),
            Audits::Change(action),
            handler,
        )
    }

    fn with_handler(
        (method, path, access, takes): (Method, &'static str, Access, Takes),
        audits: Audits,
        handler: Arc<Handler<S>>,
    ) -> Self {
        Self {
            method,
            path,
            access,
            audits,
            describes: Describes::Nothing,
            takes,
            gives: Some("application/json"),
            write_error: Reply::problem,
            is_heavy: false,
            room: 0,
            counted_as: path,
            handler,
        }
    }

    /// Keeps the route out of the audit log for this reason, although its method is not GET.
    #[must_use]
    pub const fn unaudited(mut self, reason: &'static str) -> Self {
        self.audits = Audits::Exempt(reason);
        self
    }

    /// Describes the route in the API's documents.
    #[must_use]
    pub const fn described(mut self, describe: fn() -> Operation) -> Self {
        self.describes = Describes::With(describe);
        self
    }

    /// Excludes the route from the API, for this reason.
    #[must_use]
    pub const fn undocumented(mut self, reason: &'static str) -> Self {
        self.describes = Describes::Exempt(reason);
        self
    }

    /// Returns what the API's documents need of the route.
    #[must_use]
    pub fn to_described(&self) -> Described {
        Described {
            method: self.method.clone(),
            path: self.path,
            access: self.access,
            describes: self.describes,
            takes: self.takes,
        }
    }

    /// Writes the errors of HTTP itself with another function. A 405 uses the one of the path's first method.
    #[must_use]
    pub fn with_errors(mut self, write_error: WriteError) -> Self {
        self.write_error = write_error;
        self
    }

    /// Answers this media type instead of JSON.
    #[must_use]
    pub const fn giving(mut self, media_type: &'static str) -> Self {
        self.gives = Some(media_type);
        self
    }

    /// Leaves it to the handler to answer the media type that `Accept` prefers.
    #[must_use]
    pub const fn giving_what_is_preferred(mut self) -> Self {
        self.gives = None;
        self
    }

    /// Handles the route on threads of lower priority, because one request may read or plan so much that others would
    /// wait for it.
    #[must_use]
    pub const fn heavy(mut self) -> Self {
        self.is_heavy = true;
        self
    }

    /// Reserves this many bytes before the handler begins, for what one request reads and answers. They are released
    /// when the answer is sent. Routes that read a few records (2 MiB at most), or that answer what is in memory
    /// anyway, reserve nothing.
    #[must_use]
    pub const fn reserving(mut self, bytes: usize) -> Self {
        self.room = bytes;
        self
    }

    /// Counts the route's requests under this name, together with those of other routes.
    #[must_use]
    pub const fn counted_as(mut self, name: &'static str) -> Self {
        self.counted_as = name;
        self
    }

    /// Binds the route to the state that its handler acts on.
    pub fn bind(self, state: &S) -> Route {
        let (state, handler) = (state.clone(), self.handler);
        Route {
            method: self.method,
            path: self.path,
            access: self.access,
            audits: self.audits,
            describes: self.describes,
            takes: self.takes,
            gives: self.gives,
            write_error: self.write_error,
            is_heavy: self.is_heavy,
            room: self.room,
            counted_as: self.counted_as,
            handler: Arc::new(move |(), request| handler(state.clone(), request)),
        }
    }
}

impl Route {
    pub(super) fn answer(&self, request: Request) -> BoxFuture<'static, Result<Audited>> {
        (self.handler)((), request)
    }
}

/// Returns the decoded values of a path's parameters, or else what is wrong with them.
pub(super) fn values_of(params: &matchit::Params<'_, '_>) -> Result<Vec<String>, String> {
    let values = params.iter().map(|(name, value)| {
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| "the path must be percent-encoded UTF-8".to_owned())?;
        if is_step(&value) {
            Err(format!("$.{name} {STEP_RULE}"))
        } else {
            Ok(value.into_owned())
        }
    });
    values.collect()
}

/// All routes, by path and method.
#[derive(Debug)]
pub struct Table {
    paths: matchit::Router<Methods>,
    /// The other origins whose pages may call the routes.
    pub(super) cors: Option<Cors>,
    /// Records the requests that find no route.
    pub(super) unrouted: Recorder,
}

/// A route, and the recorder of its requests.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) route: Route,
    /// The parameters that its query may have; `None` for a route that is not part of the API.
    pub(super) query: Option<Vec<&'static str>>,
    pub(super) recorder: Recorder,
}

/// The routes of a path.
pub(super) type Methods = BTreeMap<&'static str, Measured>;

impl Table {
    /// Creates the table of these routes, whose requests are recorded.
    ///
    /// # Errors
    /// [`Error::Bug`] when two routes contradict each other, when a method is unusual, or when a route that is not GET
    /// does not state its record in the audit log. A GET that changes something states it as well.
    pub fn new(routes: impl IntoIterator<Item = Route>, requests: &Requests) -> Result<Self> {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for route in routes {
            let name = match route.method {
                Method::GET => "GET",
                Method::PUT => "PUT",
                Method::POST => "POST",
                Method::DELETE => "DELETE",
                _ => return Err(Error::Bug(format!("{route:?} has an unusual method"))),
            };
            if route.method != Method::GET && route.audits == Audits::Nothing {
                return Err(Error::Bug(format!("{route:?} must say what it changes")));
            }
            let path = route.path;
            let methods = by_path.entry(path).or_default();
            let recorder = requests.of(route.counted_as, name);
            let measured = Measured {
                query: route.describes.query(),
                route,
                recorder,
            };
            if methods.insert(name, measured).is_some() {
                return Err(Error::Bug(format!("{name} {path} is a duplicate")));
            }
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            let inserted = paths.insert(path, methods);
            inserted.map_err(|cause| Error::Bug(format!("{path}: {cause}")))?;
        }
        Ok(Self {
            paths,
            cors: None,
            unrouted: requests.of_none(),
        })
    }

    /// Lets pages of other origins call the routes.
    #[must_use]
    pub fn with_cors(self, settings: &config::Cors) -> Self {
        Self {
            cors: Cors::new(settings),
            ..self
        }
    }

    /// Returns the routes of a path, and the values of its parameters, percent-encoded. Clients append a path of
    /// `/.well-known/` to an issuer that may end in a slash, so one slash too many is accepted there.
    pub(super) fn at<'t, 'p>(
        &'t self,
        path: &'p str,
    ) -> Option<matchit::Match<'t, 'p, &'t Methods>> {
        let found = self.paths.at(path).ok();
        found.or_else(|| self.paths.at(well_known(path)?).ok())
    }

    /// Returns why a path has no routes, for people.
    pub(super) fn why_nothing(&self, path: &str) -> &'static str {
        let without_slash = path.strip_suffix('/').and_then(|path| self.at(path));
        match without_slash {
            Some(_) => "there is nothing at this path: remove the slash at its end",
            None => "there is nothing at this path",
        }
    }
}

/// Returns a path of `/.well-known/` without the one slash too many before or after it, if there is one.
fn well_known(path: &str) -> Option<&str> {
    let shorter = [path.strip_prefix('/'), path.strip_suffix('/')];
    let mut shorter = shorter.into_iter().flatten();
    shorter.find(|path| path.starts_with("/.well-known/"))
}
