//! Queues: jobs with a due time, each given to one worker until its lease ends.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::super::contract::{Claimed, Job, Lease};
use super::super::portable::QueuedJob;
use super::logs::limit;
use super::number::Number;
use super::partitions::Partition;
use crate::clock::Timestamp;

fn find_queue(db: &Connection, partition: i64, name: &str) -> Result<Option<i64>> {
    db.prepare_cached("SELECT id FROM queues WHERE partition = ? AND name = ?")?
        .query_row(params![partition, name], |row| row.get(0))
        .optional()
}

/// Returns the number of a queue, which is created if it is missing.
fn queue(db: &Connection, partition: i64, name: &str) -> Result<i64> {
    if let Some(queue) = find_queue(db, partition, name)? {
        return Ok(queue);
    }
    db.prepare_cached("INSERT INTO queues (partition, name) VALUES (?, ?) RETURNING id")?
        .query_row(params![partition, name], |row| row.get(0))
}

/// Puts a job, replacing an existing one with its id.
pub(super) fn enqueue(
    db: &Connection,
    partition: i64,
    queue_name: &str,
    job: &QueuedJob,
) -> Result<()> {
    let queue = queue(db, partition, queue_name)?;
    db.prepare_cached(
        "REPLACE INTO jobs (queue, id, due, lease, attempt, body) VALUES (?, ?, ?, NULL, ?, ?)",
    )?
    .execute(params![
        queue,
        job.id,
        Number::from(job.due),
        job.attempt,
        &job.body[..]
    ])?;
    Ok(())
}

/// Ends a claim whose lease was checked: removes the job, or makes it due again.
pub(super) fn settle(
    db: &Connection,
    partition: i64,
    queue: &str,
    id: &str,
    next: Option<Timestamp>,
) -> Result<()> {
    let Some(queue) = find_queue(db, partition, queue)? else {
        return Ok(());
    };
    match next {
        None => db
            .prepare_cached("DELETE FROM jobs WHERE queue = ? AND id = ?")?
            .execute(params![queue, id])?,
        Some(next) => db
            .prepare_cached("UPDATE jobs SET due = ?, lease = NULL WHERE queue = ? AND id = ?")?
            .execute(params![Number::from(next), queue, id])?,
    };
    Ok(())
}

/// Returns the newest lease of a job, unless it was settled.
pub(super) fn lease(
    db: &Connection,
    partition: i64,
    queue: &str,
    id: &str,
) -> Result<Option<Lease>> {
    let lease: Option<Option<Number>> = db
        .prepare_cached(
            "SELECT lease FROM jobs \
             WHERE queue = (SELECT id FROM queues WHERE partition = ? AND name = ?) AND id = ?",
        )?
        .query_row(params![partition, queue, id], |row| row.get(0))
        .optional()?;
    Ok(lease.flatten().map(Lease::from))
}

/// Claims up to `max` due jobs until `span` from now, longest due first.
pub(super) fn claim(
    db: &Connection,
    partition: &Partition,
    queue: &str,
    span: Duration,
    max: usize,
    now: Timestamp,
) -> Result<Claimed> {
    let Some(queue) = find_queue(db, partition.id, queue)? else {
        return Ok(Claimed::default());
    };
    let due = due(db, queue, now, max)?;
    let until = now.plus(span);
    let mut claim = db.prepare_cached(
        "UPDATE jobs SET due = ?, lease = ?, attempt = ? WHERE queue = ? AND id = ?",
    )?;
    let (mut jobs, mut newest) = (Vec::with_capacity(due.len()), partition.counters.lease);
    for job in due {
        newest = Lease(newest.0.saturating_add(1));
        let attempt = job.attempt.saturating_add(1);
        claim.execute(params![
            Number::from(until),
            Number::from(newest),
            attempt,
            queue,
            job.id
        ])?;
        jobs.push(Job {
            id: job.id,
            lease: newest,
            attempt,
            body: job.body,
        });
    }
    if !jobs.is_empty() {
        partition.set_lease(db, newest)?;
    }
    let next_due = first_due(db, queue)?;
    Ok(Claimed { jobs, next_due })
}

/// Returns up to `max` jobs of a queue that may be claimed now.
fn due(db: &Connection, queue: i64, now: Timestamp, max: usize) -> Result<Vec<QueuedJob>> {
    let mut find = db.prepare_cached(
        "SELECT id, due, attempt, body FROM jobs WHERE queue = ? AND due <= ? \
         ORDER BY due, id LIMIT ?",
    )?;
    let due = find.query_map(params![queue, Number::from(now), limit(max)], queued)?;
    due.collect()
}

fn queued(row: &Row<'_>) -> Result<QueuedJob> {
    Ok(QueuedJob {
        id: row.get(0)?,
        due: row.get::<_, Number>(1)?.into(),
        attempt: row.get(2)?,
        body: row.get_ref(3)?.as_blob()?.to_vec().into(),
    })
}

/// Returns the time at which the first job of a queue may be claimed.
pub(super) fn next_due(db: &Connection, partition: i64, queue: &str) -> Result<Option<Timestamp>> {
    match find_queue(db, partition, queue)? {
        Some(queue) => first_due(db, queue),
        None => Ok(None),
    }
}

/// Counts the jobs of a queue, up to `max`.
pub(super) fn count(db: &Connection, partition: i64, queue: &str, max: usize) -> Result<usize> {
    // The index `jobs_by_due` has no bodies.
    let count: i64 = db
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_by_due \
             WHERE queue = (SELECT id FROM queues WHERE partition = ? AND name = ?) LIMIT ?)",
        )?
        .query_row(params![partition, queue, limit(max)], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn first_due(db: &Connection, queue: i64) -> Result<Option<Timestamp>> {
    let due: Option<Number> = db
        .prepare_cached("SELECT due FROM jobs WHERE queue = ? ORDER BY due LIMIT 1")?
        .query_row([queue], |row| row.get(0))
        .optional()?;
    Ok(due.map(Timestamp::from))
}

/// Ends all leases, so that their jobs may be claimed now. A store has one process, and the one that held the leases
/// has ended.
pub(super) fn end_leases(db: &Connection, now: Timestamp) -> Result<()> {
    db.execute(
        "UPDATE jobs SET due = min(due, ?), lease = NULL WHERE lease IS NOT NULL",
        [Number::from(now)],
    )?;
    Ok(())
}

/// Returns the names of the queues of a partition.
pub(super) fn queues(db: &Connection, partition: i64) -> Result<Vec<String>> {
    let mut find =
        db.prepare_cached("SELECT name FROM queues WHERE partition = ? ORDER BY name")?;
    find.query_map([partition], |row| row.get(0))?.collect()
}

/// Returns up to `max` jobs of a queue after a given one, ordered by due time, then by id.
pub(super) fn list(
    db: &Connection,
    partition: i64,
    queue: &str,
    after: Option<&QueuedJob>,
    max: usize,
) -> Result<Vec<QueuedJob>> {
    let mut find = db.prepare_cached(
        "SELECT id, due, attempt, body FROM jobs \
         WHERE queue = (SELECT id FROM queues WHERE partition = ? AND name = ?) \
         AND (due, id) > (?, ?) ORDER BY due, id LIMIT ?",
    )?;
    // No id is empty, so this comes before the first job.
    let (due, id) = after.map_or((Number(0), ""), |job| (job.due.into(), &job.id));
    let jobs = find.query_map(params![partition, queue, due, id, limit(max)], queued)?;
    jobs.collect()
}
