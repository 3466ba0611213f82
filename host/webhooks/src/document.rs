//! The entry points for this program itself, which take the documents of requests and check them in the same way.

use schemars::{Schema, SchemaGenerator};
use tillgate_api::read;
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::{By, TenantId};
use uuid::Uuid;

use super::Webhooks;
use super::events::body::publish_request;
use super::registry::answer::Answer;
use super::registry::body;

/// Returns the schemas of the body that creates or replaces a webhook, and of a webhook.
pub fn settings_schemas(generator: &mut SchemaGenerator) -> (Schema, Schema) {
    let body = body::settings_schema(generator);
    (body, schema_of::<Answer<'_>>(generator))
}

/// Checks the document of a webhook. Accepts a URL of `http`, which only the host can allow or refuse.
///
/// # Errors
/// [`Error::Invalid`](tillgate_base::error::Error::Invalid) with every fault.
pub fn check_settings(document: &[u8]) -> Result<()> {
    read(&document.into(), |value| body::webhook(value, true, ""))?;
    Ok(())
}

impl Webhooks {
    /// Creates a webhook from its document and returns its id.
    ///
    /// # Errors
    /// [`Error::Invalid`](tillgate_base::error::Error::Invalid), [`Error::Conflict`](tillgate_base::error::Error::Conflict) when there
    /// are too many; when the store is unavailable.
    pub async fn create_from(&self, tenant: &TenantId, by: &By, document: &[u8]) -> Result<Uuid> {
        let new = read(&document.into(), |value| {
            body::webhook(value, self.app.config.webhooks.allow_http, "")
        })?;
        let (webhook, _) = self.create(tenant, by, new).await?;
        Ok(webhook.id)
    }

    /// Publishes an event from its document to the tenant's own webhooks and returns the event's id.
    ///
    /// # Errors
    /// [`Error::Invalid`](tillgate_base::error::Error::Invalid), [`Error::Conflict`](tillgate_base::error::Error::Conflict) when another
    /// event has its id; when the store is unavailable.
    pub async fn publish_from(&self, tenant: &TenantId, document: &[u8]) -> Result<String> {
        let asked = publish_request(&document.into(), self.app.clock.now(), Uuid::new_v4())?;
        let accepted = self.publish(tenant, &asked.event).await?;
        Ok(accepted.id)
    }
}
