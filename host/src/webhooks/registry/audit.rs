//! What the audit log says of a webhook.

use uuid::Uuid;

use super::webhook::Webhook;
use crate::error::Result;
use crate::identity::TenantId;
use crate::observe::audit::Line;

/// The line of a webhook that was something else before, or nothing.
///
/// # Errors
/// [`Error::Bug`](crate::error::Error::Bug).
pub(in crate::webhooks) fn line(
    tenant: &TenantId,
    id: Uuid,
    before: Option<&Webhook>,
    after: Option<&Webhook>,
) -> Result<Line> {
    Ok(Line {
        tenant: Some(tenant.clone()),
        id: Some(id.to_string()),
        before: before.map(Webhook::etag).transpose()?,
        after: after.map(Webhook::etag).transpose()?,
        ..Line::default()
    })
}
