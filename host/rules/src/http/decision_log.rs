//! The decision log: a tenant's choice, uploads of tills, and the progress of tills.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{QUOTA_EXCEEDED, TILL_NOT_FOUND};
use tillgate_api::schema::{schema_of, tenant_id};
use tillgate_api::{describe, read};
use tillgate_base::data::etag;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, Permission as P, TENANT_RULE, TenantId};
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, CURSOR_RULE, LIMIT, MAX_BODY, Operation, Query, QueryParameter, Reply,
    Request, Route, Tag, Takes,
};

use crate::Conditions;
use crate::decision_log::{
    Chosen, Receipt, TillPage, TillQuery, Upload, forget_till, is_till_cursor, read_choice,
    till_cursor, till_schema, tills, upload_body,
};

const CHOICE: &str = "/v1/tenants/{tenantId}/decision-log";
const DECISIONS: &str = "/api/v1/decisions";
const TILLS: &str = "/api/v1/decisions/tills";
const TILL: &str = "/api/v1/decisions/tills/{till}";

const CURSOR: QueryParameter<String> = QueryParameter::cursor(till_cursor, |text| {
    is_till_cursor(text)
        .then(|| text.to_owned())
        .ok_or(CURSOR_RULE)
});

pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let write = Access::With(P::DecisionLogWrite);
    let read = Access::Either(&[P::ConditionRead, P::DecisionReport, P::DecisionLogWrite]);
    vec![
        Route::new(Method::GET, CHOICE, Access::AnyCaller, none, get_choice)
            .described(describe_get_choice),
        Route::changing(
            Method::PUT,
            CHOICE,
            write,
            json,
            "decision_log.put",
            put_choice,
        )
        .described(describe_put_choice),
        Route::new(
            Method::POST,
            DECISIONS,
            Access::With(P::DecisionReport),
            json,
            upload,
        )
        .heavy()
        .described(describe_upload)
        .unaudited("the decision log has what is uploaded"),
        Route::new(Method::GET, TILLS, read, none, list_tills).described(describe_list_tills),
        Route::changing(
            Method::DELETE,
            TILL,
            write,
            none,
            "till.deleted",
            delete_till,
        )
        .described(describe_delete_till),
    ]
}

/// Returns the tenant of the path, which is the caller's unless the caller is the platform's.
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

async fn upload(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let body = Upload::read(&request.body)?;
    let receipt = conditions.upload(request.caller()?, &body).await?;
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
    let after = query.optional(&CURSOR);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(TillQuery { after, limit })
}

fn of_tenant(operation: Operation) -> Operation {
    operation
        .path("tenantId", "The id of the tenant.", tenant_id)
        .answers(200, "The choice of decisions to log", schema_of::<Chosen>)
}

fn describe_get_choice() -> Operation {
    let operation = Operation::new(
        "getDecisionLog",
        Tag::Decisions,
        "Get the choice of decisions to log",
    );
    of_tenant(operation.says("Any client of the tenant or of the platform may read the choice."))
        .with_entity_tag()
}

fn describe_put_choice() -> Operation {
    let operation = Operation::new(
        "putDecisionLog",
        Tag::Decisions,
        "Choose the decisions to log",
    );
    of_tenant(
        operation.says(
            "Each host writes them to the log that its configuration names (`decisions.log`).",
        ),
    )
    .takes(|generator| describe(generator, read_choice))
    .with_preconditions()
}

fn describe_upload() -> Operation {
    Operation::new(
        "uploadDecisions",
        Tag::Decisions,
        "Add decisions of a till to the log",
    )
    .says("The decisions are on disk when the request is answered. A till numbers its decisions. Those with a number that is not greater than its last one are repetitions, which are counted but not written again. If the `sequence` of the answer is greater than the last number that was sent, the till has used these numbers before: continue after that number and send the decisions again. Each client has its own tills, even if another client has a till with the same name. `leftOut` counts the decisions that the tenant has not chosen to log.")
    .takes(
        |generator| describe(generator, upload_body))
    .answers(
        200,
        "The result",
        schema_of::<Receipt>)
    .refuses(&[QUOTA_EXCEEDED])
}

fn describe_list_tills() -> Operation {
    Operation::new(
        "listTills",
        Tag::Decisions,
        "List the tills that upload decisions",
    )
    .query(&LIMIT)
    .query(&CURSOR)
    .answers(
        200,
        "The tills, by name, each with the number of its last decision",
        schema_of::<TillPage>,
    )
}

fn describe_delete_till() -> Operation {
    Operation::new("deleteTill", Tag::Decisions, "Delete the tills with a name")
        .path("till", "The name of the till.", till_schema)
        .empty(
            204,
            "The tills were deleted and no longer count toward the quota",
        )
        .refuses(&[TILL_NOT_FOUND])
}
