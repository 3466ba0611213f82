//! Conditions: the tenant's, and the platform's.

use std::sync::Arc;

use ::http::{HeaderName, Method, StatusCode};
use schemars::{Schema, SchemaGenerator};
use tillgate_api::problem::{CONDITION_NOT_FOUND, ID_IS_GLOBAL, QUOTA_EXCEEDED, TESTS_FAILED};
use tillgate_api::rules;
use tillgate_api::schema::schema_of;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_engine::condition::ConditionId;
use tillgate_http::{Access, Audited, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes};

use super::{
    DRY_RUN, FAILING_TESTS, catalog, document, editor, editor_of_any, line, part, written,
};
use crate::{Concerned, Conditions, Owner, Part, StoredCondition};

const CONDITION: &str = "/api/v1/entity-conditions/{conditionId}";
const GLOBAL_CONDITION: &str = "/api/v1/global-entity-conditions/{conditionId}";

/// `Tillgate-Failing-Tests`: the number of tenants' tests that fail after a change of a global condition.
const FAILING_HEADER: HeaderName = HeaderName::from_static("tillgate-failing-tests");

pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let json = Takes::Json(MAX_BODY);
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions",
            Access::With(P::ConditionRead),
            none,
            list_conditions,
        )
        .described(describe_list_conditions),
        Route::new(
            Method::GET,
            CONDITION,
            Access::With(P::ConditionRead),
            none,
            get_condition,
        )
        .described(describe_get_condition),
        Route::changing(
            Method::PUT,
            CONDITION,
            Access::With(P::ConditionWrite),
            json,
            "condition.put",
            put_own,
        )
        .described(describe_put_condition),
        Route::changing(
            Method::DELETE,
            CONDITION,
            Access::With(P::ConditionDelete),
            none,
            "condition.deleted",
            delete_own,
        )
        .described(describe_delete_condition),
        Route::changing(
            Method::PUT,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            json,
            "condition.put",
            put_global,
        )
        .described(describe_put_global_condition),
        Route::changing(
            Method::DELETE,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            none,
            "condition.deleted",
            delete_global,
        )
        .described(describe_delete_global_condition),
    ]
}

pub(super) fn condition_id(request: &Request) -> Result<ConditionId> {
    ConditionId::new(request.param(0)?)
        .ok_or_else(|| Error::invalid("$.conditionId", ConditionId::RULE))
}

async fn list_conditions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Conditions).await?;
    Ok(reply.stale(staleness))
}

async fn get_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.condition(&id).ok_or_else(|| no_condition(&id))?;
    let reply = || document(&found.text);
    Ok(request
        .answer(found.text.etag().clone(), reply)
        .stale(staleness))
}

pub(super) fn no_condition(id: &ConditionId) -> Error {
    Error::missing(CONDITION_NOT_FOUND, id)
}

