//! Keeps the snapshot up to date: follows the records that decisions need, and writes their files after changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_store::clock::Clock;
use tillgate_store::{Entry, Partition};

use super::Contents;
use super::file::{self, AsOf, Saved};
use crate::data::feed::{Changed, Subscriber, Subscription, keep_fresh};
use crate::data::records::Records;
use crate::error::Result;

/// The interval at which changes are written.
const INTERVAL: Duration = Duration::from_secs(2);

/// Follows the records that decisions need, and writes them to the snapshot.
#[derive(Debug)]
pub struct SnapshotWriter {
    folder: PathBuf,
    /// The name of the store that the snapshot belongs to.
    store: String,
    clock: Arc<dyn Clock>,
    followed: Mutex<HashMap<Partition, Arc<Followed>>>,
    /// Partitions that have files of an earlier process and are not followed yet. These files may be of any age.
    awaited: Mutex<HashSet<Partition>>,
    /// Partitions that are no longer followed and may still have files.
    dropped: Mutex<HashSet<Partition>>,
}

/// A partition whose records are in the snapshot.
#[derive(Debug)]
struct Followed {
    records: Records,
    contents: Contents,
    subscription: Subscription,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// True while its file is older than `entries`.
    is_changed: AtomicBool,
}

impl SnapshotWriter {
    /// Keeps a snapshot of a store in a folder, which is created if it is missing. `store` names the store.
    ///
    /// # Errors
    /// When the folder cannot be created or read.
    pub fn start(folder: PathBuf, store: String, clock: Arc<dyn Clock>) -> io::Result<Arc<Self>> {
        file::create(&folder)?;
        let saved = file::read_all(&folder)?;
        let saved = saved.iter().map(|saved| Partition::new(&saved.partition));
        let writer = Arc::new(Self {
            folder,
            store,
            clock,
            followed: Mutex::default(),
            awaited: Mutex::new(saved.flatten().collect()),
            dropped: Mutex::default(),
        });
        let weak = Arc::downgrade(&writer);
        tokio::spawn(async move {
            let mut failing = false;
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(writer) = weak.upgrade() else { return };
                let folder = writer.folder.clone();
                let written = tokio::task::spawn_blocking(move || writer.write()).await;
                let failure = match written {
                    Ok(Ok(())) => None,
                    Ok(Err(cause)) => Some(cause.to_string()),
                    Err(cause) => Some(cause.to_string()),
                };
                // Log only when writing starts to fail, and when it works again.
                match &failure {
                    Some(cause) if !failing => {
                        tracing::warn!(folder = %folder.display(), cause, "the snapshot cannot be written");
                    }
                    None if failing => {
                        tracing::info!(folder = %folder.display(), "the snapshot is written again");
                    }
                    _ => {}
                }
                failing = failure.is_some();
            }
        });
        Ok(writer)
    }

    /// Adds the records of a partition to the snapshot, and keeps them up to date.
    pub fn keep(&self, records: Records, contents: Contents) {
        let mut followed = self.followed.lock();
        let partition = records.partition().clone();
        if followed.contains_key(&partition) {
            return;
        }
        let store = Arc::clone(records.store());
        let new = Arc::new(Followed {
            subscription: Subscription::new(store, partition.clone(), Arc::clone(&self.clock)),
            records,
            contents,
            entries: Mutex::default(),
            is_changed: AtomicBool::new(false),
        });
        keep_fresh(&new);
        let (first, now) = (Arc::clone(&new), self.clock.now());
        tokio::spawn(async move {
            // When it fails, the background task keeps trying.
            let _first = first.ensure_fresh(now).await;
        });
        // This order matters: a snapshot without a partition that is neither followed nor awaited would pass for
        // complete.
        followed.insert(partition.clone(), new);
        self.awaited.lock().remove(&partition);
    }

    /// Removes the records of a partition from the snapshot.
    pub fn remove(&self, partition: &Partition) {
        let mut followed = self.followed.lock();
        if followed.remove(partition).is_some() {
            self.dropped.lock().insert(partition.clone());
        }
    }

    /// Removes the files of partitions that are no longer followed: from now on they would be older than the others.
    fn remove_dropped(&self) -> io::Result<()> {
        // While this is locked, none of them can be followed again and get a file.
        let followed = self.followed.lock();
        let mut dropped = self.dropped.lock();
        while let Some(partition) = dropped.iter().next().cloned() {
            if !followed.contains_key(&partition) {
                file::remove(&self.folder, partition.as_str())?;
            }
            dropped.remove(&partition);
        }
        Ok(())
    }

    /// Returns the partitions that have files of an earlier process and are not followed yet.
    #[must_use]
    pub fn awaited(&self) -> Vec<Partition> {
        self.awaited.lock().iter().cloned().collect()
    }

    /// Writes the changes, then the time up to which everything written is complete.
    fn write(&self) -> io::Result<()> {
        self.remove_dropped()?;
        let is_complete = self.awaited.lock().is_empty();
        let followed: Vec<Arc<Followed>> = self.followed.lock().values().cloned().collect();
        let now = self.clock.now();
        // Read before the entries, so that what is written is at least as new.
        let ages = followed.iter().map(|one| one.subscription.age(now));
        let age = ages.max();
        for one in &followed {
            one.write(&self.folder)?;
        }
        let Some(age) = age.filter(|_| is_complete) else {
            return Ok(());
        };
        let at = now.minus(age);
        let as_of = AsOf {
            at,
            store: self.store.clone(),
        };
        let before = AsOf::read(&self.folder).ok();
        let is_newer = before.is_none_or(|before| before.store != as_of.store || before.at < at);
        if is_newer && at.0 > 0 {
            as_of.write(&self.folder)?;
        }
        Ok(())
    }
}

impl Followed {
    fn write(&self, folder: &std::path::Path) -> io::Result<()> {
        if !self.is_changed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let partition = self.records.partition().as_str();
        let saved = Saved::new(
            partition,
            self.contents.prefixes,
            self.entries.lock().iter(),
        );
        saved.write(folder).inspect_err(|_| {
            self.is_changed.store(true, Ordering::Release);
        })
    }

    async fn read_all(&self) -> Result<BTreeMap<String, Entry>> {
        let mut entries = BTreeMap::new();
        for prefix in self.contents.prefixes {
            let mut pages = self.records.pages(prefix);
            while let Some(page) = pages.next().await? {
                entries.extend(page.into_iter().map(|(key, entry)| {
                    let entry = self.redacted(&key, entry);
                    (key, entry)
                }));
            }
        }
        Ok(entries)
    }

    fn redacted(&self, key: &str, entry: Entry) -> Entry {
        Entry {
            value: (self.contents.redact)(key, entry.value),
            ..entry
        }
    }
}

impl Subscriber for Followed {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    async fn apply(&self, changed: Changed) -> Result<()> {
        match changed {
            Changed::Everything => {
                let entries = self.read_all().await?;
                *self.entries.lock() = entries;
            }
            Changed::Keys(mut keys) => {
                keys.retain(|key| self.contents.contain(key));
                keys.sort_unstable();
                keys.dedup();
                if keys.is_empty() {
                    return Ok(());
                }
                let read = self.records.entries(&keys).await?;
                let mut entries = self.entries.lock();
                for (key, entry) in keys.into_iter().zip(read) {
                    match entry.map(|entry| self.redacted(&key, entry)) {
                        Some(entry) => entries.insert(key, entry),
                        None => entries.remove(&key),
                    };
                }
            }
        }
        self.is_changed.store(true, Ordering::Release);
        Ok(())
    }
}
