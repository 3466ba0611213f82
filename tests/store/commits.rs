//! Commits are atomic, applied once, ordered, isolated by partition, and limited.

use std::collections::HashSet;

use super::fixture::*;
use crate::support::sizes::size;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tillgate_store::{
    Check, Commit, CommitError, CommitId, Committed, Lease, MAX_COMMIT_BYTES, Op, Position,
    REMEMBER, Refusal, Revision,
};

/// Returns one op of each kind that needs no earlier commit.
fn everything() -> [Op; 3] {
    [
        put("row", "1"),
        append("log", "message"),
        enqueue("queue", "job", START),
    ]
}

pub async fn entry_message_and_job_are_committed_together(on: Opened) {
    on.commit(everything()).await;
    assert_eq!(on.text("row").await.unwrap(), "1");
    assert_eq!(on.bodies("log").await, ["message"]);
    assert_eq!(on.claim_one("queue").await.id, "job");
}

pub async fn revisions_count_effects_without_gaps(on: Opened) {
    let first = commit([put("a", "1")]);
    assert_eq!(
        on.attempt(first.clone()).await.unwrap().revision,
        Revision(1)
    );
    on.attempt(commit_if([absent("a")], [put("a", "2")]))
        .await
        .unwrap_err();
    on.attempt(commit([settle("queue", "job", Lease(1), None)]))
        .await
        .unwrap_err();
    on.attempt(commit([put("", "")])).await.unwrap_err();
    assert!(on.attempt(first).await.unwrap().repeated);
    for n in 2..20 {
        assert_eq!(on.commit([put("a", "2")]).await.revision, Revision(n));
    }
}

pub async fn a_commit_without_ops_counts(on: Opened) {
    assert_eq!(on.commit([]).await.revision, Revision(1));
    assert_eq!(on.commit([]).await.revision, Revision(2));
    assert_eq!(on.store.partitions(None, 9).await.unwrap(), [partition()]);
}

pub async fn a_repeat_returns_the_first_outcome_and_applies_nothing_twice(on: Opened) {
    let once = commit([
        put("row", "1"),
        append("log", "m"),
        append("log", "n"),
        enqueue("queue", "job", START),
    ]);
    let first = on.attempt(once.clone()).await.unwrap();
    assert!(!first.repeated);
    on.clock.advance(MINUTE);
    for _ in 0..3 {
        let again = on.attempt(once.clone()).await.unwrap();
        assert_eq!(
            again,
            Committed {
                repeated: true,
                ..first.clone()
            }
        );
    }
    assert_eq!(on.entry("row").await.unwrap().revision, first.revision);
    assert_eq!(on.bodies("log").await, ["m", "n"]);
    assert_eq!(on.claim("queue", MINUTE, 9).await.jobs.len(), 1);
}

pub async fn a_repeat_takes_precedence_over_its_checks(on: Opened) {
    let once = commit_if([absent("a")], [put("a", "1")]);
    let first = on.attempt(once.clone()).await.unwrap();
    assert_eq!(
        on.attempt(once).await.unwrap(),
        Committed {
            repeated: true,
            ..first
        }
    );

    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    let once = commit([settle("queue", "job", lease, None)]);
    on.attempt(once.clone()).await.unwrap();
    assert!(on.attempt(once).await.unwrap().repeated);
}

pub async fn a_repeat_after_a_later_commit_still_returns_the_first_outcome(on: Opened) {
    let early = commit([put("a", "early"), append("log", "early")]);
    let first = on.attempt(early.clone()).await.unwrap();
    on.commit([put("a", "late"), append("log", "late")]).await;
    assert_eq!(
        on.attempt(early).await.unwrap(),
        Committed {
            repeated: true,
            ..first
        }
    );
    assert_eq!(on.text("a").await.unwrap(), "late");
}

pub async fn a_repeat_does_not_restore_what_was_deleted_since(on: Opened) {
    let once = commit(everything());
    on.attempt(once.clone()).await.unwrap();
    on.commit([delete("row")]).await;
    let lease = on.claim_one("queue").await.lease;
    on.commit([settle("queue", "job", lease, None)]).await;
    assert!(on.attempt(once).await.unwrap().repeated);
    assert_eq!(on.entry("row").await, None);
    on.clock.advance(HOUR);
    assert_eq!(on.claim("queue", MINUTE, 9).await.jobs, []);
}

