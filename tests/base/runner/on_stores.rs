//! The background runner on every store: discovery, retries, fairness, bounds and stopping.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tillgate_api::problem::CONDITION_NOT_FOUND;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_base::jobs::dead_letters::{discard, list, retry};
use tillgate_base::jobs::{DEAD_LETTERS, DeadLetter, Queue, Runner, Scope, Work};
use tillgate_store::clock::Timestamp;
use tillgate_store::{Op, Partition, Store};

use super::fixture::{self, *};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::support::wait::within;

macro_rules! every_store {
    ($behaviours:tt) => {
        one_store!(memory $behaviours);
        one_store!(embedded $behaviours);
        one_store!(redis $behaviours);
        one_store!(redis_cluster $behaviours);
    };
}

macro_rules! one_store {
    ($store:ident { $($behaviour:ident)+ }) => {
        mod $store {
            use super::fixture;

            $(#[test]
            fn $behaviour() {
                fixture::run(fixture::$store, super::$behaviour);
            })+
        }
    };
}

every_store!({
    a_due_job_is_done_once_and_is_gone
    a_job_waits_until_it_is_due
    a_commit_with_a_job_wakes_the_runner
    a_job_that_fails_is_tried_again_later_and_holds_up_no_other
    a_job_that_always_fails_becomes_a_dead_letter
    a_job_that_kills_its_hosts_becomes_a_dead_letter_without_being_tried_again
    a_job_that_waits_for_the_store_never_becomes_a_dead_letter
    dead_letters_are_listed_page_by_page_whatever_their_partition
    a_dead_letter_is_tried_again_as_if_it_never_was_one
    a_dead_letter_that_is_dropped_is_gone
    a_job_may_go_on_in_steps
    a_tenant_with_many_slow_jobs_does_not_hold_up_the_others
    two_hosts_share_the_jobs_and_do_each_once
    a_runner_that_stops_lets_jobs_end_and_claims_no_more
});

const QUEUE: &str = "deliveries";

fn runner(on: &Opened) -> Arc<Runner> {
    Arc::new(Runner::new(
        on.store.clone(),
        on.clock.clone(),
        Handle::current(),
    ))
}

fn everywhere() -> Queue {
    Queue::new(QUEUE, Scope::AllPartitions)
}

fn shop(name: &str) -> Partition {
    Partition::new(name).unwrap()
}

async fn enqueue_in(on: &Opened, partition: &str, jobs: &[&str], due: Timestamp) {
    let ops: Vec<Op> = jobs.iter().map(|job| enqueue(QUEUE, job, due)).collect();
    let commit = tillgate_store::Commit {
        partition: shop(partition),
        ..commit(ops)
    };
    on.store.commit(commit).await.unwrap();
}

/// Counts in the store how many times a job was done, and ends the job in the same commit.
async fn count(store: Arc<dyn Store>, work: &Work) -> Result<()> {
    let records = Records::new(store, work.partition.clone());
    let key = format!("done/{}", work.job.id);
    let plan = async || {
        let mut change = Change::default();
        let read = records.get::<u32>(&key).await?;
        change.expect(&key, read.as_ref());
        change.put(&key, &(read.map_or(0, |read| read.record) + 1))?;
        work.settle(&mut change);
        Ok((change, ()))
    };
    records.change(plan).await
}

/// Returns how many times each job of a partition was done.
async fn counts(on: &Opened, partition: &str) -> BTreeMap<String, u32> {
    let records = Records::new(on.store.clone(), shop(partition));
    let all = records.all::<u32>("done/").await.unwrap();
    all.into_iter().collect()
}

fn once(jobs: &[&str]) -> BTreeMap<String, u32> {
    jobs.iter().map(|job| ((*job).to_owned(), 1)).collect()
}

