//! Readiness: the checks behind `/readyz`, which tell whether this host can decide, and since when.
//!
//! While the store is unavailable, a host goes on deciding from memory (`data/feed/mod.rs`): it is degraded, but still
//! ready. It is unavailable once memory is too old, when it has no keys, or when the module does not run. `/readyz`
//! needs no token, so its answer names no servers, folders or addresses; the log does, once each way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{Health, Store};

/// The interval at which changes are looked for, to log them.
const INTERVAL: Duration = Duration::from_secs(1);

/// The name of the store's check.
const STORE: &str = "store";

/// The readiness of a host to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "ReadinessStatus", rename_all = "kebab-case")]
pub enum Status {
    /// Everything works.
    Ready,
    /// The host decides, but something does not work.
    Degraded,
    /// The host cannot decide.
    Unavailable,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 3] = [Self::Ready, Self::Degraded, Self::Unavailable];

    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The state of a part of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "PartStatus", rename_all = "kebab-case")]
pub enum State {
    /// It works.
    Up,
    /// It serves existing data and accepts nothing new: a store that cannot be written, or keys that verify but do not sign.
    ReadOnly,
    /// It does not work.
    Away,
}

impl State {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Up, Self::ReadOnly, Self::Away];

    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::ReadOnly => "read-only",
            Self::Away => "away",
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ReadinessCheck")]
pub struct Found {
    /// The state of the part.
    #[serde(rename = "status")]
    pub state: State,
    /// The time since which it has this status.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// The reason, without internal details.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub why: Option<Cow<'static, str>>,
}

/// Something that does not work as it should, but does not keep the host from deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ReadinessWarning")]
pub struct Warning {
    /// The number of affected items.
    pub count: usize,
    /// The problem, without internal details.
    pub why: &'static str,
}

/// The answer of `/readyz` about the parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// The readiness of this host.
    pub status: Status,
    /// The time since which it has this status.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// The result of each check.
    pub checks: BTreeMap<&'static str, Found>,
    /// Other things that do not work as they should. They do not change the status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub warnings: BTreeMap<&'static str, Warning>,
}

fn as_text<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.to_millis_text())
}

