//! A request that found its route.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::Stream;
use headers::{Header, IfNoneMatch};
use http::header::{AUTHORIZATION, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use tillgate_api::Body;
use tillgate_base::data::etag::{self, EntityTags, Etag, Preconditions, without_suffixes};
use tillgate_base::data::note::Note;
use tillgate_base::data::quota::Usage;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Caller, TenantId};
use uuid::Uuid;

use super::access::Access;
use super::caller;
use super::query_parameter::{NOTE, QueryParameter};
use crate::Server;
use crate::answers::Held;
use crate::connection::Head;
use crate::events::{Authorization, Event, Followed};
use crate::headers::{accepts_coding, prefers};
use crate::reply::Reply;

/// A request that found its route, and whose caller may call it.
#[derive(Debug)]
pub struct Request {
    /// The path's parameters, percent-decoded, in order.
    pub params: Vec<String>,
    pub(crate) head: Arc<Head>,
    /// The address it came from, our own proxies aside.
    pub peer: IpAddr,
    /// Its correlation id.
    pub correlation: Uuid,
    /// The body.
    pub body: Body,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) access: Access,
    pub(crate) server: Arc<Server>,
    /// Its reservation, on a route that reserves before it reads.
    pub(crate) room: Option<Held>,
}

impl Request {
    /// The caller; every route but the public ones has one.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn caller(&self) -> Result<&Caller> {
        self.caller
            .as_deref()
            .ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// The same, for what outlives the request.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn shared_caller(&self) -> Result<Arc<Caller>> {
        let caller = self.caller.clone();
        caller.ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// The caller, if it is the platform's and the request is about what belongs to its own tenant: neither what is global, nor
    /// the rates of a tenant that the body names.
    pub(crate) fn operator(&self) -> Option<Arc<Caller>> {
        let caller = self.caller.as_ref().filter(|caller| caller.platform)?;
        let path = self.head.uri.path().strip_prefix("/api/v1/")?;
        let is_elsewhere = path.starts_with("global-") || path == "initial-state";
        (!is_elsewhere).then(|| Arc::clone(caller))
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// A parameter of the path.
    ///
    /// # Errors
    /// [`Error::Bug`] when the route has fewer.
    pub fn param(&self, index: usize) -> Result<&str> {
        let param = self.params.get(index).map(String::as_str);
        param.ok_or_else(|| Error::Bug("a route lacks a parameter".to_owned()))
    }

    /// The parameter of the query with this name, decoded. On a route that has callers no other has its name.
    #[must_use]
    pub fn query_param(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query().unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// A parameter of the query.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn query<T>(&self, parameter: &QueryParameter<T>) -> Result<Option<T>> {
        let text = self.query_param(parameter.name);
        let value = text.map(|text| (parameter.read)(&text)).transpose();
        value.map_err(|rule| Error::invalid(format!("$.{}", parameter.name), rule))
    }

    /// A parameter of the query that is true or false; false without it.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn flag(&self, parameter: &QueryParameter<bool>) -> Result<bool> {
        Ok(self.query(parameter)?.unwrap_or(false))
    }

