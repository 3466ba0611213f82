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
use crate::answer_budget::Held;
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
    /// The address it came from, behind our own proxies.
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
    /// Returns the caller, which every route has except the public ones.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn caller(&self) -> Result<&Caller> {
        self.caller
            .as_deref()
            .ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// Returns the caller for work that outlives the request.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn shared_caller(&self) -> Result<Arc<Caller>> {
        let caller = self.caller.clone();
        caller.ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// Returns the caller, if it is the platform's and the request is about its own tenant: neither about what is
    /// global, nor about the rates of a tenant that the body names.
    pub(crate) fn operator(&self) -> Option<Arc<Caller>> {
        let caller = self.caller.as_ref().filter(|caller| caller.platform)?;
        let path = self.head.uri.path().strip_prefix("/api/v1/")?;
        let is_elsewhere = path.starts_with("global-") || path == "initial-state";
        (!is_elsewhere).then(|| Arc::clone(caller))
    }

    /// Returns all headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns a path parameter by its position.
    ///
    /// # Errors
    /// [`Error::Bug`] when the route has fewer.
    pub fn param(&self, index: usize) -> Result<&str> {
        let param = self.params.get(index).map(String::as_str);
        param.ok_or_else(|| Error::Bug("a route lacks a parameter".to_owned()))
    }

    /// Returns the decoded query parameter of this name. On a route that has callers, there is only one of this name.
    #[must_use]
    pub fn query_param(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query().unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// Reads a query parameter.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn query<T>(&self, parameter: &QueryParameter<T>) -> Result<Option<T>> {
        let text = self.query_param(parameter.name);
        let value = text.map(|text| (parameter.read)(&text)).transpose();
        value.map_err(|rule| Error::invalid(format!("$.{}", parameter.name), rule))
    }

    /// Reads a query parameter that is true or false; false if it is missing.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn flag(&self, parameter: &QueryParameter<bool>) -> Result<bool> {
        Ok(self.query(parameter)?.unwrap_or(false))
    }

    /// Returns the caller's reason for a change, if it gives one.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the parameter.
    pub fn note(&self) -> Result<Option<Note>> {
        Ok(self.query(&NOTE)?.flatten())
    }

    /// Returns whether the caller has this version already (`If-None-Match`, weak comparison).
    #[must_use]
    pub fn has(&self, etag: &Etag) -> bool {
        let tags = entity_tags(self.headers(), &IF_NONE_MATCH);
        tags.is_some_and(|tags| tags.contain(etag))
    }

    /// Answers a GET with the result of `reply` and its entity tag, or with 304 if the caller has it already.
    #[must_use]
    pub fn answer(&self, etag: Etag, reply: impl FnOnce() -> Reply) -> Reply {
        let reply = if self.has(&etag) {
            Reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            reply()
        };
        reply.tagged(etag)
    }

    /// Answers a GET with a value as JSON, or with 304 if the caller has it already.
    ///
    /// # Errors
    /// [`Error::Bug`] when the value has no JSON form.
    pub fn answer_json(&self, found: &impl Serialize) -> Result<Reply> {
        let json = serde_json::to_vec(found).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(self.answer(etag::of_text(&json), || {
            Reply::json(StatusCode::OK, json.into())
        }))
    }

    /// Returns whether the client accepts an answer in a coding, such as `gzip`.
    #[must_use]
    pub fn accepts_coding(&self, coding: &str) -> bool {
        accepts_coding(self.headers(), coding)
    }

    /// Returns whether `Accept` prefers one media type to another.
    #[must_use]
    pub fn prefers(&self, media_type: &str, other: &str) -> bool {
        prefers(self.headers(), media_type, other)
    }

    /// Returns what must hold before something is changed.
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

    /// Replaces the route's reservation with one of this many bytes, or of a tenant's share if that is less. Call it
    /// once the size is known, before anything large is read.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room in time; [`Error::Gone`] when the client has
    /// closed the connection; [`Error::Bug`] on a route that has reserved nothing.
    pub async fn reserve(&self, bytes: usize) -> Result<()> {
        let held = self.room.as_ref();
        let held = held.ok_or_else(|| Error::Bug("a route reserves nothing".to_owned()))?;
        self.server.answers.resize(held, bytes).await
    }

    /// Answers with the events of a stream, for as long as the caller may call this route. All subscribers of the same
    /// `stream` share one source: `updates` is called for the first of them.
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

    /// Answers with the caller's own events, for as long as the caller may call this route.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has too many subscribers.
    pub fn follow(&self, items: impl Stream<Item = Followed> + Send + 'static) -> Result<Reply> {
        let streams = &self.server.streams;
        let slot = streams.slot()?;
        Ok(streams.follow((self.authorization(), slot), items))
    }

    /// Completes when the other end of the connection has closed its side: the client may no longer wait for the answer.
    pub fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        self.head.incoming.clone().closed()
    }

    /// Checks again that the caller may call this route, after a wait for the answer.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`], [`Error::Denied`].
    pub async fn authorize_again(&self) -> Result<()> {
        let tokens = self.server.tokens.as_ref();
        let (caller, _) = caller::caller_of(tokens, self.headers()).await?;
        self.access.check(&caller)
    }

    /// Returns how many event streams a tenant subscribes to on this host.
    #[must_use]
    pub fn streams_of(&self, tenant: &TenantId) -> Usage {
        let streams = &self.server.streams;
        streams.of(tenant)
    }

    /// Returns a function that checks whether the caller may still call this route.
    fn authorization(&self) -> Authorization {
        let (server, access) = (&self.server, self.access);
        // A subscriber may stay for days, so nothing else of its request is kept.
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

/// Returns the entity tags of a header; `None` if it is missing. Both headers are compared weakly: a compressed answer
/// has a weak tag, which names its version as well as the strong one does.
fn entity_tags(headers: &HeaderMap, name: &HeaderName) -> Option<EntityTags> {
    if !headers.contains_key(name) {
        return None;
    }
    let sent = headers.get_all(name).iter();
    let values: Vec<HeaderValue> = sent.map(as_answered).collect();
    // A malformed header matches nothing.
    let tags = values.iter().all(is_well_quoted);
    let tags = tags.then(|| IfNoneMatch::decode(&mut values.iter()).ok());
    Some(EntityTags(tags.flatten()))
}

/// Returns a header's entity tags as they were answered, before a proxy compressed the answers.
fn as_answered(value: &HeaderValue) -> HeaderValue {
    let text = value.to_str().ok().map(without_suffixes);
    let text = text.and_then(|text| HeaderValue::from_str(&text).ok());
    text.unwrap_or_else(|| value.clone())
}

/// Returns whether each quoted text of a header is closed and has no white space in it, which no entity tag has (RFC
/// 9110, section 8.8.3). `headers` relies on that.
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
