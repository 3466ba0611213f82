//! Answers: bodies, headers, and the one place where an error becomes a status.
//!
//! The body of an error is a problem document (`problem_document.rs`).

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::header::{
    AGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tillgate_api::Code;
use tillgate_base::data::encoded::{Encoded, MAX_WHOLE, Whole, chunks, gzip};
use tillgate_base::data::etag::Written;
use tillgate_base::data::feed::Staleness;
use tillgate_base::error::Error;
use tillgate_base::load::Requester;
use tillgate_base::load::budget::{Reservation, counted};
use uuid::Uuid;
use warp::Reply as _;

use super::problem_document;

/// `Correlation-Id`.
pub const CORRELATION_ID: HeaderName = HeaderName::from_static("correlation-id");

/// `Tillgate-Stale`: the age in seconds of the data behind an answer, while the store is unavailable.
pub const TILLGATE_STALE: HeaderName = HeaderName::from_static("tillgate-stale");

/// The challenge of a 401, the same for every reason (`tokens.md`, "Verifying a caller").
const INVALID_TOKEN: &str = "Bearer error=\"invalid_token\"";
const INSUFFICIENT_SCOPE: &str = "Bearer error=\"insufficient_scope\"";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

/// Shorter bodies are not worth compressing.
const COMPRESS_FROM: usize = 1024;

/// Longer bodies are compressed off the threads that serve, unless they are longer than [`MAX_WHOLE`].
const LARGE: usize = 16 << 10;

/// Longer bodies are sent by the threads of lower priority.
const BULK: usize = 32 << 10;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    staleness: Staleness,
    /// Its share of the memory that all answers may take.
    reservation: Option<Reservation<Requester>>,
}

#[derive(Debug)]
enum Body {
    Whole(Bytes),
    Shared(Arc<Whole>),
    Stream(Box<warp::reply::Response>),
}

