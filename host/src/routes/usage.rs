//! Usage: how much of its quotas a tenant uses.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::schema::{schema_of, tenant_id};
use tillgate_base::data::quota::Usage;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{TENANT_RULE, TenantId};
use tillgate_http::{Access, Operation, Reply, Request, Route, Tag, Takes};
use tillgate_rates::{Rates, RatesUsage};
use tillgate_rules::{Conditions, Configured};
use tillgate_tokens::{Provisions, Tokens};
use tillgate_webhooks::{Sending, Webhooks};

/// The features that have quotas.
type Features = (Arc<Conditions>, Arc<Tokens>, Arc<Rates>, Arc<Webhooks>);

/// The usage of a tenant, beside its quotas.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TenantUsage")]
struct All<'a> {
    #[schemars(with = "String")]
    tenant_id: &'a TenantId,
    #[serde(flatten)]
    configured: Configured,
    #[serde(flatten)]
    provisions: Provisions,
    #[serde(flatten)]
    rates: RatesUsage,
    /// The number of event streams that its clients follow on this host.
    event_streams: Usage,
    #[serde(flatten)]
    sending: Sending,
}

pub(super) fn routes() -> Vec<Route<Features>> {
    let path = "/v1/tenants/{tenantId}/usage";
    let route = Route::new(Method::GET, path, Access::AnyCaller, Takes::Nothing, get);
    vec![route.described(describe)]
}

/// Answers any caller of the tenant or of the platform.
async fn get((conditions, tokens, rates, webhooks): Features, request: Request) -> Result<Reply> {
    let id = TenantId::new(request.param(0)?);
    let id = id.ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))?;
    request.caller()?.require_tenant(id.as_str())?;
    let all = All {
        configured: conditions.usage(&id).await?,
        provisions: tokens.usage(&id).await?,
        rates: rates.usage(&id).await?,
        event_streams: request.streams_of(&id),
        sending: webhooks.usage(&id).await?,
        tenant_id: &id,
    };
    Reply::of(StatusCode::OK, &all)
}

fn describe() -> Operation {
    Operation::new(
        "getUsage",
        Tag::Platform,
        "Get the usage and the quotas of a tenant",
    )
    .says("Any client of the tenant and any client of the platform may ask.")
    .path("tenantId", "The id of the tenant.", tenant_id)
    .answers(
        200,
        "The amount of each resource, beside its quota",
        schema_of::<All<'_>>,
    )
}
