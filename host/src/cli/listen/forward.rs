//! One delivery: sent to the local address as it came, what was answered reported to the host, and printed on one line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use backon::Retryable;
use reqwest::header::{
    CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::cli::answer::Failure;
use crate::cli::output::{on_line, print_on, tell, text};
use crate::cli::session::{Session, segment};
use crate::egress::{Client, Destinations, EgressError, Head, Limits};

/// What bounds a request. The host says how long each delivery may take, which is less.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(15),
    max_answer: 64 << 10,
    destinations: Destinations::Local,
};

/// How much of an answer is reported: more than the journal stores, because the host must recognise secrets in it.
const MAX_REPORTED: usize = 9 << 10;

/// The pauses before an outcome is reported again.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// Sends deliveries to the local address.
pub(super) struct Forwarder {
    http: Client,
    to: Url,
    json: bool,
}

/// The result of forwarding a delivery.
pub(super) enum Forwarded {
    /// It was reported and printed.
    Reported,
    /// Stdout is closed.
    StdoutClosed,
    /// The receiver answered 410, which disables the webhook.
    ReceiverGone,
}

/// A delivery as the host sends it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivery {
    delivery_id: String,
    event_id: String,
    event_type: String,
    attempt: u64,
    at: String,
    receipt: String,
    deadline_ms: u64,
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    headers: BTreeMap<String, String>,
    body: String,
}

impl Forwarder {
    pub(super) fn new(to: Url, json: bool) -> Result<Self, String> {
        let http = Client::new(LIMITS).map_err(|cause| cause.to_string())?;
        Ok(Self { http, to, json })
    }

    /// Sends a delivery, reports and prints what was answered.
    pub(super) async fn forward(
        &self,
        session: Session,
        webhook: &str,
        data: &str,
    ) -> Result<Forwarded, String> {
        let delivery: Delivery = serde_json::from_str(data)
            .map_err(|cause| format!("the host sent a delivery that cannot be read: {cause}"))?;
        let begin = Instant::now();
        let answered = self.send(&delivery).await;
        let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let report = report(&delivery, &answered, millis);
        let path = format!(
            "{webhook}/deliveries/{}/outcome",
            segment(&delivery.delivery_id)
        );
        let reported = report_outcome(session, &path, &report).await;
        if let Err(cause) = &reported {
            let id = &delivery.delivery_id;
            tell(&format!(
                "the outcome of the delivery {id} could not be reported: {cause}"
            ));
        }
        let after = reported.unwrap_or_default();
        let line = match self.json {
            true => as_json(&delivery, &report, &after).to_string(),
            false => describe(&delivery, &answered, millis, &after),
        };
        let is_gone = answered.is_ok_and(|head| head.status == reqwest::StatusCode::GONE);
        Ok(match print_on(&format!("{}\n", on_line(&line)))? {
            _ if is_gone => Forwarded::ReceiverGone,
            true => Forwarded::Reported,
            false => Forwarded::StdoutClosed,
        })
    }

    async fn send(&self, delivery: &Delivery) -> Result<Head, EgressError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &delivery.request.headers {
            let (name, value) = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
            if let (Ok(name), Ok(value)) = (name, value)
                && name != HOST
                && name != CONTENT_LENGTH
            {
                headers.insert(name, value);
            }
        }
        let request = self.http.request(Method::POST, self.to.clone());
        let request = request.headers(headers).body(delivery.request.body.clone());
        let deadline = Duration::from_millis(delivery.deadline_ms).min(LIMITS.deadline);
        let answered = timeout(deadline, self.http.send_for_head(request, MAX_REPORTED)).await;
        answered.unwrap_or(Err(EgressError::Deadline(deadline)))
    }
}

/// The outcome of a delivery, for the host.
fn report(delivery: &Delivery, answered: &Result<Head, EgressError>, millis: u64) -> Value {
    let (name, value) = match answered {
        Ok(head) => {
            let mut headers = BTreeMap::new();
            for name in [LOCATION, RETRY_AFTER] {
                let value = head
                    .headers
                    .get(&name)
                    .and_then(|value| value.to_str().ok());
                headers.extend(value.map(|value| (name.to_string(), value)));
            }
            let body = String::from_utf8_lossy(&head.beginning);
            let answer =
                json!({ "status": head.status.as_u16(), "headers": headers, "body": body });
            ("answer", answer)
        }
        Err(cause) => {
            let (kind, message) = (kind_of(cause), cause.to_string());
            ("error", json!({ "kind": kind, "message": message }))
        }
    };
    json!({ "receipt": delivery.receipt, "durationMs": millis, (name): value })
}

/// The kind of an error, as the journal has it.
const fn kind_of(cause: &EgressError) -> &'static str {
    match cause {
        EgressError::Refused(_) => "REFUSED_ADDRESS",
        EgressError::Unreachable(_) | EgressError::Untrusted { .. } => "UNREACHABLE",
        EgressError::Deadline(_) | EgressError::Silent(_) => "DEADLINE",
        EgressError::TooLarge(_)
        | EgressError::EventTooLarge(_)
        | EgressError::Broken(_)
        | EgressError::Setup(_) => "BROKEN",
    }
}

/// Reports an outcome, again if the host did not answer or the token has expired; answers the delivery as it is by then.
async fn report_outcome(session: Session, path: &str, report: &Value) -> Result<Value, Failure> {
    let document = report.to_string().into_bytes();
    let mut is_first = true;
    let post = || {
        let (mut session, document) = (session.clone(), document.clone());
        let renews = !std::mem::take(&mut is_first);
        async move {
            if renews {
                // A host that does not answer will not take the report either.
                let _ = session.renew().await;
            }
            session.post(path, "application/json", document).await
        }
    };
    let reported = post.retry(PAUSES.into_iter()).sleep(tokio::time::sleep);
    Ok(reported.await?.value)
}

/// A delivery on one line.
fn describe(
    delivery: &Delivery,
    answered: &Result<Head, EgressError>,
    millis: u64,
    after: &Value,
) -> String {
    let Delivery {
        at,
        event_type,
        event_id,
        ..
    } = delivery;
    let answer = match answered {
        Ok(head) => head.status.to_string(),
        Err(cause) => cause.to_string(),
    };
    let next = match text(after, "status") {
        "RETRYING" => format!(", again at {}", text(after, "nextAttemptAt")),
        "FAILED" => ", given up".to_owned(),
        _ => String::new(),
    };
    format!("{at}  {event_type}  {event_id}  {answer}, {millis} ms{next}")
}

/// A delivery as JSON: what was answered, and what has become of it.
fn as_json(delivery: &Delivery, report: &Value, after: &Value) -> Value {
    let known = json!({
        "at": delivery.at,
        "eventType": delivery.event_type,
        "eventId": delivery.event_id,
        "deliveryId": delivery.delivery_id,
        "attempt": delivery.attempt,
    });
    let reported = [
        ("durationMs", report.get("durationMs")),
        ("answer", report.get("answer")),
        ("error", report.get("error")),
        ("deliveryStatus", after.get("status")),
        ("nextAttemptAt", after.get("nextAttemptAt")),
    ];
    let reported = reported
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
    let known = known.as_object().cloned().unwrap_or_default();
    known.into_iter().chain(reported).collect()
}