    /// Why the caller makes a change, if they say so.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn note(&self) -> Result<Option<Note>> {
        Ok(self.query(&NOTE)?.flatten())
    }

    /// Whether the caller has this version already (`If-None-Match`, weak comparison).
    #[must_use]
    pub fn has(&self, etag: &Etag) -> bool {
        let tags = entity_tags(self.headers(), &IF_NONE_MATCH);
        tags.is_some_and(|tags| tags.contain(etag))
    }

    /// The answer to a GET: what `reply` makes, with its entity tag, or 304 when the caller has it already.
    #[must_use]
    pub fn answer(&self, etag: Etag, reply: impl FnOnce() -> Reply) -> Reply {
        let reply = if self.has(&etag) {
            Reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            reply()
        };
        reply.tagged(etag)
    }

    /// The same with something as JSON.
    ///
    /// # Errors
    /// [`Error::Bug`] for what has no JSON form.
    pub fn answer_json(&self, found: &impl Serialize) -> Result<Reply> {
        let json = serde_json::to_vec(found).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(self.answer(etag::of_text(&json), || {
            Reply::json(StatusCode::OK, json.into())
        }))
    }

    /// Whether an answer in a coding, such as `gzip`, is accepted.
    #[must_use]
    pub fn accepts_coding(&self, coding: &str) -> bool {
        accepts_coding(self.headers(), coding)
    }

    /// Whether `Accept` prefers one media type to another.
    #[must_use]
    pub fn prefers(&self, media_type: &str, other: &str) -> bool {
        prefers(self.headers(), media_type, other)
    }

    /// What must hold before something is changed.
    #[must_use]
    pub fn preconditions(&self) -> Preconditions {
        Preconditions {
            tags: entity_tags(self.headers(), &IF_MATCH),
            absent: self
                .headers()
                .get(IF_NONE_MATCH)
                .is_some_and(|value| value == "*"),
        }
    }

    /// Replaces what the route has reserved by this many bytes: call it once the size is known, before anything large is read.
    /// A tenant's share is reserved where that is less.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room in time; [`Error::Gone`] when nobody waits for the answer any more;
    /// [`Error::Bug`] on a route that has reserved nothing.
    pub async fn reserve(&self, bytes: usize) -> Result<()> {
        let held = self.room.as_ref();
        let held = held.ok_or_else(|| Error::Bug("a route reserves nothing".to_owned()))?;
        self.server.answers.resize(held, bytes).await
    }

    /// Answers with the events of a stream, for as long as the caller may call this route. All who ask for the
    /// same `stream` get the events of one source: `updates` is called for the first of them.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has too many subscribers.
    pub fn subscribe<U>(&self, stream: &str, updates: impl FnOnce() -> U) -> Result<Reply>
    where
        U: Stream<Item = Event> + Send + 'static,
    {
        let streams = &self.server.streams;
        let slot = streams.slot()?;
        Ok(streams.subscribe(stream, (self.authorization(), slot), updates))
    }

    /// Answers with events of the caller's own, for as long as the caller may call this route.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has too many subscribers.
    pub fn follow(&self, items: impl Stream<Item = Followed> + Send + 'static) -> Result<Reply> {
        let streams = &self.server.streams;
        let slot = streams.slot()?;
        Ok(streams.follow((self.authorization(), slot), items))
    }

    /// Ready when the other end of the connection has closed its side: the client may not wait for the answer any more.
    pub fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        self.head.incoming.clone().closed()
    }

    /// Checks again that the caller may call this route, for an answer that was waited for.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`], [`Error::Denied`].
    pub async fn authorize_again(&self) -> Result<()> {
        let tokens = self.server.tokens.as_ref();
        let (caller, _) = caller::caller_of(tokens, self.headers()).await?;
        self.access.check(&caller)
    }

    /// How many streams of events a tenant subscribes to on this host.
    #[must_use]
    pub fn streams_of(&self, tenant: &TenantId) -> Usage {
        let streams = &self.server.streams;
        streams.of(tenant)
    }

    /// Whether the caller may still call this route, whenever it is asked.
    fn authorization(&self) -> Authorization {
        let (server, access) = (&self.server, self.access);
        // A subscriber may stay for days: nothing else of its request is kept.
        let mut headers = HeaderMap::new();
        for value in self.headers().get_all(AUTHORIZATION) {
            headers.append(AUTHORIZATION, value.clone());
        }
        let headers = Arc::new(headers);
        let weak = Arc::downgrade(server);
        Box::new(move || {
            let (server, headers) = (weak.upgrade(), Arc::clone(&headers));
            Box::pin(async move {
                let Some(server) = server else { return false };
                let caller = caller::caller_of(server.tokens.as_ref(), &headers).await;
                caller.is_ok_and(|(caller, _)| access.check(&caller).is_ok())
            })
        })
    }
}

/// The entity tags of a header, `None` without it. Both headers are compared weakly: a compressed answer has a weak tag,
/// which names its version as well as the strong one does.
fn entity_tags(headers: &HeaderMap, name: &HeaderName) -> Option<EntityTags> {
    if !headers.contains_key(name) {
        return None;
    }
    let sent = headers.get_all(name).iter();
    let values: Vec<HeaderValue> = sent.map(as_answered).collect();
    // A header that is malformed matches nothing.
    let tags = values.iter().all(is_well_quoted);
    let tags = tags.then(|| IfNoneMatch::decode(&mut values.iter()).ok());
    Some(EntityTags(tags.flatten()))
}

/// A header's entity tags as they were answered, before a proxy compressed what they name.
fn as_answered(value: &HeaderValue) -> HeaderValue {
    let text = value.to_str().ok().map(without_suffixes);
    let text = text.and_then(|text| HeaderValue::from_str(&text).ok());
    text.unwrap_or_else(|| value.clone())
}

/// Whether each quoted text of a header has an end and no white space in it, which no entity tag has (RFC 9110, section
/// 8.8.3): `headers` relies on that.
fn is_well_quoted(value: &HeaderValue) -> bool {
    let mut quoted = false;
    for byte in value.as_bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b' ' | b'\t' if quoted => return false,
            _ => {}
        }
    }
    !quoted
}
