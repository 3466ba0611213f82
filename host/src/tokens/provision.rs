//! Clients that the host makes by itself: the operator's on an empty store, and the demo's.

use std::fmt;
use std::io;

use super::client::{Client, Status, random_secret};
use super::client_id::{self, Claims, Software};
use super::ledger::{Change, Kept};
use super::permission::OPERATOR;
use super::tenant::TenantId;
use super::tenants::{self, StoredTenant};
use super::{Tokens, client_key, clients};
use crate::error::{Error, Result};
use crate::follow::Follow;

/// The software of the operator's client.
const OPERATOR_SOFTWARE: &str = "tillgate-operator";

/// The most clients of one software that the host makes in a tenant.
const MAX_PROVISIONED: u32 = 1_000;

/// A client's id and secret, as they are shown once.
#[derive(Clone)]
pub struct Credentials {
    /// The id.
    pub client_id: String,
    /// The secret.
    pub client_secret: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl Tokens {
    /// Makes the platform's tenant and the operator's client on a store that has neither; answers whether it did.
    /// `keep` puts the credentials where the operator finds them, before they can be used: a crash in between locks
    /// nobody out.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another host was faster: what was kept here is of no use then.
    pub async fn ensure_operator(
        &self,
        keep: impl Fn(&Credentials) -> io::Result<()>,
    ) -> Result<bool> {
        let key = tenants::key(&self.platform);
        if self.ledger.get::<StoredTenant>(&key).await?.is_some() {
            return Ok(false);
        }
        let roles = vec![OPERATOR.to_owned()];
        let (client, credentials) = self.new_client(&self.platform, OPERATOR_SOFTWARE, 1, roles)?;
        keep(&credentials).map_err(unwritten)?;
        if self.put_authorized(&client, true).await? {
            return Ok(true);
        }
        let detail = "another host made the operator at the same moment: its credentials hold";
        Err(Error::Conflict(detail.to_owned()))
    }

    /// Makes one more client of the operator: the way back for one who lost the credentials of the others. `keep` puts
    /// its credentials where they are found, before they can be used.
    ///
    /// # Errors
    /// [`Error::NotFound`] on a store that has had no operator: the first start makes one.
    pub async fn further_operator(
        &self,
        keep: impl Fn(&Credentials) -> io::Result<()>,
    ) -> Result<Credentials> {
        let key = tenants::key(&self.platform);
        if self.ledger.get::<StoredTenant>(&key).await?.is_none() {
            let detail =
                "this store has had no operator: the first `tillgate serve` on it makes one";
            return Err(Error::NotFound(detail.to_owned()));
        }
        for version in 1..=MAX_PROVISIONED {
            let roles = vec![OPERATOR.to_owned()];
            let (client, credentials) =
                self.new_client(&self.platform, OPERATOR_SOFTWARE, version, roles)?;
            let there = self.ledger.get::<Client>(&client_key(&client.id)).await?;
            if there.is_some() {
                continue;
            }
            keep(&credentials).map_err(unwritten)?;
            if self.put_authorized(&client, false).await? {
                return Ok(credentials);
            }
        }
        Err(clients::taken())
    }

    /// Makes a tenant, if it is not there, with one more authorized client of these roles.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn provision(
        &self,
        tenant: &TenantId,
        software: &str,
        roles: &[&str],
    ) -> Result<Credentials> {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        // The version tells those of the same software apart: nothing else of them differs.
        for version in 1..=MAX_PROVISIONED {
            let (client, credentials) =
                self.new_client(tenant, software, version, roles.clone())?;
            if self.put_authorized(&client, false).await? {
                return Ok(credentials);
            }
        }
        Err(clients::taken())
    }

    fn new_client(
        &self,
        tenant: &TenantId,
        software: &str,
        version: u32,
        roles: Vec<String>,
    ) -> Result<(Client, Credentials)> {
        let no_name = || Error::Bug(format!("{software} is no name of a software"));
        let software = Software::new(software, &version.to_string()).ok_or_else(no_name)?;
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
            secrets: vec![self.pepper.seal(&secret)],
        };
        Ok((
            client,
            Credentials {
                client_id: id,
                client_secret: secret,
            },
        ))
    }

    /// Puts a client that nobody needs to authorize, unless it is there already, or `alone` its tenant; answers whether
    /// it did.
    async fn put_authorized(&self, client: &Client, alone: bool) -> Result<bool> {
        let tenant_key = tenants::key(&client.tenant);
        let key = client_key(&client.id);
        let plan = async || {
            let mut change = Change::default();
            let tenant: Option<Kept<StoredTenant>> = self.ledger.get(&tenant_key).await?;
            let there = self.ledger.get::<Client>(&key).await?.is_some();
            if there || (alone && tenant.is_some()) {
                return Ok((change, false));
            }
            change.rests_on::<Client>(&key, None);
            change.rests_on(&tenant_key, tenant.as_ref());
            if tenant.is_none() {
                change.put(&tenant_key, &StoredTenant::new(None, client.registered))?;
            }
            clients::put(&mut change, client)?;
            Ok((change, true))
        };
        let put = self.ledger.change(plan).await?;
        if put {
            clients::audit("client.provisioned", &client.id, &client.tenant, "the host");
            self.registry.catch_up().await?;
        }
        Ok(put)
    }
}

fn unwritten(cause: io::Error) -> Error {
    Error::Bug(format!(
        "the operator's credentials were not written: {cause}"
    ))
}
