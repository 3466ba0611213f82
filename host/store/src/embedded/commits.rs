//! Commits, applied to the writer's transaction.
//!
//! A commit whose check or lease does not hold changes nothing, so many commits can share a transaction.

use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, params};

use super::super::contract::{
    Commit, CommitError, CommitId, Committed, Op, Position, REMEMBER, Revision,
};
use super::super::portable::QueuedJob;
use super::number::Number;
use super::partitions::Partition;
use super::{entries, jobs, logs};
use crate::clock::Timestamp;

/// The number of expired outcomes to remove with each transaction: more than it adds while fewer commits than this
/// share it, so that the number kept follows the rate of commits.
const EXPIRE_AT_ONCE: usize = 256;

/// Applies a commit, unless one of its checks or leases does not hold.
pub(super) fn apply(
    db: &Connection,
    commit: &Commit,
    now: Timestamp,
) -> Result<Result<Committed, CommitError>> {
    let Partition { id, mut counters } = Partition::find(db, commit.partition.as_str())?;
    if let Some(committed) = remembered(db, id, commit.id)? {
        return Ok(Ok(committed));
    }
    for check in &commit.checks {
        if !entries::holds(db, id, check)? {
            return Ok(Err(CommitError::Conflict(check.clone())));
        }
    }
    if let Some(lost) = commit.lost_lease(|queue, job| jobs::lease(db, id, queue, job))? {
        return Ok(Err(lost));
    }

    counters.revision = Revision(counters.revision.0.saturating_add(1));
    counters.at = now.max(Timestamp(counters.at.0.saturating_add(1)));
    let partition = Partition::set(db, commit.partition.as_str(), counters)?;
    let mut committed = Committed {
        revision: counters.revision,
        at: counters.at,
        positions: Vec::new(),
        repeated: false,
    };
    for op in &commit.ops {
        let appended = apply_op(db, partition, op, &committed)?;
        committed.positions.extend(appended);
    }
    remember(db, partition, commit.id, &committed)?;
    Ok(Ok(committed))
}

/// Applies an op; returns the position of the message when it is an append.
fn apply_op(
    db: &Connection,
    partition: i64,
    op: &Op,
    committed: &Committed,
) -> Result<Option<Position>> {
    match op {
        Op::Put { key, value } => entries::put(db, partition, key, committed.revision, value)?,
        Op::Delete { key } => entries::delete(db, partition, key)?,
        Op::Append {
            log,
            attributes,
            body,
        } => return logs::append(db, partition, log, committed.at, attributes, body).map(Some),
        Op::Enqueue {
            queue,
            job,
            due,
            body,
        } => {
            let job = QueuedJob {
                id: job.clone(),
                due: *due,
                attempt: 0,
                body: body.clone(),
            };
            jobs::enqueue(db, partition, queue, &job)?;
        }
        Op::Settle {
            queue, job, next, ..
        } => jobs::settle(db, partition, queue, job, *next)?,
    }
    Ok(None)
}

/// Returns the effect of an earlier commit with the same id, if it is remembered.
fn remembered(db: &Connection, partition: i64, id: CommitId) -> Result<Option<Committed>> {
    let mut find = db.prepare_cached(
        "SELECT revision, at, positions FROM commits WHERE partition = ? AND id = ?",
    )?;
    find.query_row(params![partition, id.0.to_be_bytes()], |row| {
        let positions: Vec<u64> = serde_json::from_str(row.get_ref(2)?.as_str()?)
            .map_err(|error| Error::FromSqlConversionFailure(2, Type::Text, error.into()))?;
        Ok(Committed {
            revision: row.get::<_, Number>(0)?.into(),
            at: row.get::<_, Number>(1)?.into(),
            positions: positions.into_iter().map(Position).collect(),
            repeated: true,
        })
    })
    .optional()
}

fn remember(db: &Connection, partition: i64, id: CommitId, committed: &Committed) -> Result<()> {
    let positions: Vec<u64> = committed.positions.iter().map(|at| at.0).collect();
    let positions = serde_json::to_string(&positions)
        .map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    db.prepare_cached(
        "INSERT INTO commits (partition, id, revision, at, positions) VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![
        partition,
        id.0.to_be_bytes(),
        Number::from(committed.revision),
        Number::from(committed.at),
        positions
    ])?;
    Ok(())
}

/// Forgets some of the oldest commits, of any partition, that no longer need to be remembered.
pub(super) fn forget(db: &Connection, now: Timestamp) -> Result<()> {
    let last: Option<Number> = db
        .prepare_cached(
            "SELECT max(at) FROM (SELECT at FROM commits WHERE at < ? ORDER BY at LIMIT ?)",
        )?
        .query_row(
            params![
                Number::from(now.minus(REMEMBER)),
                logs::limit(EXPIRE_AT_ONCE)
            ],
            |row| row.get(0),
        )?;
    if let Some(last) = last {
        db.prepare_cached("DELETE FROM commits WHERE at <= ?")?
            .execute([last])?;
    }
    Ok(())
}
