//! `POST /oauth2/token`: the one route that answers errors as RFC 6749, 5.2 has them (`tokens.md`).

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use crate::app::App;
use crate::error::{Error, Result};
use crate::http::{Access, Reply, Request, Route, Takes};
use crate::tokens::{MAX_FORM, Refusal, Shown};

const INVALID_REQUEST: &str = "invalid_request";

/// The route.
pub(super) fn route() -> Route {
    let body = Takes::Anything(MAX_FORM);
    Route::new(Method::POST, "/oauth2/token", Access::Public, body, token).refusing(refused_by_http)
}

async fn token(app: Arc<App>, request: Request) -> Result<Reply> {
    let answer = if is_form(&request.headers) {
        app.tokens
            .issue(shown(&request.headers), &request.body, request.peer)
            .await
    } else {
        let detail = "the body must be application/x-www-form-urlencoded";
        Err(Refusal::Malformed(detail.to_owned()))
    };
    match answer {
        Ok(issued) => Ok(uncached(Reply::of(StatusCode::OK, &issued)?)),
        Err(refusal) => Ok(refused(refusal, request.correlation)),
    }
}

/// Another method, a body that is too large or too slow, an answer that is not acceptable.
fn refused_by_http(status: StatusCode, detail: &str, _: Uuid) -> Reply {
    error(status, INVALID_REQUEST, detail)
}

fn uncached(reply: Reply) -> Reply {
    reply
        .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with(PRAGMA, HeaderValue::from_static("no-cache"))
}

/// Whether the one `Content-Type` is that of a form: two that contradict each other are none.
fn is_form(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let media_type = all.next().and_then(|value| value.to_str().ok());
    let essence = media_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    let form = essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded");
    form && all.next().is_none()
}

/// The credentials of the one `Authorization` header.
fn shown(headers: &HeaderMap) -> Option<Shown> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let header = all.next()?.to_str().ok()?;
    if all.next().is_some() {
        return None;
    }
    Shown::of_header(header)
}

fn refused(refusal: Refusal, correlation: Uuid) -> Reply {
    match refusal {
        Refusal::Malformed(detail) => error(StatusCode::BAD_REQUEST, INVALID_REQUEST, &detail),
        Refusal::UnknownClient => challenged(error(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "the client is not known, its secret is wrong, or it is not authorized",
        )),
        Refusal::UnsupportedGrant => error(
            StatusCode::BAD_REQUEST,
            "unsupported_grant_type",
            "grant_type must be client_credentials",
        ),
        Refusal::Audience(needed) => challenged(error(
            StatusCode::UNAUTHORIZED,
            INVALID_REQUEST,
            &format!("audience must be {needed}"),
        )),
        Refusal::Scope => error(
            StatusCode::BAD_REQUEST,
            "invalid_scope",
            "there are no scopes to ask for",
        ),
        Refusal::TooMany(wait) => later(
            StatusCode::TOO_MANY_REQUESTS,
            "too many wrong secrets in a row: wait",
            wait,
        ),
        Refusal::Failed(Error::Unavailable(cause)) => {
            tracing::warn!(%correlation, %cause, "the store is away");
            later(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store is away",
                Duration::from_secs(1),
            )
        }
        Refusal::Failed(cause) => {
            tracing::error!(%correlation, %cause, "a token request ended in an error of ours");
            error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "server_error",
                "something is wrong here",
            )
        }
    }
}

fn error(status: StatusCode, code: &str, description: &str) -> Reply {
    let description: String = description.chars().map(describable).collect();
    let body = json!({ "error": code, "error_description": description });
    uncached(Reply::json(status, body.to_string().into()))
}

/// What may stand in a description: RFC 6749, 5.2.
const fn describable(c: char) -> char {
    match c {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    }
}

fn challenged(reply: Reply) -> Reply {
    reply.with(
        WWW_AUTHENTICATE,
        HeaderValue::from_static("Basic realm=\"tillgate\""),
    )
}

fn later(status: StatusCode, description: &str, wait: Duration) -> Reply {
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    let reply = error(status, "temporarily_unavailable", description);
    reply.with(RETRY_AFTER, u64::try_from(seconds).unwrap_or(1).into())
}