/// The state of a part that does not work as it should, and the reason, in words that reveal nothing internal.
pub type CheckFault = Option<(State, Cow<'static, str>)>;

/// Checks whether a part works as it should.
type Check = Box<dyn Fn() -> CheckFault + Send + Sync>;

/// Returns the warning at a time, if there is one.
type Warns = Box<dyn Fn(Timestamp) -> Option<Warning> + Send + Sync>;

/// Returns the age of memory that decisions rest on.
type Age = Box<dyn Fn(Timestamp) -> Duration + Send + Sync>;

/// The checks and warnings of a host, and its last report.
pub struct Readiness {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    checks: Mutex<Vec<(&'static str, Check)>>,
    warnings: Mutex<Vec<(&'static str, Warns)>>,
    /// The memories that decisions rest on, each with the greatest age that it may have.
    memories: Mutex<Vec<(Duration, Age)>>,
    last: Mutex<Report>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl Readiness {
    /// Creates the readiness of a host that has no parts yet except a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let mut last = Report {
            status: Status::Ready,
            since: clock.now(),
            checks: BTreeMap::new(),
            warnings: BTreeMap::new(),
        };
        // A host that starts with a snapshot has already logged why.
        if let Some(since) = store.snapshot_of() {
            let away = Found {
                since,
                ..found(Some((State::Away, "".into())))
            };
            last.checks.insert(STORE, away);
        }
        Arc::new(Self {
            store,
            clock,
            checks: Mutex::default(),
            warnings: Mutex::default(),
            memories: Mutex::default(),
            last: Mutex::new(last),
        })
    }

    /// Adds a check of a part: while the part is away, nothing can be decided.
    pub fn check(
        &self,
        part: &'static str,
        check: impl Fn() -> CheckFault + Send + Sync + 'static,
    ) {
        lock(&self.checks).push((part, Box::new(check)));
    }

    /// Adds a warning about something that keeps no host from deciding.
    pub fn warn(
        &self,
        of: &'static str,
        warns: impl Fn(Timestamp) -> Option<Warning> + Send + Sync + 'static,
    ) {
        lock(&self.warnings).push((of, Box::new(warns)));
    }

    /// Adds memory that decisions rest on, which may be `max_stale` old while the store is unavailable.
    pub fn rests_on(
        &self,
        max_stale: Duration,
        age: impl Fn(Timestamp) -> Duration + Send + Sync + 'static,
    ) {
        lock(&self.memories).push((max_stale, Box::new(age)));
    }

    /// Checks this host now, logs what has changed, and returns the result.
    pub fn report(&self) -> Report {
        let now = self.clock.now();
        let mut last = lock(&self.last);
        let (store, can_decide, cause) = self.store(now);
        let mut checks: BTreeMap<&'static str, Found> = lock(&self.checks)
            .iter()
            .map(|(part, check)| (*part, found(check())))
            .collect();
        let is_broken = checks.values().any(|found| found.state == State::Away);
        checks.insert(STORE, store);
        let is_well = checks.values().all(|found| found.state == State::Up);
        let status = match (is_broken || !can_decide, is_well) {
            (true, _) => Status::Unavailable,
            (false, true) => Status::Ready,
            (false, false) => Status::Degraded,
        };
        for (part, found) in &mut checks {
            let before = last.checks.get(part);
            // A part that is checked for the first time has been in its state since the start.
            let since = before.map_or(last.since, |before| {
                if before.state == found.state {
                    before.since
                } else {
                    now
                }
            });
            // The store itself knows since when it has been in its state.
            found.since = if found.since == NOT_KNOWN {
                since
            } else {
                found.since
            };
        }
        let report = Report {
            status,
            since: if last.status == status {
                last.since
            } else {
                now
            },
            checks,
            warnings: self.warnings(now),
        };
        log(&last, &report, cause.as_deref(), now);
        *last = report.clone();
        report
    }

    fn warnings(&self, now: Timestamp) -> BTreeMap<&'static str, Warning> {
        let warnings = lock(&self.warnings);
        let found = warnings.iter().map(|(of, warns)| Some((*of, warns(now)?)));
        found.flatten().collect()
    }

    /// Returns the state of the store, whether memory is recent enough to decide from meanwhile, and the cause for the
    /// operator.
    fn store(&self, now: Timestamp) -> (Found, bool, Option<String>) {
        let (state, since, cause) = match self.store.health() {
            Health::Up => return (found(None), true, None),
            Health::ReadOnly { since, why } => (State::ReadOnly, since, why),
            Health::Away { since, why } => (State::Away, since, why),
        };
        let memories = lock(&self.memories);
        let is_young = state == State::ReadOnly
            || memories.iter().all(|(max_stale, age)| {
                let age = age(now);
                age <= crate::data::feed::MAX_AGE || age <= *max_stale
            });
        let why = match (state, is_young) {
            (State::Away, true) => "the store does not answer; decisions are made from memory",
            (State::Away, false) => "the store does not answer, and the data in memory is too old",
            _ => "nothing can be written to the store",
        };
        let found = Found {
            since,
            ..found(Some((state, why.into())))
        };
        (found, is_young, Some(cause))
    }

    /// Checks this host at intervals, which logs what has changed, for as long as this is in use.
    pub fn watch(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(readiness) = weak.upgrade() {
                readiness.report();
                drop(readiness);
                tokio::time::sleep(INTERVAL).await;
            }
        });
    }
}

/// Stands for a time that is not known yet.
const NOT_KNOWN: Timestamp = Timestamp(0);

fn found(fault: CheckFault) -> Found {
    let (state, why) = fault.map_or((State::Up, None), |(state, why)| (state, Some(why)));
    Found {
        state,
        since: NOT_KNOWN,
        why,
    }
}

/// Logs once each way that the store is unavailable, and that this host cannot decide.
fn log(last: &Report, report: &Report, cause: Option<&str>, now: Timestamp) {
    let cause = cause.unwrap_or_default();
    let before = last.checks.get(STORE);
    let is_away = |found: Option<&Found>| found.is_some_and(|found| found.state == State::Away);
    // A store that takes no writes logs that itself, with the folder and the fault.
    match (is_away(before), is_away(report.checks.get(STORE))) {
        (false, true) => {
            tracing::error!(
                cause,
                "the store is unavailable: writes are refused, decisions continue from memory"
            );
        }
        (true, false) => {
            let since = before.map_or(now, |before| before.since);
            let after_ms = now.since(since).as_millis();
            tracing::info!(after_ms, "the store is back");
        }
        _ => {}
    }
    let why = || {
        report
            .checks
            .values()
            .find_map(|found| found.why.as_deref())
    };
    match (last.status, report.status) {
        (Status::Unavailable, Status::Unavailable) => {}
        (_, Status::Unavailable) => tracing::error!(why = why(), "this host cannot decide"),
        (Status::Unavailable, _) => {
            let after_ms = now.since(last.since).as_millis();
            tracing::info!(after_ms, "this host can decide again");
        }
        _ => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
