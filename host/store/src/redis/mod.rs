//! The store on Redis: one server, a master that Sentinels name, or a cluster; for one or more hosts.
//!
//! Each operation is one command or one Lua script (`redis/*.lua`), atomic within a partition, whose keys share a hash
//! tag (`keys`). Waiting commits are sent together (`batcher`). `router` and `node` choose the server for a request and
//! send nothing twice; `README.md` beside them documents the keys and how the servers must be configured. The store
//! needs Redis or Valkey 7 or later.
//!
//! Commits, leases and due jobs use the host's time, so hosts need synchronized clocks (NTP). Publish times increase
//! whatever the clocks do.

mod address;
mod batcher;
mod cluster;
mod commit;
mod commit_arguments;
mod freshness;
mod hints;
mod info;
mod keys;
mod link;
mod listing;
mod node;
mod portable;
mod preflight;
mod replicated;
mod reply;
mod router;
mod scripts;
mod sentinels;
mod shared;
mod url;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;
use tokio::runtime::Handle;

use self::batcher::Batcher;
use self::freshness::Freshness;
use self::keys::{Keyspace, QUEUE_KEYS, stream_id};
use self::router::Router;
use self::scripts::{Request, Script};
use self::shared::{ATTEMPTS, CLOCK_JUMPS, PAGE_BYTES, Shared};
pub use self::url::RedisUrl;
use super::contract::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, MAX_OPS, Page, Partition,
    Position, Slice, Store, Unavailable,
};
use super::hints::Listeners;
use crate::clock::{Clock, Timestamp};
use crate::inspection::{Listing, Server};

/// The most entries, messages or names that one request reads; more take several requests.
const PAGE: usize = 1_000;

/// The most messages that one request trims.
const TRIM_PAGE: usize = 500;

/// A store on Redis.
pub struct RedisStore {
    shared: Arc<Shared>,
    batcher: Arc<Batcher>,
}

impl RedisStore {
    /// Opens the store: connects to every master, and logs what is unsafe about their configuration.
    ///
    /// # Errors
    /// When a master cannot be reached or is too old; with `durable`, also when acknowledged commits could be lost.
    pub async fn open(
        url: &RedisUrl,
        clock: Arc<dyn Clock>,
        durable: bool,
    ) -> Result<Self, String> {
        let store = Self::connect(url, clock)?;
        preflight::check(&store.shared, durable).await?;
        Ok(store)
    }

    /// Opens the store without connecting to a server yet. Must be called within a Tokio runtime, on which its connections
    /// and tasks live.
    ///
    /// # Errors
    /// When the certificates cannot be read.
    pub fn connect(url: &RedisUrl, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let shared = Arc::new(share(url, clock)?);
        let listening = hints::listen(Arc::downgrade(&shared));
        shared.runtime.spawn(listening);
        let batcher = Arc::new(Batcher::new(Arc::clone(&shared)));
        Ok(Self { shared, batcher })
    }

    /// Runs a script that is harmless to repeat.
    async fn run_script(
        &self,
        slot: u16,
        script: &'static Script,
        keys: Vec<Bytes>,
        arguments: Vec<Bytes>,
    ) -> Result<Value, Unavailable> {
        self.shared
            .send_idempotent(slot, &Request::script(script, keys, arguments))
            .await
    }
}

/// Creates what the parts of a store share, without connecting to a server.
fn share(url: &RedisUrl, clock: Arc<dyn Clock>) -> Result<Shared, String> {
    let runtime = Handle::current();
    Ok(Shared {
        router: Router::new(url.clone(), runtime.clone())?,
        runtime,
        keyspace: Keyspace::new(&url.prefix),
        freshness: Freshness::new(clock.now()),
        clock,
        listeners: Listeners::default(),
    })
}

/// Returns the masters of a store and their setup. Must be called within a Tokio runtime.
///
/// # Errors
/// When one cannot be reached, or the store cannot work on it. The message says what to do.
pub async fn servers(url: &RedisUrl, clock: Arc<dyn Clock>) -> Result<Vec<Server>, String> {
    preflight::servers(&share(url, clock)?).await
}

/// Lists what a store holds. Must be called within a Tokio runtime.
///
/// # Errors
/// When a server cannot be reached, or does not permit it.
pub async fn list_servers(url: &RedisUrl, clock: Arc<dyn Clock>) -> Result<Listing, String> {
    let shared = share(url, clock)?;
    let servers = preflight::servers(&shared).await?;
    let listed = listing::list(&shared).await;
    Ok(Listing {
        bytes: servers.iter().map(|server| server.memory).sum(),
        ..listed.map_err(|cause| cause.to_string())?
    })
}

