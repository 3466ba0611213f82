//! What every store asks of a commit before it touches its state: is it one, and do its settles hold.
//!
//! Pure; each store brings what it needs to know about its state. Redis asks the same in Lua.

use std::collections::HashSet;

use super::{Check, Commit, CommitError, Lease, MAX_COMMIT_BYTES, MAX_NAME_BYTES, MAX_OPS, Op};

impl Commit {
    /// What every store refuses before it does anything.
    pub(super) fn refusal(&self) -> Option<CommitError> {
        let reason = if self.ops.len() > MAX_OPS || self.checks.len() > MAX_OPS {
            "more than 1,000 ops or checks"
        } else if self.ops.iter().any(has_too_many_attributes) {
            "more than 1,000 attributes of a message"
        } else if !self.names().all(is_name) {
            "a name is empty, too long or holds NUL"
        } else if self.bytes() > MAX_COMMIT_BYTES {
            "more than 32 MiB"
        } else {
            return None;
        };
        Some(CommitError::Refused(reason))
    }

    /// Its settles: queue, job and the lease that must be the job's newest before the commit; `None` where no lease holds.
    ///
    /// Ops apply in order, but this can be known before the first one does: an enqueue forgets the
    /// job's lease and a settle uses it up, so no job that was touched earlier in the commit can be
    /// settled.
    pub(super) fn settles(&self) -> impl Iterator<Item = (&str, &str, Option<Lease>)> {
        let mut touched = HashSet::new();
        self.ops.iter().filter_map(move |op| match op {
            Op::Enqueue { queue, job, .. } => {
                touched.insert((queue, job));
                None
            }
            Op::Settle {
                queue, job, lease, ..
            } => {
                let first = touched.insert((queue, job));
                Some((queue.as_str(), job.as_str(), first.then_some(*lease)))
            }
            Op::Put { .. } | Op::Delete { .. } | Op::Append { .. } => None,
        })
    }

    /// The first settle that does not hold, given the newest lease of a job before the commit.
    pub(super) fn lost_lease<E>(
        &self,
        newest: impl Fn(&str, &str) -> Result<Option<Lease>, E>,
    ) -> Result<Option<CommitError>, E> {
        for (queue, job, lease) in self.settles() {
            if lease.is_none() || newest(queue, job)? != lease {
                let (queue, job) = (queue.to_owned(), job.to_owned());
                return Ok(Some(CommitError::LeaseLost { queue, job }));
            }
        }
        Ok(None)
    }

    /// The bytes of its names, values, bodies and attributes.
    pub(super) fn bytes(&self) -> usize {
        let names: usize = self.names().map(str::len).sum();
        let contents: usize = self.ops.iter().map(content_bytes).sum();
        names + contents
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let checked = self.checks.iter().map(|check| match check {
            Check::Absent(key) | Check::At(key, _) => key.as_str(),
        });
        let changed = self.ops.iter().flat_map(|op| match op {
            Op::Put { key, .. } | Op::Delete { key } => [Some(key.as_str()), None],
            Op::Append { log, .. } => [Some(log.as_str()), None],
            Op::Enqueue { queue, job, .. } | Op::Settle { queue, job, .. } => {
                [Some(queue.as_str()), Some(job.as_str())]
            }
        });
        checked.chain(changed.flatten())
    }
}

fn has_too_many_attributes(op: &Op) -> bool {
    matches!(op, Op::Append { attributes, .. } if attributes.len() > MAX_OPS)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains('\0')
}

fn content_bytes(op: &Op) -> usize {
    match op {
        Op::Put { value, .. } => value.len(),
        Op::Append {
            attributes, body, ..
        } => {
            let attributes: usize = attributes
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum();
            attributes + body.len()
        }
        Op::Enqueue { body, .. } => body.len(),
        Op::Delete { .. } | Op::Settle { .. } => 0,
    }
}
