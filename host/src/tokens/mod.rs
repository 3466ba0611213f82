//! The token service: clients and their secrets, templates, roles, signing keys, tokens and who holds one.
//!
//! This is its front page; it never sees warp. Read on in `client.rs` (what a client is), `registration.rs` and
//! `clients.rs` (its life), `issue.rs` (a secret becomes a token), `verify.rs` and `trusted/` (a token becomes a [`Caller`]). All
//! records are in one partition, `iam`, so that whatever belongs together moves in one commit:
//!
//! | key | record |
//! |---|---|
//! | `pepper` | the key that secrets are hashed with |
//! | `keys` | the signing keys |
//! | `tenant/{tenantId}` | a tenant |
//! | `template/{tenantId or _}/{softwareId}/{softwareVersion}` | a registration template |
//! | `client/{clientId}` | a client |
//! | `of/{tenantId}/{clientId}` | its status, for the tenant's list |
//! | `pending/{tenantId}` | how many of its clients are pending |
//! | `role/{roleId}` | a role that is not built in |
//! | `statement/{tenantId}/{jti}` | a software statement, without its text |
//!
//! Jobs (`tidier.rs`): in the queue `pending` the id of a client, due when it goes unless it is authorized or revoked
//! before; in `statements` the end of a statement's key, due when it expires; in `keys` one, due when something of a key
//! that was replaced is to be removed.

mod body;
mod caller;
pub mod client;
pub mod client_id;
mod clients;
mod form;
pub mod http;
mod issue;
mod jws;
pub mod keyring;
pub mod keys;
mod ledger;
mod limits;
pub mod permission;
mod provision;
mod registration;
mod registry;
mod remembered;
mod roles;
mod rotation;
mod signers;
mod statement;
mod statements;
pub mod template;
mod templates;
pub mod tenant;
mod tenants;
mod tidier;
mod trusted;
mod verify;

use std::sync::Arc;
use std::time::Duration;

pub use self::caller::Caller;
use self::client::{Pepper, random_secret};
pub use self::clients::ListPage;
pub use self::form::Shown;
pub use self::issue::{Issued, MAX_FORM, Refusal};
pub use self::keyring::Published;
use self::keys::{NewKey, StoredKeys};
use self::ledger::{Change, Ledger};
use self::limits::{Registrations, WrongSecrets};
use self::permission::Permissions;
pub use self::provision::Credentials;
pub use self::registration::{Registered, Registration};
use self::registry::Registry;
use self::remembered::Remembered;
pub use self::roles::Role;
use self::signers::Signers;
pub use self::statement::NewStatement;
use self::template::Schemas;
pub use self::templates::{NewTemplate, Template};
use self::tenant::TenantId;
pub use self::tenants::Tenant;
use self::tidier::Tidier;
use self::trusted::TrustedIssuers;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::follow::{Follow, keep_fresh};
use crate::store::{Partition, Store};
use crate::worker::{self, Task};

const PARTITION: &str = "iam";
const PEPPER: &str = "pepper";
const KEYS: &str = "keys";
const CLIENT: &str = "client/";
const ROLE: &str = "role/";

/// The queue of clients that go when they are pending for too long.
const PENDING: &str = "pending";

/// The queue of statements that expire.
const STATEMENTS: &str = "statements";

/// The queue of keys that were replaced.
const RETIRED_KEYS: &str = "keys";

/// The token service.
#[derive(Debug)]
pub struct Tokens {
    clock: Arc<dyn Clock>,
    ledger: Ledger,
    registry: Arc<Registry>,
    tidier: Arc<Tidier>,
    platform: TenantId,
    issuer: String,
    audience: String,
    /// What a software statement is for.
    registration_endpoint: String,
    metadata: Published,
    pepper: Pepper,
    /// A client that is not there, for the work that an unknown id must cost all the same.
    nobody: bytes::Bytes,
    schemas: Schemas,
    trusted: TrustedIssuers,
    remembered: Remembered,
    registrations: Registrations,
    wrong_secrets: WrongSecrets,
    signers: Arc<Signers>,
    limits: Limits,
}

#[derive(Debug)]
struct Limits {
    pending_clients: u64,
    pending: Duration,
    secret_overlap: Duration,
}

