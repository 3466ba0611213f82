//! The link that signs in to the demo's page with one click: the fragment of the page's address has a code, which the
//! page exchanges for a token. The code is valid for ten minutes, in the browser that uses it first, and no other host
//! has a route for it.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use serde::Deserialize;
use subtle::ConstantTimeEq;
use tillgate_base::app::App;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Secret;
use tillgate_http::{Access, Reply, Request, Route, Takes};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_tokens::client::random_secret;
use tillgate_tokens::{BasicCredentials, Credentials, TokenError, Tokens};

const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The largest body, in bytes: a code has 64 characters, and a browser's random value has 36.
const MAX_BODY: usize = 1 << 10;

/// The link's code, and the credentials that it signs in with.
#[derive(Debug)]
pub(super) struct SignIn {
    code: Mutex<Code>,
    clock: Arc<dyn Clock>,
    tokens: Arc<Tokens>,
    credentials: Credentials,
    audience: String,
}

/// A code that is valid for a while, in one browser.
#[derive(Debug)]
struct Code {
    code: Secret,
    made: Timestamp,
    /// The random value of the browser that used the code first.
    browser: Option<Secret>,
}

impl Code {
    /// Binds the code to the first browser that presents it. Returns whether the browser may use it.
    fn admits(&mut self, presented: &Presented, now: Timestamp) -> bool {
        let is_current = self.made <= now && now < self.made.plus(LIFETIME);
        if !is_current || !is_same(&self.code, &presented.code) {
            return false;
        }
        let first = self
            .browser
            .get_or_insert_with(|| presented.browser.clone());
        is_same(first, &presented.browser)
    }
}

/// Compares two secrets in constant time.
fn is_same(one: &Secret, other: &Secret) -> bool {
    let [one, other] = [one, other].map(|secret| secret.reveal().as_bytes());
    one.ct_eq(other).into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Presented {
    code: Secret,
    browser: Secret,
}

impl SignIn {
    /// Creates a code for a client, and the link with it.
    pub(super) fn new(
        app: &App,
        tokens: &Arc<Tokens>,
        credentials: &Credentials,
    ) -> Result<(Arc<Self>, String)> {
        let code = random_secret()?;
        let link = format!("{}/#demo={}", app.config.public_url(), code.reveal());
        let sign_in = Self {
            code: Mutex::new(Code {
                code,
                made: app.clock.now(),
                browser: None,
            }),
            clock: Arc::clone(&app.clock),
            tokens: Arc::clone(tokens),
            credentials: credentials.clone(),
            audience: app.config.audience.clone(),
        };
        Ok((Arc::new(sign_in), link))
    }

    pub(super) fn route(self: &Arc<Self>) -> Route {
        let body = Takes::Json(MAX_BODY);
        Route::new(
            Method::POST,
            "/demo/session",
            Access::Public,
            body,
            exchange,
        )
        .unaudited("a token is issued, and nothing is changed")
        .bind(self)
    }
}

/// Returns a token for the code.
async fn exchange(sign_in: Arc<SignIn>, request: Request) -> Result<Reply> {
    let presented: Presented = serde_json::from_slice(&request.body).map_err(|_| {
        Error::invalid(
            "$",
            "must have the members code and browser, both texts, and no other",
        )
    })?;
    let now = sign_in.clock.now();
    if !sign_in.code.lock().admits(&presented, now) {
        let detail = "is wrong, was used first by another browser or has expired: use the client id and the secret";
        return Err(Error::invalid("$.code", detail));
    }
    let Credentials {
        client_id,
        client_secret,
        ..
    } = &sign_in.credentials;
    let client_secret = client_secret.reveal();
    let basic = BASE64_STANDARD.encode(format!("{client_id}:{client_secret}"));
    let credentials = BasicCredentials::from_header(&format!("Basic {basic}"));
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .append_pair("audience", &sign_in.audience)
        .finish();
    let issued = sign_in
        .tokens
        .issue(credentials, form.as_bytes(), request.peer);
    let issued = issued.await.map_err(|cause| match cause {
        TokenError::Failed(cause) => cause,
        other => Error::Bug(format!("the demo's client gets no token: {other:?}")),
    })?;
    let no_store = HeaderValue::from_static("no-store");
    Ok(Reply::of(StatusCode::OK, &issued)?.with(CACHE_CONTROL, no_store))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: Timestamp = Timestamp(1_767_225_600_000_000);

    fn code() -> Code {
        Code {
            code: Secret::new("right".to_owned()),
            made: MADE,
            browser: None,
        }
    }

    fn from(browser: &str, code: &str) -> Presented {
        let secret = |text: &str| Secret::new(text.to_owned());
        let [code, browser] = [code, browser].map(secret);
        Presented { code, browser }
    }

    #[test]
    fn a_code_is_of_use_in_the_browser_that_uses_it_first_and_a_wrong_one_binds_it_to_none() {
        let mut code = code();
        for wrong in ["", "righ", "right ", "wrong"] {
            assert!(!code.admits(&from("other", wrong), MADE), "{wrong}");
        }
        assert!(code.admits(&from("first", "right"), MADE));
        for other in ["other", "", "firs"] {
            assert!(!code.admits(&from(other, "right"), MADE), "{other}");
        }
        assert!(code.admits(&from("first", "right"), MADE));
        assert!(!code.admits(&from("first", "wrong"), MADE));
    }

    #[test]
    fn a_code_is_of_use_for_ten_minutes() {
        let last = MADE.plus(LIFETIME - Duration::from_micros(1));
        let right = from("first", "right");
        assert!(code().admits(&right, last));
        assert!(!code().admits(&right, MADE.plus(LIFETIME)));
        assert!(!code().admits(&right, Timestamp(MADE.0 - 1)));
    }
}
