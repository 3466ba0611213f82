//! Hints are complete until the moment that the store reports, whatever fails: one host commits without pause, and a
//! reader on another host applies hints as a cache does and is never older than that moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tillgate_store::clock::{Clock, SystemClock, Timestamp};
use tillgate_store::{
    Commit, CommitId, Health, Hints, Op, Partition, RedisStore, RedisUrl, Store, commit_surely,
};
use tokio::task::JoinHandle;

use super::cluster::{is_master, masters, migrate, replicas};
use super::load::{open, partition, with_prefix};
use crate::support::redis::{Cluster, Server, cli};
use crate::support::wait::{until, wait_for, within};

/// The number of writers, and the number of partitions that each writes in turn: so many that no later commit of a
/// partition soon makes up for a missed hint.
const WRITERS: usize = 8;
const PARTITIONS: usize = 50;

/// The moment until which a reader believes that it has heard of everything.
#[derive(Clone, Copy)]
pub enum Belief {
    /// The moment that the store reports.
    Store,
    /// The current time, as if hints were never lost or late.
    Now,
}

/// Writers on one host and a reader on another.
pub struct Hosts {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

struct Shared {
    writer: RedisStore,
    reader: RedisStore,
    /// Partition, number of the commit, and the time of its acknowledgement.
    acknowledged: Mutex<Vec<(usize, u64, Timestamp)>>,
    /// The number of acknowledged commits that the reader has heard of in time, and of those that it has not.
    in_time: AtomicUsize,
    missed: AtomicUsize,
    ending: AtomicBool,
}

impl Hosts {
    pub fn start(url: &RedisUrl, belief: Belief) -> Self {
        let shared = Arc::new(Shared {
            writer: open(url),
            reader: open(url),
            acknowledged: Mutex::default(),
            in_time: AtomicUsize::new(0),
            missed: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
        });
        let mut tasks = Vec::new();
        for number in 0..WRITERS {
            let shared = Arc::clone(&shared);
            tasks.push(tokio::spawn(async move { shared.write(number).await }));
        }
        let reading = Arc::clone(&shared);
        tasks.push(tokio::spawn(async move { reading.read(belief).await }));
        Self { shared, tasks }
    }

    /// Waits until the reader has heard of `more` further commits.
    pub async fn hear(&self, more: usize) {
        let heard = || self.shared.in_time.load(Ordering::SeqCst);
        let enough = heard() + more;
        until("the reader hears of commits", async || heard() >= enough).await;
    }

    fn as_of(&self) -> Timestamp {
        self.shared.reader.hints_as_of().unwrap_or_default()
    }

    /// Waits until the store is known to be away, with hints that are complete no later than `gone`.
    pub async fn is_away(&self, gone: Timestamp) {
        until("the store is unavailable", async || {
            assert!(self.as_of() <= gone, "it has not answered since");
            matches!(self.shared.reader.health(), Health::Away { .. })
        })
        .await;
    }

    /// Waits until hints are complete again, including those of commits from now on.
    pub async fn is_back(&self) {
        let now = SystemClock.now();
        until("hints are complete again", async || {
            self.as_of() > now && self.shared.reader.health() == Health::Up
        })
        .await;
        self.hear(100).await;
    }

