//! The source of an issuer's keys, a URL or a file, and when they are fetched again.
//!
//! Keys are fetched at the start, when they are five minutes old, and when a token names an unknown key. All requests
//! that need a fetch share one, and none starts within 30 seconds after the start of the last one, even if that failed
//! (`tokens.md`, "IAM user tokens"). A fetch that fails or brings no usable key leaves the keys as they are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use reqwest::{Method, Url};
use tillgate_base::egress::{Client, Destinations, Limits, shown};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::regular_file;
use tokio::task::AbortHandle;

use super::key_set::KeySet;

/// The prefix of a source that is a file.
const FILE: &str = "file:";

/// The shortest time between the starts of two fetches.
const COOL_DOWN: Duration = Duration::from_secs(30);

/// The age at which keys are fetched again.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// The longest time that a fetch may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// The longest time that a token whose key is cached waits for newer keys.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The largest JWK set: 256 KiB.
const MAX_SET: usize = 256 << 10;

/// The keys of an issuer, as they were last fetched.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    /// The name of the issuer in the log.
    issuer: String,
    source: Source,
    clock: Arc<dyn Clock>,
    cached: ArcSwapOption<CachedKeys>,
    last_fetch: Mutex<LastFetch>,
}

#[derive(Debug)]
struct CachedKeys {
    keys: Arc<KeySet>,
    fetched: Timestamp,
}

#[derive(Debug)]
enum Source {
    Url(Client, Url),
    File(PathBuf),
}

/// The last fetch, which may still be running, and when it began.
#[derive(Default)]
struct LastFetch {
    began: Option<Timestamp>,
    fetch: Option<(AbortHandle, Fetch)>,
}

/// A future that is ready when a fetch has ended; many may wait for it.
type Fetch = Shared<BoxFuture<'static, ()>>;

impl std::fmt::Debug for LastFetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LastFetch")
            .field("began", &self.began)
            .finish_non_exhaustive()
    }
}

impl IssuerKeys {
    /// Begins to fetch an issuer's keys. A file is read at once: a missing or invalid file is a mistake in the
    /// configuration, not an outage of the issuer.
    pub(super) async fn start(
        issuer: &str,
        source: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, String> {
        let keys = Arc::new(Self {
            issuer: shown(issuer),
            source: Source::new(source)?,
            clock,
            cached: ArcSwapOption::empty(),
            last_fetch: Mutex::default(),
        });
        match keys.source {
            Source::Url(..) => drop(keys.fetch(keys.clock.now())),
            Source::File(_) => keys.refresh().await?,
        }
        Ok(keys)
    }

    /// Reads a file of keys as a start does, but fetches nothing from a URL.
    pub(super) async fn check_file(source: &str) -> Result<(), String> {
        if !source.starts_with(FILE) {
            return Ok(());
        }
        let text = Source::new(source)?.read().await?;
        KeySet::read(&text).map(drop)
    }

    /// Returns the keys if one of them has this id; fetches them first if that may help.
    pub(super) async fn of(self: &Arc<Self>, kid: &str, now: Timestamp) -> Option<Arc<KeySet>> {
        let cached = || {
            self.cached
                .load_full()
                .filter(|cached| cached.keys.has(kid))
        };
        let found = cached();
        if let Some(found) = &found
            && found.is_fresh(now)
        {
            return Some(Arc::clone(&found.keys));
        }
        if let Some(fetch) = self.fetch(now) {
            let max_wait = if found.is_some() { MAX_WAIT } else { DEADLINE };
            let _ = tokio::time::timeout(max_wait, fetch).await;
        }
        // A key that its issuer no longer publishes verifies nothing; while the issuer is down, its keys stay.
        cached().map(|cached| Arc::clone(&cached.keys))
    }

    /// Returns the running fetch, or a new one if one is due. It goes on if the requests waiting for it are cancelled.
    fn fetch(self: &Arc<Self>, now: Timestamp) -> Option<Fetch> {
        let mut last = self.last_fetch.lock();
        if let Some((task, running)) = &last.fetch
            && !task.is_finished()
        {
            return Some(running.clone());
        }
        // A clock that was set back must not stretch the wait.
        let cools_down = |began: Timestamp| began <= now && now < began.plus(COOL_DOWN);
        if last.began.is_some_and(cools_down) {
            return None;
        }
        let keys = Arc::clone(self);
        let task = tokio::spawn(async move {
            if let Err(cause) = keys.refresh().await {
                tracing::warn!(
                    issuer = keys.issuer,
                    cause,
                    "the keys of a trusted issuer could not be fetched"
                );
            }
        });
        let handle = task.abort_handle();
        let fetch = task.map(drop).boxed().shared();
        last.began = Some(now);
        last.fetch = Some((handle, fetch.clone()));
        Some(fetch)
    }

    async fn refresh(&self) -> Result<(), String> {
        let fetched = self.clock.now();
        let (keys, left_out) = KeySet::read(&self.source.read().await?)?;
        tracing::debug!(
            issuer = self.issuer,
            left_out,
            "the keys of a trusted issuer were fetched"
        );
        let keys = Arc::new(keys);
        self.cached
            .store(Some(Arc::new(CachedKeys { keys, fetched })));
        Ok(())
    }
}

impl CachedKeys {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.fetched <= now && now < self.fetched.plus(MAX_AGE)
    }
}

impl Source {
    fn new(source: &str) -> Result<Self, String> {
        if let Some(path) = source.strip_prefix(FILE) {
            // `file:///path` is a URL; `file:path` is short for a relative path.
            let path = path
                .strip_prefix("//")
                .filter(|path| path.starts_with('/'))
                .unwrap_or(path);
            return Ok(Self::File(path.into()));
        }
        let url: Url = source
            .parse()
            .map_err(|cause| format!("its jwks is not a URL: {cause}"))?;
        // Without TLS, an attacker on the network could replace the keys, so only this machine may be contacted.
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
                let read = regular_file::read(path).await;
                read.map_err(|cause| format!("{} cannot be read: {cause}", path.display()))
            }
        }
    }
}
