//! Deliveries: one event for one webhook, with each attempt at it.
//!
//! A delivery that is not at its end has exactly one job, with its id: the job's due time is when it is tried next. First
//! attempts and later ones have queues of their own, so that later ones never hold up the first.

use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::schema::time;
use uuid::Uuid;

use super::event::Event;
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// The queue of first attempts.
pub(in crate::webhooks) const FIRST: &str = "webhook-deliveries";

/// The queue of later ones: after a failed attempt, or once their webhook has room.
pub(in crate::webhooks) const LATER: &str = "webhook-retries";

/// What a job of a delivery says.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in crate::webhooks) struct Job {
    #[serde(rename = "w")]
    pub(in crate::webhooks) webhook: Uuid,
    #[serde(rename = "e")]
    pub(in crate::webhooks) event: Uuid,
    /// Whether it has waited for its place within the webhook's rate already.
    #[serde(rename = "s", default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::webhooks) has_reservation: bool,
}

impl Job {
    /// The job of a delivery that is to be tried.
    pub(in crate::webhooks) const fn of(delivery: &Delivery) -> Self {
        Self {
            webhook: delivery.webhook_id,
            event: delivery.event,
            has_reservation: false,
        }
    }

    pub(in crate::webhooks) fn to_bytes(self) -> Result<Bytes> {
        let json = serde_json::to_vec(&self).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }

    pub(in crate::webhooks) fn read(body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body)
            .map_err(|cause| Error::Bug(format!("a job is damaged: {cause}")))
    }
}

/// Where a delivery is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "DeliveryStatus")]
pub(in crate::webhooks) enum Status {
    /// Not tried yet.
    Pending,
    /// Taken by its receiver.
    Delivered,
    /// An attempt has failed; there will be another one.
    Retrying,
    /// Given up.
    Failed,
    /// Waits until its webhook is enabled again.
    Held,
}

/// What is wrong with a text that is no status.
pub(in crate::webhooks) const STATUS_RULE: &str =
    "must be PENDING, DELIVERED, RETRYING, FAILED or HELD";

impl Status {
    /// The status of a text.
    pub(in crate::webhooks) fn parse(text: &str) -> Option<Self> {
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

    pub(in crate::webhooks) const fn is_final(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed)
    }
}

/// A delivery, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Delivery {
    pub(in crate::webhooks) webhook_id: Uuid,
    /// The key of the event's record.
    pub(in crate::webhooks) event: Uuid,
    pub(in crate::webhooks) event_id: String,
    pub(in crate::webhooks) event_type: String,
    pub(in crate::webhooks) status: Status,
    pub(in crate::webhooks) created_at: Timestamp,
    pub(in crate::webhooks) updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) next_attempt_at: Option<Timestamp>,
    /// When it is tried again by the schedule, while it is sent before that time because its receiver answers again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) scheduled_at: Option<Timestamp>,
    /// How many attempts have failed since it was accepted or replayed, but for those before their scheduled time.
    #[serde(default)]
    pub(in crate::webhooks) failures: usize,
    #[serde(default)]
    pub(in crate::webhooks) attempts: Vec<Attempt>,
}

/// An attempt.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeliveryAttempt")]
pub(in crate::webhooks) struct Attempt {
    #[serde(with = "millis")]
    #[schemars(schema_with = "time")]
    pub(in crate::webhooks) at: Timestamp,
    pub(in crate::webhooks) duration_ms: u64,
    /// The status that the receiver has answered, if it has.
    #[schemars(range(min = 100, max = 999))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) error: Option<Failure>,
    /// The first KiB of what was answered. Of an answer that repeats a credential, only its length: `an answer of 312 bytes that repeats a credential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::webhooks) answer: Option<String>,
}

/// Why an attempt has failed, or a delivery was given up.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "DeliveryFailure")]
pub(in crate::webhooks) struct Failure {
    pub(in crate::webhooks) kind: FailureKind,
    pub(in crate::webhooks) message: String,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::webhooks) enum FailureKind {
    /// Another status than a receiver answers that has taken it.
    Status,
    /// The receiver is elsewhere.
    Redirect,
    /// The receiver does not exist any more.
    Gone,
    /// Too slow.
    Deadline,
    /// No connection.
    Unreachable,
    /// An address that must not be dialled.
    RefusedAddress,
    /// What came is not HTTP, or the connection broke.
    Broken,
    /// The webhook does not exist any more.
    WebhookDeleted,
    /// The webhook was disabled for too long.
    HeldTooLong,
    /// Which authentication to send is unknown.
    NoToken,
}

impl Delivery {
    pub(in crate::webhooks) fn new(
        webhook: Uuid,
        event_key: Uuid,
        event: &Event,
        now: Timestamp,
    ) -> Self {
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

    /// Has one that waits for its next attempt tried now. If that fails, it waits for the same time again.
    pub(in crate::webhooks) fn bring_forward(&mut self, now: Timestamp) {
        self.scheduled_at = self.next_attempt_at;
        self.wait(Status::Retrying, now, now);
    }

    /// Adds an attempt. Of a delivery that is replayed many times the newest ones are kept.
    pub(in crate::webhooks) fn add(&mut self, attempt: Attempt) {
        const MAX_ATTEMPTS: usize = 25;
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt);
    }

    /// When the newest attempt was made that its receiver has answered.
    pub(in crate::webhooks) fn answered_at(&self) -> Option<Timestamp> {
        let mut newest_first = self.attempts.iter().rev();
        let answered = newest_first.find(|attempt| attempt.status.is_some());
        answered.map(|attempt| attempt.at)
    }

    /// Ends it.
    pub(in crate::webhooks) fn end(&mut self, status: Status, now: Timestamp) {
        (self.status, self.updated_at, self.next_attempt_at) = (status, now, None);
    }

    /// Has it wait until a time.
    pub(in crate::webhooks) fn wait(&mut self, status: Status, now: Timestamp, until: Timestamp) {
        (self.status, self.updated_at, self.next_attempt_at) = (status, now, Some(until));
    }

    /// Gives it up without an attempt.
    pub(in crate::webhooks) fn give_up(
        &mut self,
        kind: FailureKind,
        message: &str,
        now: Timestamp,
    ) {
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

    /// Begins it anew.
    pub(in crate::webhooks) fn replay(&mut self, now: Timestamp) {
        self.failures = 0;
        self.wait(Status::Pending, now, now);
    }
}

impl Attempt {
    /// How long it took.
    pub(in crate::webhooks) const fn took(&self) -> Duration {
        Duration::from_millis(self.duration_ms)
    }
}

/// Times as they are answered.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::body::parse_time;
    use crate::clock::Timestamp;
    use tillgate_api::values::TIME_RULE;

    pub(in crate::webhooks) fn serialize<S: Serializer>(
        at: &Timestamp,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&at.to_millis_text())
    }

    pub(in crate::webhooks) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        parse_time(&text).ok_or_else(|| de::Error::custom(TIME_RULE))
    }
}
