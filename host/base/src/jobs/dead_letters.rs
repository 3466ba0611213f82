//! Lists, retries and discards dead letters: jobs that failed too often (`attempt.rs`).
//!
//! Each is a record in its job's partition, so one commit replaces the job with the record, or the record with the job.
//! There is no list of all dead letters: each page reads a bounded number of partitions in turn.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use tillgate_api::problem::JOB_NOT_FOUND;
use tillgate_api::schema::{tenant_id, time};
use tillgate_store::clock::Timestamp;
use tillgate_store::{MAX_NAME_BYTES, Partition, Store};

use super::queue::{DEAD_LETTERS, DeadLetter};
use crate::data::records::{Change, Records, decode_entry};
use crate::egress::with_urls_shown;
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// The most partitions that are read for one page.
const PARTITIONS: usize = 500;

/// The most bytes of an error that are shown.
const MAX_ERROR: usize = 2 << 10;

/// The place of a dead letter; its text form is the id. Without a name, it is the place before its partition's first
/// job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterId {
    partition: Partition,
    /// The queue, a slash, and the job.
    name: String,
}

/// A dead letter, without the content of the job, which may be secret.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeadLetter")]
pub struct DeadLetterAnswer {
    /// Its id in this API.
    #[schemars(schema_with = "job_id")]
    pub id: DeadLetterId,
    /// The queue.
    pub queue: String,
    /// The job's id in the queue.
    pub job: String,
    /// The tenant, if the job belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tenant_id")]
    pub tenant_id: Option<TenantId>,
    /// The partition of the job.
    pub partition: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The time at which it became a dead letter.
    #[schemars(schema_with = "time")]
    pub failed_at: String,
    /// The error of the last attempt.
    pub error: String,
}

/// A page of dead letters.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DeadLetters")]
pub struct DeadLetterPage {
    /// The dead letters of this page. A page may be empty although more follow.
    pub items: Vec<DeadLetterAnswer>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "job_id")]
    pub next: Option<DeadLetterId>,
}

/// Returns the schema of an id, with an example.
pub fn job_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{2,1400}$", "examples": ["dGVuYW50OmFjbWUKd2ViaG9vay1mYW4tb3V0LzE3"] })
}

impl DeadLetterId {
    /// Returns the place before the first job of a partition.
    const fn before(partition: Partition) -> Self {
        Self {
            partition,
            name: String::new(),
        }
    }

    fn key(&self) -> String {
        format!("{DEAD_LETTERS}{}", self.name)
    }

    fn job(&self, letter: &DeadLetter) -> DeadLetterAnswer {
        let mut error = with_urls_shown(&letter.cause);
        error.truncate(error.floor_char_boundary(MAX_ERROR));
        DeadLetterAnswer {
            id: self.clone(),
            queue: letter.queue.clone(),
            job: letter.job.clone(),
            tenant_id: TenantId::of_partition(&self.partition),
            partition: self.partition.as_str().to_owned(),
            attempts: letter.attempts,
            failed_at: letter.at.clone(),
            error,
        }
    }
}

impl fmt::Display for DeadLetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name of a partition has no control characters.
        let text = format!("{}\n{}", self.partition.as_str(), self.name);
        f.write_str(&BASE64_URL_SAFE_NO_PAD.encode(text))
    }
}

impl FromStr for DeadLetterId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| ())?;
        let text = String::from_utf8(text).map_err(|_| ())?;
        let (partition, name) = text.split_once('\n').ok_or(())?;
        let id = Self {
            partition: Partition::new(partition).ok_or(())?,
            name: name.to_owned(),
        };
        // A key in the store is no longer than this and has no NUL.
        let fits = id.key().len() <= MAX_NAME_BYTES && !name.contains('\0');
        fits.then_some(id).ok_or(())
    }
}

