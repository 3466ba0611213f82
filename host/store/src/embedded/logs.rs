//! Logs: messages in the order they were appended.

use bytes::Bytes;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row, params};

use super::super::contract::{Message, Position, Slice};
use super::super::portable::LogBounds;
use super::number::Number;
use crate::clock::Timestamp;

/// The bytes of bodies at which a part of a trim ends: 4 MiB. SQLite frees a large body page by page.
const TRIM_BYTES: u64 = 4 << 20;

/// A log of a partition.
struct Log {
    id: i64,
    bounds: LogBounds,
}

fn find(db: &Connection, partition: i64, name: &str) -> Result<Option<Log>> {
    let mut find =
        db.prepare_cached("SELECT id, last, trimmed FROM logs WHERE partition = ? AND name = ?")?;
    find.query_row(params![partition, name], |row| {
        Ok(Log {
            id: row.get(0)?,
            bounds: LogBounds {
                last: row.get::<_, Number>(1)?.into(),
                trimmed: row.get::<_, Number>(2)?.into(),
            },
        })
    })
    .optional()
}

/// Appends a message; returns its position.
pub(super) fn append(
    db: &Connection,
    partition: i64,
    log: &str,
    at: Timestamp,
    attributes: &[(String, String)],
    body: &Bytes,
) -> Result<Position> {
    let mut append = db.prepare_cached(
        "INSERT INTO logs (partition, name, last, trimmed) VALUES (?, ?, 1, 0) \
         ON CONFLICT (partition, name) DO UPDATE SET last = last + 1 RETURNING id, last",
    )?;
    let (log, position) = append.query_row(params![partition, log], |row| {
        Ok((row.get(0)?, row.get::<_, Number>(1)?.into()))
    })?;
    let message = Message {
        position,
        publish_time: at,
        attributes: attributes.to_vec(),
        body: body.clone(),
    };
    insert(db, log, &message)?;
    Ok(position)
}

fn insert(db: &Connection, log: i64, message: &Message) -> Result<()> {
    let attributes = serde_json::to_string(&message.attributes)
        .map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    db.prepare_cached(
        "INSERT INTO messages (log, position, at, attributes, body) VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![
        log,
        Number::from(message.position),
        Number::from(message.publish_time),
        attributes,
        &message.body[..],
    ])?;
    Ok(())
}

/// Returns up to `max` messages after a position.
pub(super) fn read(
    db: &Connection,
    partition: i64,
    log: &str,
    after: Position,
    max: usize,
) -> Result<Slice> {
    let Some(log) = find(db, partition, log)? else {
        return Ok(Slice::default());
    };
    let mut slice = Slice {
        messages: Vec::new(),
        last: log.bounds.last,
        trimmed: log.bounds.trimmed,
    };
    // A reader is usually up to date and finds nothing new.
    if after >= slice.last || max == 0 {
        return Ok(slice);
    }
    let mut find = db.prepare_cached(
        "SELECT position, at, attributes, body FROM messages WHERE log = ? AND position > ? \
         ORDER BY position LIMIT ?",
    )?;
    let found = find.query_map(params![log.id, Number::from(after), limit(max)], message)?;
    slice.messages = found.collect::<Result<_>>()?;
    Ok(slice)
}

fn message(row: &Row<'_>) -> Result<Message> {
    let attributes = serde_json::from_str(row.get_ref(2)?.as_str()?)
        .map_err(|error| Error::FromSqlConversionFailure(2, Type::Text, error.into()))?;
    Ok(Message {
        position: row.get::<_, Number>(0)?.into(),
        publish_time: row.get::<_, Number>(1)?.into(),
        attributes,
        body: row.get_ref(3)?.as_blob()?.to_vec().into(),
    })
}

/// Returns the publish time of the oldest message of a log.
pub(super) fn oldest(db: &Connection, partition: i64, log: &str) -> Result<Option<Timestamp>> {
    let Some(log) = find(db, partition, log)? else {
        return Ok(None);
    };
    let oldest: Option<Number> = db
        .prepare_cached("SELECT at FROM messages WHERE log = ? ORDER BY position LIMIT 1")?
        .query_row([log.id], |row| row.get(0))
        .optional()?;
    Ok(oldest.map(Timestamp::from))
}

/// Drops up to `max` of the oldest messages published before `before`; returns how many. It drops fewer than it could
/// only when they are large, so a caller repeats it until none is left to drop.
pub(super) fn trim(
    db: &Connection,
    partition: i64,
    log: &str,
    before: Timestamp,
    max: usize,
) -> Result<usize> {
    let Some(log) = find(db, partition, log)? else {
        return Ok(0);
    };
    let (mut bytes, mut last) = (0, None::<Number>);
    let mut find = db.prepare_cached(
        "SELECT position, at, length(body) FROM messages WHERE log = ? ORDER BY position LIMIT ?",
    )?;
    let mut rows = find.query(params![log.id, limit(max)])?;
    while let Some(row) = rows.next()?
        && bytes < TRIM_BYTES
        && Timestamp::from(row.get::<_, Number>(1)?) < before
    {
        last = Some(row.get(0)?);
        bytes += row.get::<_, Number>(2)?.0;
    }
    drop(rows);
    let Some(last) = last else {
        return Ok(0);
    };
    db.prepare_cached("UPDATE logs SET trimmed = ? WHERE id = ?")?
        .execute(params![last, log.id])?;
    db.prepare_cached("DELETE FROM messages WHERE log = ? AND position <= ?")?
        .execute(params![log.id, last])
}

/// Returns the bounds of all logs of a partition, by name.
pub(super) fn bounds(db: &Connection, partition: i64) -> Result<Vec<(String, LogBounds)>> {
    let mut find = db.prepare_cached("SELECT name, last, trimmed FROM logs WHERE partition = ?")?;
    let bounds = find.query_map([partition], |row| {
        let bounds = LogBounds {
            last: row.get::<_, Number>(1)?.into(),
            trimmed: row.get::<_, Number>(2)?.into(),
        };
        Ok((row.get(0)?, bounds))
    })?;
    bounds.collect()
}

/// Sets the bounds of a log, which is created if it is missing; returns its number.
pub(super) fn set_bounds(
    db: &Connection,
    partition: i64,
    log: &str,
    bounds: LogBounds,
) -> Result<i64> {
    db.prepare_cached(
        "INSERT INTO logs (partition, name, last, trimmed) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (partition, name) DO UPDATE SET last = ?3, trimmed = ?4 RETURNING id",
    )?
    .query_row(
        params![
            partition,
            log,
            Number::from(bounds.last),
            Number::from(bounds.trimmed)
        ],
        |row| row.get(0),
    )
}

/// Imports the messages that are newer than the last one of the log, so that a repeat imports none.
pub(super) fn restore(
    db: &Connection,
    partition: i64,
    name: &str,
    messages: &[Message],
) -> Result<()> {
    let mut bounds = find(db, partition, name)?.map_or_else(LogBounds::default, |log| log.bounds);
    let log = set_bounds(db, partition, name, bounds)?;
    for message in messages {
        if message.position > bounds.last {
            insert(db, log, message)?;
            bounds.last = message.position;
        }
    }
    set_bounds(db, partition, name, bounds).map(drop)
}

/// Converts a number of rows to SQLite's type.
pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