pub async fn an_id_is_free_after_a_conflict(on: Opened) {
    let made = on.commit([put("a", "1")]).await;
    let stale = commit_if([absent("a")], [put("a", "2"), append("log", "m")]);
    on.attempt(stale.clone()).await.unwrap_err();
    let fresh = Commit {
        checks: vec![at("a", made.revision)],
        ..stale
    };
    let done = on.attempt(fresh.clone()).await.unwrap();
    assert!(!done.repeated);
    assert_eq!(
        on.attempt(fresh).await.unwrap(),
        Committed {
            repeated: true,
            ..done
        }
    );
    assert_eq!(on.bodies("log").await, ["m"]);
}

pub async fn an_id_is_free_after_a_lost_lease(on: Opened) {
    on.commit([enqueue("queue", "job", START)]).await;
    let lease = on.claim_one("queue").await.lease;
    let id = CommitId::random();
    let wrong = Commit {
        id,
        ..commit([settle("queue", "job", Lease(lease.0 + 1), None)])
    };
    assert_eq!(on.attempt(wrong).await, lost("queue", "job"));
    let right = Commit {
        id,
        ..commit([settle("queue", "job", lease, None)])
    };
    assert!(!on.attempt(right).await.unwrap().repeated);
}

pub async fn an_id_is_remembered_for_a_quarter_of_an_hour(on: Opened) {
    let once = commit([append("log", "m")]);
    on.attempt(once.clone()).await.unwrap();
    on.clock.advance(REMEMBER);
    for _ in 0..20 {
        on.commit([put("other", "")]).await;
    }
    assert!(on.attempt(once).await.unwrap().repeated);
    assert_eq!(on.bodies("log").await, ["m"]);
}

pub async fn an_id_is_remembered_when_the_clock_jumps_back_and_forth(on: Opened) {
    on.commit([put("other", "")]).await;
    on.clock.set(START.minus(HOUR));
    let once = commit([append("log", "m")]);
    on.attempt(once.clone()).await.unwrap();
    on.clock.set(START.plus(MINUTE));
    for _ in 0..20 {
        on.commit([put("other", "")]).await;
    }
    assert!(on.attempt(once).await.unwrap().repeated);
}

pub async fn an_id_is_forgotten_eventually(on: Opened) {
    let old: Vec<Commit> = (0..30).map(|_| commit([append("log", "m")])).collect();
    for once in &old {
        on.attempt(once.clone()).await.unwrap();
    }
    on.clock.advance(HOUR);
    for _ in 0..10 {
        on.commit([put("other", "")]).await;
    }
    for once in old {
        assert!(
            !on.attempt(once).await.unwrap().repeated,
            "outcomes never expire"
        );
    }
}

pub async fn one_commit_repeated_concurrently_takes_effect_once(on: Opened) {
    let once = commit([put("row", "1"), append("log", "m")]);
    let outcomes = join_all((0..100).map(|_| on.attempt(once.clone()))).await;
    let outcomes: Vec<Committed> = outcomes.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| !outcome.repeated).count(),
        1
    );
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.positions == outcomes[0].positions)
    );
    assert_eq!(on.bodies("log").await, ["m"]);
}

