//! The command line as a client of a running host. Only one process may open an embedded store, so commands use HTTP, with
//! the operator's credentials or those of another client.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde_json::Value;
use tillgate_base::egress::{
    Client, Destinations, Distrust, EgressError, EventStream, Limits, Opened, StreamLimits, Trust,
    shown,
};
use tillgate_base::identity::Secret;

use super::answer::{Answer, Failure, Json};
use super::credentials::Credentials;
use super::output::{shown_path, text};

/// The limits of a request. The operator chooses the host, so any address may be dialed.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(30),
    max_answer: 64 << 20,
    destinations: Destinations::Any,
};

/// The limits of a stream of events. A host sends a heartbeat every 15 seconds.
const STREAM_LIMITS: StreamLimits = StreamLimits {
    silence: Duration::from_secs(45),
    max_event: 16 << 20,
};

/// The characters that are percent-encoded: all but the unreserved ones (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path of the token endpoint, with which `tokenUrl` ends.
const TOKEN: &str = "/oauth2/token";

/// How to reach a host, and how to print its answers.
#[derive(Args, Debug)]
pub struct HostOptions {
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
    /// File with the certificate authorities to trust instead of this machine's, in PEM
    #[arg(long, global = true, value_name = "FILE", env = "TILLGATE_CA_CERT")]
    ca_cert: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// A connection to a host, with a token.
#[derive(Clone)]
pub struct Session {
    http: Client,
    base: String,
    credentials: Credentials,
    file: PathBuf,
    /// The answer of the token endpoint, with the token.
    pub issued: Json,
}

/// The requirement of a write on the present resource.
#[derive(Clone, Copy, Debug)]
pub enum Requires<'a> {
    Nothing,
    /// The resource must not exist.
    Absence,
    /// The resource must have this entity tag.
    Version(&'a HeaderValue),
}

impl Session {
    /// Opens a session with a token.
    pub async fn open(options: &HostOptions) -> Result<Self, String> {
        Self::open_within(options, LIMITS).await
    }

    /// Opens a session with a token, for requests within these limits.
    pub async fn open_within(options: &HostOptions, limits: Limits) -> Result<Self, String> {
        let credentials = Credentials::read(&options.credentials)?;
        let http = Client::trusting(limits, trust(options.ca_cert.as_deref())?);
        let mut session = Self {
            http: http.map_err(|cause| cause.to_string())?,
            base: base(options.url.as_deref(), &credentials)?,
            credentials,
            file: options.credentials.clone(),
            issued: Json::default(),
        };
        session.renew().await?;
        Ok(session)
    }

    /// Gets a new token.
    pub async fn renew(&mut self) -> Result<(), Failure> {
        let (base, credentials) = (&self.base, &self.credentials);
        let audience = segment(&credentials.audience);
        let request = self
            .http
            .request(Method::POST, url(base, TOKEN)?)
            .basic_auth(
                &credentials.client_id,
                Some(credentials.client_secret.reveal()),
            )
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(format!("grant_type=client_credentials&audience={audience}"));
        let answer = send(&self.http, base, request).await?;
        let base = shown(base);
        if answer.status == StatusCode::UNAUTHORIZED {
            let file = shown_path(&self.file);
            return Err(Failure::Final(format!(
                "{base} refused the credentials in {file}: do they belong to another store?"
            )));
        }
        let issued = answer.body()?;
        if !issued
            .value
            .get("access_token")
            .is_some_and(Value::is_string)
        {
            let why = format!("{base} answered without a token: is it Tillgate?");
            return Err(Failure::Final(why));
        }
        self.issued = issued;
        Ok(())
    }

    pub fn token(&self) -> &str {
        text(&self.issued.value, "access_token")
    }

    /// Returns the credentials of another client of this host.
    pub fn credentials_of(&self, client_id: &str, client_secret: &str) -> Credentials {
        Credentials {
            client_id: client_id.to_owned(),
            client_secret: Secret::new(client_secret.to_owned()),
            token_url: format!("{}{TOKEN}", self.base),
            audience: self.credentials.audience.clone(),
        }
    }

    /// Sends a request without a body.
    pub async fn call(&self, method: Method, path: &str) -> Result<Answer, Failure> {
        let request = self.request(method, path)?;
        send(&self.http, &self.base, request).await
    }

    /// Returns the body of a successful answer to a GET.
    pub async fn get(&self, path: &str) -> Result<Json, Failure> {
        self.call(Method::GET, path).await?.body()
    }

