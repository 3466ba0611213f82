//! The certificates of an identity provider, as a state machine without I/O: it says when to fetch them, and is given
//! the answer.
//!
//! Known certificates remain in use for another day while the address cannot be reached. Tokens that name unknown ones
//! cannot cause more than one fetch in 30 seconds, counted from the last attempt, whether it succeeded or failed. Times
//! are Unix seconds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::refusal::Refusal;
use super::x509::Certificate;
use crate::json::Document;

/// The shortest time between two attempts.
const PAUSE_S: u64 = 30;

/// The time that certificates stay up to date: their `max-age` between these two, or an hour if there is none.
const MIN_AGE_S: u64 = 300;
const MAX_AGE_S: u64 = 86_400;
const DEFAULT_AGE_S: u64 = 3_600;

/// The extra time that they are used while the address cannot be reached.
const STALE_S: u64 = 86_400;

/// The longest answer that is used, in bytes: the HTTP client should stop reading there.
pub const MAX_ANSWER: usize = 256 << 10;

/// The certificates of an identity provider. Verifiers of the same sender share one instance.
#[derive(Debug, Default)]
pub struct Certificates(Mutex<State>);

/// The answer from the address of the certificates, with status 200.
#[derive(Clone, Copy, Debug)]
pub struct Fetched<'a> {
    /// A JSON object of certificates in PEM, by key id.
    pub body: &'a [u8],
    /// The header `Cache-Control`.
    pub cache_control: Option<&'a str>,
    /// The header `Age`.
    pub age: Option<&'a str>,
}

/// The next step for the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Fetch them now, and report the result to [`Certificates::fetched`] or [`Certificates::failed`]. No other caller
    /// gets this answer within the next 30 seconds.
    Fetch,
    /// Do nothing for this long, unless a verification finds that a certificate is missing.
    Wait {
        /// The time to wait.
        seconds: u64,
    },
}

/// The reason that an answer cannot be used. Such an answer counts as a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusable(&'static str);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unusable {}

type Held = HashMap<String, Arc<Certificate>>;

#[derive(Debug, Default)]
struct State {
    held: Held,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The certificates were given to the receiver.
    Fixed,
    Fetched(Fetches),
}

impl Default for Source {
    fn default() -> Self {
        Self::Fetched(Fetches::default())
    }
}

#[derive(Debug, Default)]
struct Fetches {
    /// The time when the held certificates were fetched.
    fetched: Option<u64>,
    max_age_s: u64,
    /// The time when the last attempt began.
    attempted: Option<u64>,
    /// True while the outcome of the last attempt is unknown.
    is_running: bool,
    /// True if the last attempt with a known outcome failed.
    has_failed: bool,
    /// True if a verification has lacked a certificate since the last successful fetch.
    is_wanted: bool,
}

impl Certificates {
    /// Starts without certificates: they must be fetched.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates certificates that are never fetched, from a JSON object of certificates in PEM, by key id.
    ///
    /// # Errors
    /// If the text is too long or not such an object, or has no certificate or one without an RSA key.
    pub fn fixed(published: &[u8]) -> Result<Self, Unusable> {
        let (held, unread) = read(published)?;
        if unread > 0 {
            return Err(Unusable("a certificate is not one with an RSA key, in PEM"));
        }
        let source = Source::Fixed;
        Ok(Self(Mutex::new(State { held, source })))
    }

    /// Returns whether to fetch them now. Call this after each verification, successful or not, so that they are
    /// fetched again before they are too old. The answer [`Next::Fetch`] counts as an attempt.
    pub fn next(&self, now: u64) -> Next {
        match &mut self.lock().source {
            Source::Fixed => Next::Wait { seconds: u64::MAX },
            Source::Fetched(fetches) => fetches.next(now),
        }
    }

    /// Replaces the certificates with those of an answer. A certificate that cannot be read does not affect the others.
    ///
    /// # Errors
    /// If the answer is not usable, which counts as a failed attempt.
    pub fn fetched(&self, answer: &Fetched<'_>, now: u64) -> Result<(), Unusable> {
        let read = read(answer.body);
        let mut state = self.lock();
        let State { held, source } = &mut *state;
        if let Source::Fetched(fetches) = source {
            match read {
                Ok((new, _)) => {
                    *held = new;
                    fetches.succeed(max_age(answer), now);
                }
                Err(cause) => {
                    fetches.fail();
                    return Err(cause);
                }
            }
        }
        Ok(())
    }

