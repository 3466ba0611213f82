//! Queues: due times, claims, leases and settling.

use std::collections::HashSet;
use std::time::Duration;

use super::fixture::*;
use bytes::Bytes;
use tillgate_store::clock::Timestamp;
use tillgate_store::{Claimed, Lease, Op};

pub async fn a_job_that_is_not_due_is_not_claimed(on: Opened) {
    let due = START.plus(MINUTE);
    on.commit([enqueue("queue", "job", due)]).await;
    let nothing = Claimed {
        jobs: Vec::new(),
        next_due: Some(due),
    };
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
    on.clock.set(due.minus(Duration::from_micros(1)));
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
}

pub async fn a_job_is_claimed_at_the_moment_it_is_due(on: Opened) {
    let due = START.plus(MINUTE);
    let body = Bytes::from("what to do");
    let op = Op::Enqueue {
        queue: "queue".into(),
        job: "job".into(),
        due,
        body: body.clone(),
    };
    on.commit([op]).await;
    on.clock.set(due);
    let job = on.claim_one("queue").await;
    assert_eq!((job.id.as_str(), job.attempt, job.body), ("job", 1, body));
}

pub async fn jobs_are_claimed_longest_due_first(on: Opened) {
    for (job, minutes) in [("c", 3), ("a", 5), ("d", 1), ("b", 3)] {
        on.commit([enqueue("queue", job, START.plus(MINUTE * minutes))])
            .await;
    }
    on.clock.advance(HOUR);
    let claimed = on.claim("queue", MINUTE, 2).await;
    assert_eq!(claimed.jobs[0].id, "d");
    assert!(["b", "c"].contains(&claimed.jobs[1].id.as_str()));
    assert_eq!(on.claim("queue", MINUTE, 9).await.jobs[1].id, "a");
}

pub async fn a_claim_takes_no_more_than_its_max(on: Opened) {
    on.commit(
        (0..5)
            .map(|n| enqueue("queue", &n.to_string(), START))
            .collect::<Vec<_>>(),
    )
    .await;
    assert_eq!(on.claim("queue", MINUTE, 3).await.jobs.len(), 3);
    assert_eq!(on.claim("queue", MINUTE, 3).await.jobs.len(), 2);
    assert_eq!(on.claim("queue", MINUTE, 3).await.jobs.len(), 0);
}

pub async fn a_claim_of_no_jobs_returns_when_the_next_is_due(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let nothing = Claimed {
        jobs: Vec::new(),
        next_due: Some(START),
    };
    assert_eq!(on.claim("queue", MINUTE, 0).await, nothing);
}

pub async fn a_large_max_claims_up_to_a_thousand_jobs(on: Opened) {
    let jobs = |from: u32| (from..from + 600).map(|n| enqueue("queue", &n.to_string(), START));
    on.commit(jobs(0).collect::<Vec<_>>()).await;
    on.commit(jobs(600).collect::<Vec<_>>()).await;
    assert_eq!(
        on.claim("queue", MINUTE, usize::MAX).await.jobs.len(),
        1_000
    );
    assert_eq!(on.claim("queue", MINUTE, usize::MAX).await.jobs.len(), 200);
}

pub async fn a_claimed_job_is_not_given_to_another_worker(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    on.claim_one("queue").await;
    on.clock.advance(MINUTE - Duration::from_micros(1));
    assert_eq!(on.claim("queue", MINUTE, 9).await.jobs, []);
}

pub async fn when_a_lease_ends_the_job_goes_to_the_next_with_a_greater_lease(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let mut last = on.claim_one("queue").await;
    for attempt in 2..6 {
        on.clock.advance(MINUTE);
        let next = on.claim_one("queue").await;
        assert!(next.lease > last.lease);
        assert_eq!((next.attempt, &next.body), (attempt, &last.body));
        last = next;
    }
}

