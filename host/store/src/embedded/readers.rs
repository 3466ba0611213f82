//! Reads, each from a snapshot of the newest durable state on its own connection.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use rusqlite::{Connection, Result};
use tokio::sync::Semaphore;

use super::database::Database;

/// The number of connections kept between reads.
const IDLE: usize = 8;

/// The number of long reads that run at once; more wait. Short reads are limited only by the threads of the callers.
const LONG: usize = 4;

/// The connections that read.
pub(super) struct Readers {
    database: Database,
    idle: ArrayQueue<Connection>,
    pub(super) long: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            idle: ArrayQueue::new(IDLE),
            long: Arc::new(Semaphore::new(LONG)),
        }
    }

    /// Reads within one snapshot.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let db = match self.idle.pop() {
            Some(db) => db,
            None => self.database.reader()?,
        };
        db.prepare_cached("BEGIN")?.execute([])?;
        let found = read(&db)?;
        db.prepare_cached("COMMIT")?.execute([])?;
        // A connection that failed is closed, and so is one beyond `IDLE`.
        let _closed = self.idle.push(db);
        Ok(found)
    }
}