    /// Returns the unchanged body of a successful answer to a GET and its entity tag; `None` if there is no such
    /// resource.
    pub async fn read(&self, path: &str) -> Result<Option<(Bytes, Option<HeaderValue>)>, Failure> {
        let request = self.request(Method::GET, path)?;
        let answer = self.http.send(request).await;
        let answer = answer.map_err(|cause| no_answer(&self.base, &cause))?;
        match answer.status {
            status if status.is_success() => {
                let etag = answer.headers.get(ETAG).cloned();
                Ok(Some((answer.body, etag)))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Answer::from(answer).body().map(|_| None),
        }
    }

    /// Sends a document, or nothing, if the present resource meets the requirement.
    pub async fn write(
        &self,
        method: Method,
        path: &str,
        requires: Requires<'_>,
        document: Option<Vec<u8>>,
    ) -> Result<Answer, Failure> {
        let mut request = self.request(method, path)?;
        request = match requires {
            Requires::Nothing => request,
            Requires::Absence => request.header(IF_NONE_MATCH, "*"),
            Requires::Version(etag) => request.header(IF_MATCH, etag),
        };
        if let Some(document) = document {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(document);
        }
        send(&self.http, &self.base, request).await
    }

    /// Returns the address of the host, in a form that may be shown.
    pub fn shown(&self) -> String {
        shown(&self.base)
    }

    /// Returns the body of a successful answer to a POST of a document.
    pub async fn post(
        &self,
        path: &str,
        media_type: &'static str,
        document: Vec<u8>,
    ) -> Result<Json, Failure> {
        let request = self.request(Method::POST, path)?;
        let request = request.header(CONTENT_TYPE, media_type).body(document);
        send(&self.http, &self.base, request).await?.body()
    }

    /// Opens a stream of events, which continues after the event with `last_id` if there is one.
    pub async fn follow(&self, path: &str, last_id: Option<&str>) -> Result<EventStream, Failure> {
        let mut request = self.request(Method::GET, path)?;
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(last_id) = last_id {
            request = request.header("last-event-id", last_id);
        }
        let opened = self.http.open(request, STREAM_LIMITS).await;
        match opened.map_err(|cause| no_answer(&self.base, &cause))? {
            Opened::Events(events) => Ok(*events),
            Opened::Answer(answer) => {
                Answer::from(answer).body()?;
                let base = shown(&self.base);
                Err(Failure::Final(format!(
                    "{base} answered without a stream of events: is it Tillgate?"
                )))
            }
        }
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Failure> {
        let request = self.http.request(method, url(&self.base, path)?);
        Ok(request.bearer_auth(self.token()))
    }
}

/// Returns the address of the host, without a trailing slash.
fn base(url: Option<&str>, credentials: &Credentials) -> Result<String, String> {
    let token_url = credentials.token_url.trim_end_matches('/');
    let base = url.unwrap_or_else(|| token_url.strip_suffix(TOKEN).unwrap_or(token_url));
    let parsed = Url::parse(base).ok();
    let fits = parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if fits {
        return Ok(base.trim_end_matches('/').to_owned());
    }
    Err(format!(
        "{} is not the URL of a host: use --url http://127.0.0.1:8080",
        shown(base)
    ))
}

fn url(base: &str, path: &str) -> Result<Url, Failure> {
    let url = Url::parse(&format!("{base}{path}"));
    url.map_err(|cause| {
        let base = shown(base);
        Failure::Final(format!("{base}{path} is not a URL: {cause}"))
    })
}

async fn send(http: &Client, base: &str, request: RequestBuilder) -> Result<Answer, Failure> {
    let answer = http.send(request).await;
    answer
        .map(Answer::from)
        .map_err(|cause| no_answer(base, &cause))
}

/// Returns the authorities to trust: those in a file, or those of this machine.
pub fn trust(authorities: Option<&Path>) -> Result<Trust, String> {
    authorities.map_or(Ok(Trust::System), Trust::of_file)
}

/// Describes why the certificate of a host is not accepted.
pub fn distrust(base: &str, why: &Distrust) -> String {
    let (why, advice) = match why {
        Distrust::Authority(why) => (why, ": name the file of its authority with --ca-cert"),
        Distrust::Certificate(why) => (why, ""),
    };
    format!("the certificate of {base} is not accepted ({why}){advice}")
}

fn no_answer(base: &str, cause: &EgressError) -> Failure {
    let base = shown(base);
    Failure::Temporary(match cause {
        EgressError::Untrusted { why, .. } => return Failure::Final(distrust(&base, why)),
        EgressError::Unreachable(_) => format!("no host answers at {base}: is it running?"),
        EgressError::Deadline(_) => format!("the host at {base} did not answer in time"),
        cause => format!("the answer of {base} could not be read: {cause}"),
    })
}

/// Returns a text as one segment of a path, or one value of a query or a form.
pub fn segment(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, RESERVED)
}