pub async fn a_due_job_is_done_once_and_is_gone(on: Opened) {
    let runner = runner(&on);
    let store = on.store.clone();
    runner.register(everywhere(), move |work| {
        let store = store.clone();
        async move { count(store, &work).await }
    });
    enqueue_in(&on, "shop", &["a", "b"], START).await;
    runner.run_due().await;
    runner.run_due().await;
    assert_eq!(counts(&on, "shop").await, once(&["a", "b"]));
    let left = on.store.claim(&shop("shop"), QUEUE, MINUTE, 9).await;
    assert_eq!(left.unwrap(), tillgate_store::Claimed::default());
}

pub async fn a_job_waits_until_it_is_due(on: Opened) {
    let runner = runner(&on);
    let store = on.store.clone();
    runner.register(everywhere(), move |work| {
        let store = store.clone();
        async move { count(store, &work).await }
    });
    enqueue_in(&on, "shop", &["later"], START.plus(HOUR)).await;
    runner.run_due().await;
    assert!(counts(&on, "shop").await.is_empty());
    on.clock.advance(HOUR);
    runner.run_due().await;
    assert_eq!(counts(&on, "shop").await, once(&["later"]));
}

pub async fn a_commit_with_a_job_wakes_the_runner(on: Opened) {
    let runner = runner(&on);
    let (done, mut told) = tokio::sync::mpsc::unbounded_channel();
    let store = on.store.clone();
    runner.register(everywhere(), move |work| {
        let (store, done) = (store.clone(), done.clone());
        async move {
            count(store, &work).await?;
            let _ = done.send(work.partition.as_str().to_owned());
            Ok(())
        }
    });
    // Nothing is left to check: a new job is announced by a hint.
    runner.run_due().await;
    for partition in ["shop-1", "shop-2", "shop-3"] {
        enqueue_in(&on, partition, &["job"], START).await;
        let told = within("the job of the partition is done", told.recv()).await;
        assert_eq!(told.as_deref(), Some(partition));
    }
}

pub async fn a_job_that_fails_is_tried_again_later_and_holds_up_no_other(on: Opened) {
    let runner = runner(&on);
    let store = on.store.clone();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let seen = attempts.clone();
    runner.register(everywhere(), move |work| {
        let (store, seen) = (store.clone(), seen.clone());
        async move {
            if work.job.id == "bad" {
                seen.lock().unwrap().push(work.job.attempt);
                if work.job.attempt < 3 {
                    return Err(Error::NotFound(CONDITION_NOT_FOUND, "not yet".to_owned()));
                }
            }
            count(store, &work).await
        }
    });
    enqueue_in(&on, "shop", &["bad", "good-1", "good-2"], START).await;
    runner.run_due().await;
    assert_eq!(counts(&on, "shop").await, once(&["good-1", "good-2"]));
    runner.run_due().await;
    assert_eq!(
        *attempts.lock().unwrap(),
        [1],
        "it is left alone for a while"
    );
    on.clock.advance(SECOND);
    runner.run_due().await;
    on.clock.advance(SECOND);
    runner.run_due().await;
    assert_eq!(*attempts.lock().unwrap(), [1, 2], "the pauses grow");
    on.clock.advance(SECOND);
    runner.run_due().await;
    assert_eq!(*attempts.lock().unwrap(), [1, 2, 3]);
    assert_eq!(
        counts(&on, "shop").await,
        once(&["bad", "good-1", "good-2"])
    );
    assert_eq!(runner.status()[0].failures, 2);
}

