//! Signs tokens on threads of their own, at most as many as there are processors.
//!
//! Signing takes long enough to delay other requests, and many signatures at once must not occupy every thread. A
//! thread continues while there are tokens to sign, so under load a token only waits in the queue: waking a thread for
//! each token would cost a fifth of the time that signing takes.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::ring::SigningKey;
use crate::error::{Error, Result};

/// The number of tokens that a thread sends back at once while more are waiting.
const BATCH: usize = 4;

/// The queue of tokens to sign, and the threads that sign them.
#[derive(Debug)]
pub(super) struct SigningPool {
    max_threads: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Unsigned>,
    /// The number of threads that sign now.
    threads: usize,
}

#[derive(Debug)]
struct Unsigned {
    key: Arc<SigningKey>,
    typ: &'static str,
    claims: Vec<u8>,
    reply: oneshot::Sender<Result<String>>,
}

impl SigningPool {
    pub(super) fn new(max_threads: usize) -> Arc<Self> {
        let queue = Mutex::default();
        Arc::new(Self { max_threads, queue })
    }

    /// Returns a signed JWT with this `typ` and these claims, a JSON object.
    pub(super) async fn sign(
        self: &Arc<Self>,
        key: Arc<SigningKey>,
        typ: &'static str,
        claims: Vec<u8>,
    ) -> Result<String> {
        let (reply, signed) = oneshot::channel();
        let needs_thread = {
            let mut queue = self.queue.lock();
            queue.waiting.push_back(Unsigned {
                key,
                typ,
                claims,
                reply,
            });
            let needs_thread = queue.threads < self.max_threads;
            queue.threads += usize::from(needs_thread);
            needs_thread
        };
        if needs_thread {
            let pool = Arc::clone(self);
            tokio::task::spawn_blocking(move || pool.sign_all());
        }
        signed
            .await
            .map_err(|_| Error::Bug("the signing thread ended early".to_owned()))?
    }

    /// Signs in order of arrival until nothing is left. Tokens are sent back a few at a time, since each delivery wakes
    /// a serving thread.
    fn sign_all(&self) {
        let mut signed = Vec::with_capacity(BATCH);
        loop {
            let next = self.next();
            if next.is_none() || signed.len() == BATCH {
                send_back(&mut signed);
            }
            let Some(next) = next else { return };
            // The request may have been cancelled meanwhile.
            if !next.reply.is_closed() {
                let token = jwt(&next.key, next.typ, &next.claims);
                signed.push((next.reply, token));
            }
        }
    }

    /// Returns the next token to sign; `None` ends this thread.
    fn next(&self) -> Option<Unsigned> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        queue.threads -= usize::from(next.is_none());
        next
    }
}

/// Sends tokens to the requests that wait for them.
fn send_back(signed: &mut Vec<(oneshot::Sender<Result<String>>, Result<String>)>) {
    for (reply, token) in signed.drain(..) {
        let _ = reply.send(token);
    }
}

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
