//! The token service: clients and their secrets, registration templates, roles, access tokens and their holders.
//!
//! Read it in this order: `client.rs` and `client_id.rs` (what a client is), `tenants.rs`, `templates.rs` with `schema.rs`,
//! and `statements.rs` with `statement.rs` (what a client registers with), `registration.rs` and `clients.rs` (the life of a
//! client), `issue.rs` (from a secret to a token), `verify.rs` with `registry.rs` and `trusted/` (from a token to a caller),
//! `roles.rs`, `expiry.rs` (the background jobs). `http/` is the only part that knows HTTP. All records are in one
//! partition, `iam`, so that records that belong together change in one commit:
//!
//! | key | record |
//! |---|---|
//! | `pepper` | the key that secrets are hashed with |
//! | `keys` | the signing keys (`keys/`) |
//! | `tenant/{tenantId}` | a tenant |
//! | `template/{tenantId or _}/{softwareId}/{softwareVersion}` | a registration template |
//! | `client/{clientId}` | a client |
//! | `of/{tenantId}/{clientId}` | its status, for the tenant's list |
//! | `counts/{tenantId or _}` | the numbers of its clients, pending clients and templates, and the bytes of these templates |
//! | `pending-from/{tenantId}/{address}` | the number of pending clients that an address has registered |
//! | `role/{roleId}` | a role that is not built in |
//! | `statement/{tenantId}/{jti}` | a software statement, without its text |
//!
//! Jobs (`expiry.rs`): the queue `pending` holds client ids, each due when the client is removed unless it was
//! authorized or revoked before; `statements` holds the tenant and id of each statement, due when it expires; `keys`
//! holds one job, due when a part of a replaced key must be removed.

mod body;
pub mod client;
pub mod client_id;
mod clients;
mod counts;
mod document;
mod expiry;
mod form;
pub mod http;
mod issue;
mod jws;
mod limits;
mod members;
mod provision;
mod registration;
mod registry;
mod roles;
pub mod schema;
mod statement;
mod statements;
mod templates;
mod tenants;
mod token_cache;
mod token_error;
mod trusted;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tillgate_base::app::App;
use tillgate_base::data::feed::{Subscriber, keep_fresh};
use tillgate_base::data::quota::Usage;
use tillgate_base::data::records::Records;
use tillgate_base::data::snapshot::Contents;
use tillgate_base::data::tenant::PARTITION;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::keys::{KeyState, Keys, PublicDocument, RingConfig, Schedule, StoredKeys};
use tillgate_base::load::Workers;
use tillgate_base::observe::audit::Line;
use tillgate_base::observe::metrics::{AGE_OF_MEMORY, MemoryUse, Sample};
use tillgate_base::observe::readiness::State;
use tillgate_store::Partition;
use tillgate_store::clock::Clock;

pub use self::client::Credentials;
use self::client::{Pepper, random_secret};
pub use self::clients::ListPage;
pub use self::document::{check_role, check_template, role_schemas, template_schemas};
use self::expiry::Expiry;
pub use self::form::BasicCredentials;
pub use self::issue::{Issued, MAX_FORM};
use self::limits::{Registrations, WrongSecrets};
pub use self::registration::{Registered, Registration};
use self::registry::Registry;
pub use self::roles::{NewRole, Role};
use self::schema::SchemaCache;
pub use self::statement::NewStatement;
pub use self::templates::{NewTemplate, Template};
pub use self::tenants::Tenant;
use self::token_cache::TokenCache;
pub use self::token_error::TokenError;
use self::trusted::TrustedIssuers;
pub use self::trusted::issuers_without_keys;
use schemars::JsonSchema;
use serde::Serialize;

const PEPPER: &str = "pepper";
const CLIENT: &str = "client/";
const ROLE: &str = "role/";

/// The contents of the snapshot: enough to verify callers, nothing that could sign or authenticate.
const SNAPSHOT: Contents = Contents {
    prefixes: &[KEYS.record, PEPPER, ROLE, CLIENT],
    redact: without_secrets,
};

fn without_secrets(key: &str, record: Bytes) -> Bytes {
    if key == PEPPER {
        Bytes::from_static(b"\"\"")
    } else if key == KEYS.record {
        StoredKeys::public_halves(&record)
    } else if key.starts_with(CLIENT) {
        client::without_secrets(&record)
    } else {
        record
    }
}

