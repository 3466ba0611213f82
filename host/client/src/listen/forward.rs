//! Forwards one event: sends it to the local address with the headers that the host has signed, and prints it on one
//! line with the answer.

use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use tillgate_base::egress::{Client, Destinations, EgressError, Head, Limits};

use super::Event;
use crate::output::{on_line, print_on};

/// The limits of a request to the local address.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(15),
    max_answer: 64 << 10,
    destinations: Destinations::Local,
};

/// The most bytes of an answer that are printed as JSON.
const MAX_SHOWN: usize = 1 << 10;

/// Sends events to the local address.
pub(super) struct Forwarder {
    http: Client,
    to: Url,
    json: bool,
}

impl Forwarder {
    pub(super) fn new(to: Url, json: bool) -> Result<Self, String> {
        let http = Client::new(LIMITS).map_err(|cause| cause.to_string())?;
        Ok(Self { http, to, json })
    }

    /// Sends an event with signed headers, and prints the answer. Returns whether stdout is still open.
    ///
    /// # Errors
    /// If the receiver answers 410, which would disable a webhook.
    pub(super) async fn forward(
        &self,
        event: &Event,
        signed: &Value,
        envelope: &str,
    ) -> Result<bool, String> {
        let begin = Instant::now();
        let request = self.http.request(Method::POST, self.to.clone());
        let request = request.headers(headers(signed)).body(envelope.to_owned());
        let answered = self.http.send_for_head(request, MAX_SHOWN).await;
        let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let line = if self.json {
            as_json(event, &answered, millis).to_string()
        } else {
            describe(event, &answered, millis)
        };
        let is_open = print_on(&format!("{}\n", on_line(&line)))?;
        if answered.is_ok_and(|head| head.status == StatusCode::GONE) {
            return Err("the receiver answered 410 Gone, which disables a webhook".to_owned());
        }
        Ok(is_open)
    }
}

/// Returns the headers that the host has signed.
fn headers(signed: &Value) -> HeaderMap {
    let signed = signed.get("headers").and_then(Value::as_object);
    let parsed = signed.into_iter().flatten().filter_map(|(name, value)| {
        let name = name.parse::<HeaderName>().ok()?;
        Some((name, HeaderValue::from_str(value.as_str()?).ok()?))
    });
    parsed.collect()
}

/// Returns an event on one line, with the answer or the reason why there is none.
fn describe(event: &Event, answered: &Result<Head, EgressError>, millis: u64) -> String {
    let Event {
        id,
        event_type,
        time,
    } = event;
    let answer = match answered {
        Ok(head) => head.status.to_string(),
        Err(cause) => cause.to_string(),
    };
    format!("{time}  {event_type}  {id}  {answer}, {millis} ms")
}

/// Returns an event as JSON, with the answer or the reason why there is none.
fn as_json(event: &Event, answered: &Result<Head, EgressError>, millis: u64) -> Value {
    let (name, value) = match answered {
        Ok(head) => {
            let body = String::from_utf8_lossy(&head.beginning);
            (
                "answer",
                json!({ "status": head.status.as_u16(), "body": body }),
            )
        }
        Err(cause) => ("error", json!(cause.to_string())),
    };
    json!({
        "time": event.time,
        "eventType": event.event_type,
        "eventId": event.id,
        "durationMs": millis,
        (name): value,
    })
}