impl Serialize for DeadLetterId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Lists up to `limit` dead letters of all partitions, after the given one.
///
/// # Errors
/// When the store is unavailable; [`Error::Bug`] when a record is damaged.
pub async fn list(
    store: &Arc<dyn Store>,
    after: Option<DeadLetterId>,
    limit: usize,
) -> Result<DeadLetterPage> {
    let name = after.as_ref().map(|after| after.partition.as_str());
    let following = store.partitions(name, PARTITIONS).await?;
    let is_last = following.len() < PARTITIONS;
    let following = following.into_iter().map(DeadLetterId::before);
    let mut items: Vec<DeadLetterAnswer> = Vec::new();
    let mut place = None;
    for mut id in after.into_iter().chain(following) {
        let records = Records::new(Arc::clone(store), id.partition.clone());
        let from = (!id.name.is_empty()).then(|| id.key());
        let room = limit.saturating_sub(items.len());
        let page = records.scan(DEAD_LETTERS, from.as_deref(), room).await?;
        for (key, entry) in &page.entries {
            let letter = decode_entry::<DeadLetter>(key, entry)?.record;
            id.name = key.strip_prefix(DEAD_LETTERS).unwrap_or(key).to_owned();
            items.push(id.job(&letter));
        }
        let next = Some(id);
        if page.more || items.len() >= limit {
            return Ok(DeadLetterPage { items, next });
        }
        place = next;
    }
    let next = place.filter(|_| !is_last);
    Ok(DeadLetterPage { items, next })
}

/// Puts a job back on its queue as if it had never been tried, replacing a waiting job with the same id. Returns the
/// dead letter.
///
/// # Errors
/// When the store is unavailable; [`Error::NotFound`] when it is no longer a dead letter.
pub async fn retry(
    store: &Arc<dyn Store>,
    id: &DeadLetterId,
    now: Timestamp,
) -> Result<DeadLetterAnswer> {
    let enqueue = |change: &mut Change, letter: &DeadLetter| {
        let body = BASE64_STANDARD.decode(&letter.body);
        let body = body.map_err(|cause| Error::Bug(format!("{} is damaged: {cause}", id.key())))?;
        change.enqueue(&letter.queue, &letter.job, now, body.into());
        Ok(())
    };
    take(store, id, enqueue).await
}

/// Drops a job for good and returns its dead letter.
///
/// # Errors
/// Those of [`retry`].
pub async fn discard(store: &Arc<dyn Store>, id: &DeadLetterId) -> Result<DeadLetterAnswer> {
    take(store, id, |_, _| Ok(())).await
}

/// Returns the error that no dead letter has this id.
#[must_use]
pub fn no_job(id: impl std::fmt::Display) -> Error {
    Error::missing(JOB_NOT_FOUND, id)
}

/// Removes a dead letter, together with another change in the same commit, and returns it.
async fn take(
    store: &Arc<dyn Store>,
    id: &DeadLetterId,
    more: impl Fn(&mut Change, &DeadLetter) -> Result<()>,
) -> Result<DeadLetterAnswer> {
    let records = Records::new(Arc::clone(store), id.partition.clone());
    let key = id.key();
    let plan = async || {
        let read = records.get::<DeadLetter>(&key).await?;
        let none = || no_job(id);
        let read = read.ok_or_else(none)?;
        let mut change = Change::default();
        change.expect(&key, Some(&read));
        change.delete(&key);
        more(&mut change, &read.record)?;
        Ok((change, id.job(&read.record)))
    };
    records.change(plan).await
}

#[cfg(test)]
mod tests {
    use super::{DeadLetterId, Partition};

    #[test]
    fn an_id_is_read_as_it_was_written_and_nothing_else_is_one() {
        for (partition, name) in [
            ("tenant:acme", "webhook-deliveries/1"),
            ("iam", ""),
            ("a/b", "q/a\nb"),
        ] {
            let id = DeadLetterId {
                partition: Partition::named(partition),
                name: name.to_owned(),
            };
            assert_eq!(id.to_string().parse::<DeadLetterId>(), Ok(id));
        }
        // Not base64, not UTF-8, no line break, no partition, a NUL, and a key that is too long.
        let long = format!("YQox{}", "eHh4".repeat(400));
        for text in ["", "*", "_w", "YWJj", "CmE", "YQoA", &long] {
            assert_eq!(text.parse::<DeadLetterId>(), Err(()), "{text}");
        }
    }
}