impl Reply {
    fn new(status: StatusCode, body: Body) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body,
            staleness: Staleness::default(),
            reservation: None,
        }
    }

    /// Creates an answer without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self::new(status, Body::Whole(Bytes::new()))
    }

    /// Creates an answer from JSON that is encoded already.
    #[must_use]
    pub fn json(status: StatusCode, body: Bytes) -> Self {
        Self::new(status, Body::Whole(body)).with(CONTENT_TYPE, JSON)
    }

    /// Creates an answer from JSON that many answers share.
    #[must_use]
    pub fn encoded(text: Encoded) -> Self {
        let reply = match text {
            Encoded::Whole(text) => Self::new(StatusCode::OK, Body::Shared(text)),
            Encoded::Pieces(pieces) => {
                let chunks = stream::iter(chunks(pieces).map(Ok::<_, Infallible>));
                Self::stream(warp::reply::stream(chunks).into_response())
            }
        };
        reply.with(CONTENT_TYPE, JSON)
    }

    /// Creates an answer from a file of a media type.
    #[must_use]
    pub fn file(media_type: &'static str, content: Bytes) -> Self {
        Self::json(StatusCode::OK, content).with(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    /// Creates an answer from a value, as JSON.
    ///
    /// # Errors
    /// [`Error::Bug`] when the value has no JSON form.
    pub fn of(status: StatusCode, value: &impl serde::Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(Self::json(status, body.into()))
    }

    /// Creates an answer with a streamed body.
    #[must_use]
    pub fn stream(response: warp::reply::Response) -> Self {
        Self::new(StatusCode::OK, Body::Stream(Box::new(response)))
    }

    /// Returns its status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Sets a header, in place of any of its name.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets the age of the cached data behind it. The oldest counts.
    #[must_use]
    pub fn stale(mut self, staleness: Staleness) -> Self {
        self.staleness = self.staleness.max(staleness);
        self
    }

    /// Sets the entity tag.
    #[must_use]
    pub fn tagged(self, etag: HeaderValue) -> Self {
        self.with(ETAG, etag)
    }

    /// Returns the answer to an error. A 500 reveals nothing internal; its correlation id finds the line in the log.
    #[must_use]
    pub fn error(error: &Error, correlation: Uuid) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            Error::Invalid(faults) => {
                let messages = problem_document::messages(faults);
                let detail = format!("the request has faults: {}", messages.join("; "));
                problem(code, &detail, Some(messages), None, correlation)
            }
            Error::FailingTests(faults) => {
                let messages = problem_document::messages(faults);
                let detail = format!("tests fail: {}", messages.join("; "));
                problem(code, &detail, Some(messages), None, correlation)
            }
            Error::ConflictList { member, list, .. } => {
                problem(code, &detail, None, Some((*member, list)), correlation)
            }
            Error::Unauthenticated(_) => {
                let challenge = HeaderValue::from_static(INVALID_TOKEN);
                Self::problem(code, &detail, correlation).with(WWW_AUTHENTICATE, challenge)
            }
            Error::Denied(..) => {
                let challenge = HeaderValue::from_static(INSUFFICIENT_SCOPE);
                Self::problem(code, &detail, correlation).with(WWW_AUTHENTICATE, challenge)
            }
            Error::TooMany { retry_after, .. } => {
                let seconds = retry_after.as_millis().div_ceil(1000).max(1);
                let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
                Self::problem(code, &detail, correlation).with(RETRY_AFTER, seconds.into())
            }
            Error::Busy | Error::Overloaded(_) => {
                Self::problem(code, &detail, correlation).with(RETRY_AFTER, 1.into())
            }
            Error::Unavailable(cause) => {
                tracing::debug!(%correlation, %cause, "the store is unavailable");
                Self::problem(code, &detail, correlation).with(RETRY_AFTER, 1.into())
            }
            Error::Bug(cause) => {
                tracing::error!(%correlation, cause, "a request failed with an internal error");
                Self::problem(code, &detail, correlation)
            }
            Error::NotFound(..) | Error::Conflict(..) | Error::Outdated(..) | Error::Gone => {
                Self::problem(code, &detail, correlation)
            }
        }
    }

    /// Creates an answer with a problem document of a code and a sentence.
    #[must_use]
    pub fn problem(code: Code, detail: &str, correlation: Uuid) -> Self {
        let messages = (code.status == 400).then(|| vec![detail.to_owned()]);
        problem(code, detail, messages, None, correlation)
    }

    /// Returns whether it is large or streamed, so that the threads of lower priority send it.
    pub(super) fn is_bulk(&self) -> bool {
        match &self.body {
            Body::Whole(bytes) => bytes.len() > BULK,
            Body::Shared(text) => text.text().len() > BULK,
            Body::Stream(_) => true,
        }
    }

    /// Returns the size of a body that was made for this answer alone.
    pub(super) fn own_bytes(&self) -> Option<usize> {
        match &self.body {
            Body::Whole(bytes) => Some(bytes.len()),
            Body::Shared(_) | Body::Stream(_) => None,
        }
    }

    /// Holds a reservation of the memory for answers until the answer is sent.
    #[must_use]
    pub(super) fn reserving(mut self, reservation: Reservation<Requester>) -> Self {
        self.reservation = Some(reservation);
        self
    }

    /// Returns whether compressing it would keep others waiting.
    pub(super) fn takes_long_to_compress(&self) -> bool {
        let size = match &self.body {
            Body::Whole(bytes) => bytes.len(),
            Body::Shared(text) if !text.is_compressed() => text.text().len(),
            Body::Shared(_) | Body::Stream(_) => 0,
        };
        (LARGE..=MAX_WHOLE).contains(&size)
    }

    /// Compresses it if that is worthwhile and not done yet.
    #[must_use]
    pub(super) fn compress(mut self) -> Self {
        let size = match &self.body {
            Body::Whole(bytes) => bytes.len(),
            Body::Shared(text) => text.text().len(),
            Body::Stream(_) => 0,
        };
        let is_encoded = self.headers.contains_key(CONTENT_ENCODING);
        if !(COMPRESS_FROM..=MAX_WHOLE).contains(&size) || is_encoded {
            return self;
        }
        let smaller = match &self.body {
            Body::Whole(bytes) => gzip(bytes).map(Body::Whole),
            Body::Shared(text) => {
                let smaller = text.compressed();
                smaller.map(|smaller| Body::Shared(Arc::new(smaller.into())))
            }
            Body::Stream(_) => None,
        };
        if let Some(smaller) = smaller {
            self.body = smaller;
            weaken(&mut self.headers);
            self.headers
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            self.headers.insert(VARY, ACCEPT_ENCODING);
        }
        self
    }

    /// Converts it into the response that warp sends.
    #[must_use]
    pub fn into_response(mut self, correlation: Uuid, gzip: bool) -> warp::reply::Response {
        if gzip {
            self = self.compress();
        }
        let bytes = match &self.body {
            Body::Whole(bytes) => bytes.clone(),
            Body::Shared(text) => text.text().clone(),
            Body::Stream(_) => Bytes::new(),
        };
        if bytes.len() >= COMPRESS_FROM && !self.headers.contains_key(CONTENT_ENCODING) {
            self.headers.insert(VARY, ACCEPT_ENCODING);
        }
        let bytes = match self.reservation.take() {
            Some(reservation) => counted(bytes, reservation),
            None => bytes,
        };
        // An error rests on no data.
        if !self.status.is_server_error()
            && let Some(seconds) = self.staleness.seconds()
        {
            self.headers.insert(TILLGATE_STALE, seconds.into());
            self.headers.insert(AGE, seconds.into());
        }
        let mut response = match self.body {
            Body::Stream(response) => *response,
            Body::Whole(_) | Body::Shared(_) => warp::reply::Response::new(bytes.into()),
        };
        if !matches!(self.status, StatusCode::OK) {
            *response.status_mut() = self.status;
        }
        if response.headers().is_empty() {
            *response.headers_mut() = self.headers;
        } else {
            response.headers_mut().extend(self.headers);
        }
        response
            .headers_mut()
            .insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
        let mut text = Uuid::encode_buffer();
        let text = correlation.hyphenated().encode_lower(&mut text);
        if let Ok(value) = HeaderValue::from_str(text) {
            response.headers_mut().insert(CORRELATION_ID, value);
        }
        response
    }

    /// Keeps the answer to a request with a token out of caches.
    pub fn keep_private(&mut self) {
        self.headers.entry(CACHE_CONTROL).or_insert(NO_STORE);
    }
}

/// Returns the status of a PUT's answer.
#[must_use]
pub const fn status_of(written: Written) -> StatusCode {
    match written {
        Written::Created => StatusCode::CREATED,
        Written::Replaced | Written::Unchanged => StatusCode::OK,
    }
}

/// Creates an answer with a problem document; `more` is one more member.
fn problem(
    code: Code,
    detail: &str,
    messages: Option<Vec<String>>,
    more: Option<(&str, &RawValue)>,
    correlation: Uuid,
) -> Reply {
    let status = StatusCode::from_u16(code.status).unwrap_or_default();
    let body = problem_document::document(code, detail, messages, more, correlation);
    Reply::json(status, body).with(
        CONTENT_TYPE,
        HeaderValue::from_static(problem_document::MEDIA_TYPE),
    )
}

/// Weakens the entity tag: the compressed answer is the same version, but not the same bytes (RFC 9110, section 8.8.1).
fn weaken(headers: &mut HeaderMap) {
    let weak = headers.get(ETAG).and_then(|tag| {
        let weak = [b"W/".as_slice(), tag.as_bytes()].concat();
        HeaderValue::from_bytes(&weak).ok()
    });
    if let Some(weak) = weak {
        headers.insert(ETAG, weak);
    }
}
