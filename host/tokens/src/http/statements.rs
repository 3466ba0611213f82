//! Software statements, for administrators. A statement's text is answered only once, when it is created.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::SOFTWARE_STATEMENT_NOT_FOUND;
use tillgate_api::schema::{schema_of, uuid};
use tillgate_api::{describe, read};
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_http::{
    Access, Audited, CURSOR_RULE, LIMIT, MAX_BODY, Operation, Query, QueryParameter, Reply,
    Request, Route, Tag, Takes,
};
use uuid::Uuid;

use super::no_content;
use super::parameters::{tenant_of, with_tenant};
use crate::statement::AnsweredStatement;
use crate::statements::{line, unknown_id};
use crate::{ListPage, Tokens, body};

const STATEMENTS: &str = "/v1/tenants/{tenantId}/software-statements";
const STATEMENT: &str = "/v1/tenants/{tenantId}/software-statements/{jti}";

/// The bytes of a page of 1,000 statements of at most 8 KiB each, while they are read and answered.
const PAGE: usize = 24 << 20;

const CURSOR: QueryParameter<String> = QueryParameter::cursor(uuid, |text| {
    Uuid::try_parse(text)
        .map(|_| text.to_owned())
        .map_err(|_| CURSOR_RULE)
});

/// The text of a new software statement.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SoftwareStatementText")]
struct StatementText {
    /// The software statement, a JWT. No later answer contains it.
    software_statement: String,
}

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let create = Access::With(P::StatementsCreate);
    let read = Access::With(P::StatementsRead);
    let delete = Access::With(P::StatementsDelete);
    let withdrawn = "statement.withdrawn";
    vec![
        Route::changing(
            Method::POST,
            STATEMENTS,
            create,
            json,
            "statement.created",
            post,
        )
        .described(describe_post),
        Route::new(Method::GET, STATEMENTS, read, none, list)
            .described(describe_list)
            .heavy()
            .reserving(PAGE),
        Route::changing(Method::DELETE, STATEMENT, delete, none, withdrawn, withdraw)
            .described(describe_withdraw),
    ]
}

async fn post(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let new = read(&request.body, body::statement)?;
    let (jti, software_statement) = tokens.create_statement(caller, &tenant, new).await?;
    let body = StatementText { software_statement };
    Ok(Reply::of(StatusCode::CREATED, &body)?.audited(line(&tenant, jti)))
}

async fn list(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let mut query = Query::of(&request);
    let (limit, cursor) = (query.limit(), query.optional(&CURSOR));
    query.faults.none_or_error()?;
    let page = tokens.statements(caller, &tenant, limit, cursor.as_deref());
    request.answer_json(&page.await?)
}

async fn withdraw(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let jti = request.param(1)?;
    let jti = Uuid::try_parse(jti).map_err(|_| unknown_id(jti))?;
    tokens.withdraw_statement(caller, &tenant, jti).await?;
    Ok(no_content().audited(line(&tenant, jti)))
}

fn describe_post() -> Operation {
    with_tenant(Operation::new(
        "createSoftwareStatement",
        Tag::Clients,
        "Create a software statement",
    ))
    .says("Any number of clients can register with it until it expires or is withdrawn. Each of them gets its claims. With `autoApprove`, they are authorized at once, so its text must be kept secret, and the caller must be able to grant every permission that the template gives.")
    .takes(|generator| describe(generator, body::statement))
    .answers(201, "It was created", schema_of::<StatementText>)
}

fn describe_list() -> Operation {
    let operation = with_tenant(Operation::new(
        "listSoftwareStatements",
        Tag::Clients,
        "List the software statements of a tenant",
    ))
    .query(&CURSOR)
    .query(&LIMIT);
    operation
        .answers(
            200,
            "The valid statements, by id",
            schema_of::<ListPage<AnsweredStatement>>,
        )
        .with_entity_tag()
}

fn describe_withdraw() -> Operation {
    with_tenant(Operation::new(
        "withdrawSoftwareStatement",
        Tag::Clients,
        "Withdraw a software statement",
    ))
    .says(
        "From then on, no client can register with it. Clients that have registered with it stay.",
    )
    .path("jti", "The id of the statement.", uuid)
    .empty(204, "It was withdrawn")
    .refuses(&[SOFTWARE_STATEMENT_NOT_FOUND])
}
