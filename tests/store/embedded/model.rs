//! The embedded store behaves like the store in memory: random commits, claims, trims and reads on both, with restarts
//! between them.

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::clock::StoppedClock;

const STEPS: usize = 400;

/// Generates random operations.
struct Generator<F> {
    random: F,
    /// Ids of commits that may be repeated.
    ids: Vec<CommitId>,
    /// Claims that may be settled: partition, queue, job, lease.
    claims: Vec<(Partition, String, String, Lease)>,
}

impl<F: FnMut(usize) -> usize> Generator<F> {
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

    /// Does the same to both stores, which must give the same answer.
    async fn step(&mut self, store: &EmbeddedStore, model: &MemoryStore) {
        let p = self.partition();
        let max = [0, 1, 2, 5, usize::MAX][(self.random)(5)];
        match (self.random)(12) {
            0..=5 => {
                let commit = self.commit();
                let done = store.commit(commit.clone()).await;
                assert_eq!(done, model.commit(commit).await);
            }
            6 | 7 => {
                let (queue, span) = (self.name(&["q", "q2"]), Duration::from_micros(100));
                let claimed = store.claim(&p, &queue, span, max).await.unwrap();
                assert_eq!(claimed, model.claim(&p, &queue, span, max).await.unwrap());
                for job in claimed.jobs {
                    self.claims
                        .push((p.clone(), queue.clone(), job.id, job.lease));
                }
            }
            8 => {
                let before = self.due();
                let gone = store.trim(&p, "log", before, max).await.unwrap();
                assert_eq!(gone, model.trim(&p, "log", before, max).await.unwrap());
            }
            9 => {
                let keys: Vec<String> = (0..(self.random)(4)).map(|_| self.key()).collect();
                let found = store.get(&p, &keys).await.unwrap();
                assert_eq!(found, model.get(&p, &keys).await.unwrap());
            }
            10 => {
                let (prefix, after) = (self.name(&["", "a", "a/", "\u{10ffff}", "c"]), self.key());
                let after = ((self.random)(2) == 0).then_some(after.as_str());
                let page = store.scan(&p, &prefix, after, max).await.unwrap();
                assert_eq!(page, model.scan(&p, &prefix, after, max).await.unwrap());
            }
            _ => {
                let after = Position(u64::try_from((self.random)(20)).unwrap());
                let slice = store.read(&p, "log", after, max).await.unwrap();
                assert_eq!(slice, model.read(&p, "log", after, max).await.unwrap());
            }
        }
    }
}

/// Returns a function that yields pseudo-random numbers below a bound; the same seed gives the same sequence.
fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    }
}

#[test]
fn it_behaves_as_the_memory_store_does() {
    for seed in 0..40 {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(StoppedClock::at(Timestamp(1_000_000)));
        let model = MemoryStore::new(clock.clone());
        let mut generator = Generator {
            random: random(seed),
            ids: Vec::new(),
            claims: Vec::new(),
        };
        let open = || EmbeddedStore::open(folder.path(), clock.clone()).unwrap();
        let mut store = open();
        block_on(async {
            for _ in 0..STEPS {
                generator.step(&store, &model).await;
                match (generator.random)(60) {
                    0 => {
                        drop(store);
                        store = open();
                        // There is only one process, so its earlier claims are free again.
                        model.end_leases();
                    }
                    1..=20 => clock.advance(Duration::from_micros(3)),
                    _ => {}
                }
            }
            let listed = store.partitions(None, 9).await.unwrap();
            assert_eq!(listed, model.partitions(None, 9).await.unwrap());
        });
    }
}
