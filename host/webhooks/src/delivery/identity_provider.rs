//! The identity provider: the identity of this service to receivers (`webhooks.md`, "A delivery").
//!
//! It signs the bearer tokens of deliveries with its own ring of keys (`keys/`) and publishes their certificates.
//! Receivers may keep these for an hour, so a new key waits an hour before it signs. A token is signed once per
//! audience and sent with every delivery to it until shortly before it expires (`bearer_cache.rs`).
//!
//! The partition [`PARTITION`] has one record, `keys`, and one queue, `webhook-keys`, whose only job removes what is
//! left of replaced keys.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest, Sha256};
use tillgate_base::app::App;
use tillgate_base::config;
use tillgate_base::data::feed::{Changed, Subscriber, Subscription, keep_fresh};
use tillgate_base::data::snapshot::Contents;
use tillgate_base::error::Result;
use tillgate_base::jobs::{Queue, Runner, Scope, Work};
use tillgate_base::keys::{KeyState, Keys, PublicDocument, RingConfig, Schedule, StoredKeys};
use tillgate_base::observe::audit::Line;
use tillgate_store::Partition;
use tillgate_store::clock::Clock;

use super::bearer_cache::{Bearer, BearerCache};

const PARTITION: &str = "identity-provider";

/// The time for which receivers may cache the certificates (`webhooks.md`, "A delivery").
pub(crate) const CERTIFICATES_MAX_AGE: Duration = Duration::from_secs(3_600);

const TOKEN_LIFETIME: Duration = Duration::from_secs(3_600);

/// The ring of the keys that sign bearer tokens.
const KEYS: RingConfig = RingConfig {
    signer: "webhooks",
    record: "keys",
    queue: "webhook-keys",
    schedule: Schedule {
        max_age: CERTIFICATES_MAX_AGE,
        token_lifetime: TOKEN_LIFETIME,
    },
    certificate_name: Some("Tillgate webhooks"),
};

/// The contents of a snapshot, so that receivers can verify while the store is unavailable.
const SNAPSHOT: Contents = Contents {
    prefixes: &[KEYS.record],
    redact: |_, record| StoredKeys::public_halves(&record),
};

/// The identity of this service to receivers.
#[derive(Debug)]
pub struct IdentityProvider {
    clock: Arc<dyn Clock>,
    ring: Arc<FreshRing>,
    bearers: BearerCache,
    issuer: String,
    email: String,
    /// The id of the service account.
    account: String,
}

/// The claims of a bearer token (`given.md` 5.2).
#[derive(Serialize)]
struct BearerClaims<'a> {
    aud: &'a str,
    azp: &'a str,
    email: &'a str,
    email_verified: bool,
    exp: u64,
    iat: u64,
    iss: &'a str,
    sub: &'a str,
}

impl IdentityProvider {
    /// Reads the keys, generates the first one in an empty store, and keeps those in memory fresh.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        let records = app.records(Partition::named(PARTITION));
        let clock = Arc::clone(&app.clock);
        let (store, partition) = (Arc::clone(records.store()), records.partition().clone());
        let ring = Arc::new(FreshRing {
            keys: Keys::open(records, Arc::clone(&clock), KEYS).await?,
            subscription: Subscription::new(store, partition, Arc::clone(&clock)),
        });
        ring.catch_up().await?;
        keep_fresh(&ring);
        app.keep_in_snapshot(Partition::named(PARTITION), SNAPSHOT);
        ring.register(&app.runner);
        let settings = &app.config.webhooks;
        Ok(Self {
            clock,
            ring,
            bearers: BearerCache::default(),
            issuer: settings.issuer.clone(),
            email: settings.service_account_email.clone(),
            account: service_account_id(settings),
        })
    }

    /// Returns the number of bearer tokens in memory.
    pub(crate) fn bearers(&self) -> usize {
        self.bearers.count()
    }

    /// Returns the bearer token for an audience. Deliveries that ask while it is being signed get the same one.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn bearer(&self, audience: &str) -> Result<Arc<str>> {
        let now = self.clock.now();
        // No host may sign with a key that another one has replaced in the meantime.
        self.ring.ensure_fresh(now).await?;
        let key = self.ring.keys.signing()?;
        let entry = self.bearers.entry(audience);
        let mut cached = entry.lock().await;
        let now = now.seconds();
        if let Some(bearer) = cached.as_ref().filter(|it| it.is_usable(key.kid(), now)) {
            return Ok(Arc::clone(&bearer.token));
        }
        let expires = now.saturating_add(TOKEN_LIFETIME.as_secs());
        let claims = self.claims(audience, now, expires);
        let kid = key.kid().to_owned();
        let token: Arc<str> = self.ring.keys.sign_with(key, "JWT", &claims).await?.into();
        *cached = Some(Bearer {
            kid,
            token: Arc::clone(&token),
            issued: now,
            expires,
        });
        Ok(token)
    }

    fn claims<'a>(&'a self, audience: &'a str, issued: u64, expires: u64) -> BearerClaims<'a> {
        BearerClaims {
            aud: audience,
            azp: &self.account,
            email: &self.email,
            email_verified: true,
            exp: expires,
            iat: issued,
            iss: &self.issuer,
            sub: &self.account,
        }
    }

    /// Returns the certificates of the keys, by key id.
    ///
    /// # Errors
    /// [`tillgate_base::error::Error::Bug`] when no key is valid.
    pub fn certificates(&self) -> Result<PublicDocument> {
        self.ring.keys.certificates()
    }

    /// Returns the keys, newest last.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keys(&self) -> Result<Vec<KeyState>> {
        self.ring.keys.states().await
    }

    /// Publishes a new key, which signs once every cache of the certificates has it. Returns the key and its line for
    /// the audit log.
    ///
    /// # Errors
    /// [`tillgate_base::error::Error::Conflict`] while a new key is already waiting.
    pub async fn rotate_keys(&self) -> Result<(KeyState, Line)> {
        let rotated = self.ring.keys.rotate().await?;
        self.ring.catch_up().await?;
        Ok(rotated)
    }
}

/// Returns the id of the service account: as configured, or derived from its address, so that it is the same on every
/// host and does not change.
fn service_account_id(settings: &config::Webhooks) -> String {
    if !settings.service_account_id.is_empty() {
        return settings.service_account_id.clone();
    }
    let digest = Sha256::digest(&settings.service_account_email);
    let number = digest.first_chunk().copied().map(u64::from_be_bytes);
    number.unwrap_or_default().to_string()
}

/// The keys, kept up to date with the store.
#[derive(Debug)]
struct FreshRing {
    keys: Arc<Keys>,
    subscription: Subscription,
}

impl FreshRing {
    /// Registers the queue that removes old keys.
    fn register(self: &Arc<Self>, runner: &Runner) {
        let partition = self.subscription.partition().clone();
        let queue = Queue::new(self.keys.queue(), Scope::Partition(partition));
        let ring = Arc::clone(self);
        runner.register(queue, move |work: Work| {
            let ring = Arc::clone(&ring);
            async move {
                ring.keys.retire(&work).await?;
                ring.catch_up().await
            }
        });
    }
}

impl Subscriber for FreshRing {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    async fn apply(&self, changed: Changed) -> Result<()> {
        let is_changed = match changed {
            Changed::Everything => true,
            Changed::Keys(keys) => keys.iter().any(|key| key == self.keys.record()),
        };
        if is_changed {
            self.keys.reload().await?;
        }
        Ok(())
    }
}