pub async fn increments_by_compare_and_set_lose_none(on: Opened) {
    let (workers, each) = (size(10, 40), size(20, 50));
    let increments = (0..workers).map(|_| {
        let store = on.store.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                loop {
                    let key = ["counter".to_owned()];
                    let counter = store.get(&partition(), &key).await.unwrap().remove(0);
                    let (check, count) = match counter {
                        None => (absent("counter"), 0),
                        Some(entry) => (at("counter", entry.revision), number(&entry.value)),
                    };
                    let next = put("counter", (count + 1).to_string());
                    match store.commit(commit_if([check], [next])).await {
                        Ok(_) => break,
                        Err(CommitError::Conflict(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        })
    });
    for incremented in join_all(increments).await {
        incremented.unwrap();
    }
    let counter = on.entry("counter").await.unwrap();
    let all: u32 = workers * each;
    assert_eq!(
        (number(&counter.value), counter.revision),
        (all, Revision(all.into()))
    );
}

fn number(value: &Bytes) -> u32 {
    text(value).parse().unwrap()
}

pub async fn two_thousand_concurrent_puts_all_take_effect(on: Opened) {
    let keys: Vec<String> = (0..2_000).map(|n| format!("k/{n:04}")).collect();
    let tasks = keys.iter().map(|key| {
        let (store, key) = (on.store.clone(), key.clone());
        tokio::spawn(async move { store.commit(commit([put(key.as_str(), key.clone())])).await })
    });
    for task in join_all(tasks).await {
        task.unwrap().unwrap();
    }
    let page = on.scan("", None, 3_000).await;
    assert_eq!(super::fixture::keys(&page), keys);
    assert!(
        page.entries
            .iter()
            .all(|(key, entry)| text(&entry.value) == *key)
    );
}

pub async fn concurrent_commits_get_distinct_revisions_and_times(on: Opened) {
    let committed = join_all((0..200).map(|_| on.commit([append("log", "m")]))).await;
    let revisions: HashSet<u64> = committed.iter().map(|c| c.revision.0).collect();
    assert_eq!(revisions, (1..=200).collect());
    let times: HashSet<_> = committed.iter().map(|c| c.at).collect();
    assert_eq!(times.len(), 200);
}

pub async fn an_abandoned_commit_takes_effect_as_a_whole_or_not_at_all(on: Opened) {
    let abandoned: Vec<Commit> = (0..50)
        .map(|n| {
            let (key, job) = (format!("{n:02}"), format!("{n:02}"));
            commit([
                put(key, "1"),
                append("log", job.clone()),
                enqueue("queue", &job, START),
            ])
        })
        .collect();
    for commit in &abandoned {
        // Polled once, then dropped.
        let _outcome = on.attempt(commit.clone()).now_or_never();
    }
    on.commit([put("last", "")]).await;
    let rows = keys(&on.scan("", None, 99).await).len() - 1;
    assert_eq!(on.bodies("log").await.len(), rows);
    assert_eq!(on.claim("queue", MINUTE, 99).await.jobs.len(), rows);
    // Repeated with the same ids, each is applied exactly once.
    for commit in abandoned {
        on.attempt(commit).await.unwrap();
    }
    assert_eq!(on.bodies("log").await.len(), 50);
}

pub async fn partitions_are_isolated(on: Opened) {
    on.commit(everything()).await;
    let other = named("other");
    assert_eq!(on.entry_in(&other, "row").await, None);
    assert_eq!(
        on.store.scan(&other, "", None, 9).await.unwrap().entries,
        []
    );
    assert_eq!(
        on.store
            .read(&other, "log", Position(0), 9)
            .await
            .unwrap()
            .messages,
        []
    );
    assert_eq!(
        on.store
            .claim(&other, "queue", MINUTE, 9)
            .await
            .unwrap()
            .jobs,
        []
    );
    assert_eq!(
        on.store
            .trim(&other, "log", START.plus(HOUR), 9)
            .await
            .unwrap(),
        0
    );

    let there = Commit {
        partition: other.clone(),
        ..commit_if([absent("row")], [put("row", "2")])
    };
    assert_eq!(on.attempt(there).await.unwrap().revision, Revision(1));
    assert_eq!(on.text("row").await.unwrap(), "1");
    assert_eq!(on.bodies("log").await, ["message"]);
}

pub async fn one_id_in_two_partitions_is_two_commits(on: Opened) {
    let here = commit([put("a", "here")]);
    let there = Commit {
        partition: named("other"),
        ops: vec![put("a", "there")],
        ..here.clone()
    };
    assert!(!on.attempt(here).await.unwrap().repeated);
    assert!(!on.attempt(there.clone()).await.unwrap().repeated);
    assert!(on.attempt(there).await.unwrap().repeated);
    assert_eq!(
        text(&on.entry_in(&named("other"), "a").await.unwrap().value),
        "there"
    );
}

pub async fn partitions_are_listed_by_name_in_pages(on: Opened) {
    let names = ["b", "a", "ä", "aa", "B"].map(named);
    for partition in names.clone() {
        on.attempt(Commit {
            partition,
            ..commit([])
        })
        .await
        .unwrap();
    }
    let sorted = ["B", "a", "aa", "b", "ä"].map(named);
    assert_eq!(on.store.partitions(None, usize::MAX).await.unwrap(), sorted);
    assert_eq!(on.store.partitions(None, 2).await.unwrap(), sorted[..2]);
    assert_eq!(
        on.store.partitions(Some("a"), 2).await.unwrap(),
        sorted[2..4]
    );
    assert_eq!(
        on.store.partitions(Some("az"), 9).await.unwrap(),
        sorted[3..]
    );
    assert_eq!(on.store.partitions(Some("ä"), 9).await.unwrap(), []);
    assert_eq!(on.store.partitions(None, 0).await.unwrap(), []);
}

pub async fn a_partition_is_listed_from_its_first_effect(on: Opened) {
    on.attempt(commit_if([at("a", Revision(1))], [put("a", "1")]))
        .await
        .unwrap_err();
    on.attempt(commit([settle("queue", "job", Lease(1), None)]))
        .await
        .unwrap_err();
    on.claim("queue", MINUTE, 9).await;
    on.trim("log", START, 9).await;
    drop(on.store.hints(&partition()));
    on.assert_untouched().await;
    on.commit([put("a", "1")]).await;
    assert_eq!(on.store.partitions(None, 9).await.unwrap(), [partition()]);
}

pub async fn a_partition_stays_listed_when_all_its_keys_are_gone(on: Opened) {
    on.commit([put("a", "1")]).await;
    on.commit([delete("a")]).await;
    assert_eq!(on.store.partitions(None, 9).await.unwrap(), [partition()]);
    assert_eq!(on.commit([]).await.revision, Revision(3));
}

pub async fn a_thousand_ops_fit_and_one_more_does_not(on: Opened) {
    let ops = |count: u32| {
        (0..count)
            .map(|n| put(format!("{n}"), ""))
            .collect::<Vec<_>>()
    };
    on.commit(ops(1_000)).await;
    let outcome = on.attempt(commit(ops(1_001))).await;
    assert_refused(outcome, Refusal::TooManyOps);
}

pub async fn a_thousand_checks_fit_and_one_more_does_not(on: Opened) {
    let checks = |count: u32| {
        (0..count)
            .map(|n| absent(&format!("{n}")))
            .collect::<Vec<_>>()
    };
    on.attempt(commit_if(checks(1_000), [])).await.unwrap();
    let outcome = on.attempt(commit_if(checks(1_001), [])).await;
    assert_refused(outcome, Refusal::TooManyOps);
}

pub async fn a_name_of_512_bytes_fits_and_one_more_does_not(on: Opened) {
    // Two bytes per character.
    let longest = "ä".repeat(256);
    for op in ops_of_every_kind_but_settle(&longest) {
        on.commit([op]).await;
    }
    let lease = on.claim_one(&longest).await.lease;
    on.commit([settle(&longest, &longest, lease, None)]).await;
    assert_eq!(on.text(&longest).await, None);
    assert_name_is_refused(&on, &format!("{longest}a")).await;
}

pub async fn an_empty_name_is_refused_everywhere(on: Opened) {
    assert_name_is_refused(&on, "").await;
}

pub async fn a_name_with_nul_is_refused_everywhere(on: Opened) {
    assert_name_is_refused(&on, "a\0b").await;
}

fn ops_of_every_kind_but_settle(name: &str) -> [Op; 4] {
    [
        put(name, ""),
        append(name, ""),
        enqueue(name, name, START),
        delete(name),
    ]
}

async fn assert_name_is_refused(on: &Opened, name: &str) {
    let mut ops = ops_of_every_kind_but_settle(name).to_vec();
    ops.extend([enqueue("queue", name, START), enqueue(name, "job", START)]);
    ops.extend([
        settle("queue", name, Lease(1), None),
        settle(name, "job", Lease(1), None),
    ]);
    for op in ops {
        let outcome = on.attempt(commit([put("fine", ""), op])).await;
        assert_refused(outcome, Refusal::MalformedName);
    }
    for check in [absent(name), at(name, Revision(1))] {
        let checks: [Check; 2] = [absent("fine"), check];
        let outcome = on.attempt(commit_if(checks, [])).await;
        assert_refused(outcome, Refusal::MalformedName);
    }
    assert_eq!(on.entry("fine").await, None);
}

fn assert_refused(outcome: Result<Committed, CommitError>, refusal: Refusal) {
    assert_eq!(outcome, Err(CommitError::Refused(refusal)));
}

pub async fn more_than_32_mebibytes_are_refused(on: Opened) {
    let large = Bytes::from(vec![b'x'; MAX_COMMIT_BYTES]);
    let attribute = String::from_utf8(large.to_vec()).unwrap();
    let job = Op::Enqueue {
        queue: "q".into(),
        job: "j".into(),
        due: START,
        body: large.clone(),
    };
    let halves = large.slice(..MAX_COMMIT_BYTES / 2);
    for ops in [
        vec![put("a", large.clone())],
        vec![append("log", large.clone())],
        vec![append_with("log", &[("name", &attribute)], "")],
        vec![append_with("log", &[(&attribute, "value")], "")],
        vec![job],
        vec![put("a", halves.clone()), put("b", halves)],
    ] {
        let outcome = on.attempt(commit(ops)).await;
        assert_refused(outcome, Refusal::TooLarge);
    }
    let fits = large.slice(1..);
    on.commit([put("a", fits.clone())]).await;
    assert!(on.entry("a").await.unwrap().value == fits);
}

pub async fn a_refused_commit_leaves_nothing(on: Opened) {
    let mut ops = everything().to_vec();
    ops.push(put("", ""));
    let refused = commit(ops);
    let outcome = on.attempt(refused.clone()).await;
    assert_refused(outcome, Refusal::MalformedName);
    on.assert_untouched().await;
    let corrected = Commit {
        ops: everything().to_vec(),
        ..refused
    };
    assert!(!on.attempt(corrected).await.unwrap().repeated);
}
