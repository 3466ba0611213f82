//! Publishing events.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use crate::error::Result;
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission;
use crate::webhooks::Webhooks;
use crate::webhooks::events::body::publish_request;

/// The route.
pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let access = Access::With(Permission::EventPublish);
    let takes = Takes::Json(MAX_BODY);
    vec![Route::new(
        Method::POST,
        "/api/v1/events",
        access,
        takes,
        publish,
    )]
}

async fn publish(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let caller = request.caller()?;
    let now = webhooks.app.clock.now();
    let asked = publish_request(&request.body, now, request.correlation)?;
    let tenant = match &asked.tenant {
        Some(tenant) => {
            caller.require_tenant(tenant.as_str())?;
            tenant
        }
        None => &caller.tenant,
    };
    let accepted = webhooks.publish(tenant, &asked.event).await?;
    Reply::of(StatusCode::ACCEPTED, &accepted)
}
