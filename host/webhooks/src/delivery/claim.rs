//! This host's claim on the job of a delivery. One commit settles the job, together with what follows from it.

use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::limiter::Deferral;
use crate::Webhooks;
use crate::events::delivery_id::DeliveryId;
use crate::events::delivery_record::{Delivery, Job, LATER};

pub(crate) struct Claim<'w> {
    pub(super) webhooks: &'w Webhooks,
    pub(super) records: Records,
    pub(super) tenant: TenantId,
    pub(super) id: DeliveryId,
    pub(super) job: Job,
    pub(super) work: Work,
}

impl<'w> Claim<'w> {
    /// Reads a claimed job.
    ///
    /// # Errors
    /// [`Error::Bug`] when it is not a delivery's job.
    pub(crate) fn read(webhooks: &'w Webhooks, work: Work) -> Result<Self> {
        let damaged = || Error::Bug(format!("{} is not a delivery", work.job.id));
        let tenant = TenantId::of_partition(&work.partition).ok_or_else(damaged)?;
        let id = Uuid::try_parse(&work.job.id).map_err(|_| damaged())?;
        let job = Job::read(&work.job.body)?;
        Ok(Self {
            records: webhooks.app.records(work.partition.clone()),
            webhooks,
            tenant,
            id: DeliveryId(id),
            job,
            work,
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.webhooks.app.clock.now()
    }

    pub(super) async fn delivery(&self) -> Result<Option<Versioned<Delivery>>> {
        self.records.get(&self.id.key()).await
    }

    /// Defers the delivery: only the time of its next attempt changes.
    pub(super) async fn defer(&self, deferral: Deferral) -> Result<()> {
        let mut change = Change::default();
        let job = Job {
            has_reservation: deferral.has_reservation,
            ..self.job
        };
        let body = job.to_bytes()?;
        change.enqueue(LATER, &self.work.job.id, deferral.until, body);
        self.settle(change).await
    }

    /// Ends the job with a change. The job continues if the change puts it on a queue.
    pub(super) async fn settle(&self, change: Change) -> Result<()> {
        let mut whole = Change::default();
        self.work.settle(&mut whole);
        whole.add(change);
        let recorder = &self.webhooks.recorder;
        recorder.write(&self.records, whole, None).await
    }
}
