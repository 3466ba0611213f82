//! The state that the store, its batcher and its hint listener share: the servers, the keys, and requests that several
//! of them make.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use redis::Value;
use tokio::runtime::Handle;

use super::super::contract::{Commit, CommitError, Partition, Unavailable};
use super::super::hints::Listeners;
use super::commit::{CommitReply, CommitScript, Outcome};
use super::freshness::Freshness;
use super::keys::Keyspace;
use super::node::RequestError;
use super::reply;
use super::router::Router;
use super::scripts::{self, Request};
use crate::clock::Clock;

/// The bytes of contents at which a request reads no further: 4 MiB. The last item may exceed it.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// The number of times to send a request whose reply asks to send it again: the partition was not listed, or the
/// deadline had passed.
pub(super) const ATTEMPTS: usize = 4;

/// A server that takes this long to fail a request is not responding: nothing more is sent to it for now.
pub(super) const STALLED_AFTER: Duration = Duration::from_millis(500);

/// The reason for giving up a request after [`ATTEMPTS`] missed deadlines.
pub(super) const CLOCK_JUMPS: &str = "its server's clock jumps";

pub(super) struct Shared {
    /// The runtime of the store's own tasks, which continue when a caller's runtime ends.
    pub(super) runtime: Handle,
    pub(super) router: Router,
    pub(super) keyspace: Keyspace,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) listeners: Listeners,
    pub(super) freshness: Freshness,
}

impl Shared {
    /// Sends a request that is harmless to repeat, and once more if its connection breaks.
    pub(super) async fn send_idempotent(
        &self,
        slot: u16,
        request: &Request,
    ) -> Result<Value, Unavailable> {
        let begin = Instant::now();
        let reply = match self.router.send(slot, request).await {
            Err(RequestError::Unknown(_)) if begin.elapsed() < STALLED_AFTER => {
                self.router.send(slot, request).await
            }
            reply => reply,
        };
        reply.map_err(|error| Unavailable(error.to_string()))
    }

    /// Commits several commits of one partition that touch no key and no job in common; returns an outcome for each.
    pub(super) async fn commit(&self, commits: &[Commit]) -> Vec<Outcome> {
        let Some(Commit { partition, .. }) = commits.first() else {
            return Vec::new();
        };
        let all = |error: CommitError| vec![Err(error); commits.len()];
        let keys = self.keyspace.partition(partition);
        let script = CommitScript::new(commits, &keys);
        let mut listed = false;
        for _ in 0..ATTEMPTS {
            let request = script.request(&self.keyspace, self.clock.now(), listed);
            let request = request.replicated(self.router.url().replicas);
            let (reply, lacking) = match self.router.send(keys.slot, &request).await {
                Ok(reply) => (reply, None),
                Err(RequestError::Unreplicated(reply, why)) => (reply, Some(why)),
                Err(error) => return all(error.into()),
            };
            match script.parse(reply) {
                CommitReply::Done(mut outcomes) => {
                    // Listeners of this host are notified at once; the script has published a hint for the others.
                    if outcomes.iter().any(Result::is_ok) {
                        self.listeners.notify(partition);
                    }
                    if let Some(why) = lacking {
                        for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
                            *outcome = Err(CommitError::Unknown(why.clone()));
                        }
                    }
                    return outcomes;
                }
                CommitReply::Unlisted => match self.list(partition).await {
                    Ok(()) => listed = true,
                    Err(cause) => return all(CommitError::Unavailable(cause.0)),
                },
                CommitReply::Late => self.router.reconnect(keys.slot),
            }
        }
        all(CommitError::Unavailable(CLOCK_JUMPS.to_owned()))
    }

    /// Adds a partition to the index of all partitions.
    pub(super) async fn list(&self, partition: &Partition) -> Result<(), Unavailable> {
        let (index, slot) = self.keyspace.partitions();
        let name = Bytes::copy_from_slice(partition.as_str().as_bytes());
        let request = Request::script(&scripts::LIST, vec![index], vec![name]);
        let request = request.replicated(self.router.url().replicas);
        self.send_idempotent(slot, &request).await.map(drop)
    }

    /// Returns up to `max` names of the index of all partitions, after a given one.
    pub(super) async fn listed(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<String>, Unavailable> {
        let (index, slot) = self.keyspace.partitions();
        let from = after.map_or_else(|| "-".to_owned(), |after| format!("({after}"));
        let mut command = redis::cmd("ZRANGEBYLEX");
        command
            .arg(index.as_ref())
            .arg(from)
            .arg("+")
            .arg("LIMIT")
            .arg(0)
            .arg(max);
        let reply = self
            .send_idempotent(slot, &Request::command(command))
            .await?;
        reply::names(reply).ok_or_else(reply::unexpected)
    }

    /// Returns the partition of a name in the index, if one of its commits took effect.
    pub(super) async fn existing(&self, name: &str) -> Result<Option<Partition>, Unavailable> {
        let Some(partition) = Partition::new(name) else {
            return Ok(None);
        };
        let keys = self.keyspace.partition(&partition);
        let mut command = redis::cmd("EXISTS");
        command.arg(keys.key("head").as_ref());
        let request = Request::command(command);
        let reply = self.send_idempotent(keys.slot, &request).await?;
        Ok((reply == Value::Int(1)).then_some(partition))
    }
}
