//! Rate limits: registrations from an address, and wrong secrets for a client from an address.
//!
//! Each host counts for itself, in bounded memory: an attacker with many addresses costs a few megabytes at most. An
//! attacker cannot lock a client out, because wrong secrets are counted for each pair of client and address
//! (`tokens.md`, "POST /oauth2/token").

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_base::identity::network;
use tillgate_base::load::BoundedMap;
use tillgate_store::clock::Timestamp;

/// The most addresses, or pairs of client and address, that are counted at once.
const MAX_COUNTED: usize = 50_000;

/// The time window in which registrations are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The number of wrong secrets in a row that are answered without a wait.
const FREE_FAILURES: u32 = 10;

/// The first wait after that, and the longest. The wait doubles with each wrong secret.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// The time for which wrong secrets are remembered after the last one.
const STREAK_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Counts the registrations from each address.
#[derive(Debug)]
pub(super) struct Registrations {
    per_window: u32,
    windows: Mutex<BoundedMap<IpAddr, Window>>,
}

#[derive(Debug)]
struct Window {
    began: Timestamp,
    count: u32,
}

impl Window {
    /// Returns whether a time is within the window. A clock that was set back must not extend it.
    fn contains(&self, now: Timestamp) -> bool {
        self.began <= now && now < self.began.plus(WINDOW)
    }
}

impl Registrations {
    pub(super) fn new(per_window: u32) -> Self {
        Self {
            per_window,
            windows: Mutex::new(BoundedMap::new(MAX_COUNTED)),
        }
    }

    /// Returns the number of addresses that are counted.
    pub(super) fn addresses(&self) -> usize {
        self.windows.lock().len()
    }

    /// Counts a registration.
    ///
    /// # Errors
    /// The time to wait, when there are too many.
    pub(super) fn count(&self, peer: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let mut windows = self.windows.lock();
        let new = || Window {
            began: now,
            count: 0,
        };
        let window = windows.get_or_insert(network(peer), |it| it.contains(now), new);
        if !window.contains(now) {
            *window = new();
        }
        if window.count >= self.per_window {
            return Err(window.began.plus(WINDOW).since(now));
        }
        window.count += 1;
        Ok(())
    }
}

/// Counts wrong secrets in a row, for each pair of client and address.
#[derive(Debug)]
pub(super) struct WrongSecrets {
    hasher: foldhash::quality::RandomState,
    streaks: Mutex<BoundedMap<(u64, IpAddr), Streak>>,
}

impl Default for WrongSecrets {
    fn default() -> Self {
        Self {
            hasher: foldhash::quality::RandomState::default(),
            streaks: Mutex::new(BoundedMap::new(MAX_COUNTED)),
        }
    }
}

#[derive(Debug)]
struct Streak {
    count: u32,
    last: Timestamp,
    wait: Duration,
}

impl Streak {
    fn is_recent(&self, now: Timestamp) -> bool {
        self.last <= now && now < self.last.plus(STREAK_LIFETIME)
    }
}

impl WrongSecrets {
    /// Returns the number of pairs of client and address that are counted.
    pub(super) fn pairs(&self) -> usize {
        self.streaks.lock().len()
    }

    /// Returns how long this client must wait at this address, if at all.
    pub(super) fn wait(&self, client: &str, peer: IpAddr, now: Timestamp) -> Option<Duration> {
        let key = self.key(client, peer);
        let streaks = self.streaks.lock();
        let streak = streaks.get(&key).filter(|streak| streak.is_recent(now))?;
        let left = streak.last.plus(streak.wait).since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Records whether a secret was right.
    pub(super) fn record(&self, client: &str, peer: IpAddr, now: Timestamp, is_right: bool) {
        let key = self.key(client, peer);
        let mut streaks = self.streaks.lock();
        if is_right {
            streaks.remove(&key);
            return;
        }
        let new = || Streak {
            count: 0,
            last: now,
            wait: Duration::ZERO,
        };
        let streak = streaks.get_or_insert(key, |it| it.is_recent(now), new);
        let count = if streak.is_recent(now) {
            streak.count.saturating_add(1)
        } else {
            1
        };
        *streak = Streak {
            count,
            last: now,
            wait: wait_after(count),
        };
    }

    fn key(&self, client: &str, peer: IpAddr) -> (u64, IpAddr) {
        (self.hasher.hash_one(client), network(peer))
    }
}

fn wait_after(count: u32) -> Duration {
    let Some(more) = count.checked_sub(FREE_FAILURES) else {
        return Duration::ZERO;
    };
    FIRST_WAIT
        .saturating_mul(1 << more.min(16))
        .min(LONGEST_WAIT)
}