#[async_trait]
impl Store for RedisStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        commit.validate()?;
        self.batcher.commit(commit).await
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.shared.keyspace.partition(partition);
        let mut command = redis::cmd("HMGET");
        command.arg(names.key("values").as_ref()).arg(keys);
        let request = Request::command(command);
        let reply = self.shared.send_idempotent(names.slot, &request).await?;
        reply::entries(reply).ok_or_else(reply::unexpected)
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        let keys = self.shared.keyspace.partition(partition);
        let mut from = match after {
            Some(after) if after >= prefix => format!("({after}"),
            _ => format!("[{prefix}"),
        };
        // Keys are UTF-8, which never contains this byte, so it comes after all keys with the prefix.
        let to = [b"(", prefix.as_bytes(), b"\xff"].concat();
        let mut page = Page::default();
        loop {
            let part = (max - page.entries.len()).min(PAGE);
            let names = ["keys", "values"].map(|kind| keys.key(kind));
            let arguments = vec![
                from.into(),
                to.clone().into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let reply = self
                .run_script(keys.slot, &scripts::SCAN, names.into(), arguments)
                .await?;
            let (more, entries) = reply::page(reply).ok_or_else(reply::unexpected)?;
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
        let keys = self.shared.keyspace.partition(partition);
        let mut slice = Slice::default();
        let mut after = after;
        loop {
            let part = (max - slice.messages.len()).min(PAGE);
            let names = vec![
                keys.key_of("log", log),
                keys.key("logs"),
                keys.key("trimmed"),
            ];
            let arguments = vec![
                Bytes::copy_from_slice(log.as_bytes()),
                stream_id(after).into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let reply = self
                .run_script(keys.slot, &scripts::READ, names, arguments)
                .await?;
            let (last, trimmed, messages) = reply::slice(reply).ok_or_else(reply::unexpected)?;
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
        let keys = self.shared.keyspace.partition(partition);
        let mut dropped = 0;
        // The trim is in parts, so that other requests can come in between.
        while dropped < max {
            let part = (max - dropped).min(TRIM_PAGE);
            let names = vec![keys.key_of("log", log), keys.key("trimmed")];
            let arguments = vec![
                Bytes::copy_from_slice(log.as_bytes()),
                before.0.to_string().into(),
                part.to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let reply = self
                .run_script(keys.slot, &scripts::TRIM, names, arguments)
                .await?;
            let (trimmed, more) = reply::trimmed(reply).ok_or_else(reply::unexpected)?;
            dropped += trimmed;
            if !more {
                break;
            }
        }
        Ok(dropped)
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let keys = self.shared.keyspace.partition(partition);
        for _ in 0..ATTEMPTS {
            let now = self.shared.clock.now();
            let mut names = vec![keys.key("head")];
            names.extend(QUEUE_KEYS.map(|kind| keys.key_of(kind, queue)));
            let arguments = vec![
                now.0.to_string().into(),
                now.plus(lease).0.to_string().into(),
                max.min(MAX_OPS).to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            // A claim is not repeated when its reply is lost: the jobs it may have claimed are due again when their leases
            // end.
            let request = Request::script(&scripts::CLAIM, names, arguments);
            let reply = self.shared.router.send(keys.slot, &request).await;
            let reply = reply.map_err(|error| Unavailable(error.to_string()))?;
            match reply::claimed(reply).ok_or_else(reply::unexpected)? {
                Some(claimed) => return Ok(claimed),
                None => self.shared.router.reconnect(keys.slot),
            }
        }
        Err(Unavailable(CLOCK_JUMPS.to_owned()))
    }

    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let keys = self.shared.keyspace.partition(partition);
        let mut command = redis::cmd("ZCARD");
        command.arg(keys.key_of("due", queue).as_ref());
        let request = Request::command(command);
        let reply = self.shared.send_idempotent(keys.slot, &request).await?;
        let count = reply::count(reply).ok_or_else(reply::unexpected)?;
        Ok(count.min(max))
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
            let existing = names.iter().map(|name| self.shared.existing(name));
            found.extend(try_join_all(existing).await?.into_iter().flatten());
            if names.len() < part {
                break;
            }
            after = names.last().cloned();
        }
        Ok(found)
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.shared.listeners.subscribe(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.shared.listeners.subscribe_to_all()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        self.shared.freshness.as_of()
    }

    fn health(&self) -> Health {
        self.shared.freshness.health()
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("url", self.shared.router.url())
            .finish_non_exhaustive()
    }
}
