//! Who signs tokens and statements: a few signers, off the threads that serve, as many as there are processors.
//!
//! Signing takes long enough to keep requests waiting, and a storm of it must not take every thread. A signer goes on for
//! as long as there is something to sign, so under load a token waits for its turn and for nothing else: waking a thread
//! for each would cost a fifth of what signing costs. Called by `issue.rs` alone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tokio::sync::oneshot;

use super::keyring::SigningKey;
use crate::error::{Error, Result};

/// How many tokens a signer hands over at once while more are waiting.
const AT_ONCE: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Signers {
    most: usize,
    work: Mutex<Work>,
}

#[derive(Debug, Default)]
struct Work {
    waiting: VecDeque<Unsigned>,
    /// How many signers there are now.
    signers: usize,
}

#[derive(Debug)]
struct Unsigned {
    key: Arc<SigningKey>,
    typ: &'static str,
    claims: Vec<u8>,
    signed: oneshot::Sender<Result<String>>,
}

impl Signers {
    pub(super) fn new(most: usize) -> Arc<Self> {
        let work = Mutex::default();
        Arc::new(Self { most, work })
    }

    /// A JWT of a type and of some claims.
    pub(super) async fn sign(
        self: &Arc<Self>,
        key: Arc<SigningKey>,
        typ: &'static str,
        claims: Vec<u8>,
    ) -> Result<String> {
        let (sender, signed) = oneshot::channel();
        let needed = {
            let mut work = self.work();
            work.waiting.push_back(Unsigned {
                key,
                typ,
                claims,
                signed: sender,
            });
            let needed = work.signers < self.most;
            work.signers += usize::from(needed);
            needed
        };
        if needed {
            let signers = Arc::clone(self);
            tokio::task::spawn_blocking(move || signers.work_off());
        }
        signed
            .await
            .map_err(|_| Error::Bug("a signer ended early".to_owned()))?
    }

    /// Signs until nothing is left, in the order it came. Tokens are handed over a few at a time: each hand-over wakes a
    /// thread that serves.
    fn work_off(&self) {
        let mut signed = Vec::with_capacity(AT_ONCE);
        loop {
            let next = self.next();
            if next.is_none() || signed.len() == AT_ONCE {
                hand_over(&mut signed);
            }
            let Some(next) = next else { return };
            // Whoever has gone needs no token.
            if !next.signed.is_closed() {
                let token = jwt(&next.key, next.typ, &next.claims);
                signed.push((next.signed, token));
            }
        }
    }

    /// What is to be signed next; when there is nothing, one signer is fewer.
    fn next(&self) -> Option<Unsigned> {
        let mut work = self.work();
        let next = work.waiting.pop_front();
        work.signers -= usize::from(next.is_none());
        next
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives tokens to those who wait for them.
fn hand_over(signed: &mut Vec<(oneshot::Sender<Result<String>>, Result<String>)>) {
    for (waiting, token) in signed.drain(..) {
        let _ = waiting.send(token);
    }
}

/// A signed JWT of some claims.
fn jwt(key: &SigningKey, typ: &str, claims: &[u8]) -> Result<String> {
    let header = format!(r#"{{"alg":"RS256","typ":"{typ}","kid":"{}"}}"#, key.kid());
    let mut jwt = BASE64_URL_SAFE_NO_PAD.encode(header);
    jwt.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut jwt);
    let signature = key.sign(jwt.as_bytes())?;
    jwt.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut jwt);
    Ok(jwt)
}