impl Tokens {
    /// Reads what is needed, makes signing key and pepper on an empty store, and follows what changes.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn start(
        config: &Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let platform = TenantId::new(&config.platform_tenant)
            .ok_or_else(|| Error::Bug("platform_tenant is no tenant id".to_owned()))?;
        let ledger = Ledger::new(store, Partition::named(PARTITION));
        let (keys, pepper) = first_secrets(&ledger, clock.as_ref()).await?;
        let (watch, home) = (Arc::clone(&clock), platform.clone());
        let registry = Arc::new(Registry::new(ledger.clone(), watch, home, &keys)?);
        registry.catch_up().await?;
        keep_fresh(&registry);
        let tidier = Arc::new(Tidier::new(ledger.clone(), Arc::clone(&clock)));
        worker::start(
            &tidier,
            ledger.store().hints(ledger.partition()),
            Arc::clone(&clock),
        );

        let trusted = TrustedIssuers::start(&config.trusted_issuers, &platform, &clock).await?;
        let limits = &config.tokens;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self {
            metadata: issue::metadata(config),
            nobody: issue::nobody(&platform)?,
            clock,
            ledger,
            registry,
            tidier,
            platform,
            issuer: config.issuer(),
            audience: config.audience.clone(),
            registration_endpoint: issue::registration_endpoint(config),
            pepper: Pepper::new(pepper.as_bytes()),
            schemas: Schemas::default(),
            trusted,
            remembered: Remembered::default(),
            registrations: Registrations::new(limits.registrations_per_minute),
            wrong_secrets: WrongSecrets::default(),
            signers: Signers::new(cores),
            limits: Limits {
                pending_clients: limits.pending_clients.into(),
                pending: DAY * limits.pending_days,
                secret_overlap: Duration::from_secs(limits.secret_overlap_seconds.into()),
            },
        })
    }

    /// The signing keys' public halves.
    ///
    /// # Errors
    /// [`Error::Bug`], never so far.
    pub fn jwks(&self) -> Result<Published> {
        let published = self.registry.keys().published(self.clock.now()).cloned();
        published.ok_or_else(|| Error::Bug("no key is published".to_owned()))
    }

    /// What this authorization server is (RFC 8414).
    #[must_use]
    pub const fn metadata(&self) -> &Published {
        &self.metadata
    }

    /// Does what is due; the worker does it by itself.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn tidy(&self) -> Result<()> {
        self.tidier.run().await?;
        self.registry.catch_up().await
    }

    /// Nothing, when the caller may act on a tenant: its own, or any when it is the platform's.
    fn rules(&self, caller: &Caller, tenant: &str) -> Result<()> {
        if caller.platform || caller.tenant.as_str() == tenant {
            return Ok(());
        }
        Err(Error::Denied(
            "another tenant's administration is not yours".to_owned(),
        ))
    }

    /// Nothing, when the caller may hand out these permissions, or act on a client that has them: what is the
    /// platform's alone is handed out by those who hold it (`tokens.md`, "Permissions").
    fn outranks(caller: &Caller, permissions: Permissions) -> Result<()> {
        let lacking = permissions
            .iter()
            .find(|held| held.platform_only() && !caller.permissions.contains(*held));
        match lacking {
            Some(lacking) => Err(Error::Denied(format!("the permission {lacking} is needed"))),
            None => Ok(()),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The key of a client.
fn client_key(id: &str) -> String {
    format!("{CLIENT}{id}")
}

/// Does something that keeps a thread busy where that starves nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|cause| Error::Bug(cause.to_string()))?
}

/// The signing keys and the pepper; made when they are not there.
async fn first_secrets(ledger: &Ledger, clock: &dyn Clock) -> Result<(StoredKeys, String)> {
    loop {
        let keys = ledger.get::<StoredKeys>(KEYS).await?;
        let pepper = ledger.get::<String>(PEPPER).await?;
        if let (Some(keys), Some(pepper)) = (keys, pepper) {
            return Ok((keys.record, pepper.record));
        }
        let (key, pepper) = (blocking(NewKey::generate).await?, random_secret()?);
        let plan = async || {
            let mut change = Change::default();
            // Several hosts may start at once: one of them makes both, the others take them.
            let first = ledger.get::<StoredKeys>(KEYS).await?.is_none();
            if first {
                change.rests_on::<StoredKeys>(KEYS, None);
                change.rests_on::<String>(PEPPER, None);
                change.put(KEYS, &StoredKeys::first(&key, clock.now()))?;
                change.put(PEPPER, &pepper)?;
                change.tell(KEYS);
            }
            Ok((change, first))
        };
        if ledger.change(plan).await? {
            tracing::info!(target: "audit", action = "key.made", kid = key.kid(), by = "the host");
        }
    }
}
