//! The decision log: a tenant's choice, what tills hand in, and how far they are.

mod described;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::read;

use crate::conditions::Conditions;
use crate::data::etag;
use crate::decision_log::{Report, TillQuery, forget_till, is_till_cursor, read_choice, tills};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::{By, Permission as P, TENANT_RULE, TenantId};
use crate::observe::audit::Line;

const CHOICE: &str = "/v1/tenants/{tenantId}/decision-log";
const DECISIONS: &str = "/api/v1/decisions";
const TILLS: &str = "/api/v1/decisions/tills";
const TILL: &str = "/api/v1/decisions/tills/{till}";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let write = Access::With(P::DecisionLogWrite);
    let read = Access::Either(&[P::ConditionRead, P::DecisionReport, P::DecisionLogWrite]);
    vec![
        Route::new(Method::GET, CHOICE, Access::AnyCaller, none, get_choice)
            .described(described::get_choice),
        Route::changing(
            Method::PUT,
            CHOICE,
            write,
            json,
            "decision_log.put",
            put_choice,
        )
        .described(described::put_choice),
        Route::new(
            Method::POST,
            DECISIONS,
            Access::With(P::DecisionReport),
            json,
            hand_in,
        )
        .heavy()
        .described(described::hand_in)
        .unaudited("the decision log has what is handed in"),
        Route::new(Method::GET, TILLS, read, none, list_tills).described(described::list_tills),
        Route::changing(
            Method::DELETE,
            TILL,
            write,
            none,
            "till.deleted",
            delete_till,
        )
        .described(described::delete_till),
    ]
}

/// The tenant of the path, which is the caller's unless the caller is the platform's.
fn tenant_of(request: &Request) -> Result<TenantId> {
    let id = TenantId::new(request.param(0)?);
    let id = id.ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))?;
    request.caller()?.require_tenant(id.as_str())?;
    Ok(id)
}

async fn get_choice(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    request.answer_json(&conditions.chosen(&tenant_of(&request)?).await?)
}

async fn put_choice(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = tenant_of(&request)?;
    let decision_log = read(&request.body, read_choice)?;
    let preconditions = request.preconditions();
    let by = By::caller(request.caller()?);
    let chosen = conditions.choose(&tenant, by, decision_log, &preconditions);
    let [before, after] = chosen.await?;
    let etag = etag::of_json(&after)?;
    let reply = Reply::of(StatusCode::OK, &after)?.tagged(etag.clone());
    if before == after {
        return Ok(reply.unchanged());
    }
    let line = Line {
        tenant: Some(tenant),
        before: Some(etag::of_json(&before)?),
        after: Some(etag),
        ..Line::default()
    };
    Ok(reply.audited(line))
}

async fn hand_in(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let report = Report::read(&request.body)?;
    let receipt = conditions.hand_in(request.caller()?, &report).await?;
    Reply::of(StatusCode::OK, &receipt)
}

async fn list_tills(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let query = till_query(&request)?;
    let tenant = &request.caller()?.tenant;
    let records = conditions.app.records(tenant.partition());
    Reply::of(StatusCode::OK, &tills(&records, query).await?)
}

async fn delete_till(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let (till, tenant) = (request.param(0)?, &request.caller()?.tenant);
    let records = conditions.app.records(tenant.partition());
    forget_till(&records, till).await?;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: Some(till.to_owned()),
        ..Line::default()
    };
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line))
}

fn till_query(request: &Request) -> Result<TillQuery> {
    let mut query = Query::of(request);
    let after = query.cursor(|text| is_till_cursor(text).then(|| text.to_owned()));
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(TillQuery { after, limit })
}
