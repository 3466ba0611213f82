//! The checks that every store makes of a commit before it changes anything: its limits, and the leases of the jobs it
//! settles.
//!
//! Pure; a store passes in the leases that it holds. Redis makes the same check of leases in Lua.

use std::collections::HashSet;

use super::contract::{
    Check, Commit, CommitError, Lease, MAX_COMMIT_BYTES, MAX_NAME_BYTES, MAX_OPS, Op, Refusal,
};

impl Commit {
    /// Checks the limits that every store has.
    ///
    /// # Errors
    /// [`CommitError::Refused`] with the first limit that the commit exceeds.
    pub(super) fn validate(&self) -> Result<(), CommitError> {
        let refusal = if self.ops.len() > MAX_OPS || self.checks.len() > MAX_OPS {
            Refusal::TooManyOps
        } else if self.ops.iter().any(has_too_many_attributes) {
            Refusal::TooManyAttributes
        } else if !self.names().all(is_well_formed) {
            Refusal::MalformedName
        } else if self.bytes() > MAX_COMMIT_BYTES {
            Refusal::TooLarge
        } else {
            return Ok(());
        };
        Err(CommitError::Refused(refusal))
    }

    /// Returns its settles: the queue, the job, and the lease that must be the job's newest before the commit; `None`
    /// where no lease can be valid.
    ///
    /// Ops apply in order, but this is known before the first one is applied: an enqueue drops the job's lease and a
    /// settle uses it up, so a job that the commit touched earlier cannot be settled.
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

    /// Returns the error of the first settle whose lease is lost; `newest` looks up the newest lease of a job before
    /// the commit.
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

    /// Returns its total bytes of names, values, bodies and attributes.
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

fn is_well_formed(text: &str) -> bool {
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
