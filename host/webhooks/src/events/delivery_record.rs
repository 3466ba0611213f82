//! Deliveries: one event for one webhook, with each attempt at it.
//!
//! A delivery that is not final has exactly one job, with its id: the job is due at the time of the next attempt. First
//! attempts and later ones have separate queues, so that later ones never hold up first ones.

use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::schema::time;
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::event::Event;

/// The queue of first attempts.
pub(crate) const FIRST: &str = "webhook-deliveries";

/// The queue of later attempts: after a failed one, or once their webhook has room.
pub(crate) const LATER: &str = "webhook-retries";

/// The content of a delivery's job.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Job {
    #[serde(rename = "w")]
    pub(crate) webhook: Uuid,
    #[serde(rename = "e")]
    pub(crate) event: Uuid,
    /// `true` if it has already waited for its place within the webhook's rate.
    #[serde(rename = "s", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_reservation: bool,
}

impl Job {
    pub(crate) const fn of(delivery: &Delivery) -> Self {
        Self {
            webhook: delivery.webhook_id,
            event: delivery.event,
            has_reservation: false,
        }
    }

    pub(crate) fn to_bytes(self) -> Result<Bytes> {
        let json = serde_json::to_vec(&self).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }

    pub(crate) fn read(body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body)
            .map_err(|cause| Error::Bug(format!("a job is damaged: {cause}")))
    }
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "DeliveryStatus")]
pub(crate) enum Status {
    /// Not tried yet.
    Pending,
    /// Accepted by its receiver.
    Delivered,
    /// An attempt has failed, and another one will follow.
    Retrying,
    /// Given up.
    Failed,
    /// Waiting until its webhook is enabled again.
    Held,
}

pub(crate) const STATUS_RULE: &str = "must be PENDING, DELIVERED, RETRYING, FAILED or HELD";

impl Status {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all = [
            ("PENDING", Self::Pending),
            ("DELIVERED", Self::Delivered),
            ("RETRYING", Self::Retrying),
            ("FAILED", Self::Failed),
            ("HELD", Self::Held),
        ];
        all.into_iter()
            .find_map(|(name, status)| (name == text).then_some(status))
    }

    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed)
    }
}

/// A delivery, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delivery {
    pub(crate) webhook_id: Uuid,
    /// The key of the event's record.
    pub(crate) event: Uuid,
    pub(crate) event_id: String,
    pub(crate) event_type: String,
    pub(crate) status: Status,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_attempt_at: Option<Timestamp>,
    /// The scheduled time of the next attempt, while the delivery is sent earlier because its receiver answers again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scheduled_at: Option<Timestamp>,
    /// The failed attempts since it was accepted or replayed, except those before their scheduled time.
    #[serde(default)]
    pub(crate) failures: usize,
    #[serde(default)]
    pub(crate) attempts: Vec<Attempt>,
}

/// An attempt to deliver an event.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeliveryAttempt")]
pub(crate) struct Attempt {
    #[serde(with = "millis")]
    #[schemars(schema_with = "time")]
    pub(crate) at: Timestamp,
    pub(crate) duration_ms: u64,
    /// The status that the receiver answered; absent if it did not answer.
    #[schemars(range(min = 100, max = 999))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Failure>,
    /// The first KiB of the answer. If it repeats a credential, only its length is kept: `an answer of 312 bytes that repeats a credential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
}

/// The reason why an attempt failed or a delivery was given up.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "DeliveryFailure")]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum FailureKind {
    /// The receiver answered with a status other than 200, 201, 202 or 204.
    Status,
    /// The receiver answered with a redirect, which is not followed.
    Redirect,
    /// The receiver answered 410 Gone.
    Gone,
    /// The attempt took too long.
    Deadline,
    /// There is no connection, or the receiver's certificate is not trusted.
    Unreachable,
    /// The receiver's address must not be dialed.
    RefusedAddress,
    /// The answer is not HTTP, or the connection broke.
    Broken,
    /// The webhook was deleted.
    WebhookDeleted,
    /// The webhook was disabled for too long.
    HeldTooLong,
    /// No token could be made for the delivery.
    NoToken,
}

impl Delivery {
    pub(crate) fn new(webhook: Uuid, event_key: Uuid, event: &Event, now: Timestamp) -> Self {
        Self {
            webhook_id: webhook,
            event: event_key,
            event_id: event.id.clone(),
            event_type: event.event_type.clone(),
            status: Status::Pending,
            created_at: now,
            updated_at: now,
            next_attempt_at: Some(now),
            scheduled_at: None,
            failures: 0,
            attempts: Vec::new(),
        }
    }

    /// Makes a retry due now. If the attempt fails, the delivery waits until its scheduled time.
    pub(crate) fn bring_forward(&mut self, now: Timestamp) {
        self.scheduled_at = self.next_attempt_at;
        self.wait(Status::Retrying, now, now);
    }

    /// Adds an attempt. A delivery that is replayed many times keeps the newest ones.
    pub(crate) fn add(&mut self, attempt: Attempt) {
        const MAX_ATTEMPTS: usize = 25;
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt);
    }

    /// Returns when the newest attempt was made that its receiver has answered.
    pub(crate) fn answered_at(&self) -> Option<Timestamp> {
        let mut newest_first = self.attempts.iter().rev();
        let answered = newest_first.find(|attempt| attempt.status.is_some());
        answered.map(|attempt| attempt.at)
    }

    pub(crate) fn end(&mut self, status: Status, now: Timestamp) {
        (self.status, self.updated_at, self.next_attempt_at) = (status, now, None);
    }

    pub(crate) fn wait(&mut self, status: Status, now: Timestamp, until: Timestamp) {
        (self.status, self.updated_at, self.next_attempt_at) = (status, now, Some(until));
    }

    /// Gives it up without an attempt.
    pub(crate) fn give_up(&mut self, kind: FailureKind, message: &str, now: Timestamp) {
        self.end(Status::Failed, now);
        self.add(Attempt {
            at: now,
            duration_ms: 0,
            status: None,
            error: Some(Failure {
                kind,
                message: message.to_owned(),
            }),
            answer: None,
        });
    }

    /// Starts it over.
    pub(crate) fn replay(&mut self, now: Timestamp) {
        self.failures = 0;
        self.wait(Status::Pending, now, now);
    }
}

impl Attempt {
    pub(crate) const fn took(&self) -> Duration {
        Duration::from_millis(self.duration_ms)
    }
}

/// Times as the API returns them.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use tillgate_api::values::TIME_RULE;
    use tillgate_base::body::parse_time;
    use tillgate_store::clock::Timestamp;

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&at.to_millis_text())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        parse_time(&text).ok_or_else(|| de::Error::custom(TIME_RULE))
    }
}