pub async fn a_job_that_always_fails_becomes_a_dead_letter(on: Opened) {
    let runner = runner(&on);
    let queue = Queue {
        max_attempts: 3,
        ..everywhere()
    };
    runner.register(queue, |work: Work| async move {
        // Panics are failures too.
        assert!(work.job.attempt != 2, "on purpose");
        Err(Error::Bug("the receiver is malformed".to_owned()))
    });
    let body = Bytes::from("what to do");
    let op = Op::Enqueue {
        queue: QUEUE.to_owned(),
        job: "poison".to_owned(),
        due: START,
        body,
    };
    on.commit([op]).await;
    for _ in 0..3 {
        runner.run_due().await;
        on.clock.advance(HOUR);
    }
    let records = Records::new(on.store.clone(), partition());
    let letters = records.all::<DeadLetter>(DEAD_LETTERS).await.unwrap();
    let [(name, letter)] = &letters[..] else {
        panic!("{letters:?}")
    };
    assert_eq!(name, "deliveries/poison");
    assert_eq!(
        (letter.queue.as_str(), letter.job.as_str()),
        (QUEUE, "poison")
    );
    assert_eq!(
        (letter.attempts, letter.body.as_str()),
        (3, "d2hhdCB0byBkbw==")
    );
    assert_eq!(letter.cause, "the receiver is malformed");
    let status = &runner.status()[0];
    assert_eq!((status.failures, status.dead_lettered), (3, 1));
    let left = on.store.claim(&partition(), QUEUE, MINUTE, 9).await;
    assert!(left.unwrap().jobs.is_empty());
}

pub async fn a_job_that_kills_its_hosts_becomes_a_dead_letter_without_being_tried_again(
    on: Opened,
) {
    let queue = Queue {
        max_attempts: 2,
        ..everywhere()
    };
    enqueue_in(&on, "shop", &["poison"], START).await;
    for _ in 0..2 {
        // A host claims it, and disappears.
        let claimed = on.store.claim(&shop("shop"), QUEUE, MINUTE, 9).await;
        assert_eq!(claimed.unwrap().jobs.len(), 1);
        on.clock.advance(MINUTE);
    }
    let runner = runner(&on);
    runner.register(queue, |_| async { panic!("it must not be tried") });
    runner.run_due().await;
    let status = &runner.status()[0];
    assert_eq!((status.failures, status.dead_lettered), (0, 1));
}

pub async fn a_job_that_waits_for_the_store_never_becomes_a_dead_letter(on: Opened) {
    let runner = runner(&on);
    let queue = Queue {
        max_attempts: 2,
        ..everywhere()
    };
    let (store, tries) = (on.store.clone(), Arc::new(AtomicUsize::new(0)));
    runner.register(queue, move |work| {
        let (store, tries) = (store.clone(), tries.clone());
        async move {
            if tries.fetch_add(1, Ordering::SeqCst) < 5 {
                return Err(Error::Busy);
            }
            count(store, &work).await
        }
    });
    enqueue_in(&on, "shop", &["patient"], START).await;
    for _ in 0..6 {
        runner.run_due().await;
        on.clock.advance(SECOND);
    }
    assert_eq!(counts(&on, "shop").await, once(&["patient"]));
    let status = &runner.status()[0];
    assert_eq!((status.failures, status.dead_lettered), (0, 0));
}

/// Makes jobs of partitions fail until they are dead letters.
async fn dead_letters(on: &Opened, jobs: &[(&str, &str)]) {
    let runner = runner(on);
    let queue = Queue {
        max_attempts: 1,
        ..everywhere()
    };
    runner.register(queue, |work| async move {
        let id = work.job.id;
        Err(Error::Bug(format!(
            "{id} cannot reach https://user:sesame@erp.example/?key=sesame"
        )))
    });
    for (partition, job) in jobs {
        let op = Op::Enqueue {
            queue: QUEUE.to_owned(),
            job: (*job).to_owned(),
            due: START,
            body: Bytes::from(format!("what {job} is to do")),
        };
        let commit = tillgate_store::Commit {
            partition: shop(partition),
            ..commit([op])
        };
        on.store.commit(commit).await.unwrap();
    }
    runner.run_due().await;
    runner.stop().await;
}

fn names(jobs: &[(&str, &str)]) -> Vec<(String, String)> {
    let jobs = jobs.iter();
    jobs.map(|(partition, job)| ((*partition).to_owned(), (*job).to_owned()))
        .collect()
}

/// Returns the partitions and the ids of all dead letters, read in pages of `limit`.
async fn listed(on: &Opened, limit: usize) -> Vec<(String, String)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = list(&on.store, after, limit).await.unwrap();
        assert!(page.items.len() <= limit);
        let items = page.items.into_iter();
        all.extend(items.map(|job| (job.partition, job.job)));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

