//! The report of a listener on a delivery that it has forwarded: its result counts as if this host had sent it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::egress::Head;
use crate::error::Result;
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::store::{self, Lease};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery::answer::{AttemptResult, classify, unanswered};
use crate::webhooks::delivery::claim::Claim;
use crate::webhooks::delivery::conclude::conclude;
use crate::webhooks::delivery::disable::{Failing, failing_key};
use crate::webhooks::delivery::redaction::Secrets;
use crate::webhooks::delivery::sender::secrets_of;
use crate::webhooks::events::delivery::{Delivery, FailureKind, Job};
use crate::webhooks::events::delivery_id::DeliveryId;
use crate::webhooks::journal::{Entry, no_delivery};

/// The right to report on a delivery, as a text that the listener gives back: any host may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) lease: Lease,
    /// When the request was made, which is the time of its signature.
    pub(super) at: Timestamp,
}

/// What a listener reports.
#[derive(Debug)]
pub(in crate::webhooks) struct Report {
    pub(super) receipt: Receipt,
    pub(super) duration_ms: u64,
    pub(super) answered: Answered,
}

/// What the receiver has answered.
#[derive(Debug)]
pub(super) enum Answered {
    Answer {
        status: StatusCode,
        headers: HeaderMap,
        beginning: Bytes,
    },
    Nothing {
        kind: FailureKind,
        message: String,
    },
}

impl Receipt {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (lease, at) = text.split_once('-')?;
        Some(Self {
            lease: Lease(lease.parse().ok()?),
            at: Timestamp(at.parse().ok()?),
        })
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lease.0, self.at.0)
    }
}

impl Report {
    fn result(self, at: Timestamp, secrets: &Secrets) -> AttemptResult {
        let took = Duration::from_millis(self.duration_ms);
        match self.answered {
            Answered::Answer {
                status,
                headers,
                beginning,
            } => {
                let head = Head {
                    status,
                    headers,
                    beginning,
                };
                classify(at, took, &head, secrets)
            }
            Answered::Nothing { kind, message } if secrets.are_in(&message) => {
                let length = message.len();
                let message = format!("a reason of {length} bytes that repeats a credential");
                unanswered(at, took, kind, message)
            }
            Answered::Nothing { kind, message } => unanswered(at, took, kind, message),
        }
    }
}

impl Webhooks {
    /// Writes the result that a listener reports. A report that comes twice counts once.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::error::Error::NotFound); [`Error::Conflict`](crate::error::Error::Conflict) when the
    /// webhook is not a listener's; when the store is unavailable.
    pub(in crate::webhooks) async fn report(
        &self,
        tenant: &TenantId,
        webhook: Uuid,
        delivery: Uuid,
        report: Report,
    ) -> Result<Entry> {
        let (id, records) = (DeliveryId(delivery), self.records(tenant));
        let (webhook, slot) = self.listener(tenant, webhook).await?;
        let read = records.get::<Delivery>(&id.key()).await?;
        let read = read.filter(|read| read.record.webhook_id == webhook.id);
        let mut delivery = read.ok_or_else(|| no_delivery(delivery))?.record;
        let Receipt { lease, at } = report.receipt;
        let at = at.max(delivery.created_at).min(self.app.clock.now());
        let of_then = at.to_millis_text();
        let mut attempts = delivery.attempts.iter();
        if attempts.any(|attempt| attempt.at.to_millis_text() == of_then) {
            return Ok(Entry::new(id, &delivery));
        }
        let job = Job::of(&delivery);
        let work = Work {
            queue: slot.queue(),
            partition: tenant.partition(),
            job: store::Job {
                id: id.to_string(),
                lease,
                attempt: 1,
                body: job.to_bytes()?,
            },
        };
        let failing = records.get::<Failing>(&failing_key(webhook.id)).await?;
        let failing = failing.map(|failing| failing.record);
        let claim = Claim::new(self, tenant.clone(), id, job, work);
        let secrets = secrets_of(&self.identity, &webhook.settings).await?;
        let result = report.result(at, &secrets);
        conclude(&claim, &webhook, &mut delivery, failing, &result).await?;
        let written = records.get::<Delivery>(&id.key()).await?;
        Ok(Entry::new(
            id,
            &written.ok_or_else(|| no_delivery(id))?.record,
        ))
    }
}
