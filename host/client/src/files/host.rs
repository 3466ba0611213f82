//! A running host, and requests to it, which are retried while it cannot answer.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use tillgate_base::egress::{Destinations, Limits};
use tillgate_base::identity::{Permission, Permissions};
use tokio::sync::Mutex;

use super::form::Forms;
use super::kind::Kind;
use crate::answer::{Answer, Failure};
use crate::output::tell;
use crate::session::{HostOptions, Requires, Session, segment};

/// The limits of a request: all projects of a tenant may take 256 MiB.
const WITHIN: Limits = Limits {
    deadline: Duration::from_secs(120),
    max_answer: 512 << 20,
    destinations: Destinations::Any,
};

/// The most requests under way at once.
pub(super) const AT_ONCE: usize = 8;

/// The age at which a token is replaced: it is valid for an hour.
const TOKEN: Duration = Duration::from_secs(20 * 60);

/// The most retries while the host cannot answer: about a minute.
const RETRIES: usize = 12;
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// A host, and its caller.
pub(super) struct Host {
    session: Mutex<(Session, Instant)>,
    /// The tenant of the credentials.
    pub(super) tenant: String,
    pub(super) permissions: Permissions,
    /// Its address, in a form that may be shown.
    pub(super) address: String,
    pub(super) forms: Forms,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallerAnswer {
    tenant_id: String,
    permissions: Vec<String>,
}

impl Host {
    /// Gets a token, and asks the host for its owner.
    pub(super) async fn open(options: &HostOptions, forms: Forms) -> Result<Self, String> {
        let session = Session::open_within(options, WITHIN).await?;
        let answer = session.get("/api/v1/caller").await?;
        let caller: CallerAnswer = serde_json::from_str(&answer.text).map_err(|cause| {
            format!("the host does not say whose credentials these are: {cause}")
        })?;
        let names = caller.permissions.iter();
        Ok(Self {
            address: session.shown(),
            forms,
            session: Mutex::new((session, Instant::now())),
            tenant: caller.tenant_id,
            permissions: names
                .filter_map(|name| Permission::from_name(name))
                .collect(),
        })
    }

    /// Returns a session with a token that is valid for long enough.
    async fn session(&self) -> Result<Session, Failure> {
        let mut session = self.session.lock().await;
        if session.1.elapsed() > TOKEN {
            session.0.renew().await?;
            session.1 = Instant::now();
        }
        Ok(session.0.clone())
    }

    /// Returns the path of the PUT and DELETE of a resource, or of the POST that creates a webhook.
    pub(super) fn path(&self, kind: Kind, id: &str, webhook: Option<&str>) -> String {
        let of_tenant = |tenant: &str| {
            let (software, version) = id.split_once('/').unwrap_or((id, ""));
            format!(
                "/v1/tenants/{}/templates/{}/{}",
                segment(tenant),
                segment(software),
                segment(version)
            )
        };
        match kind {
            Kind::Roles => format!("/v1/roles/{}", segment(id)),
            Kind::GlobalTemplates => of_tenant("_"),
            Kind::Templates => of_tenant(&self.tenant),
            Kind::GlobalConditions => format!("/api/v1/global-entity-conditions/{}", segment(id)),
            Kind::Conditions => format!("/api/v1/entity-conditions/{}", segment(id)),
            Kind::Projects => format!("/api/v1/projects/{}", segment(id)),
            Kind::BusinessUnits => format!("/api/v1/business-units/{}", segment(id)),
            Kind::Rates => format!("/api/v1/business-units/{}/exchange-rates", segment(id)),
            Kind::Webhooks => match webhook {
                Some(webhook) => format!("/api/v1/webhooks/{}", segment(webhook)),
                None => "/api/v1/webhooks".to_owned(),
            },
        }
    }

    /// Returns the answer to a GET; a missing one is an error.
    pub(super) async fn get(&self, path: &str) -> Result<(Bytes, Option<HeaderValue>), String> {
        let found = self.find(path).await?;
        found.ok_or_else(|| format!("the host does not know {path}: is it of an earlier version?"))
    }

    /// Returns the answer to a GET and its entity tag; `None` if there is none.
    pub(super) async fn find(
        &self,
        path: &str,
    ) -> Result<Option<(Bytes, Option<HeaderValue>)>, String> {
        let read = || async { self.session().await?.read(path).await };
        Ok(retried(RETRIES, read).await.0?)
    }

    /// Sends a document or a deletion, with retries while the host cannot answer if `repeats` is true. Also returns
    /// whether it was sent more than once: an earlier attempt may have taken effect.
    pub(super) async fn write(
        &self,
        (method, path): (&Method, &str),
        requires: Requires<'_>,
        document: Option<&[u8]>,
        repeats: bool,
    ) -> (Result<Answer, Failure>, bool) {
        let write = || async {
            let session = self.session().await?;
            let document = document.map(<[u8]>::to_vec);
            let answer = session.write(method.clone(), path, requires, document);
            answer.await?.unless_temporary()
        };
        retried(if repeats { RETRIES } else { 0 }, write).await
    }
}

/// Makes a request, with up to `times` retries while the host cannot answer. Also returns whether it was made more than
/// once.
async fn retried<T, F: Future<Output = Result<T, Failure>>>(
    times: usize,
    mut request: impl FnMut() -> F,
) -> (Result<T, Failure>, bool) {
    let pauses = ExponentialBuilder::new()
        .with_min_delay(MIN_PAUSE)
        .with_max_delay(MAX_PAUSE)
        .with_max_times(times);
    let (mut pauses, mut is_repeated) = (pauses.build(), false);
    loop {
        let pause = match request().await {
            Err(Failure::Temporary(message)) => match pauses.next() {
                Some(pause) => {
                    if !is_repeated {
                        tell(&format!("{message}: trying again"));
                    }
                    pause
                }
                None => return (Err(Failure::Temporary(message)), is_repeated),
            },
            done => return (done, is_repeated),
        };
        is_repeated = true;
        tokio::time::sleep(pause).await;
    }
}
