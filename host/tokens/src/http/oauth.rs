//! `POST /oauth2/token`: the only route whose errors are those of RFC 6749, 5.2 (`tokens.md`).

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use tillgate_api::Code;
use tillgate_api::schema::{component, schema_of};
use tillgate_base::error::{Error, Result};
use tillgate_http::{
    Access, ContentType, Operation, Reply, Request, Route, Tag, Takes, content_type,
};
use uuid::Uuid;

use crate::issue::Issued;
use crate::{BasicCredentials, MAX_FORM, TokenError, Tokens};

const SECRET_IN_FORM: &str =
    "the client must send its id and secret in the Authorization header (Basic), not in the form";
const FORM: &str = "application/x-www-form-urlencoded";

/// An error of RFC 6749, section 5.2.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TokenError")]
struct ErrorAnswer {
    error: ErrorCode,
    /// A sentence that says what is wrong.
    #[schemars(extend("pattern" = r"^[ !#-\[\]-~]*$"))]
    error_description: String,
}

#[derive(Clone, Copy, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TokenErrorCode")]
enum ErrorCode {
    InvalidRequest,
    InvalidClient,
    UnsupportedGrantType,
    InvalidScope,
    TemporarilyUnavailable,
    ServerError,
}

pub(super) fn route() -> Route<Arc<Tokens>> {
    let body = Takes::Anything(MAX_FORM);
    Route::new(
        Method::POST,
        "/oauth2/token",
        Access::Public,
        body,
        issue_token,
    )
    .described(describe_issue)
    .with_errors(http_error)
    .unaudited("a token is issued, and nothing is changed")
}

async fn issue_token(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let is_form = content_type(request.headers()) == ContentType::Is(FORM.to_owned());
    let answer = if is_form {
        tokens
            .issue(credentials(request.headers()), &request.body, request.peer)
            .await
    } else {
        let detail = "the body must be application/x-www-form-urlencoded";
        Err(TokenError::Malformed(detail.to_owned()))
    };
    match answer {
        Ok(issued) => Ok(uncached(Reply::of(StatusCode::OK, &issued)?)),
        Err(cause) => Ok(error_reply(cause, request.correlation)),
    }
}

/// Answers an error of HTTP itself: a wrong method, a body that is too large or too slow, an answer that is not
/// acceptable.
fn http_error(code: Code, detail: &str, _: Uuid) -> Reply {
    let status = StatusCode::from_u16(code.status).unwrap_or_default();
    error(status, ErrorCode::InvalidRequest, detail)
}

fn uncached(reply: Reply) -> Reply {
    reply
        .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with(PRAGMA, HeaderValue::from_static("no-cache"))
}

/// Returns the credentials of the `Authorization` header, unless there is more than one.
fn credentials(headers: &HeaderMap) -> Option<BasicCredentials> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let header = all.next()?.to_str().ok()?;
    if all.next().is_some() {
        return None;
    }
    BasicCredentials::from_header(header)
}

fn error_reply(cause: TokenError, correlation: Uuid) -> Reply {
    match cause {
        TokenError::Malformed(detail) => {
            error(StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, &detail)
        }
        TokenError::UnknownClient => challenged(error(
            StatusCode::UNAUTHORIZED,
            ErrorCode::InvalidClient,
            "the client is unknown, its secret is wrong, or it is not authorized",
        )),
        TokenError::SecretInForm => challenged(error(
            StatusCode::UNAUTHORIZED,
            ErrorCode::InvalidClient,
            SECRET_IN_FORM,
        )),
        TokenError::UnsupportedGrant => error(
            StatusCode::BAD_REQUEST,
            ErrorCode::UnsupportedGrantType,
            "grant_type must be client_credentials",
        ),
        TokenError::Audience(needed) => challenged(error(
            StatusCode::UNAUTHORIZED,
            ErrorCode::InvalidRequest,
            &format!("audience must be {needed}"),
        )),
        TokenError::Scope => error(
            StatusCode::BAD_REQUEST,
            ErrorCode::InvalidScope,
            "scopes are not supported",
        ),
        TokenError::TooMany(wait) => retry_later(
            StatusCode::TOO_MANY_REQUESTS,
            "too many wrong secrets in a row",
            wait,
        ),
        TokenError::Failed(Error::Unavailable(cause)) => {
            tracing::debug!(%correlation, %cause, "the store is unavailable");
            retry_later(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store is unavailable",
                Duration::from_secs(1),
            )
        }
        TokenError::Failed(cause) => {
            tracing::error!(%correlation, %cause, "a token request failed with an internal error");
            error(
                StatusCode::INTERNAL_SERVER_ERROR,
                ErrorCode::ServerError,
                "internal error",
            )
        }
    }
}

