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
        let (client, credentials) =
            self.new_client(&self.platform, OPERATOR_SOFTWARE, vec![OPERATOR.to_owned()])?;
        keep(&credentials).map_err(|cause| {
            Error::Bug(format!(
                "the operator's credentials were not written: {cause}"
            ))
        })?;
        let made = self.put_authorized(&client, Some("the platform's tenant is there already"));
        made.await?;
        Ok(true)
    }

    /// Makes a tenant, if it is not there, with an authorized client of these roles.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the tenant has a client of this software already.
    pub async fn provision(
        &self,
        tenant: &TenantId,
        software: &str,
        roles: &[&str],
    ) -> Result<Credentials> {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        let (client, credentials) = self.new_client(tenant, software, roles)?;
        self.put_authorized(&client, None).await?;
        Ok(credentials)
    }

    fn new_client(
        &self,
        tenant: &TenantId,
        software: &str,
        roles: Vec<String>,
    ) -> Result<(Client, Credentials)> {
        let no_name = || Error::Bug(format!("{software} is no name of a software"));
        let software = Software::new(software, "1").ok_or_else(no_name)?;
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

    /// Puts a client that nobody needs to authorize. `tenant_is_new` says what is wrong when its tenant is there.
    async fn put_authorized(&self, client: &Client, tenant_is_new: Option<&str>) -> Result<()> {
        let plan = async || {
            let mut change = Change::default();
            let key = tenants::key(&client.tenant);
            let tenant: Option<Kept<StoredTenant>> = self.ledger.get(&key).await?;
            change.rests_on(&key, tenant.as_ref());
            match (&tenant, tenant_is_new) {
                (Some(_), Some(wrong)) => return Err(Error::Conflict(wrong.to_owned())),
                (Some(_), None) => {}
                (None, _) => change.put(&key, &StoredTenant::new(None, client.registered))?,
            }
            let key = client_key(&client.id);
            if self.ledger.get::<Client>(&key).await?.is_some() {
                return Err(clients::taken());
            }
            change.rests_on::<Client>(&key, None);
            clients::put(&mut change, client)?;
            Ok((change, ()))
        };
        self.ledger.change(plan).await?;
        clients::audit("client.provisioned", &client.id, &client.tenant, "the host");
        self.registry.catch_up().await
    }
}