pub async fn a_job_whose_lease_ended_takes_its_turn_among_those_that_are_due(on: Opened) {
    on.commit([enqueue("queue", "lost", START)]).await;
    on.claim_one("queue").await;
    for (job, minutes) in [("before", 0), ("with", 1), ("after", 2)] {
        on.commit([enqueue("queue", job, START.plus(MINUTE * minutes))])
            .await;
    }
    on.clock.advance(HOUR);
    assert_eq!(
        ids(&on.claim("queue", MINUTE, 1).await.jobs),
        vec!["before"]
    );
    let claimed = on.claim("queue", MINUTE, 2).await.jobs;
    let mut both = ids(&claimed);
    both.sort_unstable();
    assert_eq!(both, vec!["lost", "with"]);
    assert_eq!(ids(&on.claim("queue", MINUTE, 9).await.jobs), vec!["after"]);
}

pub async fn all_jobs_of_a_queue_are_counted_up_to_a_number(on: Opened) {
    assert_eq!(on.queued("queue", 9).await, 0);
    let jobs = (0..100).map(|n| enqueue("queue", &n.to_string(), START.plus(MINUTE * (n % 2))));
    on.commit(jobs.collect::<Vec<_>>()).await;
    on.commit([enqueue("other", "job", START)]).await;
    assert_eq!(on.queued("queue", usize::MAX).await, 100, "due or not");
    let claimed = on.claim_one("queue").await;
    assert_eq!(on.queued("queue", usize::MAX).await, 100, "under a lease");
    for max in [0, 1, 10, 99, 100, 101] {
        assert_eq!(on.queued("queue", max).await, max.min(100));
    }
    on.commit([settle("queue", &claimed.id, claimed.lease, None)])
        .await;
    on.commit([enqueue("queue", "1", START)]).await;
    assert_eq!(
        on.queued("queue", usize::MAX).await,
        99,
        "settled, replaced"
    );
    assert_eq!(on.queued("other", usize::MAX).await, 1);
}

pub async fn an_old_lease_is_lost(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let old = on.claim_one("queue").await.lease;
    on.clock.advance(MINUTE);
    let new = on.claim_one("queue").await.lease;
    for next in [None, Some(START)] {
        let late = on
            .attempt(commit([settle("queue", "job", old, next)]))
            .await;
        assert_eq!(late, lost("queue", "job"));
    }
    let early = on
        .attempt(commit([settle("queue", "job", Lease(new.0 + 1), None)]))
        .await;
    assert_eq!(early, lost("queue", "job"));
    on.commit([settle("queue", "job", new, None)]).await;
}

pub async fn a_late_worker_that_was_not_replaced_may_settle(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    on.clock.advance(HOUR);
    on.commit([settle("queue", "job", lease, None)]).await;
    assert_eq!(on.claim("queue", MINUTE, 9).await, Claimed::default());
}

pub async fn a_settled_job_is_gone(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    on.commit([settle("queue", "job", lease, None)]).await;
    on.clock.advance(HOUR);
    assert_eq!(on.claim("queue", MINUTE, 9).await, Claimed::default());
}

pub async fn a_job_settled_with_a_next_time_is_due_again_then(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let first = on.claim_one("queue").await;
    let next = START.plus(HOUR);
    on.commit([settle("queue", "job", first.lease, Some(next))])
        .await;
    on.clock.advance(MINUTE);
    let nothing = Claimed {
        jobs: Vec::new(),
        next_due: Some(next),
    };
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
    on.clock.set(next);
    let second = on.claim_one("queue").await;
    assert_eq!((second.attempt, second.body), (2, first.body));
    assert!(second.lease > first.lease);
}

pub async fn a_claim_can_be_settled_once(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    on.commit([settle("queue", "job", lease, Some(START.plus(HOUR)))])
        .await;
    let again = on
        .attempt(commit([settle("queue", "job", lease, Some(START))]))
        .await;
    assert_eq!(again, lost("queue", "job"));
    assert_eq!(
        on.claim("queue", MINUTE, 9).await.next_due,
        Some(START.plus(HOUR))
    );

    on.clock.advance(HOUR);
    let lease = on.claim_one("queue").await.lease;
    let twice = [
        settle("queue", "job", lease, None),
        settle("queue", "job", lease, None),
    ];
    assert_eq!(on.attempt(commit(twice)).await, lost("queue", "job"));
}

