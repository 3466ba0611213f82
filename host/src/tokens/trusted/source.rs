//! Where the keys of an issuer come from, a URL or a file, and when they are fetched again.
//!
//! They are fetched at the start, when they are five minutes old, and when a token names an unknown key: one fetch at a
//! time, whoever waits for it, and none within 30 seconds after the start of the last one, whatever came of it
//! (`tokens.md`, "IAM user tokens"). A fetch that fails, or brings no usable key, leaves the keys as they are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use reqwest::{Method, Url};
use tokio::task::AbortHandle;

use super::key_set::KeySet;
use crate::clock::{Clock, Timestamp};
use crate::egress::{Client, Destinations, Limits};

/// How long after the start of a fetch there is no other.
const COOL_DOWN: Duration = Duration::from_secs(30);

/// How old keys become before they are fetched again.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// How long a fetch may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long a token whose key is known waits for newer keys.
const PATIENCE: Duration = Duration::from_secs(1);

/// The largest JWK set: 256 KiB.
const MAX_SET: usize = 256 << 10;

/// The keys of an issuer, as they were last fetched.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    issuer: String,
    source: Source,
    clock: Arc<dyn Clock>,
    known: ArcSwapOption<Known>,
    fetching: Mutex<Fetching>,
}

#[derive(Debug)]
struct Known {
    keys: Arc<KeySet>,
    since: Timestamp,
}

#[derive(Debug)]
enum Source {
    Url(Client, Url),
    File(PathBuf),
}

/// The newest fetch, and when it began.
#[derive(Default)]
struct Fetching {
    began: Option<Timestamp>,
    newest: Option<(AbortHandle, Fetch)>,
}

/// Ready when a fetch has ended; many may wait for it.
type Fetch = Shared<BoxFuture<'static, ()>>;

impl std::fmt::Debug for Fetching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetching")
            .field("began", &self.began)
            .finish_non_exhaustive()
    }
}

impl IssuerKeys {
    /// Begins to fetch an issuer's keys. A file is read at once: one that is missing or wrong is a mistake here, and no
    /// outage elsewhere.
    pub(super) async fn start(
        issuer: &str,
        source: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, String> {
        let keys = Arc::new(Self {
            issuer: issuer.to_owned(),
            source: Source::new(source)?,
            clock,
            known: ArcSwapOption::empty(),
            fetching: Mutex::default(),
        });
        match keys.source {
            Source::Url(..) => drop(keys.fetch(keys.clock.now())),
            Source::File(_) => keys.renew().await?,
        }
        Ok(keys)
    }

    /// The keys, when one of this id is among them; fetches them when that may help.
    pub(super) async fn of(self: &Arc<Self>, kid: &str, now: Timestamp) -> Option<Arc<KeySet>> {
        let known = || self.known.load_full().filter(|known| known.keys.has(kid));
        let found = known();
        if let Some(found) = &found
            && found.is_fresh(now)
        {
            return Some(Arc::clone(&found.keys));
        }
        if let Some(fetch) = self.fetch(now) {
            let patience = if found.is_some() { PATIENCE } else { DEADLINE };
            let _ = tokio::time::timeout(patience, fetch).await;
        }
        // A key that its issuer no longer has opens nothing; while the issuer is down, the keys stay.
        known().map(|known| Arc::clone(&known.keys))
    }

    /// The fetch that runs, or a new one when it is time; it goes on when nobody waits for it.
    fn fetch(self: &Arc<Self>, now: Timestamp) -> Option<Fetch> {
        let mut fetching = self.fetching.lock();
        if let Some((task, running)) = &fetching.newest
            && !task.is_finished()
        {
            return Some(running.clone());
        }
        // A clock that was set back must not stretch the wait.
        let cools = |began: Timestamp| began <= now && now < began.plus(COOL_DOWN);
        if fetching.began.is_some_and(cools) {
            return None;
        }
        let keys = Arc::clone(self);
        let task = tokio::spawn(async move {
            if let Err(cause) = keys.renew().await {
                tracing::warn!(
                    issuer = keys.issuer,
                    cause,
                    "the keys of a trusted issuer could not be fetched"
                );
            }
        });
        let ends = task.abort_handle();
        let fetch = task.map(drop).boxed().shared();
        fetching.began = Some(now);
        fetching.newest = Some((ends, fetch.clone()));
        Some(fetch)
    }

    async fn renew(&self) -> Result<(), String> {
        let since = self.clock.now();
        let (keys, left_out) = KeySet::read(&self.source.read().await?)?;
        tracing::debug!(
            issuer = self.issuer,
            left_out,
            "the keys of a trusted issuer were fetched"
        );
        let keys = Arc::new(keys);
        self.known.store(Some(Arc::new(Known { keys, since })));
        Ok(())
    }
}

impl Known {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.since.plus(FRESH)
    }
}

impl Source {
    fn new(source: &str) -> Result<Self, String> {
        if let Some(path) = source.strip_prefix("file:") {
            // `file:///path` is a URL, `file:path` is short for a relative one.
            let path = path
                .strip_prefix("//")
                .filter(|path| path.starts_with('/'))
                .unwrap_or(path);
            return Ok(Self::File(path.into()));
        }
        let url: Url = source
            .parse()
            .map_err(|cause| format!("its jwks is not a URL: {cause}"))?;
        // Without TLS nobody on the way may change the keys: there is no way but within this machine.
        let destinations = match url.scheme() {
            "https" => Destinations::Any,
            _ => Destinations::Loopback,
        };
        let client = Client::new(Limits {
            deadline: DEADLINE,
            max_answer: MAX_SET,
            destinations,
        });
        let client = client.map_err(|cause| cause.to_string())?;
        Ok(Self::Url(client, url))
    }

    async fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Url(client, url) => {
                let request = client.request(Method::GET, url.clone());
                let answer = client.send(request).await;
                let answer = answer.map_err(|cause| cause.to_string())?;
                if !answer.status.is_success() {
                    return Err(format!("it answered {}", answer.status));
                }
                Ok(answer.body.into())
            }
            Self::File(path) => {
                let read = tokio::fs::read(path).await;
                read.map_err(|cause| format!("{} cannot be read: {cause}", path.display()))
            }
        }
    }
}
