//! The command line as a client of a running host. Only one process may open an embedded store, so `tillgate keys` and
//! `tillgate clients` ask over HTTP, with the operator's credentials or those of an administrator.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::egress::{Client, Destinations, EgressError, Limits};

/// What bounds a request. The operator chooses the host, so any address may be dialled.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(30),
    max_answer: 64 << 20,
    destinations: Destinations::Any,
};

/// The path of the token endpoint, with which `tokenUrl` ends.
const TOKEN: &str = "/oauth2/token";

/// How to reach a host, and how to print its answers.
#[derive(Args, Debug)]
pub(super) struct HostOptions {
    /// File with the credentials, as `tillgate serve` writes it at its first start
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "TILLGATE_CREDENTIALS",
        default_value = "./tillgate-data/operator.json"
    )]
    credentials: PathBuf,
    /// Address of the host [default: from the credentials]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// A file of credentials (`platform.md`, "Command line").
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credentials {
    client_id: String,
    client_secret: String,
    token_url: String,
    audience: String,
}

impl Credentials {
    fn read(file: &Path) -> Result<Self, String> {
        let name = file.display();
        let content = std::fs::read(file).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => format!(
                "there are no credentials at {name}: use --credentials FILE (the first `tillgate serve` on a store \
                 writes operator.json)"
            ),
            _ => format!("the credentials at {name} cannot be read: {cause}"),
        })?;
        // serde's message may contain a secret.
        serde_json::from_slice(&content).map_err(|_| {
            format!("{name} must contain clientId, clientSecret, tokenUrl and audience")
        })
    }
}

/// A connection to a host, with a token.
pub(super) struct Session {
    http: Client,
    base: String,
    token: String,
}

/// What a host answered.
pub(super) struct Answer {
    status: StatusCode,
    body: Json,
}

/// A JSON document: what it says, and its text, in which numbers are exact.
pub(super) struct Json {
    pub(super) value: Value,
    pub(super) text: String,
}

impl Answer {
    /// Whether the resource does not exist.
    pub(super) fn is_missing(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// The body of a successful answer.
    pub(super) fn body(self) -> Result<Json, String> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let reasons = ["detail", "error_description"].map(|member| self.body.value.get(member));
        let reason = reasons.into_iter().flatten().find_map(Value::as_str);
        let reason = reason.unwrap_or("it gave no reason");
        Err(match self.status {
            StatusCode::FORBIDDEN => format!("these credentials may not do this: {reason}"),
            status => format!("the host answered {status}: {reason}"),
        })
    }
}

impl Session {
    /// Gets a token.
    pub(super) async fn open(options: &HostOptions) -> Result<Self, String> {
        let credentials = Credentials::read(&options.credentials)?;
        let base = base(options.url.as_deref(), &credentials)?;
        let http = Client::new(LIMITS).map_err(|cause| cause.to_string())?;
        let audience = segment(&credentials.audience);
        let request = http
            .request(Method::POST, url(&base, TOKEN)?)
            .basic_auth(&credentials.client_id, Some(&credentials.client_secret))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("grant_type=client_credentials&audience={audience}"));
        let answer = send(&http, &base, request).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            let file = options.credentials.display();
            return Err(format!(
                "{base} refused the credentials in {file}: do they belong to another store?"
            ));
        }
        let token = answer.body()?;
        let token = token.value.get("access_token").and_then(Value::as_str);
        let token =
            token.ok_or_else(|| format!("{base} answered without a token: is it Tillgate?"));
        let token = token?.to_owned();
        Ok(Self { http, base, token })
    }

    /// Sends a request.
    pub(super) async fn ask(&self, method: Method, path: &str) -> Result<Answer, String> {
        let request = self.http.request(method, url(&self.base, path)?);
        send(&self.http, &self.base, request.bearer_auth(&self.token)).await
    }

    /// The body of a successful answer to a GET.
    pub(super) async fn get(&self, path: &str) -> Result<Json, String> {
        self.ask(Method::GET, path).await?.body()
    }
}

/// The address of the host, without a slash at the end.
fn base(url: Option<&str>, credentials: &Credentials) -> Result<String, String> {
    let token_url = &credentials.token_url;
    let base = url.unwrap_or_else(|| token_url.strip_suffix(TOKEN).unwrap_or(token_url));
    let parsed = Url::parse(base).ok();
    let fits = parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if fits {
        return Ok(base.trim_end_matches('/').to_owned());
    }
    Err(format!(
        "{base} is not the URL of a host: use --url http://127.0.0.1:8080"
    ))
}

fn url(base: &str, path: &str) -> Result<Url, String> {
    let url = Url::parse(&format!("{base}{path}"));
    url.map_err(|cause| format!("{base}{path} is not a URL: {cause}"))
}

async fn send(http: &Client, base: &str, request: RequestBuilder) -> Result<Answer, String> {
    let answer = http.send(request).await.map_err(|cause| match cause {
        EgressError::Unreachable(_) => format!("no host answers at {base}: is it running?"),
        EgressError::Deadline(_) => format!("the host at {base} did not answer in time"),
        cause => format!("the answer of {base} could not be read: {cause}"),
    })?;
    let body = Json {
        value: serde_json::from_slice(&answer.body).unwrap_or_default(),
        text: String::from_utf8_lossy(&answer.body).into_owned(),
    };
    Ok(Answer {
        status: answer.status,
        body,
    })
}

/// A text as one segment of a path, or one value of a form.
pub(super) fn segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}
