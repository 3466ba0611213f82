//! One attempt: the request that a receiver gets (`webhooks.md`, "A delivery"), and what its answer means.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::Full;
use reqwest::Url;
use tillgate_engine::signature;
use uuid::Uuid;

use super::identity_provider::IdentityProvider;
use crate::clock::{Clock, Timestamp};
use crate::config;
use crate::egress::{Client, Destinations, EgressError, Head, Limits, Names};
use crate::error::{Error, Result};
use crate::webhooks::events::delivery::{Attempt, Failure, Kind};
use crate::webhooks::events::event::{Stored, data_of};
use crate::webhooks::registry::webhook::{Authentication, Settings};

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// The most bytes of an answer that are kept.
const KEPT: usize = 1 << 10;

/// The beginning that is looked at: with as much more as it takes to see a secret whole which begins in what is kept.
pub(in crate::webhooks) const BEGINNING: usize = KEPT + (4 << 10);

const CORRELATION_ID: HeaderName = HeaderName::from_static("correlation-id");
const BODY_SIGNATURE: &str = "X-Service-Body-Signature";

/// What is sent of an event.
#[derive(Debug)]
pub(in crate::webhooks) struct Message {
    pub(in crate::webhooks) event_id: String,
    pub(in crate::webhooks) correlation: Uuid,
    pub(in crate::webhooks) envelope: String,
}

impl From<Stored<'_>> for Message {
    fn from(event: Stored<'_>) -> Self {
        Self {
            event_id: event.id.into_owned(),
            correlation: event.correlation,
            envelope: event.envelope.get().to_owned(),
        }
    }
}

/// The body of a request: the envelope, which all requests share.
struct Body(Arc<Message>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.0.envelope.as_bytes()
    }
}

/// What has come of an attempt.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Outcome {
    pub(in crate::webhooks) attempt: Attempt,
    /// How long the receiver asks to be left alone.
    pub(in crate::webhooks) retry_after: Option<Duration>,
}

impl Outcome {
    pub(in crate::webhooks) const fn has_succeeded(&self) -> bool {
        self.attempt.error.is_none()
    }

    pub(in crate::webhooks) fn is_gone(&self) -> bool {
        let error = self.attempt.error.as_ref();
        error.is_some_and(|error| error.kind == Kind::Gone)
    }
}

/// The headers of a request and the secrets in them, or the outcome of an attempt that cannot be made.
#[derive(Debug)]
pub(in crate::webhooks) enum Prepared {
    Request(HeaderMap, Secrets),
    Failed(Outcome),
}

/// What a receiver must not find its way back into the journal: one may answer with what it was sent.
#[derive(Debug)]
pub(in crate::webhooks) struct Secrets(Vec<String>);

/// Sends deliveries, over connections that are reused.
#[derive(Debug)]
pub(in crate::webhooks) struct Sender {
    client: Client,
    user_agent: HeaderValue,
    signature_headers: Vec<HeaderName>,
}

impl Sender {
    pub(in crate::webhooks) fn new(
        settings: &config::Webhooks,
        names: Arc<dyn Names>,
    ) -> Result<Self> {
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
        let bug = |cause: &dyn std::fmt::Display| Error::Bug(cause.to_string());
        let names = settings.signature_headers.iter();
        Ok(Self {
            client,
            user_agent: HeaderValue::from_str(user_agent).map_err(|cause| bug(&cause))?,
            signature_headers: names
                .map(|name| name.parse().map_err(|cause| bug(&cause)))
                .collect::<Result<_>>()?,
        })
    }

    /// Sends a message, and says what has come of it.
    pub(in crate::webhooks) async fn send(
        &self,
        identity: &IdentityProvider,
        settings: &Settings,
        message: Arc<Message>,
        clock: &dyn Clock,
    ) -> Result<Outcome> {
        let (at, begin) = (clock.now(), Instant::now());
        let (headers, secrets) = match self.prepare(identity, settings, &message, at).await? {
            Prepared::Request(headers, secrets) => (headers, secrets),
            Prepared::Failed(outcome) => return Ok(outcome),
        };
        let url = Url::parse(&settings.callback_url);
        let url = url.map_err(|cause| Error::Bug(format!("a stored URL is malformed: {cause}")))?;
        let request = self.client.request(Method::POST, url);
        // Gone when it is sent: a copy for sending it again would be kept until there is an answer.
        let body = Full::new(Bytes::from_owner(Body(message)));
        let request = request.headers(headers).body(reqwest::Body::wrap(body));
        let answered = self.client.send_for_head(request, BEGINNING).await;
        Ok(match answered {
            Ok(head) => judged(at, begin.elapsed(), &head, &secrets),
            Err(cause) => failed(at, begin.elapsed(), kind_of(&cause), cause.to_string()),
        })
    }

    /// The headers of a request that is made at a time.
    pub(in crate::webhooks) async fn prepare(
        &self,
        identity: &IdentityProvider,
        settings: &Settings,
        message: &Message,
        at: Timestamp,
    ) -> Result<Prepared> {
        let begin = Instant::now();
        Ok(match authorization(identity, settings).await {
            Ok(authorization) => {
                let secrets = secrets(settings, &authorization);
                let mut headers = self.headers(settings, message, at)?;
                headers.insert(AUTHORIZATION, authorization);
                Prepared::Request(headers, secrets)
            }
            Err(cause) => {
                tracing::error!(%cause, "a delivery has no token");
                let why = "no token could be made for it; the log of the service says why";
                let outcome = failed(at, begin.elapsed(), Kind::NoToken, why.to_owned());
                Prepared::Failed(outcome)
            }
        })
    }

