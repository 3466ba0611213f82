//! How far each till has handed in its decisions: what comes again is known by that. A till is known by its name and its
//! client, so that no client can make the decisions of another one look like repetitions. Their number is counted in the
//! commits that change it, so that a tenant never has more than its quota.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_api::problem::TILL_NOT_FOUND;

use super::body::is_till;
use crate::clock::Timestamp;
use crate::conditions::Conditions;
use crate::data::quota::Usage;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// What the keys of the records of tills begin with. Behind it are the till's name, a comma, and the SHA-256 of the client,
/// whose id is of any length. A comma sorts before all that is in names, so that tills are in the order of their names.
const TILL: &str = "till/";

/// The record of how many there are.
const COUNT: &str = "usage/tills";

/// How many are forgotten in one commit: a name has as many tills as clients that have handed in under it.
const MAX_FORGOTTEN: usize = 100;

/// How far a till has handed in.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Till {
    pub(super) client: String,
    /// How often its numbers have begun anew; greater than in all that is on record from before it was forgotten.
    pub(super) epoch: u64,
    /// The number of its last decision.
    pub(super) sequence: u64,
    /// The number of the last one that is on record; 0 when none is.
    pub(super) written: u64,
    /// How many decisions it has dropped that no line on record tells of yet.
    pub(super) missing: u64,
    /// When it has handed in.
    pub(super) at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Count {
    tills: usize,
    /// The epoch of a till that begins.
    next_epoch: u64,
}

/// A till as it is answered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    till: String,
    client_id: String,
    sequence: u64,
    handed_in_at: String,
}

/// Which tills are asked for.
#[derive(Clone, Debug)]
pub(in crate::conditions) struct TillQuery {
    /// Those after this one, as a page names it in `next`.
    pub(in crate::conditions) after: Option<String>,
    /// At most so many.
    pub(in crate::conditions) limit: usize,
}

/// Tills by name.
#[derive(Debug, Serialize)]
pub(in crate::conditions) struct TillPage {
    items: Vec<Answered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Whether a text names a till in a page.
pub(in crate::conditions) fn is_till_cursor(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(is_digit);
    text.split_once(',')
        .is_some_and(|(till, client)| is_till(till) && is_digest(client))
}

/// What the store has of a till.
pub(super) struct Stored {
    key: String,
    client: String,
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
            client: client.to_owned(),
            key: of_till,
        })
    }

    /// How far the till is.
    pub(super) fn till(&self) -> Till {
        let till = self.till.as_ref().map(|till| till.record.clone());
        till.unwrap_or_else(|| Till {
            client: self.client.clone(),
            epoch: self.count().next_epoch,
            ..Till::default()
        })
    }

    /// Refuses a till that would be one too many.
    pub(super) fn refuse_beyond(&self, quota: usize) -> Result<()> {
        match self.till.is_none() && self.count().tills >= quota {
            true => Err(Error::quota("tills that hand in decisions", quota)),
            false => Ok(()),
        }
    }

    /// The change that moves the till on.
    pub(super) fn change(&self, till: &Till) -> Result<Change> {
        let mut change = Change::default();
        change.expect(&self.key, self.till.as_ref());
        change.put(&self.key, till)?;
        if self.till.is_none() {
            let Count { tills, next_epoch } = self.count();
            change.expect(COUNT, self.count.as_ref());
            let tills = tills + 1;
            change.put(COUNT, &Count { tills, next_epoch })?;
        }
        Ok(change)
    }

    fn count(&self) -> Count {
        let count = self.count.as_ref().map(|count| count.record);
        count.unwrap_or_default()
    }
}

impl Conditions {
    /// The tills of a tenant, by name.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(in crate::conditions) async fn tills(
        &self,
        tenant: &TenantId,
        TillQuery { after, limit }: TillQuery,
    ) -> Result<TillPage> {
        let records = self.app.records(tenant.partition());
        let after = after.map(|till| format!("{TILL}{till}"));
        let page = records.scan(TILL, after.as_deref(), limit).await?;
        let items = page.entries.iter().map(|(key, entry)| {
            let Till {
                client,
                sequence,
                at,
                ..
            } = decode_entry(key, entry)?.record;
            Ok(Answered {
                till: name_of(key)
                    .split(',')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                client_id: client,
                sequence,
                handed_in_at: at.to_millis_text(),
            })
        });
        let items = items.collect::<Result<Vec<_>>>()?;
        let last = page.entries.last().map(|(key, _)| name_of(key).to_owned());
        Ok(TillPage {
            next: last.filter(|_| page.more),
            items,
        })
    }

    /// Forgets the tills with a name: their places are free, and what they hand in again is put on record again.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(in crate::conditions) async fn forget_till(
        &self,
        tenant: &TenantId,
        till: &str,
    ) -> Result<()> {
        let none = || Error::missing(TILL_NOT_FOUND, till);
        if !is_till(till) {
            return Err(none());
        }
        let records = self.app.records(tenant.partition());
        let prefix = format!("{TILL}{till},");
        let plan = async || {
            let count = records.get::<Count>(COUNT).await?;
            let page = records.scan(&prefix, None, MAX_FORGOTTEN).await?;
            let mut change = Change::default();
            let mut left = count.as_ref().map(|count| count.record).unwrap_or_default();
            for (key, entry) in &page.entries {
                let till = decode_entry::<Till>(key, entry)?;
                left.tills = left.tills.saturating_sub(1);
                left.next_epoch = left.next_epoch.max(till.record.epoch + 1);
                change.expect(key, Some(&till));
                change.delete(key);
            }
            if !page.entries.is_empty() {
                change.expect(COUNT, count.as_ref());
                change.put(COUNT, &left)?;
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

    /// How many tills of a tenant hand in decisions.
    pub(in crate::conditions) async fn tills_used(&self, records: &Records) -> Result<Usage> {
        let count = records.get::<Count>(COUNT).await?;
        let count = count.map(|count| count.record).unwrap_or_default();
        Ok(Usage::of(count.tills, self.app.config.quotas.tills))
    }
}

/// What follows the prefix in the key of a till.
fn name_of(key: &str) -> &str {
    key.strip_prefix(TILL).unwrap_or(key)
}
