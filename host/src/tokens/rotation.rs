//! Signing keys, as operators see and renew them, and how old ones go. What holds when stands in `keys.rs`.

use super::caller::Caller;
use super::keys::{KeyState, NewKey, Retired, StoredKeys};
use super::ledger::Change;
use super::tidier::{SKEW, Tidier};
use super::{KEYS, RETIRED_KEYS, Tokens, blocking};
use crate::error::{Error, Result};
use crate::follow::Follow;
use crate::store::Job;

/// The one job of its queue: an earlier due time takes the place of a later one.
const JOB: &str = "keys";

impl Tokens {
    /// The signing keys, the newest last.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn keys(&self) -> Result<Vec<KeyState>> {
        let keys = self.ledger.get::<StoredKeys>(KEYS).await?;
        let keys = keys.ok_or_else(|| Error::Bug("the signing keys are gone".to_owned()))?;
        Ok(keys.record.states(self.clock.now()))
    }

    /// Publishes a new signing key, which signs once every cache of the JWKS has it.
    ///
    /// # Errors
    /// [`Error::Conflict`] while a new key waits already.
    pub async fn rotate_keys(&self, caller: &Caller) -> Result<KeyState> {
        let key = blocking(NewKey::generate).await?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.ledger.get::<StoredKeys>(KEYS).await?;
            change.rests_on(KEYS, read.as_ref());
            let mut keys = read.map(|read| read.record).unwrap_or_default();
            let now = self.clock.now();
            keys.rotate(&key, now)?;
            let retired = keys.retire(now);
            change.put(KEYS, &keys)?;
            change.tell(KEYS);
            if let Some(due) = keys.next_retirement() {
                change.enqueue(RETIRED_KEYS, JOB, due);
            }
            let new = keys.states(now).pop();
            let new = new.ok_or_else(|| Error::Bug("a key that was made is gone".to_owned()))?;
            Ok((change, (new, retired)))
        };
        let (new, retired) = self.ledger.change(plan).await?;
        tracing::info!(target: "audit", action = "key.rotated", kid = new.kid, by = &*caller.subject);
        audit_retired(&retired);
        self.registry.catch_up().await?;
        Ok(new)
    }
}

impl Tidier {
    /// Removes what is left of keys whose time is over, and comes again for what is left then.
    pub(super) async fn retire_keys(&self, job: &Job) -> Result<()> {
        let plan = async || {
            let mut change = Change::default();
            let now = self.clock.now();
            let read = self.ledger.get::<StoredKeys>(KEYS).await?;
            let Some(read) = read else {
                change.settle(RETIRED_KEYS, job);
                return Ok((change, Retired::default()));
            };
            change.rests_on(KEYS, Some(&read));
            let mut keys = read.record;
            let retired = keys.retire(now);
            if retired != Retired::default() {
                change.put(KEYS, &keys)?;
                change.tell(KEYS);
            }
            // Where the store's clock is ahead of this host's, the job would be due again at once for nothing.
            let next = keys.next_retirement();
            match next.map(|next| next.max(now.plus(SKEW))) {
                Some(next) => change.settle_until(RETIRED_KEYS, job, next),
                None => change.settle(RETIRED_KEYS, job),
            }
            Ok((change, retired))
        };
        let retired = self.ledger.change(plan).await?;
        audit_retired(&retired);
        Ok(())
    }
}

fn audit_retired(retired: &Retired) {
    for kid in &retired.silenced {
        tracing::info!(target: "audit", action = "key.silenced", kid, by = "the host");
    }
    for kid in &retired.gone {
        tracing::info!(target: "audit", action = "key.gone", kid, by = "the host");
    }
}