pub async fn dead_letters_are_listed_page_by_page_whatever_their_partition(on: Opened) {
    assert!(listed(&on, 1).await.is_empty());
    enqueue_in(&on, "idle", &["waits"], START.plus(HOUR)).await;
    let jobs = [
        ("tenant:acme", "a"),
        ("tenant:acme", "b/1"),
        ("tenant:acme", "c"),
        ("tenant:best", "a"),
        ("the platform", "z"),
    ];
    dead_letters(&on, &jobs).await;
    let expected = names(&jobs);
    for limit in [1, 2, 3, 5, 9] {
        assert_eq!(listed(&on, limit).await, expected, "{limit}");
    }
    let page = list(&on.store, None, 9).await.unwrap();
    let shown = serde_json::to_value(&page.items[1]).unwrap();
    let (id, at) = (shown["id"].clone(), START.to_millis_text());
    assert_eq!(
        shown,
        serde_json::json!({
            "id": id, "queue": QUEUE, "job": "b/1", "tenantId": "acme", "partition": "tenant:acme", "attempts": 1,
            "failedAt": at, "error": "b/1 cannot reach https://***@erp.example/?***",
        })
    );
    assert!(page.items[4].tenant_id.is_none());
}

pub async fn a_dead_letter_is_tried_again_as_if_it_never_was_one(on: Opened) {
    dead_letters(&on, &[("shop", "a"), ("shop", "b")]).await;
    let page = list(&on.store, None, 9).await.unwrap();
    let id = &page.items[0].id;
    let retried = retry(&on.store, id, START).await.unwrap();
    assert_eq!((retried.job.as_str(), retried.attempts), ("a", 1));
    let again = retry(&on.store, id, START).await;
    assert!(matches!(again, Err(Error::NotFound(..))), "{again:?}");
    assert_eq!(listed(&on, 9).await, names(&[("shop", "b")]));
    let claimed = on.store.claim(&shop("shop"), QUEUE, MINUTE, 9).await;
    let jobs = claimed.unwrap().jobs;
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((job.id.as_str(), job.attempt), ("a", 1));
    assert_eq!(job.body, "what a is to do");
}

pub async fn a_dead_letter_that_is_dropped_is_gone(on: Opened) {
    dead_letters(&on, &[("shop", "a"), ("shop", "b")]).await;
    let page = list(&on.store, None, 9).await.unwrap();
    let id = &page.items[1].id;
    assert_eq!(discard(&on.store, id).await.unwrap().job, "b");
    let again = discard(&on.store, id).await;
    assert!(matches!(again, Err(Error::NotFound(..))), "{again:?}");
    assert_eq!(listed(&on, 9).await, names(&[("shop", "a")]));
    let claimed = on.store.claim(&shop("shop"), QUEUE, MINUTE, 9).await;
    assert!(claimed.unwrap().jobs.is_empty());
}

pub async fn a_job_may_go_on_in_steps(on: Opened) {
    let runner = runner(&on);
    let store = on.store.clone();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = steps.clone();
    let clock = on.clock.clone();
    runner.register(everywhere(), move |work| {
        let (store, seen, clock) = (store.clone(), seen.clone(), clock.clone());
        async move {
            let step = work.job.body.len();
            seen.lock().unwrap().push((work.job.attempt, step));
            if step == 4 {
                return count(store, &work).await;
            }
            let mut change = Change::default();
            let now = tillgate_store::clock::Clock::now(clock.as_ref());
            work.continue_at(&mut change, now, vec![b'x'; step + 1].into());
            Records::new(store, work.partition).commit(change).await?;
            Ok(())
        }
    });
    let op = Op::Enqueue {
        queue: QUEUE.to_owned(),
        job: "long".to_owned(),
        due: START,
        body: Bytes::new(),
    };
    on.commit([op]).await;
    runner.run_due().await;
    let each: Vec<_> = (0..=4).map(|step| (1, step)).collect();
    assert_eq!(*steps.lock().unwrap(), each);
    assert_eq!(counts(&on, partition().as_str()).await, once(&["long"]));
}

