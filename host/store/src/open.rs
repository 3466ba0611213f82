//! Parses the URL of a store, and opens the store that it names.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bytesize::ByteSize;

use super::contract::Store;
use super::embedded::{DEFAULT_CACHE_BYTES, EmbeddedStore, existing_database};
use super::memory::MemoryStore;
use super::portable::Portable;
use super::redis::{RedisStore, RedisUrl};
use crate::clock::Clock;

/// The store to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`, lost when the process ends.
    Memory,
    /// `embedded:FOLDER`; `?cache=SIZE` sets another total size for SQLite's page caches.
    Embedded {
        /// The folder.
        folder: PathBuf,
        /// The cache size, if the URL gives one.
        cache: Option<ByteSize>,
    },
    /// `redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://`.
    Redis(RedisUrl),
}

impl StoreUrl {
    /// Checks that there is a store to read, since opening a folder without one would create an empty store. Asks no
    /// servers.
    ///
    /// # Errors
    /// The message says why there is none.
    pub fn check_exists(&self) -> Result<(), String> {
        match self {
            Self::Memory => Err("a store in memory exists only while its process runs".to_owned()),
            Self::Embedded { folder, .. } => existing_database(folder).map(drop),
            Self::Redis(_) => Ok(()),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(redis) = RedisUrl::parse(text) {
            return redis
                .map(Self::Redis)
                .map_err(|fault| format!("store: {fault}"));
        }
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("embedded", path)) if !path.is_empty() => embedded(path),
            // The text is not repeated: even a malformed URL may contain a password.
            _ => Err(
                "store: use embedded:FOLDER, redis://HOST:PORT, redis+cluster://HOST:PORT,..., \
                 redis+sentinel://HOST:PORT,.../SERVICE or memory:"
                    .to_owned(),
            ),
        }
    }
}

/// Parses `FOLDER` or `FOLDER?cache=SIZE`.
fn embedded(path: &str) -> Result<StoreUrl, String> {
    let Some((folder, query)) = path.rsplit_once('?') else {
        let folder = path.into();
        return Ok(StoreUrl::Embedded {
            folder,
            cache: None,
        });
    };
    let size = query.strip_prefix("cache=").map(str::parse);
    match size {
        Some(Ok(size)) if !folder.is_empty() => Ok(StoreUrl::Embedded {
            folder: folder.into(),
            cache: Some(size),
        }),
        _ => Err("store: use embedded:FOLDER or embedded:FOLDER?cache=64MiB".to_owned()),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Embedded { folder, cache } => {
                write!(f, "embedded:{}", folder.display())?;
                cache.map_or(Ok(()), |cache| {
                    write!(f, "?cache={}", cache.display().iec())
                })
            }
            Self::Redis(url) => fmt::Display::fmt(url, f),
        }
    }
}

/// Opens a store. An error's message says what is wrong, with which folder or server, and what to do.
///
/// # Errors
/// When the folder cannot be created or read, is damaged, or is open in another process; when the servers cannot be
/// reached; with `durable`, when acknowledged commits could be lost.
pub async fn open(
    url: &StoreUrl,
    clock: Arc<dyn Clock>,
    durable: bool,
) -> Result<Arc<dyn Store>, String> {
    let store: Arc<dyn Store> = open_portable(url, clock, durable).await?;
    Ok(store)
}

/// Opens a store to copy from or to copy into.
///
/// # Errors
/// As [`open`].
pub async fn open_portable(
    url: &StoreUrl,
    clock: Arc<dyn Clock>,
    durable: bool,
) -> Result<Arc<dyn Portable>, String> {
    match url {
        StoreUrl::Memory if durable => Err("memory: is lost when the process ends".to_owned()),
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new(clock))),
        StoreUrl::Embedded { folder, cache } => {
            let cache_bytes = cache.map_or(DEFAULT_CACHE_BYTES, |cache| cache.as_u64());
            let store = EmbeddedStore::open_with_cache(folder, cache_bytes, clock)?;
            Ok(Arc::new(store))
        }
        StoreUrl::Redis(url) => Ok(Arc::new(RedisStore::open(url, clock, durable).await?)),
    }
}