pub async fn settling_a_job_that_was_never_claimed_is_lost(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    for lease in [0, 1, u64::MAX] {
        let settled = on
            .attempt(commit([settle("queue", "job", Lease(lease), None)]))
            .await;
        assert_eq!(settled, lost("queue", "job"));
    }
    on.claim_one("queue").await;
}

pub async fn settling_a_job_that_does_not_exist_is_lost(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    let elsewhere = on
        .attempt(commit([settle("other", "job", lease, None)]))
        .await;
    assert_eq!(elsewhere, lost("other", "job"));
    let another = on
        .attempt(commit([settle("queue", "another", lease, None)]))
        .await;
    assert_eq!(another, lost("queue", "another"));
}

pub async fn a_lost_lease_fails_the_whole_commit(on: Opened) {
    on.commit([enqueue("queue", "job", START), put("a", "old")])
        .await;
    let before = on.scan("", None, 9).await;
    let ops = [
        put("a", "new"),
        put("b", "new"),
        append("log", "m"),
        enqueue("queue", "another", START),
        settle("queue", "job", Lease(99), None),
        delete("a"),
    ];
    assert_eq!(on.attempt(commit(ops)).await, lost("queue", "job"));
    assert_eq!(on.scan("", None, 9).await, before);
    assert_eq!(on.bodies("log").await, [""; 0]);
    assert_eq!(ids(&on.claim("queue", MINUTE, 9).await.jobs), ["job"]);
}

pub async fn a_lost_second_lease_undoes_the_first_settle(on: Opened) {
    on.commit([enqueue("queue", "a", START), enqueue("queue", "b", START)])
        .await;
    let claimed = on.claim("queue", MINUTE, 2).await.jobs;
    let (a, b) = (claimed[0].lease, claimed[1].lease);
    assert_ne!(a, b);
    let crossed = [settle("queue", "a", a, None), settle("queue", "b", a, None)];
    assert_eq!(on.attempt(commit(crossed)).await, lost("queue", "b"));
    on.commit([settle("queue", "a", a, None), settle("queue", "b", b, None)])
        .await;
}

pub async fn enqueueing_again_replaces_the_job(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    on.claim_one("queue").await;
    on.clock.advance(MINUTE);
    on.claim_one("queue").await;
    let (due, body) = (START.plus(HOUR), Bytes::from("new"));
    let op = Op::Enqueue {
        queue: "queue".into(),
        job: "job".into(),
        due,
        body: body.clone(),
    };
    on.commit([op]).await;
    let nothing = Claimed {
        jobs: Vec::new(),
        next_due: Some(due),
    };
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
    on.clock.set(due);
    let claimed = on.claim("queue", MINUTE, 9).await.jobs;
    assert_eq!(
        (claimed.len(), claimed[0].attempt, &claimed[0].body),
        (1, 1, &body)
    );
}

pub async fn enqueueing_again_loses_the_lease(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    on.commit([enqueue("queue", "job", START)]).await;
    let late = on
        .attempt(commit([settle("queue", "job", lease, None)]))
        .await;
    assert_eq!(late, lost("queue", "job"));
    assert!(on.claim_one("queue").await.lease > lease);
}

pub async fn the_lease_of_a_removed_job_does_not_settle_its_successor(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let old = on.claim_one("queue").await.lease;
    on.commit([settle("queue", "job", old, None)]).await;
    on.commit([enqueue("queue", "job", START)]).await;
    assert!(on.claim_one("queue").await.lease > old);
    let late = on
        .attempt(commit([settle("queue", "job", old, None)]))
        .await;
    assert_eq!(late, lost("queue", "job"));
}

pub async fn a_job_enqueued_by_the_same_commit_cannot_be_settled(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    let ops = [
        enqueue("queue", "job", START),
        settle("queue", "job", lease, None),
    ];
    assert_eq!(on.attempt(commit(ops)).await, lost("queue", "job"));
    on.commit([settle("queue", "job", lease, None)]).await;
}

pub async fn a_job_can_be_settled_and_enqueued_again_in_one_commit(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    let again = enqueue("queue", "job", START);
    on.commit([settle("queue", "job", lease, None), again])
        .await;
    assert_eq!(on.claim_one("queue").await.attempt, 1);
}

