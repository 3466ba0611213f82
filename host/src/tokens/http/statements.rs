//! Software statements, for administrators. A statement's text is answered once, when it is created.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;
use tillgate_api::read;
use uuid::Uuid;

use super::described::templates as described;
use super::parameters::{page_of, tenant_of};
use super::{no_content, read_reply};
use crate::error::Result;
use crate::http::{Access, Audited, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::tokens::statements::{line, unknown_id};
use crate::tokens::{Tokens, body};

const STATEMENTS: &str = "/v1/tenants/{tenantId}/software-statements";
const STATEMENT: &str = "/v1/tenants/{tenantId}/software-statements/{jti}";

/// The bytes of a page of 1,000 statements of at most 8 KiB, as they are read and answered.
const PAGE: usize = 24 << 20;

/// The routes.
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
        .described(described::create_statement),
        Route::new(Method::GET, STATEMENTS, read, none, list)
            .described(described::list_statements)
            .heavy()
            .reserving(PAGE),
        Route::changing(Method::DELETE, STATEMENT, delete, none, withdrawn, withdraw)
            .described(described::withdraw_statement),
    ]
}

async fn post(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let new = read(&request.body, body::statement)?;
    let (jti, statement) = tokens.create_statement(caller, &tenant, new).await?;
    let body = json!({ "softwareStatement": statement });
    Ok(Reply::of(StatusCode::CREATED, &body)?.audited(line(&tenant, jti)))
}

async fn list(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let mut query = Query::of(&request);
    let (limit, cursor) = page_of(&mut query, |text| Uuid::try_parse(text).is_ok());
    query.faults.none_or_error()?;
    let page = tokens.statements(caller, &tenant, limit, cursor.as_deref());
    read_reply(&request, &page.await?)
}

async fn withdraw(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let jti = request.param(1)?;
    let jti = Uuid::try_parse(jti).map_err(|_| unknown_id(jti))?;
    tokens.withdraw_statement(caller, &tenant, jti).await?;
    Ok(no_content().audited(line(&tenant, jti)))
}
