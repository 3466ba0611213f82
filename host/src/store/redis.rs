//! The store on Redis: one server, a master that Sentinels name, or a cluster; for one to many hosts.
//!
//! Each verb is one command or one Lua script (`redis/*.lua`), atomic within a partition, whose keys share a hash tag
//! (`layout`). Commits that wait go together (`gather`). Who is asked, and that nothing is sent twice, is `servers` and
//! `link`; `README.md` beside them says what lies where, and what the servers must be configured to. Needs Redis or
//! Valkey 7 or later.
//!
//! The time of a commit, of leases and of what is due is the host's; hosts need clocks that agree (NTP). Publish times
//! increase whatever clocks do.

mod answer;
mod check;
mod cluster;
mod commit;
mod gather;
mod hints;
mod layout;
mod link;
mod portable;
mod scripts;
mod servers;
mod url;
mod words;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;

use self::commit::{Answer, Batch, OF_QUEUE};
use self::gather::{Gatherer, Outcome};
use self::layout::Layout;
use self::link::Failure;
use self::scripts::{Request, Source};
use self::servers::Servers;
pub use self::url::RedisUrl;
use super::hints::Listeners;
use super::{
    Claimed, Commit, CommitError, Committed, Entry, Hints, MAX_OPS, Page, Partition, Position,
    Slice, Store, Unavailable,
};
use crate::clock::{Clock, Timestamp};

/// How many entries, messages or names one request reads at most; more are read by several.
const PAGE: usize = 1_000;

/// How many bytes one request reads, some more than these: 4 MiB.
const PAGE_BYTES: usize = 4 << 20;

/// How many messages one request trims at most.
const TRIM: usize = 500;

/// How often a commit is sent that was told to come again: its partition was not listed, or it was late.
const TURNS: usize = 4;

/// A store on Redis.
pub struct RedisStore {
    shared: Arc<Shared>,
}

/// What the store and its listener have in common.
struct Shared {
    servers: Servers,
    layout: Layout,
    clock: Arc<dyn Clock>,
    listeners: Listeners,
    gatherer: Gatherer,
}

impl RedisStore {
    /// Opens the store: reaches every master, and says in the log what is unsafe about how they are set up.
    ///
    /// # Errors
    /// When they cannot be reached or are too old; with `durable`, also when what is acknowledged could be lost.
    pub async fn open(
        url: &RedisUrl,
        clock: Arc<dyn Clock>,
        durable: bool,
    ) -> Result<Self, String> {
        let store = Self::connect(url, clock)?;
        check::check(&store.shared, durable).await?;
        Ok(store)
    }