fn error(status: StatusCode, error: ErrorCode, description: &str) -> Reply {
    let answer = ErrorAnswer {
        error,
        error_description: description.chars().map(description_char).collect(),
    };
    let body = serde_json::to_vec(&answer).unwrap_or_default();
    uncached(Reply::json(status, body.into()))
}

/// Replaces a character that a description may not have (RFC 6749, 5.2).
const fn description_char(c: char) -> char {
    match c {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    }
}

/// A 401 must say how to authenticate (RFC 9110, 15.5.2).
fn challenged(reply: Reply) -> Reply {
    reply.with(
        WWW_AUTHENTICATE,
        HeaderValue::from_static("Basic realm=\"tillgate\""),
    )
}

fn retry_later(status: StatusCode, description: &str, wait: Duration) -> Reply {
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    let reply = error(status, ErrorCode::TemporarilyUnavailable, description);
    reply.with(RETRY_AFTER, u64::try_from(seconds).unwrap_or(1).into())
}

/// Describes an error of the token endpoint, which is not a problem document.
fn fails(operation: Operation, status: u16, meaning: &'static str) -> Operation {
    operation.answers(status, meaning, schema_of::<ErrorAnswer>)
}

fn describe_issue() -> Operation {
    let challenge = "The scheme to authenticate with: `Basic realm=\"tillgate\"`.";
    let after = "The number of seconds after which to try again.";
    let operation = Operation::new("issueToken", Tag::Tokens, "Get an access token")
        .changes_nothing()
        .says("The client authenticates with its id and secret in `Authorization: Basic`, form-encoded or plain. If the setting `tokens.client_secret_post` is on, it may send them in the form instead. Errors are those of RFC 6749, section 5.2. No answer may be cached.")
        .for_clients()
        .takes_as(FORM, form_schema)
        .answers(200, "The token", schema_of::<Issued>);
    let operation = fails(
        operation,
        400,
        "The request is malformed, or asks for another grant type or for a scope.",
    );
    let operation = fails(
        operation,
        401,
        "The client is unknown, its secret is wrong, or it is not authorized; all of these give the same error. Or the audience is wrong.",
    )
    .with_header("WWW-Authenticate", challenge);
    let operation = fails(operation, 406, "`Accept` does not allow JSON.");
    let operation = fails(operation, 408, "The body arrived too slowly.");
    let operation = fails(
        operation,
        413,
        "The body is longer than `x-max-body-bytes`.",
    );
    let operation = fails(
        operation,
        429,
        "This address has sent too many wrong secrets in a row for this client.",
    )
    .with_header("Retry-After", after);
    let operation = fails(
        operation,
        500,
        "The service has failed. Its log names the correlation id.",
    );
    fails(operation, 503, "The store is unavailable.").with_header("Retry-After", after)
}

fn form_schema(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "TokenRequest", |_| {
        json_schema!({
            "type": "object",
            "description": "Each parameter at most once, with a value.",
            "required": ["grant_type", "audience"],
            "properties": {
                "grant_type": { "type": "string", "const": "client_credentials" },
                "audience": { "type": "string", "minLength": 1, "description": "The configured audience of the platform. If the request names another one, the error says which one is needed." },
                "scope": { "type": "string", "const": "", "description": "Scopes are not supported." },
                "client_id": { "type": "string", "minLength": 1, "description": "The id of the client. Required with `client_secret`; with an `Authorization` header, it must be the same id." },
                "client_secret": { "type": "string", "minLength": 1, "description": "The secret of the client, in place of the `Authorization` header. Only if the setting `tokens.client_secret_post` is on." },
            },
        })
    })
}
