//! What is on record twice: a till that has got no answer hands in its decisions again. A line names the one before it, so
//! what a till has on record is few runs of numbers, whichever files they are in: memory grows with tills, not with lines.
//! When its numbers have begun anew (`epoch`), those from before say nothing of them.

use std::collections::{BTreeMap, HashMap};

use crate::clock::Timestamp;
use crate::conditions::decision_log::Line;

/// What was read of each till.
#[derive(Debug, Default)]
pub(super) struct Repeats(HashMap<Till, Read>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Till {
    tenant: String,
    client: String,
    name: String,
    epoch: u64,
}

#[derive(Debug, Default)]
struct Read {
    runs: Runs,
    /// The last one, and when it was decided.
    last: Option<(u64, Timestamp)>,
}

/// What a line is among those that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was read before.
    Repeated,
    /// It is new. With it: when its till has decided before, as far as that is known.
    New(Option<Timestamp>),
}

impl Repeats {
    /// Remembers a line, which was decided at that time.
    pub(super) fn see(&mut self, line: &Line<'_>, at: Timestamp) -> Seen {
        let (Some(tenant), Some(client), Some(name), Some(sequence)) =
            (&line.tenant_id, &line.client_id, &line.till, line.sequence)
        else {
            return Seen::New(None);
        };
        let till = Till {
            tenant: tenant.clone().into(),
            client: client.clone().into(),
            name: name.clone().into(),
            epoch: line.epoch.unwrap_or_default(),
        };
        let read = self.0.entry(till).or_default();
        if !read.runs.add(line.previous, sequence) {
            return Seen::Repeated;
        }
        // Files may have been read in any order.
        let before = read.last.replace((sequence, at));
        let before = before.filter(|(number, _)| Some(*number) == line.previous);
        Seen::New(before.map(|(_, at)| at))
    }
}

/// Runs of numbers: the last of each by its first.
#[derive(Debug, Default)]
struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// Adds a number, and those between it and the previous one, which there is nothing of. Answers whether it is new.
    fn add(&mut self, previous: Option<u64>, sequence: u64) -> bool {
        let before = self.0.range(..=sequence).next_back();
        if before.is_some_and(|(_, last)| *last >= sequence) {
            return false;
        }
        let after_previous = previous.map_or(sequence, |previous| previous.saturating_add(1));
        let (mut first, mut last) = (after_previous.min(sequence), sequence);
        let touches =
            |(start, end): (&u64, &u64)| (end.saturating_add(1) >= first).then_some((*start, *end));
        if let Some((start, _)) = self.0.range(..first).next_back().and_then(touches) {
            first = start;
        }
        let merged: Vec<u64> = self
            .0
            .range(first..=last.saturating_add(1))
            .map(|(start, _)| *start)
            .collect();
        for start in merged {
            last = last.max(self.0.remove(&start).unwrap_or_default());
        }
        self.0.insert(first, last);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Runs;

    fn read(lines: &[(u64, u64)]) -> (Vec<bool>, usize) {
        let mut runs = Runs::default();
        let new = lines.iter().map(|(previous, sequence)| {
            let previous = Some(*previous).filter(|previous| *previous > 0);
            runs.add(previous, *sequence)
        });
        let new = new.collect();
        (new, runs.0.len())
    }

    #[test]
    fn what_was_read_is_known_and_a_chain_is_one_run() {
        let lines = [
            (0, 3),
            (3, 17),
            (17, 22),
            (3, 17),
            (17, 22),
            (22, 23),
            (0, 3),
        ];
        let new = vec![true, true, true, false, false, true, false];
        assert_eq!(read(&lines), (new, 1));
    }

    #[test]
    fn what_two_hosts_have_written_in_turns_is_one_run_in_the_end() {
        let lines = [(0, 5), (10, 15), (20, 25), (5, 10), (15, 20), (10, 15)];
        let new = vec![true, true, true, true, true, false];
        assert_eq!(read(&lines), (new, 1));
    }

    #[test]
    fn a_number_of_which_nothing_is_known_is_new() {
        let lines = [(0, 100), (0, 50), (0, 51), (0, 50), (99, 100)];
        let new = vec![true, true, true, false, false];
        assert_eq!(read(&lines), (new, 2));
    }
}
