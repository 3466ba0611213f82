//! Entries: keys with values, and the revision that last put them.

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::super::contract::{Check, Entry, Page, Revision};
use super::number::Number;

pub(super) fn put(
    db: &Connection,
    partition: i64,
    key: &str,
    revision: Revision,
    value: &[u8],
) -> Result<()> {
    db.prepare_cached(
        "REPLACE INTO entries (partition, key, revision, value) VALUES (?, ?, ?, ?)",
    )?
    .execute(params![partition, key, Number::from(revision), value])?;
    Ok(())
}

/// Deletes a key, if it exists.
pub(super) fn delete(db: &Connection, partition: i64, key: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM entries WHERE partition = ? AND key = ?")?
        .execute(params![partition, key])?;
    Ok(())
}

pub(super) fn holds(db: &Connection, partition: i64, check: &Check) -> Result<bool> {
    let (Check::Absent(key) | Check::At(key, _)) = check;
    let found: Option<Number> = db
        .prepare_cached("SELECT revision FROM entries WHERE partition = ? AND key = ?")?
        .query_row(params![partition, key], |row| row.get(0))
        .optional()?;
    Ok(match check {
        Check::Absent(_) => found.is_none(),
        Check::At(_, revision) => found.map(Revision::from) == Some(*revision),
    })
}

/// Returns the entries of `keys`, in that order.
pub(super) fn get(db: &Connection, partition: i64, keys: &[String]) -> Result<Vec<Option<Entry>>> {
    let mut find =
        db.prepare_cached("SELECT revision, value FROM entries WHERE partition = ? AND key = ?")?;
    let entries = keys.iter().map(|key| {
        find.query_row(params![partition, key], |row| entry(row, 0))
            .optional()
    });
    entries.collect()
}

/// Returns up to `max` entries whose key starts with `prefix` and comes after `after`.
pub(super) fn scan(
    db: &Connection,
    partition: i64,
    prefix: &str,
    after: Option<&str>,
    max: usize,
) -> Result<Page> {
    let first = after.unwrap_or_default().max(prefix);
    // SQLite reads a row only when asked for it, so the first key with another prefix ends the search.
    let mut find = db.prepare_cached(
        "SELECT key, revision, value FROM entries WHERE partition = ? AND key >= ? ORDER BY key",
    )?;
    let mut rows = find.query(params![partition, first])?;
    let mut page = Page::default();
    while let Some(row) = rows.next()? {
        let key = row.get_ref(0)?.as_str()?;
        if after == Some(key) {
            continue;
        }
        if !key.starts_with(prefix) {
            break;
        }
        if page.entries.len() == max {
            page.more = true;
            break;
        }
        page.entries.push((key.to_owned(), entry(row, 1)?));
    }
    Ok(page)
}

/// Reads the entry whose revision is in column `first` and whose value is in the next.
fn entry(row: &Row<'_>, first: usize) -> Result<Entry> {
    Ok(Entry {
        revision: row.get::<_, Number>(first)?.into(),
        value: row.get_ref(first + 1)?.as_blob()?.to_vec().into(),
    })
}