    /// Ends the writers; returns the number of commits that the reader did not hear of in time.
    pub async fn missed(self) -> usize {
        self.shared.ending.store(true, Ordering::SeqCst);
        for task in self.tasks {
            within("the end of a writer or the reader", task)
                .await
                .unwrap();
        }
        self.shared.missed.load(Ordering::SeqCst)
    }
}

impl Shared {
    async fn write(&self, writer: usize) {
        let mut next = 0;
        while !self.ending.load(Ordering::SeqCst) {
            let number = writer * PARTITIONS + usize::try_from(next).unwrap() % PARTITIONS;
            next += 1;
            let commit = Commit {
                partition: partition(number),
                id: CommitId::random(),
                checks: Vec::new(),
                ops: vec![Op::Put {
                    key: "number".to_owned(),
                    value: Bytes::from(next.to_string()),
                }],
            };
            if commit_surely(&self.writer, commit).await.is_ok() {
                let at = SystemClock.now();
                self.acknowledged.lock().unwrap().push((number, next, at));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Applies hints as a cache does, and checks that it has heard of every commit that it should have heard of.
    async fn read(&self, belief: Belief) {
        let partitions: Vec<Partition> = (0..WRITERS * PARTITIONS).map(partition).collect();
        let mut hints: Vec<Hints> = partitions.iter().map(|of| self.reader.hints(of)).collect();
        let mut memory: HashMap<usize, u64> = HashMap::new();
        while !self.ending.load(Ordering::SeqCst) {
            let as_of = match belief {
                Belief::Store => self.reader.hints_as_of().unwrap_or_default(),
                Belief::Now => SystemClock.now(),
            };
            for (number, hints) in hints.iter_mut().enumerate() {
                if hints.has_changed().unwrap() {
                    hints.borrow_and_update();
                    memory.insert(number, self.number(&partitions[number]).await);
                }
            }
            self.count(&memory, as_of);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Counts the commits that were acknowledged before `as_of`.
    fn count(&self, memory: &HashMap<usize, u64>, as_of: Timestamp) {
        let mut acknowledged = self.acknowledged.lock().unwrap();
        acknowledged.retain(|(number, commit, at)| {
            let due = *at < as_of;
            if due {
                let heard = memory.get(number) >= Some(commit);
                let count = if heard { &self.in_time } else { &self.missed };
                count.fetch_add(1, Ordering::SeqCst);
            }
            !due
        });
    }

    /// Returns the number of the last commit, once the store answers.
    async fn number(&self, partition: &Partition) -> u64 {
        let keys = ["number".to_owned()];
        loop {
            match self.reader.get(partition, &keys).await {
                Ok(mut entries) => {
                    let entry = entries.remove(0);
                    let number = entry.map(|entry| String::from_utf8(entry.value.to_vec()));
                    return number.map_or(0, |number| number.unwrap().parse().unwrap());
                }
                Err(_) if self.ending.load(Ordering::SeqCst) => return u64::MAX,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }
}

/// Cuts the connections that hints arrive on.
fn cut_links(server: &Server) {
    server.cli(&["client", "kill", "type", "pubsub"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_complete_while_their_connection_is_cut_again_and_again() {
    let server = Server::start();
    let hosts = Hosts::start(&with_prefix(&server.url()), Belief::Store);
    for _ in 0..20 {
        hosts.hear(20).await;
        cut_links(&server);
    }
    hosts.is_back().await;
    assert_eq!(hosts.missed().await, 0);
}

/// The control: a reader that believes that hints are never lost has not heard of everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_missed_by_who_believes_that_none_is_lost() {
    let server = Server::start();
    let hosts = Hosts::start(&with_prefix(&server.url()), Belief::Now);
    for _ in 0..20 {
        hosts.hear(20).await;
        cut_links(&server);
    }
    assert!(hosts.missed().await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_complete_no_further_than_when_a_server_was_killed_or_paused() {
    let mut server = Server::durable();
    let hosts = Hosts::start(&with_prefix(&server.url()), Belief::Store);
    hosts.hear(100).await;
    for _ in 0..2 {
        server.kill();
        hosts.is_away(SystemClock.now()).await;
        server.restart();
        hosts.is_back().await;
        server.signal("STOP");
        hosts.is_away(SystemClock.now()).await;
        server.signal("CONT");
        hosts.is_back().await;
    }
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_master_that_does_not_answer_stops_the_hints_of_a_cluster_being_complete() {
    let cluster = Cluster::durable();
    let hosts = Hosts::start(&with_prefix(&cluster.url()), Belief::Store);
    hosts.hear(100).await;
    for server in cluster.servers.iter().filter(|server| is_master(server)) {
        server.signal("STOP");
        hosts.is_away(SystemClock.now()).await;
        server.signal("CONT");
        hosts.is_back().await;
    }
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_complete_through_requested_failovers_of_a_cluster() {
    let cluster = Cluster::durable();
    let hosts = Hosts::start(&with_prefix(&cluster.url()), Belief::Store);
    hosts.hear(100).await;
    for replica in replicas(&cluster) {
        wait_for("the replica is the master", || {
            replica.cli(&["cluster", "failover"]);
            is_master(replica)
        });
        hosts.is_back().await;
    }
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_complete_through_the_death_of_a_master_of_a_cluster() {
    let mut cluster = Cluster::quick();
    let hosts = Hosts::start(&with_prefix(&cluster.url()), Belief::Store);
    hosts.hear(100).await;
    let dying = cluster.servers.iter_mut().find(|server| is_master(server));
    let dying = dying.unwrap();
    dying.kill();
    hosts.is_away(SystemClock.now()).await;
    hosts.is_back().await;
    // It comes back as a replica.
    dying.restart();
    hosts.is_back().await;
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_complete_while_slots_move_to_a_new_master() {
    let cluster = Cluster::durable();
    let url = with_prefix(&cluster.url());
    let hosts = Hosts::start(&url, Belief::Store);
    hosts.hear(2 * WRITERS * PARTITIONS).await;
    let new = cluster.add_master();
    let old: Vec<u16> = masters(&cluster).into_keys().collect();
    for number in 0..PARTITIONS / 2 {
        let key = format!("{{{}:{}}}:head", url.prefix, partition(number).as_str());
        let slot = new.cli(&["cluster", "keyslot", &key]);
        let owner = |port: &u16| !cli(*port, &["cluster", "getkeysinslot", &slot, "1"]).is_empty();
        let from = *old.iter().find(|port| owner(port)).unwrap();
        migrate(&cluster, &slot, (from, new.port), |_| false);
        hosts.hear(50).await;
    }
    hosts.is_back().await;
    assert_eq!(hosts.missed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_are_not_complete_while_a_server_reads_its_data() {
    let mut server = Server::slow_to_load();
    let store = open(&with_prefix(&server.url()));
    let is_complete_at = async |moment: Timestamp| {
        until("hints are complete", async || {
            store.hints_as_of() > Some(moment)
        })
        .await;
    };
    is_complete_at(SystemClock.now()).await;
    server.kill();
    let (gone, port) = (SystemClock.now(), server.port);
    let restarting = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    });
    let mut looks = 0;
    while !restarting.is_finished() {
        let as_of = store.hints_as_of();
        if cli(port, &["ping"]).starts_with("LOADING") {
            looks += 1;
            assert!(as_of <= Some(gone), "it refuses every read");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(looks > 1, "it was asked while it read its data");
    let _server = restarting.await.unwrap();
    is_complete_at(SystemClock.now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listeners_are_woken_when_a_server_that_hung_answers_again() {
    let server = Server::start();
    let store = open(&with_prefix(&server.url()));
    let start = SystemClock.now();
    until("hints are complete", async || {
        store.hints_as_of() > Some(start)
    })
    .await;
    let mut hints = store.hints(&partition(0));
    server.signal("STOP");
    // The pause is too short for the connection to be given up, so no hint is lost.
    until("the store is unavailable", async || {
        matches!(store.health(), Health::Away { .. })
    })
    .await;
    hints.borrow_and_update();
    server.signal("CONT");
    within("a hint", hints.changed()).await.unwrap();
}
