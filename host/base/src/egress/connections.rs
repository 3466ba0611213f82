//! Connections that are kept for the next request, to a bounded number of targets, because tenants name the targets.
//!
//! reqwest closes a connection that was idle for a while, but does not bound how many are idle until then. When a
//! client has sent to too many targets, a new one replaces it, and the idle connections of the old one are closed.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use parking_lot::Mutex;
use reqwest::Url;

/// The most targets to which connections are kept.
const MAX_TARGETS: usize = 4_096;

/// The most idle connections to each target.
pub(super) const MAX_IDLE: usize = 16;

/// Builds a reqwest client.
type Build = Box<dyn Fn() -> reqwest::Result<reqwest::Client> + Send + Sync>;

pub(super) struct Connections {
    build: Build,
    hasher: RandomState,
    kept: Mutex<Kept>,
}

/// A client, and the hashes of the targets that it has sent to.
struct Kept {
    http: reqwest::Client,
    targets: HashSet<u64>,
}

impl Connections {
    pub(super) fn new(
        build: impl Fn() -> reqwest::Result<reqwest::Client> + Send + Sync + 'static,
    ) -> reqwest::Result<Self> {
        let kept = Kept {
            http: build()?,
            targets: HashSet::new(),
        };
        Ok(Self {
            build: Box::new(build),
            hasher: RandomState::new(),
            kept: Mutex::new(kept),
        })
    }

    /// Returns the client for a request whose target does not matter yet.
    pub(super) fn any(&self) -> reqwest::Client {
        self.kept.lock().http.clone()
    }

    /// Returns the client that sends a request to a URL.
    pub(super) fn to(&self, url: &Url) -> reqwest::Result<reqwest::Client> {
        let target = (url.scheme(), url.host_str(), url.port_or_known_default());
        let target = self.hasher.hash_one(target);
        let mut kept = self.kept.lock();
        if kept.targets.len() >= MAX_TARGETS && !kept.targets.contains(&target) {
            *kept = Kept {
                http: (self.build)()?,
                targets: HashSet::new(),
            };
        }
        kept.targets.insert(target);
        Ok(kept.http.clone())
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn connections_are_kept_to_so_many_targets_and_no_more() -> reqwest::Result<()> {
        let (clients, count) = (Arc::new(AtomicUsize::new(0)), 10_000);
        let counted = Arc::clone(&clients);
        let connections = Connections::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            reqwest::Client::builder().no_proxy().build()
        })?;
        for number in 0..count {
            let url = format!("https://receiver-{number}.example/hook");
            for path in ["", "/again"] {
                let url = Url::parse(&format!("{url}{path}"));
                url.map(|url| connections.to(&url)).ok().transpose()?;
            }
            assert!(connections.kept.lock().targets.len() <= MAX_TARGETS);
        }
        assert_eq!(clients.load(Ordering::Relaxed), count / MAX_TARGETS + 1);
        Ok(())
    }
}
