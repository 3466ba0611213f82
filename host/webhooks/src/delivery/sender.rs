//! Sends one attempt: its headers, with the proof of its origin, and the request (`webhooks.md`, "A delivery").
//!
//! `answer.rs` decides what an answer means. [`Sender::headers`] adds the headers that every delivery has; their names are
//! also reserved in `registry/body.rs`, so that no signature takes their place.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use tillgate_base::config;
use tillgate_base::egress::{Client, Destinations, Limits, Names};
use tillgate_base::error::{Error, Result};
use tillgate_engine::signature::{self, standard_webhooks};
use tillgate_store::clock::{Clock, Timestamp};

use super::answer::{AttemptResult, MAX_PREFIX, classify, kind_of, unanswered};
use super::identity_provider::IdentityProvider;
use super::redaction::Secrets;
use crate::events::delivery_record::FailureKind;
use crate::events::event::Event;
use crate::registry::shared_keys::Keys;
use crate::registry::webhook::{Authentication, Settings};

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

const CORRELATION_ID: HeaderName = HeaderName::from_static("correlation-id");
const BODY_SIGNATURE: &str = "X-Service-Body-Signature";

/// The body of a request: the envelope, which all requests of an event share.
struct Body(Arc<Event>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.0.envelope().as_bytes()
    }
}

/// The headers of a request and the secrets in them, or the result of an attempt that cannot be made.
#[derive(Debug)]
pub(crate) enum Prepared {
    Request(HeaderMap, Secrets),
    Failed(AttemptResult),
}

/// Sends deliveries over reused connections.
#[derive(Debug)]
pub(crate) struct Sender {
    client: Client,
    user_agent: HeaderValue,
    signature_headers: Vec<HeaderName>,
}

impl Sender {
    pub(crate) fn new(settings: &config::Webhooks, names: Arc<dyn Names>) -> Result<Self> {
        let limits = Limits {
            deadline: settings.deadline,
            max_answer: MAX_ANSWER,
            destinations: Destinations::Public {
                besides: settings.allow_private.clone(),
            },
        };
        let client = Client::with_names(limits, names);
        let client = client.map_err(|cause| Error::Bug(cause.to_string()))?;
        let user_agent = match settings.user_agent.as_str() {
            "" => concat!("Tillgate-Webhooks/", env!("CARGO_PKG_VERSION")),
            configured => configured,
        };
        let names = settings.signature_headers.iter();
        let names = names.map(|name| name.parse());
        let names: Result<_, http::header::InvalidHeaderName> = names.collect();
        Ok(Self {
            client,
            user_agent: value(user_agent)?,
            signature_headers: names.map_err(|cause| Error::Bug(cause.to_string()))?,
        })
    }

    /// Returns whether a URL contains an address that must not be dialled. Names are resolved at each attempt.
    pub(crate) fn refuses(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.client.refusal(&url).is_some())
    }

    /// Makes an attempt: sends an event to a webhook.
    pub(crate) async fn send(
        &self,
        identity: &IdentityProvider,
        settings: &Settings,
        event: Arc<Event>,
        clock: &dyn Clock,
    ) -> Result<AttemptResult> {
        let (at, begin) = (clock.now(), Instant::now());
        let (headers, secrets) = match self.prepare(identity, settings, &event, at).await? {
            Prepared::Request(headers, secrets) => (headers, secrets),
            Prepared::Failed(result) => return Ok(result),
        };
        let url = Url::parse(&settings.callback_url);
        let url = url.map_err(|cause| Error::Bug(format!("a stored URL is malformed: {cause}")))?;
        let body = Bytes::from_owner(Body(event));
        let sent = self.client.post_for_head(&url, &headers, body, MAX_PREFIX);
        let answered = sent.await;
        Ok(match answered {
            Ok(head) => classify(at, begin.elapsed(), &head, &secrets),
            Err(cause) => unanswered(at, begin.elapsed(), kind_of(&cause), cause.to_string()),
        })
    }

    /// Prepares the headers of a request that is made at a time.
    pub(crate) async fn prepare(
        &self,
        identity: &IdentityProvider,
        settings: &Settings,
        event: &Event,
        at: Timestamp,
    ) -> Result<Prepared> {
        let begin = Instant::now();
        Ok(match authorization(identity, settings).await {
            Ok(authorization) => {
                let secrets = Secrets::new(settings, &authorization);
                let mut headers = self.headers(event)?;
                self.sign(&mut headers, settings, event, at)?;
                headers.insert(AUTHORIZATION, authorization);
                Prepared::Request(headers, secrets)
            }
            Err(cause) => {
                tracing::error!(%cause, "no token could be made for a delivery");
                let why = "no token could be made for it; the log of the service says why";
                let (kind, took) = (FailureKind::NoToken, begin.elapsed());
                Prepared::Failed(unanswered(at, took, kind, why.to_owned()))
            }
        })
    }

    /// Returns the headers of a request except `Authorization` and signatures.
    pub(crate) fn headers(&self, event: &Event) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(CORRELATION_ID, value(&event.correlation.to_string())?);
        Ok(headers)
    }

    /// Adds the signatures of a request that is sent at a time, if the webhook has a key.
    pub(crate) fn sign(
        &self,
        headers: &mut HeaderMap,
        settings: &Settings,
        event: &Event,
        at: Timestamp,
    ) -> Result<()> {
        let Some(keys) = settings.keys(at)? else {
            return Ok(());
        };
        // First: a webhook stored before these headers were reserved may name one for the signature of its data.
        sign_standard(headers, &keys, event, at)?;
        let key = keys.of_one_value();
        let of_data = value(&signature::sign_data(key, event.data()?.as_bytes()))?;
        let own = settings.signature_header.as_deref().map(str::parse);
        let own: Option<HeaderName> = own
            .transpose()
            .map_err(|cause| Error::Bug(format!("a stored header name: {cause}")))?;
        match own {
            Some(name) => _ = headers.insert(name, of_data),
            None => {
                for name in &self.signature_headers {
                    headers.insert(name, of_data.clone());
                }
            }
        }
        let (id, body) = (&event.id, event.envelope().as_bytes());
        let of_body = signature::sign_body(key, id, at.seconds(), body);
        headers.insert(BODY_SIGNATURE, value(&of_body)?);
        Ok(())
    }
}

/// Adds the headers of Standard Webhooks, with one signature per key.
fn sign_standard(headers: &mut HeaderMap, keys: &Keys, event: &Event, at: Timestamp) -> Result<()> {
    let (id, t) = (standard_webhooks::webhook_id(&event.id), at.seconds());
    let body = event.envelope().as_bytes();
    let signatures = keys
        .all()
        .map(|key| standard_webhooks::sign(key, &id, t, body));
    let signatures: Vec<String> = signatures.collect();
    let values = [id.into_owned(), t.to_string(), signatures.join(" ")];
    for (name, text) in standard_webhooks::HEADERS.into_iter().zip(values) {
        headers.insert(HeaderName::from_static(name), value(&text)?);
    }
    Ok(())
}

async fn authorization(identity: &IdentityProvider, settings: &Settings) -> Result<HeaderValue> {
    let text = match &settings.authentication {
        Authentication::Bearer => {
            let token = identity.bearer(&settings.callback_url).await?;
            format!("Bearer {token}")
        }
        Authentication::Basic { username, password } => {
            let pair = format!("{username}:{}", password.reveal());
            format!("Basic {}", BASE64_STANDARD.encode(pair))
        }
    };
    let mut value = value(&text)?;
    value.set_sensitive(true);
    Ok(value)
}

fn value(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(|cause| Error::Bug(cause.to_string()))
}
