//! `POST /oauth2/token`: the only route whose errors are those of RFC 6749, 5.2 (`tokens.md`).

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;
use tillgate_api::Code;
use uuid::Uuid;

use super::described::public as described;
use crate::error::{Error, Result};
use crate::http::{Access, ContentType, Reply, Request, Route, Takes, content_type};
use crate::tokens::{BasicCredentials, MAX_FORM, TokenError, Tokens};

const INVALID_REQUEST: &str = "invalid_request";
const SECRET_IN_FORM: &str =
    "the client must send its id and secret in the Authorization header (Basic), not in the form";
const FORM: &str = "application/x-www-form-urlencoded";

/// The route of the token endpoint.
pub(super) fn route() -> Route<Arc<Tokens>> {
    let body = Takes::Anything(MAX_FORM);
    Route::new(
        Method::POST,
        "/oauth2/token",
        Access::Public,
        body,
        issue_token,
    )
    .described(described::issue_token)
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

/// An error of HTTP itself: another method, a body that is too large or too slow, an answer that is not acceptable.
fn http_error(code: Code, detail: &str, _: Uuid) -> Reply {
    let status = StatusCode::from_u16(code.status).unwrap_or_default();
    error(status, INVALID_REQUEST, detail)
}

fn uncached(reply: Reply) -> Reply {
    reply
        .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with(PRAGMA, HeaderValue::from_static("no-cache"))
}

/// The credentials of the one `Authorization` header.
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
        TokenError::Malformed(detail) => error(StatusCode::BAD_REQUEST, INVALID_REQUEST, &detail),
        TokenError::UnknownClient => challenged(error(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "the client is unknown, its secret is wrong, or it is not authorized",
        )),
        TokenError::SecretInForm => challenged(error(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            SECRET_IN_FORM,
        )),
        TokenError::UnsupportedGrant => error(
            StatusCode::BAD_REQUEST,
            "unsupported_grant_type",
            "grant_type must be client_credentials",
        ),
        TokenError::Audience(needed) => challenged(error(
            StatusCode::UNAUTHORIZED,
            INVALID_REQUEST,
            &format!("audience must be {needed}"),
        )),
        TokenError::Scope => error(
            StatusCode::BAD_REQUEST,
            "invalid_scope",
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
                "server_error",
                "internal error",
            )
        }
    }
}

fn error(status: StatusCode, code: &str, description: &str) -> Reply {
    let description: String = description.chars().map(description_char).collect();
    let body = json!({ "error": code, "error_description": description });
    uncached(Reply::json(status, body.to_string().into()))
}

/// The characters that a description may have: RFC 6749, 5.2.
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
    let reply = error(status, "temporarily_unavailable", description);
    reply.with(RETRY_AFTER, u64::try_from(seconds).unwrap_or(1).into())
}
