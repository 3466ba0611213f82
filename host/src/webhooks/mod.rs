//! Webhooks: what a tenant's receivers are told (`webhooks.md`).
//!
//! Every delivery names its sender: [`IdentityProvider`] signs the bearer tokens and publishes the certificates that
//! verify them.

mod bearer_cache;
pub mod http;
mod identity_provider;

use std::sync::Arc;

pub use self::identity_provider::IdentityProvider;
use crate::app::App;
use crate::error::Result;

/// The webhooks of every tenant.
#[derive(Debug)]
pub struct Webhooks {
    identity: IdentityProvider,
}

impl Webhooks {
    /// Starts the identity provider.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        Ok(Self {
            identity: IdentityProvider::start(app).await?,
        })
    }

    /// Who this service is to receivers.
    #[must_use]
    pub const fn identity(&self) -> &IdentityProvider {
        &self.identity
    }
}