    /// The headers of a request but `Authorization`.
    pub(in crate::webhooks) fn headers(
        &self,
        settings: &Settings,
        message: &Message,
        now: Timestamp,
    ) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(CORRELATION_ID, value(&message.correlation.to_string())?);
        if let Some(key) = settings.key()? {
            let of_data = signature::sign_data(&key, data_of(&message.envelope)?.as_bytes());
            let of_data = value(&of_data)?;
            let own = settings.signature_header.as_deref().map(str::parse);
            match own.transpose() {
                Ok(Some(name)) => {
                    let _: Option<HeaderValue> = headers.insert::<HeaderName>(name, of_data);
                }
                Ok(None) => {
                    for name in &self.signature_headers {
                        headers.insert(name, of_data.clone());
                    }
                }
                Err(cause) => return Err(Error::Bug(format!("a stored header name: {cause}"))),
            }
            let (id, body) = (&message.event_id, message.envelope.as_bytes());
            let of_body = signature::sign_body(&key, id, now.seconds(), body);
            headers.insert(BODY_SIGNATURE, value(&of_body)?);
        }
        Ok(headers)
    }
}

async fn authorization(identity: &IdentityProvider, settings: &Settings) -> Result<HeaderValue> {
    let text = match &settings.authentication {
        Authentication::Bearer => {
            let token = identity.bearer(&settings.callback_url).await?;
            format!("Bearer {token}")
        }
        Authentication::Basic { username, password } => {
            let pair = format!("{username}:{}", password.0);
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

/// What an answer means: only these four statuses say that the receiver has taken the event.
pub(in crate::webhooks) fn judged(
    at: Timestamp,
    took: Duration,
    head: &Head,
    secrets: &Secrets,
) -> Outcome {
    let status = head.status;
    let failure = |kind, message: &str| {
        Some(Failure {
            kind,
            message: message.to_owned(),
        })
    };
    let error = match status {
        StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
            None
        }
        StatusCode::GONE => failure(
            Kind::Gone,
            "the receiver answered 410 Gone: it wants no more events",
        ),
        _ if status.is_redirection() => {
            let to = head.headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.map_or_else(String::new, |to| {
                format!(" to {}", shortened(&redacted(to, secrets)))
            });
            failure(
                Kind::Redirect,
                &format!("the receiver answered {status}{to}: redirects are not followed"),
            )
        }
        _ => failure(Kind::Status, &format!("the receiver answered {status}")),
    };
    let answer = redacted(&String::from_utf8_lossy(&head.beginning), secrets);
    let answer = answer
        .get(..answer.floor_char_boundary(KEPT))
        .unwrap_or_default();
    let asks = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    Outcome {
        retry_after: head
            .headers
            .get(RETRY_AFTER)
            .filter(|_| asks)
            .and_then(retry_after),
        attempt: Attempt {
            at,
            duration_ms: millis(took),
            status: Some(status.as_u16()),
            error,
            answer: (!answer.is_empty()).then(|| answer.to_owned()),
        },
    }
}

/// The secrets of requests to a webhook that are made now.
pub(in crate::webhooks) async fn secrets_of(
    identity: &IdentityProvider,
    settings: &Settings,
) -> Result<Secrets> {
    let authorization = authorization(identity, settings).await?;
    Ok(secrets(settings, &authorization))
}

fn secrets(settings: &Settings, authorization: &HeaderValue) -> Secrets {
    let credentials = authorization.to_str().unwrap_or_default();
    let credentials = credentials.split_once(' ').map(|(_, rest)| rest.to_owned());
    let password = match &settings.authentication {
        Authentication::Basic { password, .. } => Some(password.0.clone()),
        Authentication::Bearer => None,
    };
    let key = settings.shared_key.as_ref().map(|key| key.0.clone());
    let all = credentials.into_iter().chain(password).chain(key);
    Secrets(all.collect())
}

/// A text without secrets.
fn redacted(text: &str, secrets: &Secrets) -> String {
    let mut text = text.to_owned();
    for secret in &secrets.0 {
        text = text.replace(secret.as_str(), "…");
    }
    text
}

fn shortened(text: &str) -> &str {
    const MAX: usize = 200;
    let end = text.char_indices().nth(MAX).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whole seconds; anything else that stands there is not followed.
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large for a duration is bounded like any other that is too large.
    is_number.then(|| Duration::from_secs(text.parse::<u32>().unwrap_or(u32::MAX).into()))
}

/// An attempt that got no answer.
pub(in crate::webhooks) fn failed(
    at: Timestamp,
    took: Duration,
    kind: Kind,
    message: String,
) -> Outcome {
    Outcome {
        retry_after: None,
        attempt: Attempt {
            at,
            duration_ms: millis(took),
            status: None,
            error: Some(Failure { kind, message }),
            answer: None,
        },
    }
}

const fn kind_of(cause: &EgressError) -> Kind {
    match cause {
        EgressError::Refused(_) => Kind::RefusedAddress,
        EgressError::Unreachable(_) => Kind::Unreachable,
        EgressError::Deadline(_) | EgressError::Silent(_) => Kind::Deadline,
        EgressError::TooLarge(_) | EgressError::EventTooLarge(_) | EgressError::Broken(_) => {
            Kind::Broken
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_seconds_say_when_to_come_again() {
        let seconds = |text| retry_after(&HeaderValue::from_static(text)).map(|it| it.as_secs());
        assert_eq!(seconds("0"), Some(0));
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("99999999999999999999"), Some(u64::from(u32::MAX)));
        for text in [
            "",
            "inf",
            "1e30",
            "-1",
            "1.5",
            "Wed, 21 Oct 2026 07:28:00 GMT",
            "٣",
        ] {
            let read = HeaderValue::from_str(text)
                .ok()
                .and_then(|it| retry_after(&it));
            assert_eq!(read, None, "{text}");
        }
    }
}