    /// Opens the store without reaching it, within a Tokio runtime.
    ///
    /// # Errors
    /// When the certificates cannot be read.
    pub fn connect(url: &RedisUrl, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let shared = Arc::new(Shared {
            servers: Servers::new(url.clone())?,
            layout: Layout::new(&url.prefix),
            clock,
            listeners: Listeners::default(),
            gatherer: Gatherer::default(),
        });
        tokio::spawn(hints::listen(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }

    /// Runs a script that changes nothing, or nothing that a repeat would; again when its answer is lost.
    async fn look(
        &self,
        slot: u16,
        script: &'static Source,
        keys: Vec<Bytes>,
        arguments: Vec<Bytes>,
    ) -> Result<Value, Unavailable> {
        self.shared
            .look(slot, &Request::script(script, keys, arguments))
            .await
    }
}

impl Shared {
    async fn look(&self, slot: u16, request: &Request) -> Result<Value, Unavailable> {
        let begin = Instant::now();
        let answer = match self.servers.ask(slot, request).await {
            // A connection that broke, not a server that stands still.
            Err(Failure::Lost(_)) if begin.elapsed() < gather::STANDSTILL => {
                self.servers.ask(slot, request).await
            }
            answer => answer,
        };
        answer.map_err(|failure| Unavailable(failure.to_string()))
    }

    /// Commits that touch nothing in common, all of one partition; an outcome for each.
    async fn commit_together(&self, commits: &[Commit]) -> Vec<Outcome> {
        let Some(Commit { partition, .. }) = commits.first() else {
            return Vec::new();
        };
        let all = |error: CommitError| vec![Err(error); commits.len()];
        let home = self.layout.home(partition);
        let batch = Batch::new(commits, &home);
        let mut listed = false;
        for _ in 0..TURNS {
            let request = batch.request(&self.layout, self.clock.now(), listed);
            let answer = match self.servers.ask(home.slot, &request).await {
                Ok(answer) => answer,
                Err(failure) => return all(failure.into()),
            };
            match batch.understand(answer) {
                Answer::Known(outcomes) => {
                    // Those on this host hear it at once; the others by what the script published.
                    if outcomes.iter().any(Result::is_ok) {
                        self.listeners.tell(partition);
                    }
                    return outcomes;
                }
                Answer::Unlisted => match self.list(partition).await {
                    Ok(()) => listed = true,
                    Err(cause) => return all(CommitError::Unavailable(cause.0)),
                },
                Answer::Late => self.servers.forget(home.slot),
            }
        }
        all(CommitError::Unavailable(
            "its server's clock leaps".to_owned(),
        ))
    }

    /// Puts a partition into the index of all.
    async fn list(&self, partition: &Partition) -> Result<(), Unavailable> {
        let (index, slot) = self.layout.partitions();
        let mut command = redis::cmd("ZADD");
        command.arg(index.as_ref()).arg(0).arg(partition.as_str());
        self.look(slot, &Request::command(command)).await.map(drop)
    }

    /// Some names of the index after one.
    async fn listed(&self, after: Option<&str>, max: usize) -> Result<Vec<String>, Unavailable> {
        let (index, slot) = self.layout.partitions();
        let from = after.map_or_else(|| "-".to_owned(), |after| format!("({after}"));
        let mut command = redis::cmd("ZRANGEBYLEX");
        command
            .arg(index.as_ref())
            .arg(from)
            .arg("+")
            .arg("LIMIT")
            .arg(0)
            .arg(max);
        let answer = self.look(slot, &Request::command(command)).await?;
        answer::names(answer).ok_or_else(strange)
    }

    /// The partition of a name of the index, if a commit of it took effect.
    async fn begun(&self, name: &str) -> Result<Option<Partition>, Unavailable> {
        let Some(partition) = Partition::new(name) else {
            return Ok(None);
        };
        let home = self.layout.home(&partition);
        let mut command = redis::cmd("EXISTS");
        command.arg(home.key("head").as_ref());
        let answer = self.look(home.slot, &Request::command(command)).await?;
        Ok((answer == Value::Int(1)).then_some(partition))
    }
}

#[async_trait]
impl Store for RedisStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        if let Some(refusal) = commit.refusal() {
            return Err(refusal);
        }
        gather::commit(&self.shared, commit).await
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let home = self.shared.layout.home(partition);
        let mut command = redis::cmd("HMGET");
        command.arg(home.key("values").as_ref()).arg(keys);
        let request = Request::command(command);
        let answer = self.shared.look(home.slot, &request).await?;
        answer::entries(answer).ok_or_else(strange)
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        let home = self.shared.layout.home(partition);
        let mut from = match after {
            Some(after) if after >= prefix => format!("({after}"),
            _ => format!("[{prefix}"),
        };
        // No key has this byte, which is not UTF-8: it is behind all that start with the prefix.
        let to = [b"(", prefix.as_bytes(), b"\xff"].concat();
        let mut page = Page::default();
        loop {
            let part = (max - page.entries.len()).min(PAGE);
            let keys = ["keys", "values"].map(|kind| home.key(kind));
            let arguments = vec![
                from.into(),
                to.clone().into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let answer = self
                .look(home.slot, &scripts::SCAN, keys.into(), arguments)
                .await?;
            let (more, entries) = answer::page(answer).ok_or_else(strange)?;
            page.entries.extend(entries);
            page.more = more;
            from = match page.entries.last() {
                Some((last, _)) if more && page.entries.len() < max => format!("({last}"),
                _ => return Ok(page),
            };
        }
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        let home = self.shared.layout.home(partition);
        let mut slice = Slice::default();
        let mut after = after;
        loop {
            let part = (max - slice.messages.len()).min(PAGE);
            let keys = vec![
                home.key_of("log", log),
                home.key("logs"),
                home.key("trimmed"),
            ];
            let arguments = vec![
                Bytes::copy_from_slice(log.as_bytes()),
                layout::id(after).into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let answer = self
                .look(home.slot, &scripts::READ, keys, arguments)
                .await?;
            let (last, trimmed, messages) = answer::slice(answer).ok_or_else(strange)?;
            slice.messages.extend(messages);
            (slice.last, slice.trimmed) = (last, trimmed);
            match slice.messages.last() {
                Some(newest)
                    if newest.position > after
                        && newest.position < last
                        && slice.messages.len() < max =>
                {
                    after = newest.position;
                }
                _ => return Ok(slice),
            }
        }
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let home = self.shared.layout.home(partition);
        let mut gone = 0;
        // In parts, so that others come between.
        while gone < max {
            let part = (max - gone).min(TRIM);
            let keys = vec![home.key_of("log", log), home.key("trimmed")];
            let arguments = vec![
                Bytes::copy_from_slice(log.as_bytes()),
                before.0.to_string().into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let answer = self
                .look(home.slot, &scripts::TRIM, keys, arguments)
                .await?;
            let (trimmed, more) = answer::trimmed(answer).ok_or_else(strange)?;
            gone += trimmed;
            if !more {
                break;
            }
        }
        Ok(gone)
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let home = self.shared.layout.home(partition);
        for _ in 0..TURNS {
            let now = self.shared.clock.now();
            let mut keys = vec![home.key("head")];
            keys.extend(OF_QUEUE.map(|kind| home.key_of(kind, queue)));
            let arguments = vec![
                now.0.to_string().into(),
                now.plus(lease).0.to_string().into(),
                max.min(MAX_OPS).to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            // Not again when the answer is lost: the jobs it may have claimed are due again when their leases end.
            let request = Request::script(&scripts::CLAIM, keys, arguments);
            let answer = self.shared.servers.ask(home.slot, &request).await;
            let answer = answer.map_err(|failure| Unavailable(failure.to_string()))?;
            match answer::claimed(answer).ok_or_else(strange)? {
                Some(claimed) => return Ok(claimed),
                None => self.shared.servers.forget(home.slot),
            }
        }
        Err(Unavailable("its server's clock leaps".to_owned()))
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let mut found = Vec::new();
        let mut after = after.map(str::to_owned);
        while found.len() < max {
            let part = (max - found.len()).min(PAGE);
            let names = self.shared.listed(after.as_deref(), part).await?;
            let begun = try_join_all(names.iter().map(|name| self.shared.begun(name))).await?;
            found.extend(begun.into_iter().flatten());
            if names.len() < part {
                break;
            }
            after = names.last().cloned();
        }
        Ok(found)
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.shared.listeners.listen(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.shared.listeners.listen_to_all()
    }
}

impl From<Failure> for CommitError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost(why) => Self::Unknown(why),
            Failure::Away(_) | Failure::Refused(_) => Self::Unavailable(failure.to_string()),
        }
    }
}

fn strange() -> Unavailable {
    Unavailable("it answered something that none of our scripts says".to_owned())
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("url", self.shared.servers.url())
            .finish_non_exhaustive()
    }
}
