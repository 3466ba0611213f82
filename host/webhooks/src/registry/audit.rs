//! The lines about webhooks in the audit log.

use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::observe::audit::Line;
use uuid::Uuid;

use super::webhook::Webhook;

/// Creates the line of a webhook before and after a change; either may be absent.
///
/// # Errors
/// [`Error::Bug`](tillgate_base::error::Error::Bug).
pub(crate) fn line(
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
