//! Cross-origin requests: of which origins a page in a browser may call this host, and what it may send and read (Fetch,
//! "HTTP-CORS protocol"). Pure; off unless `[cors]` names origins.
//!
//! A caller is who the token says that the request carries, and never who a cookie says. So credentials are never allowed,
//! a page gets nothing by calling that its script could not get without a browser, and any origin may be let in with `*`.
//! Preflight requests are answered for paths of the table, with the methods that these have.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::connection::Head;
use super::reply::Reply;
use crate::config;

/// The headers that requests may have, besides those that every page may send.
const READ: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Correlation-Id, If-Match, If-None-Match, Last-Event-ID",
);

/// The headers that pages may read, besides those that every page may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Correlation-Id, ETag, Location, Retry-After, Tillgate-Engine, Tillgate-Failing-Tests, Tillgate-Stale, \
     WWW-Authenticate",
);

/// For how long browsers keep the answer to a preflight request, in seconds: as long as any of them does.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

const ANY: HeaderValue = HeaderValue::from_static("*");
const BY_ORIGIN: HeaderValue = HeaderValue::from_static("origin");

/// The origins whose pages may call.
#[derive(Debug)]
pub(super) enum Cors {
    Any,
    These(Vec<HeaderValue>),
}

impl Cors {
    /// What the settings say; `None` where no pages of other origins may call.
    pub(super) fn new(settings: &config::Cors) -> Option<Self> {
        if settings.allows_any() {
            return Some(Self::Any);
        }
        let origins = settings.origins.iter();
        let origins: Vec<_> = origins
            .filter_map(|origin| HeaderValue::from_str(origin).ok())
            .collect();
        (!origins.is_empty()).then_some(Self::These(origins))
    }

    /// The origin that may read the answer to a request.
    pub(super) fn reader(&self, request: &HeaderMap) -> Option<HeaderValue> {
        match self {
            Self::Any => Some(ANY),
            Self::These(origins) => {
                let sent = request.get(ORIGIN)?;
                origins.iter().find(|origin| *origin == sent).cloned()
            }
        }
    }

    /// The answer to a preflight request for a path with these methods; `None` when it is none, or comes from elsewhere.
    pub(super) fn preflight(&self, head: &Head, methods: &HeaderValue) -> Option<Reply> {
        let asks = head.method == Method::OPTIONS
            && head.headers.contains_key(ORIGIN)
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks {
            return None;
        }
        self.reader(&head.headers)?;
        let reply = Reply::empty(StatusCode::NO_CONTENT);
        Some(
            reply
                .with(ACCESS_CONTROL_ALLOW_METHODS, methods.clone())
                .with(ACCESS_CONTROL_ALLOW_HEADERS, READ)
                .with(ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        )
    }

    /// Says in an answer who may read it.
    pub(super) fn mark(&self, reader: Option<HeaderValue>, answer: &mut HeaderMap) {
        if let Self::These(_) = self {
            answer.append(VARY, BY_ORIGIN);
        }
        if let Some(reader) = reader {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, reader);
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}
