//! The progress of each till's uploads, by which repeated decisions are recognized. A till is identified by its name
//! and its client, so that no client can make the decisions of another look like repetitions. Tills are counted in the
//! commits that change their number, so that a tenant never exceeds its quota.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_api::problem::TILL_NOT_FOUND;
use tillgate_api::schema::time;
use tillgate_base::data::quota::Usage;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;

use super::body::{is_till, number_schema, till_schema};

/// The prefix of the keys of tills. It is followed by the till's name, a comma, and the SHA-256 of the client, whose id
/// may have any length. A comma sorts before all characters of names, so tills are in the order of their names.
const TILL: &str = "till/";

/// The key of the record of their number.
const COUNT: &str = "usage/tills";

/// The most tills to forget in one commit: a name has as many tills as clients that have uploaded under it.
const MAX_FORGOTTEN: usize = 100;

/// The progress of a till's uploads.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Till {
    pub(super) client: String,
    /// The number of its last decision.
    pub(super) sequence: u64,
    /// The time of its last upload.
    pub(super) at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Count {
    tills: usize,
}

/// A till that uploads decisions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Answered {
    #[schemars(schema_with = "till_schema")]
    till: String,
    /// The client that sent the decisions.
    client_id: String,
    /// The number of its last decision.
    #[schemars(schema_with = "number_schema")]
    sequence: u64,
    /// The time when it last sent decisions.
    #[schemars(schema_with = "time")]
    uploaded_at: String,
}

/// The tills that a caller asks for.
#[derive(Clone, Debug)]
pub struct TillQuery {
    /// The till that the page starts after, as an earlier page named it in `next`.
    pub after: Option<String>,
    /// The most tills of the page.
    pub limit: usize,
}

/// Tills, sorted by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tills")]
pub struct TillPage {
    items: Vec<Answered>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "till_cursor")]
    next: Option<String>,
}

/// Returns the schema of a cursor, which says where a page begins.
pub fn till_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64},[0-9a-f]{64}$" })
}

/// Returns whether a text names a till in a page.
pub fn is_till_cursor(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(is_digit);
    text.split_once(',')
        .is_some_and(|(till, client)| is_till(till) && is_digest(client))
}

/// The state of a till in the store.
pub(super) struct Stored {
    key: String,
    till: Option<Versioned<Till>>,
    count: Option<Versioned<Count>>,
}

impl Stored {
    pub(super) async fn read(records: &Records, till: &str, client: &str) -> Result<Self> {
        let digest = hex::encode(Sha256::digest(client));
        let keys = [format!("{TILL}{till},{digest}"), COUNT.to_owned()];
        let mut entries = records.entries(&keys).await?.into_iter();
        let mut next = || entries.next().flatten();
        let (till, count) = (next(), next());
        let [of_till, of_count] = keys;
        Ok(Self {
            till: till
                .map(|entry| decode_entry(&of_till, &entry))
                .transpose()?,
            count: count
                .map(|entry| decode_entry(&of_count, &entry))
                .transpose()?,
            key: of_till,
        })
    }

    /// Returns the number of the till's last decision; 0 if there is none.
    pub(super) fn sequence(&self) -> u64 {
        let till = self.till.as_ref();
        till.map_or(0, |till| till.record.sequence)
    }

    /// Refuses a new till beyond the quota.
    pub(super) fn refuse_beyond(&self, quota: usize) -> Result<()> {
        if self.till.is_none() && self.count().tills >= quota {
            Err(Error::quota("tills that upload decisions", quota))
        } else {
            Ok(())
        }
    }

    /// Returns the change that advances the till.
    pub(super) fn change(&self, till: &Till) -> Result<Change> {
        let mut change = Change::default();
        change.expect(&self.key, self.till.as_ref());
        change.put(&self.key, till)?;
        if self.till.is_none() {
            let tills = self.count().tills + 1;
            change.expect(COUNT, self.count.as_ref());
            change.put(COUNT, &Count { tills })?;
        }
        Ok(change)
    }

    fn count(&self) -> Count {
        let count = self.count.as_ref().map(|count| count.record);
        count.unwrap_or_default()
    }
}

/// Returns a page of a tenant's tills, in the order of their names.
///
/// # Errors
/// When the store is unavailable.
pub async fn tills(records: &Records, query: TillQuery) -> Result<TillPage> {
    let after = query.after.map(|till| format!("{TILL}{till}"));
    let page = records.scan(TILL, after.as_deref(), query.limit).await?;
    let items = page.entries.iter().map(|(key, entry)| {
        let till = decode_entry::<Till>(key, entry)?.record;
        let (name, _) = name_of(key).split_once(',').unwrap_or_default();
        Ok(Answered {
            till: name.to_owned(),
            client_id: till.client,
            sequence: till.sequence,
            uploaded_at: till.at.to_millis_text(),
        })
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    let last = page.entries.last().map(|(key, _)| name_of(key).to_owned());
    Ok(TillPage {
        next: last.filter(|_| page.more),
        items,
    })
}

/// Forgets a tenant's tills with a name: this frees their places, and what they upload again is written again.
///
/// # Errors
/// [`Error::NotFound`]; when the store is unavailable.
pub async fn forget_till(records: &Records, till: &str) -> Result<()> {
    let none = || Error::missing(TILL_NOT_FOUND, till);
    if !is_till(till) {
        return Err(none());
    }
    let prefix = format!("{TILL}{till},");
    let plan = async || {
        let count = records.get::<Count>(COUNT).await?;
        let page = records.scan(&prefix, None, MAX_FORGOTTEN).await?;
        let mut change = Change::default();
        for (key, entry) in &page.entries {
            change.expect(key, Some(&decode_entry::<Till>(key, entry)?));
            change.delete(key);
        }
        if !page.entries.is_empty() {
            let tills = count.as_ref().map_or(0, |count| count.record.tills);
            let tills = tills.saturating_sub(page.entries.len());
            change.expect(COUNT, count.as_ref());
            change.put(COUNT, &Count { tills })?;
        }
        Ok((change, (page.entries.is_empty(), page.more)))
    };
    let (mut is_none, mut has_more) = records.change(&plan).await?;
    if is_none {
        return Err(none());
    }
    while has_more && !is_none {
        (is_none, has_more) = records.change(&plan).await?;
    }
    Ok(())
}

/// Returns how many tills of a tenant upload decisions.
///
/// # Errors
/// When the store is unavailable.
pub async fn tills_used(records: &Records, quota: usize) -> Result<Usage> {
    let count = records.get::<Count>(COUNT).await?;
    Ok(Usage::of(
        count.map_or(0, |count| count.record.tills),
        quota,
    ))
}

/// Returns what follows the prefix in the key of a till.
fn name_of(key: &str) -> &str {
    key.strip_prefix(TILL).unwrap_or(key)
}
