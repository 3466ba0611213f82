//! A fresh store of each kind, with a stopped clock.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::future::Future;
use std::sync::Arc;

use tempfile::TempDir;
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{CommitId, EmbeddedStore, MemoryStore, RedisStore, RedisUrl, Store};

use super::redis;
use super::wait::within;

/// The time of a test's clock: the start of 2026.
pub const START: Timestamp = Timestamp(1_767_225_600_000_000);

/// An open store and its clock.
pub struct Opened {
    pub store: Arc<dyn Store>,
    pub clock: Arc<StoppedClock>,
    /// The last field, so that it is deleted after the store is closed.
    _folder: Option<TempDir>,
}

pub fn memory() -> Opened {
    let clock = clock();
    Opened {
        store: Arc::new(MemoryStore::new(clock.clone())),
        clock,
        _folder: None,
    }
}

pub fn embedded() -> Opened {
    let (clock, folder) = (clock(), TempDir::new().unwrap());
    let store = EmbeddedStore::open(folder.path(), clock.clone()).unwrap();
    Opened {
        store: Arc::new(store),
        clock,
        _folder: Some(folder),
    }
}

/// Opens a store on one server that all tests share, with a unique prefix.
pub fn redis() -> Opened {
    on_redis(&redis::shared().url())
}

/// Opens a store on a cluster that all tests share; the prefixes spread over its servers.
pub fn redis_cluster() -> Opened {
    on_redis(&redis::shared_cluster().url())
}

fn on_redis(url: &str) -> Opened {
    let clock = clock();
    Opened {
        store: Arc::new(RedisStore::connect(&redis_url(url), clock.clone()).unwrap()),
        clock,
        _folder: None,
    }
}

/// Returns a URL with a unique prefix.
pub fn redis_url(url: &str) -> RedisUrl {
    let url = format!("{url}?prefix={:032x}", CommitId::random().0);
    RedisUrl::parse(&url).unwrap().unwrap()
}

pub fn clock() -> Arc<StoppedClock> {
    Arc::new(StoppedClock::at(START))
}

/// Runs a behavior on a store.
pub fn run<F: Future<Output = ()>>(open: fn() -> Opened, behaviour: impl FnOnce(Opened) -> F) {
    block_on(async { within("the end of the behaviour", behaviour(open())).await });
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
