//! Makes, rotates and publishes signing keys, and signs with them.
//!
//! Each signer has a [`Keys`] of its own, a ring with its own record, queue and schedule: the token service has one,
//! and so does the identity provider of webhook deliveries. All hosts share the record; the record and the time
//! determine which key signs and which keys are accepted. Read `stored.rs` first (the record), then `ring.rs` (the keys
//! in memory, ready for use), `new_key.rs` and `signer.rs`.

mod new_key;
mod ring;
mod signer;
mod stored;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use serde::Serialize;
use tillgate_store::clock::{Clock, Timestamp};

pub use self::new_key::{JwkSet, NewKey};
pub use self::ring::{KeyRing, PublicDocument, SigningKey};
use self::signer::SigningPool;
pub use self::stored::{KeyState, Phase, Retired, Schedule, StoredKeys};
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::jobs::{CLOCK_SKEW, Work};
use crate::observe::audit::Line;

/// The names of a ring in the store, and the lifetime of its keys.
#[derive(Clone, Copy, Debug)]
pub struct RingConfig {
    /// The name of its signer in the audit log.
    pub signer: &'static str,
    /// The key of its record.
    pub record: &'static str,
    /// The queue of its job, which removes old keys.
    pub queue: &'static str,
    /// The times that its keys wait before they sign and stay afterwards.
    pub schedule: Schedule,
    /// The common name of its keys' certificates; `None` for a ring that publishes none.
    pub certificate_name: Option<&'static str>,
}

/// The signing keys of one signer. Its change notices carry the key of its record.
#[derive(Debug)]
pub struct Keys {
    records: Records,
    clock: Arc<dyn Clock>,
    config: RingConfig,
    ring: ArcSwap<KeyRing>,
    pool: Arc<SigningPool>,
}

