//! Imports, applied to a batch.

use super::super::contract::Message;
use super::super::portable::Part;
use super::batch::{BatchWriter, ROW_BYTES};
use super::jobs::{JobState, NO_LEASE};
use super::keys;
use super::requests::Restore;
use super::values::{self, LogBounds};
use crate::clock::Timestamp;

impl BatchWriter<'_> {
    /// Puts a part of another store.
    pub(super) fn restore(
        &mut self,
        Restore { partition, part }: &Restore,
        now: Timestamp,
    ) -> Result<(), redb::Error> {
        self.close(now)?;
        let partition = partition.as_str();
        match part {
            Part::Entries(entries) => {
                for (key, entry) in entries {
                    let value = values::numbered(entry.revision.0, &entry.value);
                    self.put(keys::entry(partition, key), value);
                }
            }
            Part::Messages(log, messages) => self.restore_messages(partition, log, messages)?,
            Part::LogBounds(log, bounds) => {
                let stored = self.log_bounds(partition, log)?.unwrap_or_default().stored;
                let bounds = LogBounds {
                    last: bounds.last.0,
                    trimmed: bounds.trimmed.0,
                    stored,
                };
                self.put(keys::log(partition, log), bounds.value());
            }
            Part::Jobs(queue, jobs) => {
                for job in jobs {
                    let state = JobState {
                        due: job.due.0,
                        lease: NO_LEASE,
                    };
                    let content = values::numbered(job.attempt.into(), &job.body);
                    self.put_job(partition, queue, &job.id, &state, content)?;
                }
            }
            Part::Counters(counters) => {
                let counters = [counters.revision.0, counters.at.0, counters.lease.0];
                self.put(keys::partition(partition), values::numbers(&counters));
            }
        }
        Ok(())
    }

    /// Puts those messages that are newer than the last of the log, so that a repeat puts none.
    fn restore_messages(
        &mut self,
        partition: &str,
        log: &str,
        messages: &[Message],
    ) -> Result<(), redb::Error> {
        let mut bounds = self.log_bounds(partition, log)?.unwrap_or_default();
        let mut row = Vec::new();
        for message in messages {
            if message.position.0 <= bounds.last {
                continue;
            }
            if row.is_empty() {
                row = values::begin_messages(bounds.stored);
            }
            let last = message.position.0;
            (bounds.last, bounds.stored) = (last, last);
            let at = message.publish_time.0;
            values::write_message(&mut row, last, at, &message.attributes, &message.body);
            if row.len() >= ROW_BYTES {
                let row = std::mem::take(&mut row);
                self.put(keys::message(partition, log, last), row.into());
            }
        }
        if !row.is_empty() {
            let key = keys::message(partition, log, bounds.stored);
            self.put(key, row.into());
        }
        self.put(keys::log(partition, log), bounds.value());
        Ok(())
    }
}
