//! Cross-origin requests: the origins whose pages may call this host from a browser, and what they may send and read
//! (Fetch, "HTTP-CORS protocol"). Pure; off unless `[cors]` names origins.
//!
//! The token of a request says who the caller is; a cookie never does. So credentials are never allowed, a page gets
//! nothing that its script could not get without a browser, and `*` may let in any origin. Preflight requests are
//! answered for the paths of the table, with the methods of each path.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tillgate_base::config;

use super::connection::Head;
use super::reply::Reply;

/// The headers that requests may have, besides those that every page may send. The last three come from tracing libraries.
const READ: &str = "Authorization, Content-Type, Correlation-Id, If-Match, If-None-Match, Last-Event-ID, \
                    Prefer, baggage, traceparent, tracestate";

/// The headers that pages may read, besides those that every page may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Correlation-Id, ETag, Location, Preference-Applied, Retry-After, Tillgate-Engine, Tillgate-Failing-Tests, Tillgate-Stale, \
     WWW-Authenticate",
);

/// The time for which browsers cache the answer to a preflight request, in seconds: the longest that any of them allows.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

const ANY: HeaderValue = HeaderValue::from_static("*");
const BY_ORIGIN: HeaderValue = HeaderValue::from_static("origin");

/// The pages that may call, and the headers that they may send.
#[derive(Debug)]
pub(super) struct Cors {
    origins: Origins,
    headers: HeaderValue,
}

#[derive(Debug)]
enum Origins {
    Any,
    These(Vec<HeaderValue>),
}

impl Cors {
    /// Reads the settings; returns `None` if no pages of other origins may call.
    pub(super) fn new(settings: &config::Cors) -> Option<Self> {
        let origins = if settings.allows_any() {
            Origins::Any
        } else {
            let origins = settings.origins.iter();
            let origins = origins.filter_map(|origin| HeaderValue::from_str(origin).ok());
            Origins::These(origins.collect())
        };
        if matches!(&origins, Origins::These(none) if none.is_empty()) {
            return None;
        }
        let more = settings.headers.iter().map(String::as_str);
        let headers: Vec<&str> = std::iter::once(READ).chain(more).collect();
        let headers = HeaderValue::from_str(&headers.join(", "));
        Some(Self {
            origins,
            headers: headers.unwrap_or(HeaderValue::from_static(READ)),
        })
    }

    /// Returns the origin that may read the answer to a request.
    pub(super) fn reader(&self, request: &HeaderMap) -> Option<HeaderValue> {
        match &self.origins {
            Origins::Any => Some(ANY),
            Origins::These(origins) => {
                let sent = request.get(ORIGIN)?;
                origins.iter().find(|origin| *origin == sent).cloned()
            }
        }
    }

    /// Answers a preflight request for a path with these methods; `None` for other requests and other origins.
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
                .with(ACCESS_CONTROL_ALLOW_HEADERS, self.headers.clone())
                .with(ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        )
    }

    /// Marks an answer with the origin that may read it.
    pub(super) fn mark(&self, reader: Option<HeaderValue>, answer: &mut HeaderMap) {
        if let Origins::These(_) = self.origins {
            answer.append(VARY, BY_ORIGIN);
        }
        if let Some(reader) = reader {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, reader);
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}