impl Keys {
    /// Reads the keys, or generates the first one on an empty store.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn open(
        records: Records,
        clock: Arc<dyn Clock>,
        config: RingConfig,
    ) -> Result<Arc<Self>> {
        let stored = read_or_create(&records, clock.as_ref(), config).await?;
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Arc::new(Self {
            ring: ArcSwap::from_pointee(KeyRing::new(&stored, config.schedule)?),
            records,
            clock,
            config,
            pool: SigningPool::new(threads),
        }))
    }

    /// Returns the key of their record, which their change notices carry.
    #[must_use]
    pub const fn record(&self) -> &'static str {
        self.config.record
    }

    /// Returns the queue of their job.
    #[must_use]
    pub const fn queue(&self) -> &'static str {
        self.config.queue
    }

    /// Returns the keys, ready for use.
    pub fn ring(&self) -> Guard<Arc<KeyRing>> {
        self.ring.load()
    }

    /// Reads the keys from the store again.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Bug`] when the keys are missing or damaged.
    pub async fn reload(&self) -> Result<()> {
        let ring = KeyRing::new(&self.stored().await?, self.config.schedule)?;
        self.ring.store(Arc::new(ring));
        Ok(())
    }

    /// Returns the JWK set that is published now.
    ///
    /// # Errors
    /// [`Error::Bug`] when no key is valid.
    pub fn jwk_set(&self) -> Result<PublicDocument> {
        let published = self.ring().jwk_set(self.clock.now()).cloned();
        published.ok_or_else(|| Error::Bug("no key is published".to_owned()))
    }

    /// Returns the certificates that are published now: a JSON object, by key id.
    ///
    /// # Errors
    /// [`Error::Bug`] when no key is valid.
    pub fn certificates(&self) -> Result<PublicDocument> {
        let published = self.ring().certificates(self.clock.now()).cloned();
        published.ok_or_else(|| Error::Bug("no key is published".to_owned()))
    }

    /// Returns the key that signs now.
    ///
    /// # Errors
    /// [`Error::Bug`] when there is none.
    pub fn signing(&self) -> Result<Arc<SigningKey>> {
        let key = self.ring().signing(self.clock.now()).cloned();
        key.ok_or_else(|| Error::Bug("there is no signing key".to_owned()))
    }

    /// Returns a JWT with this `typ` and these claims, signed with the key that signs now.
    ///
    /// # Errors
    /// [`Error::Bug`].
    pub async fn sign(&self, typ: &'static str, claims: &impl Serialize) -> Result<String> {
        self.sign_with(self.signing()?, typ, claims).await
    }

    /// Returns a JWT with this `typ` and these claims, signed with the given key of this ring.
    ///
    /// # Errors
    /// [`Error::Bug`].
    pub async fn sign_with(
        &self,
        key: Arc<SigningKey>,
        typ: &'static str,
        claims: &impl Serialize,
    ) -> Result<String> {
        let claims = serde_json::to_vec(claims).map_err(|cause| Error::Bug(cause.to_string()))?;
        self.pool.sign(key, typ, claims).await
    }

    /// Returns the keys as operators see them, the newest last.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn states(&self) -> Result<Vec<KeyState>> {
        let stored = self.stored().await?;
        Ok(stored.states(self.clock.now(), self.config.schedule))
    }

    /// Publishes a new key, which signs once every cache of the published keys has it. Returns the key, and its line
    /// for the audit log.
    ///
    /// # Errors
    /// [`Error::Conflict`] while a new key is already waiting.
    pub async fn rotate(&self) -> Result<(KeyState, Line)> {
        let RingConfig {
            signer,
            record,
            queue,
            schedule,
            ..
        } = self.config;
        let key = generate(self.config, self.clock.now()).await?;
        let plan = async || {
            let mut change = Change::default();
            let read = self.records.get::<StoredKeys>(record).await?;
            change.expect(record, read.as_ref());
            let mut keys = read.map(|read| read.record).unwrap_or_default();
            let now = self.clock.now();
            keys.rotate(&key, now, schedule)?;
            let retired = keys.retire(now, schedule);
            change.put(record, &keys)?;
            change.notify(record);
            if let Some(due) = keys.next_retirement(schedule) {
                // A ring has one job: an earlier due time replaces a later one.
                change.enqueue(queue, record, due, Bytes::new());
            }
            let newest = keys.states(now, schedule).pop();
            let newest = newest.ok_or_else(|| Error::Bug("the new key is missing".to_owned()))?;
            Ok((change, (newest, retired)))
        };
        let (newest, retired) = self.records.change(plan).await?;
        audit_retired(signer, &retired);
        let line = line(signer, &newest.kid);
        Ok((newest, line))
    }

    /// Removes the parts of old keys that are no longer needed; the job is due again if others will follow.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Conflict`] when the job's lease was lost.
    pub async fn retire(&self, work: &Work) -> Result<()> {
        let RingConfig {
            signer,
            record,
            schedule,
            ..
        } = self.config;
        let plan = async || {
            let mut change = Change::default();
            let now = self.clock.now();
            let read = self.records.get::<StoredKeys>(record).await?;
            let Some(read) = read else {
                work.settle(&mut change);
                return Ok((change, Retired::default()));
            };
            change.expect(record, Some(&read));
            let mut keys = read.record;
            let retired = keys.retire(now, schedule);
            if retired != Retired::default() {
                change.put(record, &keys)?;
                change.notify(record);
            }
            // Not earlier: if the store's clock is ahead of this host's, the job would be due again at once, in vain.
            match keys.next_retirement(schedule) {
                Some(next) => work.reschedule(&mut change, next.max(now.plus(CLOCK_SKEW))),
                None => work.settle(&mut change),
            }
            Ok((change, retired))
        };
        let retired = self.records.change(plan).await?;
        audit_retired(signer, &retired);
        Ok(())
    }

    async fn stored(&self) -> Result<StoredKeys> {
        let read = self.records.get::<StoredKeys>(self.config.record).await?;
        let read = read.ok_or_else(|| Error::Bug("the signing keys are missing".to_owned()))?;
        Ok(read.record)
    }
}

/// Returns the stored keys, or generates the first one on an empty store.
async fn read_or_create(
    records: &Records,
    clock: &dyn Clock,
    config: RingConfig,
) -> Result<StoredKeys> {
    let RingConfig { signer, record, .. } = config;
    if let Some(stored) = records.get::<StoredKeys>(record).await? {
        return Ok(stored.record);
    }
    let key = generate(config, clock.now()).await?;
    let first = StoredKeys::first(&key, clock.now());
    let (stored, is_new) = records.get_or_put(record, &first).await?;
    if is_new {
        line(signer, key.kid()).write_own("key.made");
    }
    Ok(stored)
}

/// Generates a key of a ring off the threads that serve.
async fn generate(config: RingConfig, now: Timestamp) -> Result<NewKey> {
    let generated = tokio::task::spawn_blocking(move || match config.certificate_name {
        Some(name) => NewKey::certified(name, now),
        None => NewKey::generate(),
    });
    let generated = generated.await;
    generated.map_err(|cause| Error::Bug(cause.to_string()))?
}

/// Returns the audit line of a key.
fn line(signer: &'static str, kid: &str) -> Line {
    Line {
        signer: Some(signer),
        kid: Some(kid.to_owned()),
        ..Line::default()
    }
}

fn audit_retired(signer: &'static str, retired: &Retired) {
    for kid in &retired.private_halves {
        line(signer, kid).write_own("key.silenced");
    }
    for kid in &retired.keys {
        line(signer, kid).write_own("key.gone");
    }
}
