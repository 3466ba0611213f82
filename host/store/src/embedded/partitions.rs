//! Partitions: their names and counters.

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::contract::{self, Lease};
use super::super::portable::Counters;
use super::logs::limit;
use super::number::Number;

/// A partition with its row, or with the number 0 while it has none: nothing refers to that number.
#[derive(Default)]
pub(super) struct Partition {
    pub(super) id: i64,
    pub(super) counters: Counters,
}

impl Partition {
    pub(super) fn find(db: &Connection, name: &str) -> Result<Self> {
        let mut find =
            db.prepare_cached("SELECT id, revision, at, lease FROM partitions WHERE name = ?")?;
        let found = find.query_row([name], |row| {
            Ok(Self {
                id: row.get(0)?,
                counters: Counters {
                    revision: row.get::<_, Number>(1)?.into(),
                    at: row.get::<_, Number>(2)?.into(),
                    lease: row.get::<_, Number>(3)?.into(),
                },
            })
        });
        Ok(found.optional()?.unwrap_or_default())
    }

    /// Sets the counters of a partition, which is created if it is missing; returns its number.
    pub(super) fn set(db: &Connection, name: &str, counters: Counters) -> Result<i64> {
        db.prepare_cached(
            "INSERT INTO partitions (name, revision, at, lease) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (name) DO UPDATE SET revision = ?2, at = ?3, lease = ?4 RETURNING id",
        )?
        .query_row(
            params![
                name,
                Number::from(counters.revision),
                Number::from(counters.at),
                Number::from(counters.lease)
            ],
            |row| row.get(0),
        )
    }

    pub(super) fn set_lease(&self, db: &Connection, lease: Lease) -> Result<()> {
        db.prepare_cached("UPDATE partitions SET lease = ? WHERE id = ?")?
            .execute(params![Number::from(lease), self.id])?;
        Ok(())
    }
}

/// Returns up to `max` partitions that have a commit and come after `after`.
pub(super) fn list(
    db: &Connection,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<contract::Partition>> {
    let mut find = db.prepare_cached(
        "SELECT name FROM partitions WHERE name > ? AND revision > 0 ORDER BY name LIMIT ?",
    )?;
    let names = find.query_map(params![after.unwrap_or_default(), limit(max)], |row| {
        Ok(contract::Partition::named(row.get_ref(0)?.as_str()?))
    })?;
    names.collect()
}