    /// Records that the certificates could not be fetched.
    pub fn failed(&self) {
        if let Source::Fetched(fetches) = &mut self.lock().source {
            fetches.fail();
        }
    }

    /// Returns the certificate of a key; the refusal tells whether there is none, or whether that is currently unknown.
    pub(super) fn find(&self, kid: &str, now: u64) -> Result<Arc<Certificate>, Refusal> {
        let mut state = self.lock();
        let State { held, source } = &mut *state;
        let known = held.get(kid).map(Arc::clone);
        match source {
            Source::Fixed => known.ok_or(Refusal::UnknownKid),
            Source::Fetched(fetches) => fetches.judge(known, now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetches {
    fn judge(
        &mut self,
        known: Option<Arc<Certificate>>,
        now: u64,
    ) -> Result<Arc<Certificate>, Refusal> {
        let age = self.age(now);
        let is_within = |seconds: u64| age.is_some_and(|age| age < seconds);
        let is_fresh = is_within(self.max_age_s);
        let is_usable = is_fresh || (self.has_failed && is_within(self.max_age_s + STALE_S));
        let pause = self.pause(now);
        match known.filter(|_| is_usable) {
            Some(certificate) => Ok(certificate),
            // The certificates were fetched just now, and this one is not among them.
            None if is_fresh && pause > 0 && !self.is_running && !self.has_failed => {
                Err(Refusal::UnknownKid)
            }
            None => {
                self.is_wanted = true;
                let retry_after_s = pause.max(1);
                Err(Refusal::CertificatesUnavailable { retry_after_s })
            }
        }
    }

    fn next(&mut self, now: u64) -> Next {
        let early = self.max_age_s / 5 * 4;
        let until_due = match self.age(now) {
            Some(age) if !self.is_wanted => early.saturating_sub(age),
            _ => 0,
        };
        let seconds = until_due.max(self.pause(now));
        if seconds > 0 {
            return Next::Wait { seconds };
        }
        self.attempted = Some(now);
        self.is_running = true;
        Next::Fetch
    }

    fn succeed(&mut self, max_age_s: u64, now: u64) {
        self.fetched = Some(now);
        self.max_age_s = max_age_s;
        self.is_running = false;
        self.has_failed = false;
        self.is_wanted = false;
    }

    fn fail(&mut self) {
        self.is_running = false;
        self.has_failed = true;
    }

    /// Returns the age of the certificates; `None` if there are none, or the clock was set back.
    fn age(&self, now: u64) -> Option<u64> {
        now.checked_sub(self.fetched?)
    }

    /// Returns the time until a further attempt is allowed.
    fn pause(&self, now: u64) -> u64 {
        let since = self.attempted.and_then(|at| now.checked_sub(at));
        since.map_or(0, |since| PAUSE_S.saturating_sub(since))
    }
}

/// Reads the certificates of an answer, and counts those that cannot be read.
fn read(published: &[u8]) -> Result<(Held, usize), Unusable> {
    if published.len() > MAX_ANSWER {
        return Err(Unusable("the certificates are more than 256 KiB"));
    }
    let malformed = Unusable("the certificates are not a JSON object");
    let document = Document::parse(published).map_err(|_| malformed)?;
    let root = document.root();
    if !root.is_object() {
        return Err(malformed);
    }
    let (mut held, mut unread) = (Held::new(), 0);
    for node in root.children() {
        match node.text().and_then(|pem| Certificate::parse(pem)) {
            Some(certificate) => {
                held.insert(node.key().to_string(), Arc::new(certificate));
            }
            None => unread += 1,
        }
    }
    if held.is_empty() {
        return Err(Unusable("no certificate with an RSA key is published"));
    }
    Ok((held, unread))
}

/// Returns how long an answer stays up to date, less the time that it has spent in caches on the way.
fn max_age(answer: &Fetched<'_>) -> u64 {
    let number = |text: &str| text.trim().trim_matches('"').parse::<u64>().ok();
    let directives = answer.cache_control.unwrap_or_default().split(',');
    let max_age = directives
        .filter_map(|directive| directive.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))
        .and_then(|(_, seconds)| number(seconds));
    let Some(max_age) = max_age else {
        return DEFAULT_AGE_S;
    };
    let age = answer.age.and_then(number).unwrap_or(0);
    max_age.saturating_sub(age).clamp(MIN_AGE_S, MAX_AGE_S)
}