async fn put_own(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = &request.caller()?.tenant;
    put_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn put_global(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    if request.flag(&DRY_RUN)? {
        let id = condition_id(&request)?;
        let editor = editor_of_any(&request)?;
        let concerned = conditions.try_global(id, request.body.clone(), &editor);
        return Ok(Reply::of(StatusCode::OK, &concerned.await?)?.unchanged());
    }
    put_condition(&conditions, &request, Owner::Platform).await
}

async fn put_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Audited> {
    let id = condition_id(request)?;
    let editor = editor(request)?;
    let put = conditions.put_condition(owner, id, request.body.clone(), &editor);
    let (put, stored) = put.await?;
    let id = &stored.condition.id;
    let (reply, line) = written(owner, id, editor, put, &stored.text);
    let reply = with_failing(conditions, reply, owner, id, Some(Arc::clone(&stored))).await;
    Ok(reply.audited_if(line))
}

/// Adds to the answer to a change of a global condition how many tests of tenants fail now.
async fn with_failing(
    conditions: &Conditions,
    reply: Reply,
    owner: Owner<'_>,
    id: &ConditionId,
    changed: Option<Arc<StoredCondition>>,
) -> Reply {
    let Owner::Platform = owner else {
        return reply;
    };
    match conditions.failing_tests_of_tenants(id, changed).await {
        Some(failing) => reply.with(FAILING_HEADER, failing.into()),
        None => reply,
    }
}

async fn delete_own(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = &request.caller()?.tenant;
    delete_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn delete_global(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    delete_condition(&conditions, &request, Owner::Platform).await
}

async fn delete_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Audited> {
    let id = condition_id(request)?;
    let editor = editor(request)?;
    let deleted = conditions.delete_condition(owner, &id, &editor);
    let before = Some(deleted.await?);
    let reply = Reply::empty(StatusCode::NO_CONTENT);
    let reply = with_failing(conditions, reply, owner, &id, None).await;
    Ok(reply.audited(line(owner, &id, editor, before, None)))
}

/// Adds the condition of the path to an operation.
pub(super) fn with_condition_id(operation: Operation) -> Operation {
    operation.path(
        "conditionId",
        "The id of the condition. For a license condition, it is also the id of the license.",
        rules::condition_id,
    )
}

fn describe_list_conditions() -> Operation {
    let operation = Operation::new("listConditions", Tag::Conditions, "List the conditions that a tenant sees")
        .says("Returns the global conditions and the tenant's own, sorted by id. If two have the same id, only the global one is listed.")
        .answers(200, "The conditions", rules::conditions);
    operation.may_be_stale().with_entity_tag()
}

fn describe_get_condition() -> Operation {
    let operation = Operation::new("getCondition", Tag::Conditions, "Get a condition")
        .says("Returns the global condition if it exists, otherwise the tenant's.");
    let operation = with_condition_id(operation).answers(200, "The condition", rules::condition);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[CONDITION_NOT_FOUND])
}

fn put_of(operation: Operation) -> Operation {
    with_condition_id(operation)
        .says("The body of a GET can be sent back: its `id` must be the one in the path, and its `scope` the kind of condition that the path is for. Unknown members of `condition_value` and `tests` are errors. Tests run before anything is stored. Without `tests`, the stored ones are kept and run too; an empty list removes them.")
        .query(&FAILING_TESTS)
        .with_note()
        .takes(rules::condition_put)
}

fn describe_put_condition() -> Operation {
    put_of(Operation::new(
        "putCondition",
        Tag::Conditions,
        "Create or replace a condition of the tenant",
    ))
    .answers(200, "The condition was replaced", rules::condition)
    .answers(201, "The condition was created", rules::condition)
    .with_preconditions()
    .refuses(&[ID_IS_GLOBAL, TESTS_FAILED, QUOTA_EXCEEDED])
}

fn describe_put_global_condition() -> Operation {
    let failing = "The number of tests of tenants that fail now.";
    put_of(Operation::new(
        "putGlobalCondition",
        Tag::Conditions,
        "Create or replace a global condition",
    ))
    .query(&DRY_RUN)
    .answers(
        200,
        "The condition was replaced, or this is the result of a dry run",
        condition_or_dry_run,
    )
    .with_header("Tillgate-Failing-Tests", failing)
    .answers(201, "The condition was created", rules::condition)
    .with_header("Tillgate-Failing-Tests", failing)
    .with_preconditions()
    .refuses(&[TESTS_FAILED, QUOTA_EXCEEDED])
}

fn describe_delete_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteCondition",
        Tag::Conditions,
        "Delete a condition of the tenant",
    ))
    .with_note()
    .empty(204, "The condition was deleted")
    .with_preconditions()
    .refuses(&[CONDITION_NOT_FOUND, ID_IS_GLOBAL])
}

fn describe_delete_global_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteGlobalCondition",
        Tag::Conditions,
        "Delete a global condition",
    ))
    .with_note()
    .empty(204, "The condition was deleted")
    .with_header(
        "Tillgate-Failing-Tests",
        "The number of tests of tenants that fail now.",
    )
    .with_preconditions()
    .refuses(&[CONDITION_NOT_FOUND])
}

fn condition_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let dry_run = schema_of::<Concerned>(generator);
    rules::condition_or(generator, dry_run)
}
