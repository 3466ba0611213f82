//! redb's file while it is open.
//!
//! Snapshots share it, so that what is read stays readable while the store opens the file again ([`FreezingFile`]).

use std::path::Path;

use redb::{ReadableDatabase, StorageBackend};

use super::disk::{damaged, describe};
use super::facts::Facts;
use super::freezing_file::FreezingFile;
use super::panics::catch_panics;
use super::tables::{BLOCKS, FORMAT, FORMAT_KEY, META, ROWS, RUNS};

/// The size of the cache of the file that redb has: 8 MiB. The operating system caches more. Tests of the disk need next to none.
const CACHE_BYTES: usize = if cfg!(test) { 64 << 10 } else { 8 << 20 };

/// An open redb file.
pub(in super::super) struct Database {
    /// `None` while it is closed.
    redb: Option<redb::Database>,
    file: FreezingFile,
}

impl Database {
    /// Opens the file of a store. It opens when the file cannot be written, too; see [`Database::failure`].
    pub(in super::super) fn open(
        file: Box<dyn StorageBackend>,
        path: &Path,
    ) -> Result<Self, String> {
        let file = FreezingFile::new(file);
        let opened = catch_panics(|| {
            if file.len()? == 0 {
                return Err(damaged("its file is empty"));
            }
            let redb = builder(path).create_with_backend(file.clone())?;
            Ok(redb)
        });
        let redb = Some(opened.map_err(|error| describe(path, &error))?);
        let database = Self { redb, file };
        database.check_format(path)?;
        Ok(database)
    }

    /// Makes an empty file that of an empty store.
    pub(in super::super) fn create(
        file: impl StorageBackend,
        path: &Path,
    ) -> Result<(), redb::Error> {
        let database = builder(path).create_with_backend(file)?;
        let mut tx = database.begin_write()?;
        tx.set_quick_repair(true);
        {
            let facts = Facts {
                salt: uuid::Uuid::new_v4().as_u64_pair().1,
                ..Facts::default()
            };
            facts.write(&mut tx.open_table(META)?)?;
            tx.open_table(RUNS)?;
            tx.open_table(BLOCKS)?;
            tx.open_table(ROWS)?;
        }
        Ok(tx.commit()?)
    }

    pub(super) fn redb(&self) -> Result<&redb::Database, redb::Error> {
        self.redb.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    /// What the file records about the store.
    pub(super) fn facts(&self) -> Result<Facts, redb::Error> {
        Facts::read(&self.redb()?.begin_read()?.open_table(META)?)
    }

    /// Why the file can no longer be used. What was written since is lost, and what was there before may be readable.
    pub(in super::super) fn failure(&self) -> Option<redb::Error> {
        self.file.failure().map(redb::Error::Io)
    }

    /// Ends all reads, before another handle of the file writes.
    pub(in super::super) fn revoke(&self) {
        self.file.revoke();
    }

    fn check_format(&self, path: &Path) -> Result<(), String> {
        let format = catch_panics(|| {
            let table = self.redb()?.begin_read()?.open_table(META)?;
            Ok(table.get(FORMAT_KEY)?.map(|format| format.value()))
        });
        let shown = path.display();
        match format {
            Ok(Some(FORMAT)) => Ok(()),
            Ok(Some(format)) => Err(format!(
                "the store in the folder {shown} has format {format}, and this version reads format \
                 {FORMAT}: use the version that wrote it"
            )),
            Ok(None) | Err(redb::Error::TableDoesNotExist(_)) => Err(format!(
                "the folder {shown} contains a database that is not a store"
            )),
            Err(error) => Err(describe(path, &error)),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let redb = self.redb.take();
        // Closing writes, and redb panics on some kinds of damage. The panic hook has reported it, and what was
        // acknowledged is durable already.
        let _closed = catch_panics(|| {
            drop(redb);
            Ok(())
        });
    }
}

fn builder(path: &Path) -> redb::Builder {
    let folder = path.display().to_string();
    let mut builder = redb::Database::builder();
    builder
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |repair| {
            let percent = (repair.progress() * 100.0).round();
            tracing::warn!(folder, percent, "the store was not closed, verifying it");
        });
    builder
}
