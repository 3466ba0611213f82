//! Chooses the partition whose jobs are claimed next, by the due times and limits of one queue. Pure.
//!
//! Partitions are served round robin, and none may use more than its share of the queue's slots, so that a tenant with many
//! or slow jobs does not delay the others. A job that mostly waits gives its slot to another after a while.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use tillgate_store::Partition;
use tillgate_store::clock::Timestamp;

use super::queue::Queue;
use crate::load::budget::Limit;

/// The most jobs of one partition that are claimed at once, before the next partition is served.
const MAX_CLAIM: usize = 16;

/// The partitions of a queue that may have due jobs now or later, and the running jobs.
#[derive(Debug)]
pub(super) struct Schedule {
    slots: Limit,
    /// The limit for jobs that go on without a slot.
    yielded: Limit,
    /// Partitions that may have due jobs, in the order in which they are served.
    ready: VecDeque<Partition>,
    /// The partitions in `ready`, as a set.
    is_ready: HashSet<Partition>,
    /// Partitions with due jobs that wait for a slot, each with the time when it began to wait.
    waiting: HashMap<Partition, Timestamp>,
    /// The due times of the next job of each partition.
    timers: BTreeSet<(Timestamp, Partition)>,
    timer_of: HashMap<Partition, Timestamp>,
    running: HashMap<Partition, Running>,
    all: Running,
}

/// Counts of running jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    with_slot: usize,
    without: usize,
}

impl Schedule {
    pub(super) fn new(queue: &Queue) -> Self {
        let yielded = queue.yielding.map(|yielding| Limit {
            all: yielding.concurrency,
            each: yielding.per_partition,
        });
        Self {
            slots: Limit {
                all: queue.concurrency.max(1),
                each: queue.per_partition.max(1),
            },
            yielded: yielded.unwrap_or(Limit { all: 0, each: 0 }),
            ready: VecDeque::new(),
            is_ready: HashSet::new(),
            waiting: HashMap::new(),
            timers: BTreeSet::new(),
            timer_of: HashMap::new(),
            running: HashMap::new(),
            all: Running::default(),
        }
    }

    /// Records that a partition may have due jobs.
    pub(super) fn mark_ready(&mut self, partition: Partition) {
        if self.is_ready.insert(partition.clone()) {
            self.ready.push_back(partition);
        }
    }

    /// Records that the next job of a partition is due at `at`.
    pub(super) fn mark_ready_at(&mut self, partition: Partition, at: Timestamp) {
        if let Some(before) = self.timer_of.insert(partition.clone(), at) {
            self.timers.remove(&(before, partition.clone()));
        }
        self.timers.insert((at, partition));
    }

    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns the partition to serve next and how many of its jobs may be claimed; `None` when no partition is ready
    /// or no slot is free.
    pub(super) fn next_claim(&mut self, now: Timestamp) -> Option<(Partition, usize)> {
        while let Some((at, partition)) = self.timers.first().cloned()
            && at <= now
        {
            self.timers.pop_first();
            self.timer_of.remove(&partition);
            self.mark_ready(partition);
        }
        let free = self.slots.all.saturating_sub(self.all.with_slot);
        if free == 0 {
            return None;
        }
        // A partition that has used up its share becomes ready again when one of its jobs gives up its slot.
        while let Some(partition) = self.ready.pop_front() {
            self.is_ready.remove(&partition);
            let running = self.running.get(&partition).copied().unwrap_or_default();
            let share = self.slots.each.saturating_sub(running.with_slot);
            if share > 0 {
                return Some((partition, free.min(share).min(MAX_CLAIM)));
            }
            self.waiting.entry(partition).or_insert(now);
        }
        None
    }

    /// Records the result of a claim of up to `max` jobs.
    pub(super) fn claimed(
        &mut self,
        partition: &Partition,
        max: usize,
        jobs: usize,
        next_due: Option<Timestamp>,
        now: Timestamp,
    ) {
        if jobs > 0 {
            let running = self.running.entry(partition.clone()).or_default();
            running.with_slot += jobs;
            self.all.with_slot += jobs;
        }
        if jobs >= max {
            self.waiting.entry(partition.clone()).or_insert(now);
            self.mark_ready(partition.clone());
            return;
        }
        self.waiting.remove(partition);
        if let Some(at) = next_due {
            self.mark_ready_at(partition.clone(), at);
        }
    }

    /// Lets a job of a partition give its slot to others and go on without one; returns whether it may.
    pub(super) fn yield_slot(&mut self, partition: &Partition) -> bool {
        let Some(running) = self.running.get_mut(partition) else {
            return false;
        };
        let may = self.all.without < self.yielded.all && running.without < self.yielded.each;
        if may {
            for running in [running, &mut self.all] {
                running.with_slot = running.with_slot.saturating_sub(1);
                running.without += 1;
            }
            self.slot_is_free(partition);
        }
        may
    }

    /// Records that a job of a partition has ended.
    pub(super) fn ended(&mut self, partition: &Partition, has_yielded: bool) {
        if let Some(running) = self.running.get_mut(partition) {
            for running in [&mut *running, &mut self.all] {
                let count = if has_yielded {
                    &mut running.without
                } else {
                    &mut running.with_slot
                };
                *count = count.saturating_sub(1);
            }
            if running.jobs() == 0 {
                self.running.remove(partition);
            }
        }
        self.slot_is_free(partition);
    }

    fn slot_is_free(&mut self, partition: &Partition) {
        if self.waiting.contains_key(partition) {
            self.mark_ready(partition.clone());
        }
    }

    /// Returns how many partitions have due jobs that wait for a slot, and when the first of them began to wait.
    pub(super) fn backlog(&self) -> (usize, Option<Timestamp>) {
        (self.waiting.len(), self.waiting.values().min().copied())
    }

    /// Returns whether no job runs and no partition is ready.
    pub(super) fn is_idle(&self) -> bool {
        self.all.jobs() == 0 && self.ready.is_empty()
    }
}

impl Running {
    const fn jobs(self) -> usize {
        self.with_slot + self.without
    }
}