pub async fn a_tenant_with_many_slow_jobs_does_not_hold_up_the_others(on: Opened) {
    let runner = runner(&on);
    let queue = Queue {
        concurrency: 4,
        per_partition: 2,
        ..everywhere()
    };
    let gate = Arc::new(Semaphore::new(0));
    let (store, opened) = (on.store.clone(), gate.clone());
    let (done, mut told) = tokio::sync::mpsc::unbounded_channel();
    let running = Arc::new(Mutex::new((0, 0)));
    let counted = running.clone();
    runner.register(queue, move |work| {
        let (store, gate) = (store.clone(), opened.clone());
        let (done, counted) = (done.clone(), counted.clone());
        async move {
            if work.partition.as_str() == "slow" {
                {
                    let mut counted = counted.lock().unwrap();
                    counted.0 += 1;
                    counted.1 = counted.0.max(counted.1);
                }
                gate.acquire().await.unwrap().forget();
                counted.lock().unwrap().0 -= 1;
            }
            count(store, &work).await?;
            let _ = done.send(work.partition.as_str().to_owned());
            Ok(())
        }
    });
    let names: Vec<_> = (0..40).map(|n| format!("job-{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    enqueue_in(&on, "slow", &names, START).await;
    for quick in ["quick-1", "quick-2", "quick-3"] {
        enqueue_in(&on, quick, &["a", "b", "c"], START).await;
    }
    let mut quick = HashSet::new();
    for _ in 0..9 {
        let told = within("a job is done", told.recv()).await;
        quick.insert(told.unwrap());
    }
    assert_eq!(quick.len(), 3, "{quick:?}");
    gate.add_permits(40);
    runner.run_due().await;
    assert_eq!(counts(&on, "slow").await, once(&names));
    assert_eq!(running.lock().unwrap().1, 2, "its share of the slots");
}

pub async fn two_hosts_share_the_jobs_and_do_each_once(on: Opened) {
    let names: Vec<_> = (0..100).map(|n| format!("job-{n:03}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let hosts = [runner(&on), runner(&on)];
    for host in &hosts {
        let store = on.store.clone();
        host.register(everywhere(), move |work| {
            let store = store.clone();
            async move { count(store, &work).await }
        });
    }
    for partition in ["shop-1", "shop-2"] {
        enqueue_in(&on, partition, &names, START).await;
    }
    tokio::join!(hosts[0].run_due(), hosts[1].run_due());
    for partition in ["shop-1", "shop-2"] {
        assert_eq!(counts(&on, partition).await, once(&names));
    }
}

pub async fn a_runner_that_stops_lets_jobs_end_and_claims_no_more(on: Opened) {
    let runner = runner(&on);
    let queue = Queue {
        concurrency: 1,
        ..everywhere()
    };
    let gate = Arc::new(Semaphore::new(0));
    let (begun, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (store, opened) = (on.store.clone(), gate.clone());
    runner.register(queue, move |work| {
        let (store, gate, begun) = (store.clone(), opened.clone(), begun.clone());
        async move {
            let _ = begun.send(());
            gate.acquire().await.unwrap().forget();
            count(store, &work).await
        }
    });
    enqueue_in(&on, "shop", &["first", "second"], START).await;
    within("a job has begun", told.recv()).await.unwrap();
    let mut stopping = Box::pin(runner.stop());
    assert!((&mut stopping).now_or_never().is_none(), "a job runs");
    gate.add_permits(2);
    stopping.await;
    assert_eq!(counts(&on, "shop").await.len(), 1);
    let other = super::on_stores::runner(&on);
    let store = on.store.clone();
    other.register(everywhere(), move |work| {
        let store = store.clone();
        async move { count(store, &work).await }
    });
    other.run_due().await;
    assert_eq!(counts(&on, "shop").await, once(&["first", "second"]));
}
