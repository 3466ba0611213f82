//! The webhook that a path names.

use tillgate_api::schema::uuid;
use tillgate_base::error::Result;
use tillgate_http::{Operation, Request};
use uuid::Uuid;

use crate::registry::webhook::no_webhook;

/// Returns the id of the webhook that the path names.
pub(super) fn webhook_of(request: &Request) -> Result<Uuid> {
    let id = request.param(0)?;
    Uuid::try_parse(id).map_err(|_| no_webhook(id))
}

/// Adds the webhook id in the path to an operation.
pub(super) fn with_webhook(operation: Operation) -> Operation {
    operation.path("webhookId", "The id of the webhook.", uuid)
}
