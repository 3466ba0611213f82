//! Decisions: by a condition, by a project, about a basket.

use std::sync::Arc;

use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use tillgate_api::problem::CONDITION_NOT_FOUND;
use tillgate_api::rules;
use tillgate_base::engine::{EvaluateOptions, MODULE_SHA256};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_engine::condition::ConditionId;
use tillgate_http::{
    Access, MAX_BODY, Operation, QueryParameter, Reply, Request, Route, Tag, Takes,
};

use super::catalog;
use super::conditions::with_condition_id;
use crate::logger::Logger;
use crate::{About, Conditions, Question};

pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let json = Takes::Json(MAX_BODY);
    vec![
        Route::new(
            Method::POST,
            "/api/v1/conditions/{conditionId}/evaluate",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_condition,
        )
        .described(describe_evaluate_condition)
        .unaudited(READS),
        Route::new(
            Method::POST,
            "/api/v1/project-restrictions/evaluate",
            Access::Either(&[P::ConditionEvaluate, P::ProjectRestrictionEvaluate]),
            json,
            evaluate_project,
        )
        .described(describe_evaluate_project)
        .unaudited(READS),
        Route::new(
            Method::POST,
            "/api/v1/evaluations",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_basket,
        )
        .described(describe_evaluate_basket)
        .unaudited(READS),
    ]
}

const EXPLAIN: QueryParameter<bool> = QueryParameter::flag(
    "explain",
    "`true` to add the compared values to each result.",
);

/// The reason why the audit log leaves out decisions.
const READS: &str = "a decision changes nothing";

/// `Tillgate-Engine`: the SHA-256 of the module that decided.
const ENGINE: HeaderName = HeaderName::from_static("tillgate-engine");
const MODULE: HeaderValue = HeaderValue::from_static(MODULE_SHA256);

async fn evaluate_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = request.param(0)?;
    if !ConditionId::is_id(id) {
        return Err(Error::invalid("$.conditionId", ConditionId::RULE));
    }
    let about = About::Condition(id.to_owned());
    evaluate(conditions, request, about).await
}

async fn evaluate_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    evaluate(conditions, request, About::Project).await
}

async fn evaluate_basket(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    evaluate(conditions, request, About::Basket).await
}

/// Answers what the module decides, and which module it is. A refusal is the module's answer too.
async fn evaluate(conditions: Arc<Conditions>, request: Request, about: About) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let asked = || Ok((request.shared_caller()?, request.correlation));
    let logger = conditions.logger(&catalog, asked)?;
    let question = Question {
        about,
        options: EvaluateOptions {
            explain: request.flag(&EXPLAIN)?,
            lenient: request.body.lenient,
            record: logger.as_ref().map(Logger::record),
        },
    };
    let decided = conditions
        .decide(catalog, question, logger, request.body.bytes)
        .await;
    let reply = match decided {
        Ok(decided) => Reply::json(StatusCode::OK, decided),
        Err(error) => Reply::error(&error, request.correlation),
    };
    Ok(reply.with(ENGINE, MODULE).stale(staleness))
}

fn describe_evaluate_condition() -> Operation {
    let operation = Operation::new("evaluateCondition", Tag::Decisions, "Evaluate an item against a condition")
        .changes_nothing()
        .says("The tenant's condition decides if it is enabled, otherwise the global one if it is enabled. The request is checked before the condition is looked up.");
    let operation = with_condition_id(operation)
        .query(&EXPLAIN)
        .takes(rules::condition_request)
        .answers(200, "The decision", rules::item_decision);
    deciding(operation).refuses(&[CONDITION_NOT_FOUND])
}

fn describe_evaluate_project() -> Operation {
    let operation = Operation::new("evaluateProjectRestrictions", Tag::Decisions, "Evaluate an item against the restrictions of a project")
        .changes_nothing()
        .says("If the tenant does not have the project, the result is a soft denial with the reason `project_restriction.project_unreachable`.")
        .query(&EXPLAIN)
        .takes(
            rules::project_request)
        .answers(
            200,
            "The decision",
            rules::item_decision);
    deciding(operation)
}

fn describe_evaluate_basket() -> Operation {
    let operation = Operation::new("evaluateBasket", Tag::Decisions, "Evaluate a basket")
        .changes_nothing()
        .says("A basket has at most 1,000 items with 64 conditions each, and 100,000 results in all. `decision` is the worst decision. If a condition of an item is not in force, the item has `allow: false`, and the condition counts as a soft denial.")
        .query(&EXPLAIN)
        .takes(
            rules::basket_request)
        .answers(
            200,
            "The decisions, in the order of the items",
            rules::basket_decision);
    deciding(operation)
}

/// Adds to an operation what all decisions share.
fn deciding(operation: Operation) -> Operation {
    operation
        .with_header("Tillgate-Engine", "The SHA-256 of the module that decided.")
        .may_be_stale()
}
