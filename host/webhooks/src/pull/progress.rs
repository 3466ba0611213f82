//! A consumer's progress: requests create a consumer and acknowledge pages.
//!
//! A new consumer starts at the end of the log. From that commit on every event is logged, since the commits that
//! accept events check whether there is a consumer. An acknowledgement is durable before its request is answered.

use std::time::Duration;

use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_store::Position;

use super::{Asked, Cursor};
use crate::Webhooks;
use crate::events::log::EVENT_LOG;
use crate::journal::retention;
use crate::registry::consumer::Consumer;
use crate::registry::quota::CONSUMERS;

pub(crate) const CURSOR_RULE: &str = "must be the next of a page that this consumer was given: leave it out to get the unacknowledged page";

/// The shortest time between updates of `seen_at` while a consumer acknowledges nothing.
const SEEN_EVERY: Duration = Duration::from_secs(60);

impl Webhooks {
    /// Returns the consumer of a request, created if there is none, after the acknowledgement in the request; and
    /// whether it is new.
    pub(super) async fn progress(
        &self,
        records: &Records,
        asked: &Asked,
    ) -> Result<(Consumer, bool)> {
        let key = asked.consumer.key();
        let plan = async || {
            let read = records.get::<Consumer>(&key).await?;
            match (read, asked.after) {
                (None, None) => self.begin(records, &key).await,
                (None, Some(_)) => Err(not_given()),
                (Some(read), None) => Ok((Change::default(), (read.record, false))),
                (Some(read), Some(after)) => self.acknowledge(records, &key, read, after).await,
            }
        };
        records.change(plan).await
    }

    /// Plans the acknowledgement of a page. A page before the newest acknowledged one changes nothing.
    async fn acknowledge(
        &self,
        records: &Records,
        key: &str,
        mut read: Versioned<Consumer>,
        after: Cursor,
    ) -> Result<(Change, (Consumer, bool))> {
        if after.consumer != read.record.id || after.position > end_of_log(records).await? {
            return Err(not_given());
        }
        let mut change = Change::default();
        change.expect(key, Some(&read));
        if read.record.acknowledge(after.position) {
            read.record.seen_at = self.app.clock.now();
            change.put(key, &read.record)?;
        }
        Ok((change, (read.record, false)))
    }

    /// Plans the creation of a consumer.
    async fn begin(&self, records: &Records, key: &str) -> Result<(Change, (Consumer, bool))> {
        let now = self.app.clock.now();
        let consumer = Consumer::new(end_of_log(records).await?, now);
        let mut change = Change::default();
        let max = self.app.config.quotas.event_consumers;
        CONSUMERS.add_one(records, &mut change, max).await?;
        change.notify(CONSUMERS.count_key);
        change.expect::<Consumer>(key, None);
        change.put(key, &consumer)?;
        retention::begin(&mut change, now);
        Ok((change, (consumer, true)))
    }

    /// Records that a consumer has asked. The answer does not depend on that, so it may fail.
    pub(super) async fn note_seen(&self, records: &Records, asked: &Asked, consumer: &Consumer) {
        let now = self.app.clock.now();
        if now.since(consumer.seen_at) < SEEN_EVERY {
            return;
        }
        let key = asked.consumer.key();
        let plan = async || {
            let mut change = Change::default();
            let read = records.get::<Consumer>(&key).await?;
            if let Some(mut read) = read.filter(|read| read.record.id == consumer.id) {
                change.expect(&key, Some(&read));
                read.record.seen_at = now;
                change.put(&key, &read.record)?;
            }
            Ok((change, ()))
        };
        if let Err(cause) = records.change(plan).await {
            let consumer = asked.consumer.as_str();
            tracing::debug!(consumer, %cause, "the time of a consumer's last request was not stored");
        }
    }
}

async fn end_of_log(records: &Records) -> Result<Position> {
    let (store, partition) = (records.store(), records.partition());
    let log = store.read(partition, EVENT_LOG, Position::default(), 0);
    Ok(log.await?.last)
}

fn not_given() -> Error {
    Error::invalid("$.after", CURSOR_RULE)
}