/// The lifetime of an access token: `expires_in`.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(3_599);

/// The time for which others may cache the JWKS (`tokens.md`, "Keys").
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(300);

/// The key ring that signs tokens and statements.
const KEYS: RingConfig = RingConfig {
    signer: "tokens",
    record: "keys",
    queue: "keys",
    schedule: Schedule {
        max_age: JWKS_MAX_AGE,
        token_lifetime: TOKEN_LIFETIME,
    },
    certificate_name: None,
};

/// The numbers of clients and templates of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provisions {
    /// The number of templates.
    pub templates: Usage,
    /// The size of the templates as JSON, in bytes.
    pub template_bytes: Usage,
    /// The number of clients, including pending ones.
    pub clients: Usage,
}

/// The token service.
#[derive(Debug)]
pub struct Tokens {
    clock: Arc<dyn Clock>,
    records: Records,
    registry: Arc<Registry>,
    keys: Arc<Keys>,
    platform: TenantId,
    issuer: String,
    audience: String,
    /// The audience of software statements.
    registration_endpoint: String,
    metadata: PublicDocument,
    pepper: Pepper,
    /// The record of a client that does not exist, so that an unknown id costs the same work as a known one.
    absent_client: bytes::Bytes,
    schemas: Arc<SchemaCache>,
    trusted: TrustedIssuers,
    token_cache: Arc<TokenCache>,
    max_stale_callers: Duration,
    registrations: Arc<Registrations>,
    wrong_secrets: Arc<WrongSecrets>,
    /// `true` if the form of a token request may contain the secret.
    accepts_secret_in_form: bool,
    limits: Limits,
    workers: Arc<Workers>,
}

#[derive(Debug)]
struct Limits {
    clients: i64,
    templates: i64,
    template_bytes: i64,
    pending_clients: i64,
    pending_clients_per_address: i64,
    pending_lifetime: Duration,
    secret_overlap: Duration,
}

impl Tokens {
    /// Starts the service: generates the signing key and the pepper on an empty store, and keeps its caches fresh.
    ///
    /// # Errors
    /// When the store is unavailable, or a trusted issuer's keys cannot be read from their file.
    pub async fn start(app: &App) -> Result<Self> {
        let config = &app.config;
        let platform = TenantId::new(&config.platform_tenant)
            .ok_or_else(|| Error::Bug("platform_tenant is not a tenant id".to_owned()))?;
        let records = app.records(Partition::named(PARTITION));
        let keys = Keys::open(records.clone(), Arc::clone(&app.clock), KEYS).await?;
        let (pepper, _) = records.get_or_put(PEPPER, &random_secret()?).await?;
        let clock = Arc::clone(&app.clock);
        let registry = Arc::new(Registry::new(
            records.clone(),
            clock,
            platform.clone(),
            Arc::clone(&keys),
            config.limits.cached_clients,
        ));
        registry.catch_up().await?;
        keep_fresh(&registry);
        app.keep_in_snapshot(Partition::named(PARTITION), SNAPSHOT);
        Expiry::new(&records, &app.clock, &registry, &keys).register(&app.runner);

        let trusted = TrustedIssuers::start(&config.trusted_issuers, &platform, &app.clock);
        let trusted = trusted.await?;
        let limits = &config.tokens;
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let tokens = Self {
            clock: Arc::clone(&app.clock),
            metadata: issue::metadata(config)?,
            absent_client: issue::absent_client(&platform)?,
            records,
            registry,
            keys,
            platform,
            issuer: config.issuer(),
            audience: config.audience.clone(),
            registration_endpoint: issue::registration_endpoint(config),
            pepper: Pepper::new(pepper.reveal().as_bytes()),
            schemas: Arc::default(),
            trusted,
            token_cache: Arc::default(),
            max_stale_callers: config.max_stale_callers,
            registrations: Arc::new(Registrations::new(limits.registrations_per_minute)),
            wrong_secrets: Arc::default(),
            accepts_secret_in_form: limits.client_secret_post,
            workers: Arc::clone(&app.workers),
            limits: Limits {
                clients: count(config.quotas.clients),
                templates: count(config.quotas.templates),
                template_bytes: count(config.quotas.template_bytes.as_u64()),
                pending_clients: limits.pending_clients.into(),
                pending_clients_per_address: limits.pending_clients_per_address.into(),
                pending_lifetime: limits.pending_lifetime,
                secret_overlap: limits.secret_overlap,
            },
        };
        tokens.measure(app);
        Ok(tokens)
    }

