//! Remembers a bounded number of accepted tokens. A sender has one for each address and uses it for almost an hour, so
//! the signature is verified once.
//!
//! Only the token is remembered: what came with it is checked again each time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of tokens that are remembered.
const MAX: usize = 256;

/// The longest time that a token is remembered, in seconds, whatever the token says.
const MAX_AGE_S: u64 = 3_600;

/// The time until which each accepted token is accepted again.
#[derive(Default)]
pub(super) struct Remembered(Mutex<HashMap<Box<str>, u64>>);

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remembered")
    }
}

impl Remembered {
    pub(super) fn has(&self, token: &str, now: u64) -> bool {
        let until = self.lock().get(token).copied();
        until.is_some_and(|until| is_usable(until, now))
    }

    pub(super) fn add(&self, token: &str, until: u64, now: u64) {
        let mut tokens = self.lock();
        if tokens.len() >= MAX {
            tokens.retain(|_, until| is_usable(*until, now));
        }
        if tokens.len() >= MAX {
            // Any half will do: a token that is dropped is verified again.
            let mut keep = false;
            tokens.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        let until = until.min(now.saturating_add(MAX_AGE_S));
        tokens.insert(token.into(), until);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If more time remains than a token is remembered for, the clock was set back.
fn is_usable(until: u64, now: u64) -> bool {
    now < until && until - now <= MAX_AGE_S
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_remembered_until_it_expires_and_never_longer_than_an_hour() {
        let remembered = Remembered::default();
        remembered.add("short", 1_060, 1_000);
        remembered.add("long", 100_000, 1_000);
        let rows = [
            ("short", 1_059, true),
            ("short", 1_060, false),
            ("long", 4_599, true),
            ("long", 4_600, false),
            ("long", 999, false),
            ("other", 1_000, false),
        ];
        for (token, now, expected) in rows {
            assert_eq!(remembered.has(token, now), expected, "{token} {now}");
        }
    }

    #[test]
    fn no_more_tokens_are_remembered_than_the_bound_and_the_newest_always_is() {
        let remembered = Remembered::default();
        for number in 0..3 * MAX {
            let token = number.to_string();
            remembered.add(&token, 2_000, 1_000);
            assert!(remembered.has(&token, 1_000));
        }
        assert!(remembered.0.lock().unwrap().len() <= MAX);
    }
}