pub async fn next_due_is_the_next_job_or_the_end_of_a_lease(on: Opened) {
    on.commit([
        enqueue("queue", "a", START),
        enqueue("queue", "b", START.plus(HOUR)),
    ])
    .await;
    let claimed = on.claim("queue", MINUTE, 9).await;
    assert_eq!(
        (ids(&claimed.jobs), claimed.next_due),
        (vec!["a"], Some(START.plus(MINUTE)))
    );
    on.commit([settle("queue", "a", claimed.jobs[0].lease, None)])
        .await;
    assert_eq!(
        on.claim("queue", MINUTE, 9).await.next_due,
        Some(START.plus(HOUR))
    );
}

pub async fn next_due_is_now_when_more_is_due_than_was_claimed(on: Opened) {
    on.commit([enqueue("queue", "a", START), enqueue("queue", "b", START)])
        .await;
    assert_eq!(on.claim("queue", MINUTE, 1).await.next_due, Some(START));
    assert_eq!(
        on.claim("queue", MINUTE, 1).await.next_due,
        Some(START.plus(MINUTE))
    );
}

pub async fn an_empty_queue_has_nothing_due(on: Opened) {
    assert_eq!(on.claim("queue", MINUTE, 9).await, Claimed::default());
    on.commit([put("a", ""), enqueue("queue2", "job", START)])
        .await;
    assert_eq!(on.claim("queue", MINUTE, 9).await, Claimed::default());
    assert_eq!(on.claim("queue1", MINUTE, 9).await, Claimed::default());
    assert_eq!(on.claim("queue3", MINUTE, 9).await, Claimed::default());
}

pub async fn the_queues_of_a_partition_are_independent(on: Opened) {
    on.commit([enqueue("a", "job", START), enqueue("aa", "job", START)])
        .await;
    let (a, aa) = (on.claim_one("a").await, on.claim_one("aa").await);
    assert_ne!(a.lease, aa.lease);
    on.commit([settle("a", "job", a.lease, None)]).await;
    on.clock.advance(HOUR);
    assert_eq!(on.claim("a", MINUTE, 9).await.jobs, []);
    assert_eq!(on.claim_one("aa").await.attempt, 2);
}

pub async fn a_job_due_at_the_end_of_time_waits(on: Opened) {
    on.commit([enqueue("queue", "job", Timestamp(u64::MAX))])
        .await;
    let nothing = Claimed {
        jobs: Vec::new(),
        next_due: Some(Timestamp(u64::MAX)),
    };
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
    on.commit([enqueue("queue", "job", Timestamp(0))]).await;
    assert_eq!(on.claim("queue", Duration::MAX, 9).await.jobs.len(), 1);
    assert_eq!(on.claim("queue", MINUTE, 9).await, nothing);
}

pub async fn a_lease_of_zero_length_ends_at_once(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let first = on.claim("queue", Duration::ZERO, 9).await;
    assert_eq!((first.jobs.len(), first.next_due), (1, Some(on.now())));
    assert!(on.claim_one("queue").await.lease > first.jobs[0].lease);
}

pub async fn concurrent_workers_never_share_a_job(on: Opened) {
    on.commit(
        (0..200)
            .map(|n| enqueue("queue", &n.to_string(), START))
            .collect::<Vec<_>>(),
    )
    .await;
    let workers = (0..8).map(|_| {
        let store = on.store.clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = store.claim(&partition(), "queue", HOUR, 7).await.unwrap();
                if claimed.jobs.is_empty() {
                    return mine;
                }
                mine.extend(claimed.jobs);
            }
        })
    });
    let mut all = Vec::new();
    for worker in futures_util::future::join_all(workers).await {
        all.extend(worker.unwrap());
    }
    assert_eq!(all.len(), 200);
    assert_eq!(
        all.iter().map(|job| &job.id).collect::<HashSet<_>>().len(),
        200
    );
    assert_eq!(
        all.iter()
            .map(|job| job.lease)
            .collect::<HashSet<_>>()
            .len(),
        200
    );
    let settles = all
        .iter()
        .map(|job| settle("queue", &job.id, job.lease, None));
    on.commit(settles.collect::<Vec<_>>()).await;
}
