//! The background runner and time: jobs that do not end, jobs that are due later, hosts that stop. Time is paused, and
//! advances by itself when everything waits.

#[path = "../store/fixture.rs"]
#[expect(dead_code, reason = "the store's own tests use all of it")]
mod fixture;
mod on_stores;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::jobs::{Queue, Runner, Scope, Work};
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{MemoryStore, Partition, Store};
use tokio::runtime::Handle;

use crate::support::switched::Switched;
use crate::support::wait::{until, within};

const QUEUE: &str = "deliveries";
const START: Timestamp = Timestamp(1_767_225_600_000_000);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A runner on a store in memory, and the records of a shop.
struct Shop {
    runner: Runner,
    records: Records,
    clock: Arc<StoppedClock>,
}

impl Shop {
    fn open() -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
        Self {
            runner: Runner::new(store.clone(), clock.clone(), Handle::current()),
            records: Records::new(store, Partition::new("shop").unwrap()),
            clock,
        }
    }

    fn queue(&self) -> Queue {
        Queue::new(QUEUE, Scope::Partition(self.records.partition().clone()))
    }

    async fn enqueue(&self, job: &str, due: Timestamp) {
        let mut change = Change::default();
        change.enqueue(QUEUE, job, due, Bytes::new());
        self.records.commit(change).await.unwrap();
    }

    /// Returns the attempt number of the job that is due now, including this claim.
    async fn attempts(&self) -> Option<u32> {
        let store = self.records.store();
        let claimed = store.claim(self.records.partition(), QUEUE, HOUR, 1).await;
        claimed.unwrap().jobs.first().map(|job| job.attempt)
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_does_not_end_is_stopped_before_its_lease_ends() {
    let shop = Shop::open();
    shop.runner.register(shop.queue(), |_| {
        std::future::pending::<tillgate_base::error::Result<()>>()
    });
    shop.enqueue("endless", START).await;
    let clock_goes_on = async {
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            shop.clock.advance(Duration::from_secs(1));
        }
    };
    tokio::select! {
        () = shop.runner.run_due() => {}
        () = clock_goes_on => panic!("the job still runs after a minute"),
    }
    let took = shop.clock.now().since(START);
    assert!(
        took < Duration::from_secs(30),
        "its lease had ended: {took:?}"
    );
    assert_eq!(shop.runner.status()[0].failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_done_once_it_is_due_also_when_the_clock_is_set() {
    let shop = Shop::open();
    let (done, mut told) = tokio::sync::mpsc::unbounded_channel();
    let records = shop.records.clone();
    shop.runner.register(shop.queue(), move |work: Work| {
        let (records, done) = (records.clone(), done.clone());
        async move {
            let mut change = Change::default();
            work.settle(&mut change);
            records.commit(change).await?;
            let _ = done.send(work.job.id);
            Ok(())
        }
    });
    shop.enqueue("later", START.plus(HOUR)).await;
    shop.runner.run_due().await;
    assert!(told.try_recv().is_err(), "it is not due yet");
    // The clock moves on without a notification.
    shop.clock.advance(HOUR);
    let begin = tokio::time::Instant::now();
    let told = within("the job is done", told.recv()).await;
    assert_eq!(told.as_deref(), Some("later"));
    assert!(begin.elapsed() <= Duration::from_secs(30));
}

/// Returns a store with a job in each of its partitions.
async fn with_jobs(partitions: usize, due: Timestamp) -> (Arc<Switched>, Arc<StoppedClock>) {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Switched::new(clock.clone());
    for partition in 0..partitions {
        let partition = Partition::new(&format!("shop-{partition}")).unwrap();
        let mut change = Change::default();
        change.enqueue(QUEUE, "job", due, Bytes::new());
        let records = Records::new(store.clone(), partition);
        records.commit(change).await.unwrap();
    }
    (store, clock)
}

#[tokio::test(start_paused = true)]
async fn while_nothing_is_due_the_store_is_asked_nothing() {
    let (store, clock) = with_jobs(100, START.plus(2 * HOUR)).await;
    let runner = Runner::new(store.clone(), clock.clone(), Handle::current());
    runner.register(Queue::new(QUEUE, Scope::AllPartitions), |_| async {
        Ok(())
    });
    runner.run_due().await;
    let asked = store.calls.load(Ordering::SeqCst);
    assert!(asked >= 100, "each partition once, at the start");
    clock.advance(HOUR);
    tokio::time::sleep(HOUR).await;
    assert_eq!(store.calls.load(Ordering::SeqCst), asked);
}

#[tokio::test(start_paused = true)]
async fn jobs_are_found_after_an_outage_at_the_start() {
    let (store, clock) = with_jobs(3, START).await;
    store.set_away(true);
    let runner = Runner::new(store.clone(), clock, Handle::current());
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    runner.register(Queue::new(QUEUE, Scope::AllPartitions), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<tillgate_base::error::Result<()>>()
    });
    tokio::time::sleep(HOUR).await;
    assert_eq!(begun.load(Ordering::SeqCst), 0);
    store.set_away(false);
    until("all jobs have begun", async || {
        begun.load(Ordering::SeqCst) == 3
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stops_hands_back_what_takes_too_long() {
    let shop = Shop::open();
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    shop.runner.register(shop.queue(), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<tillgate_base::error::Result<()>>()
    });
    shop.enqueue("endless", START).await;
    until("the job has begun", async || {
        begun.load(Ordering::SeqCst) > 0
    })
    .await;
    assert_eq!(shop.attempts().await, None, "it is this host's");
    let begin = tokio::time::Instant::now();
    shop.runner.stop().await;
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(shop.attempts().await, Some(1), "anyone may have it at once");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_is_dropped_ends_its_jobs() {
    let shop = Shop::open();
    let (alive, ended) = tokio::sync::oneshot::channel::<()>();
    let alive = Arc::new(std::sync::Mutex::new(Some(alive)));
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    shop.runner.register(shop.queue(), move |_| {
        let held = alive.lock().unwrap().take();
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    shop.enqueue("endless", START).await;
    until("the job has begun", async || {
        begun.load(Ordering::SeqCst) > 0
    })
    .await;
    drop(shop.runner);
    let ended = within("the end of the job", ended).await;
    assert!(ended.is_err(), "nothing holds on to it any more");
}