    /// Registers the readiness checks and metrics of the keys and the caches.
    fn measure(&self, app: &App) {
        let (keys, clock) = (Arc::clone(&self.keys), Arc::clone(&self.clock));
        app.readiness.check("keys", move || {
            let now = clock.now();
            let ring = keys.ring();
            match (ring.jwk_set(now).is_some(), ring.signing(now).is_some()) {
                (true, true) => None,
                (true, false) => {
                    Some((State::ReadOnly, "tokens are verified but not issued".into()))
                }
                (false, _) => Some((State::Away, "no key verifies tokens".into())),
            }
        });
        let registry = Arc::downgrade(&self.registry);
        app.readiness.rests_on(self.max_stale_callers, move |now| {
            let registry = registry.upgrade();
            let age = registry.map(|registry| registry.subscription().age(now));
            age.unwrap_or_default()
        });
        let (registry, clock) = (Arc::downgrade(&self.registry), Arc::clone(&self.clock));
        app.metrics.collect(AGE_OF_MEMORY, move || {
            let registry = registry.upgrade();
            let age = registry.and_then(|it| it.subscription().age_if_used(clock.now()));
            let age = age.unwrap_or_default().as_secs_f64();
            vec![Sample::new([("kind", "callers")], age)]
        });
        let registry = Arc::downgrade(&self.registry);
        let (token_cache, schemas) = (Arc::clone(&self.token_cache), Arc::clone(&self.schemas));
        let registrations = Arc::clone(&self.registrations);
        let wrong_secrets = Arc::clone(&self.wrong_secrets);
        app.metrics.collect_memory(move || {
            let (tokens, bytes) = token_cache.size();
            let used = |kind, count, bytes| MemoryUse { kind, count, bytes };
            let clients = registry.upgrade().map_or(0, |registry| registry.count());
            vec![
                used("clients", clients, None),
                used("verified_tokens", tokens, Some(bytes)),
                used("schemas", schemas.count(), None),
                used("registering_addresses", registrations.addresses(), None),
                used("wrong_secrets", wrong_secrets.pairs(), None),
            ]
        });
    }

    /// Returns the public halves of the signing keys as a JWK set.
    ///
    /// # Errors
    /// [`Error::Bug`] when no key is valid.
    pub fn jwks(&self) -> Result<PublicDocument> {
        self.keys.jwk_set()
    }

    /// Returns the metadata of this authorization server (RFC 8414).
    #[must_use]
    pub const fn metadata(&self) -> &PublicDocument {
        &self.metadata
    }

    /// Returns how many clients and templates a tenant has.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn usage(&self, tenant: &TenantId) -> Result<Provisions> {
        let counts = counts::of(&self.records, Some(tenant)).await?;
        let usage = |used: i64, quota: i64| {
            let [used, quota] = [used, quota].map(|number| u64::try_from(number).unwrap_or(0));
            Usage { used, quota }
        };
        Ok(Provisions {
            templates: usage(counts.templates, self.limits.templates),
            template_bytes: usage(counts.template_bytes, self.limits.template_bytes),
            clients: usage(counts.clients, self.limits.clients),
        })
    }

    /// Returns the signing keys, the newest last.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keys(&self) -> Result<Vec<KeyState>> {
        self.keys.states().await
    }

    /// Publishes a new signing key, which signs once every cache of the JWKS has it. Returns it and its audit line.
    ///
    /// # Errors
    /// [`Error::Conflict`] while a new key is already waiting.
    pub async fn rotate_keys(&self) -> Result<(KeyState, Line)> {
        let rotated = self.keys.rotate().await?;
        self.registry.catch_up().await?;
        Ok(rotated)
    }
}

fn client_key(id: &str) -> String {
    format!("{CLIENT}{id}")
}
