//! Clients that the host creates by itself: the operator's on an empty store, and the demo's.

use std::io;
use tillgate_api::problem::{CLIENT_EXISTS, CLIENT_NOT_FOUND};
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::data::tenant::{self, StoredTenant};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{OPERATOR, TenantId};

use super::client::{Client, Credentials, Status, random_secret};
use super::client_id::{self, Claims, Software};
use super::counts::{self, Counts};
use super::{Tokens, client_key, clients};

const OPERATOR_SOFTWARE: &str = "tillgate-operator";

/// The most clients of the same software that the host creates in a tenant.
const MAX_PROVISIONED: u32 = 1_000;

impl Tokens {
    /// Creates the platform's tenant and the operator's client on a store that has neither, and returns whether it did.
    /// `save` writes the credentials to where the operator finds them, before they are valid: after a crash in between,
    /// the next start creates new ones.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another host was faster: the credentials written here are then useless.
    pub async fn ensure_operator(
        &self,
        save: impl Fn(&Credentials) -> io::Result<()>,
    ) -> Result<bool> {
        let key = tenant::key(&self.platform);
        if self.records.get::<StoredTenant>(&key).await?.is_some() {
            return Ok(false);
        }
        let roles = vec![OPERATOR.to_owned()];
        let (client, credentials) = self.new_client(&self.platform, OPERATOR_SOFTWARE, 1, roles)?;
        save(&credentials).map_err(not_written)?;
        if self.put_authorized(&client, true).await? {
            return Ok(true);
        }
        let detail = "another host created the operator at the same moment: use its credentials";
        Err(Error::Conflict(CLIENT_EXISTS, detail.to_owned()))
    }

    /// Creates another client for the operator, in case the credentials of all others are lost. `save` writes its
    /// credentials before they are valid.
    ///
    /// # Errors
    /// [`Error::NotFound`] on a store that has never had an operator: the first start creates one.
    pub async fn further_operator(
        &self,
        save: impl Fn(&Credentials) -> io::Result<()>,
    ) -> Result<Credentials> {
        let key = tenant::key(&self.platform);
        if self.records.get::<StoredTenant>(&key).await?.is_none() {
            let detail = "this store has never had an operator: the first `tillgate serve` on it creates one";
            return Err(Error::NotFound(CLIENT_NOT_FOUND, detail.to_owned()));
        }
        for version in 1..=MAX_PROVISIONED {
            let roles = vec![OPERATOR.to_owned()];
            let (client, credentials) =
                self.new_client(&self.platform, OPERATOR_SOFTWARE, version, roles)?;
            let existing = self.records.get::<Client>(&client_key(&client.id)).await?;
            if existing.is_some() {
                continue;
            }
            save(&credentials).map_err(not_written)?;
            if self.put_authorized(&client, false).await? {
                return Ok(credentials);
            }
        }
        Err(clients::already_exists())
    }

    /// Creates another authorized client with these roles, and its tenant if that does not exist.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn provision(
        &self,
        tenant: &TenantId,
        software: &str,
        roles: &[&str],
    ) -> Result<Credentials> {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        // Clients of the same software differ only in the version.
        for version in 1..=MAX_PROVISIONED {
            let (client, credentials) =
                self.new_client(tenant, software, version, roles.clone())?;
            if self.put_authorized(&client, false).await? {
                return Ok(credentials);
            }
        }
        Err(clients::already_exists())
    }

    fn new_client(
        &self,
        tenant: &TenantId,
        software: &str,
        version: u32,
        roles: Vec<String>,
    ) -> Result<(Client, Credentials)> {
        let malformed = || Error::Bug(format!("{software} is not the name of a software"));
        let software = Software::new(software, &version.to_string()).ok_or_else(malformed)?;
        let claims = Claims::new();
        let id = client_id::encode(&claims, &software, tenant)
            .ok_or_else(|| Error::Bug("the client's id is too long".to_owned()))?;
        let secret = random_secret()?;
        let client = Client {
            id: id.clone(),
            tenant: tenant.clone(),
            software,
            claims,
            roles,
            status: Status::Authorized,
            registered: self.clock.now(),
            pending_until: None,
            pending_from: None,
            last_modified_by: None,
            secrets: vec![self.pepper.hash_secret(&secret)],
        };
        Ok((
            client,
            Credentials {
                client_id: id,
                client_secret: secret,
            },
        ))
    }

    /// Stores an authorized client, unless it exists or, with `new_tenant`, its tenant does. Returns whether it did.
    async fn put_authorized(&self, client: &Client, new_tenant: bool) -> Result<bool> {
        let tenant_key = tenant::key(&client.tenant);
        let key = client_key(&client.id);
        let plan = async || {
            let mut change = Change::default();
            let tenant: Option<Versioned<StoredTenant>> = self.records.get(&tenant_key).await?;
            let exists = self.records.get::<Client>(&key).await?.is_some();
            if exists || (new_tenant && tenant.is_some()) {
                return Ok((change, false));
            }
            change.expect::<Client>(&key, None);
            change.expect(&tenant_key, tenant.as_ref());
            if tenant.is_none() {
                change.put(&tenant_key, &StoredTenant::new(client.registered))?;
            }
            // Quotas do not apply to the operator.
            let tenant = Some(&client.tenant);
            counts::plan(&self.records, &mut change, tenant, Counts::CLIENT).await?;
            clients::put(&mut change, client)?;
            Ok((change, true))
        };
        let put = self.records.change(plan).await?;
        if put {
            clients::line(&client.tenant, &client.id).write_own("client.provisioned");
            self.registry.catch_up().await?;
        }
        Ok(put)
    }
}

fn not_written(cause: io::Error) -> Error {
    Error::Bug(format!(
        "the operator's credentials could not be written: {cause}"
    ))
}
