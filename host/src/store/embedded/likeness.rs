//! The embedded store answers what the memory store answers, whatever lies in the journal, is being
//! filed or is filed: random commits, claims, trims and reads, with restarts between.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use bytes::Bytes;

use super::super::{Check, CommitId, Lease, MemoryStore, Op, Revision};
use super::disk::Disk;
use super::tests::{block_on, random};
use super::*;
use crate::clock::StoppedClock;

const STEPS: usize = 400;

/// Makes up what to do.
struct Chance<F> {
    random: F,
    /// Ids of commits that may be repeated.
    ids: Vec<CommitId>,
    /// Claims that may be settled: partition, queue, job, lease.
    claims: Vec<(Partition, String, String, Lease)>,
}

impl<F: FnMut(usize) -> usize> Chance<F> {
    fn name(&mut self, of: &[&str]) -> String {
        of[(self.random)(of.len())].to_owned()
    }

    fn partition(&mut self) -> Partition {
        Partition::named(self.name(&["a", "ab", "b"]))
    }

    fn key(&mut self) -> String {
        self.name(&["a", "a/1", "a/2", "a/\u{10ffff}", "ab", "b", "\u{10ffff}"])
    }

    fn bytes(&mut self) -> Bytes {
        Bytes::from(vec![b'x'; (self.random)(300)])
    }

    fn due(&mut self) -> Timestamp {
        Timestamp(1_000_000 + u64::try_from((self.random)(400)).unwrap())
    }

    fn op(&mut self) -> Op {
        match (self.random)(5) {
            0 | 1 => Op::Put {
                key: self.key(),
                value: self.bytes(),
            },
            2 => Op::Delete { key: self.key() },
            3 => Op::Append {
                log: self.name(&["log", "log2"]),
                attributes: vec![(self.name(&["k", ""]), self.name(&["v", "\0"]))],
                body: self.bytes(),
            },
            _ => Op::Enqueue {
                queue: self.name(&["q", "q2"]),
                job: self.key(),
                due: self.due(),
                body: self.bytes(),
            },
        }
    }

    fn commit(&mut self) -> Commit {
        let mut ops: Vec<Op> = (0..(self.random)(5)).map(|_| self.op()).collect();
        let mut partition = self.partition();
        if !self.claims.is_empty() && (self.random)(2) == 0 {
            let at = (self.random)(self.claims.len());
            let (of, queue, job, lease) = self.claims[at].clone();
            let next = ((self.random)(2) == 0).then(|| self.due());
            partition = of;
            ops.insert(
                0,
                Op::Settle {
                    queue,
                    job,
                    lease,
                    next,
                },
            );
        }
        let revision = Revision(u64::try_from((self.random)(60)).unwrap());
        let checks = match (self.random)(6) {
            0 => vec![Check::Absent(self.key())],
            1 => vec![Check::At(self.key(), revision)],
            _ => Vec::new(),
        };
        let id = if !self.ids.is_empty() && (self.random)(8) == 0 {
            self.ids[(self.random)(self.ids.len())]
        } else {
            CommitId::random()
        };
        self.ids.push(id);
        Commit {
            partition,
            id,
            checks,
            ops,
        }
    }

    /// Does something to both; both must answer the same.
    async fn step(&mut self, real: &EmbeddedStore, plain: &MemoryStore) {
        let p = self.partition();
        let max = [0, 1, 2, 5, usize::MAX][(self.random)(5)];
        match (self.random)(12) {
            0..=5 => {
                let commit = self.commit();
                let done = real.commit(commit.clone()).await;
                assert_eq!(done, plain.commit(commit).await);
            }
            6 | 7 => {
                let (queue, span) = (self.name(&["q", "q2"]), Duration::from_micros(100));
                let claimed = real.claim(&p, &queue, span, max).await.unwrap();
                assert_eq!(claimed, plain.claim(&p, &queue, span, max).await.unwrap());
                for job in claimed.jobs {
                    self.claims
                        .push((p.clone(), queue.clone(), job.id, job.lease));
                }
            }
            8 => {
                let before = self.due();
                let gone = real.trim(&p, "log", before, max).await.unwrap();
                assert_eq!(gone, plain.trim(&p, "log", before, max).await.unwrap());
            }
            9 => {
                let keys: Vec<String> = (0..(self.random)(4)).map(|_| self.key()).collect();
                let found = real.get(&p, &keys).await.unwrap();
                assert_eq!(found, plain.get(&p, &keys).await.unwrap());
            }
            10 => {
                let (prefix, after) = (self.name(&["", "a", "a/", "\u{10ffff}", "c"]), self.key());
                let after = ((self.random)(2) == 0).then_some(after.as_str());
                let page = real.scan(&p, &prefix, after, max).await.unwrap();
                assert_eq!(page, plain.scan(&p, &prefix, after, max).await.unwrap());
            }
            _ => {
                let after = Position(u64::try_from((self.random)(20)).unwrap());
                let slice = real.read(&p, "log", after, max).await.unwrap();
                assert_eq!(slice, plain.read(&p, "log", after, max).await.unwrap());
            }
        }
    }
}

#[test]
fn it_answers_what_the_memory_store_answers() {
    for seed in 0..40 {
        let disk = Disk::default();
        let clock = Arc::new(StoppedClock::at(Timestamp(1_000_000)));
        let plain = MemoryStore::new(clock.clone());
        let mut chance = Chance {
            random: random(seed),
            ids: Vec::new(),
            claims: Vec::new(),
        };
        // From every group filed at once to hardly any.
        let enough = [1, 500, 3_000, 20_000][usize::try_from(seed % 4).unwrap()];
        let lengths = Lengths {
            enough,
            full: enough * 2,
            step: 700,
        };
        let open = || disk.try_store_at(clock.clone(), lengths).unwrap();
        let mut real = open();
        block_on(async {
            for _ in 0..STEPS {
                chance.step(&real, &plain).await;
                match (chance.random)(60) {
                    0 => {
                        drop(real);
                        real = open();
                    }
                    1..=20 => clock.advance(Duration::from_micros(3)),
                    _ => {}
                }
            }
            let listed = real.partitions(None, 9).await.unwrap();
            assert_eq!(listed, plain.partitions(None, 9).await.unwrap());
        });
    }
}
