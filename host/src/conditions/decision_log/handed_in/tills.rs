//! How far each till has handed in its decisions: what comes again is known by that. Their number is counted in the commits
//! that change it, so that a tenant never has more than its quota.

use serde::{Deserialize, Serialize};

use super::body::is_till;
use crate::clock::Timestamp;
use crate::conditions::Conditions;
use crate::data::quota::Usage;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// What the keys of the records of tills begin with.
const TILL: &str = "till/";

/// The record of how many there are.
const COUNT: &str = "usage/tills";

/// How far a till has handed in.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Till {
    /// The client that hands in under its name. When another one does, its numbers begin anew: no client can make those of
    /// another one look like repetitions.
    #[serde(default)]
    pub(super) client: String,
    /// How often its numbers have begun anew; greater than in all that is on record from before it was forgotten.
    #[serde(default)]
    pub(super) epoch: u64,
    /// The number of its last decision.
    pub(super) sequence: u64,
    /// The number of the last one that is on record; 0 when none is.
    pub(super) written: u64,
    /// How many decisions it has dropped that no line on record tells of yet.
    #[serde(default)]
    pub(super) missing: u64,
    /// When it has handed in.
    pub(super) at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Count {
    tills: usize,
    /// The epoch of a till that begins.
    #[serde(default)]
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
    /// Those after this one.
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

/// What the store has of a till.
pub(super) struct Stored {
    till: Option<Versioned<Till>>,
    count: Option<Versioned<Count>>,
}

impl Stored {
    pub(super) async fn read(records: &Records, till: &str) -> Result<Self> {
        let keys = [format!("{TILL}{till}"), COUNT.to_owned()];
        let mut entries = records.entries(&keys).await?.into_iter();
        let mut next = || entries.next().flatten();
        let (till, count) = (next(), next());
        let [of_till, of_count] = &keys;
        Ok(Self {
            till: till
                .map(|entry| decode_entry(of_till, &entry))
                .transpose()?,
            count: count
                .map(|entry| decode_entry(of_count, &entry))
                .transpose()?,
        })
    }

    /// How far the till is with what a client hands in.
    pub(super) fn till_of(&self, client: &str) -> Till {
        let begun = |epoch, missing| Till {
            client: client.to_owned(),
            epoch,
            missing,
            ..Till::default()
        };
        match self.till.as_ref().map(|till| &till.record) {
            Some(till) if till.client == client => till.clone(),
            Some(till) => begun(till.epoch + 1, till.missing),
            None => begun(self.count().next_epoch, 0),
        }
    }

    /// Refuses a till that would be one too many.
    pub(super) fn refuse_beyond(&self, quota: usize) -> Result<()> {
        match self.till.is_none() && self.count().tills >= quota {
            true => Err(Error::quota("tills that hand in decisions", quota)),
            false => Ok(()),
        }
    }

    /// The change that moves the till on, or removes it.
    pub(super) fn change(&self, name: &str, till: Option<Till>) -> Result<Change> {
        let key = format!("{TILL}{name}");
        let mut change = Change::default();
        change.expect(&key, self.till.as_ref());
        let Count { tills, next_epoch } = self.count();
        let count = match (&self.till, &till) {
            (None, Some(_)) => Some(Count {
                tills: tills + 1,
                next_epoch,
            }),
            (Some(forgotten), None) => Some(Count {
                tills: tills.saturating_sub(1),
                next_epoch: next_epoch.max(forgotten.record.epoch + 1),
            }),
            _ => None,
        };
        if let Some(count) = count {
            change.expect(COUNT, self.count.as_ref());
            change.put(COUNT, &count)?;
        }
        match till {
            Some(till) => change.put(&key, &till)?,
            None => change.delete(&key),
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
                till: key.strip_prefix(TILL).unwrap_or(key).to_owned(),
                client_id: client,
                sequence,
                handed_in_at: at.to_millis_text(),
            })
        });
        let items = items.collect::<Result<Vec<_>>>()?;
        let last = items.last().map(|answered| answered.till.clone());
        Ok(TillPage {
            next: last.filter(|_| page.more),
            items,
        })
    }

    /// Forgets a till: its place is free, and what it hands in again is put on record again.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(in crate::conditions) async fn forget_till(
        &self,
        tenant: &TenantId,
        till: &str,
    ) -> Result<()> {
        let none = || Error::NotFound("no till with this name has handed in decisions".to_owned());
        if !is_till(till) {
            return Err(none());
        }
        let records = self.app.records(tenant.partition());
        let plan = async || {
            let stored = Stored::read(&records, till).await?;
            if stored.till.is_none() {
                return Err(none());
            }
            Ok((stored.change(till, None)?, ()))
        };
        records.change(plan).await
    }

    /// How many tills of a tenant hand in decisions.
    pub(in crate::conditions) async fn tills_used(&self, records: &Records) -> Result<Usage> {
        let count = records.get::<Count>(COUNT).await?;
        let count = count.map(|count| count.record).unwrap_or_default();
        Ok(Usage::of(count.tills, self.app.config.quotas.tills))
    }
}
