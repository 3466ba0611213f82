//! Hints that a partition may have changed.

use std::collections::HashSet;

use super::fixture::*;
use super::support::wait::within;
use tillgate_store::{ChangedPartitions, Hints, Partition, PartitionHints};

async fn wait_for_hint(hints: &mut Hints) {
    within("a hint", hints.changed()).await.unwrap();
}

pub async fn a_commit_gives_a_hint(on: Opened) {
    let mut hints = on.store.hints(&partition());
    on.commit([put("a", "1")]).await;
    wait_for_hint(&mut hints).await;
    on.commit([put("a", "2")]).await;
    wait_for_hint(&mut hints).await;
}

pub async fn every_listener_gets_a_hint(on: Opened) {
    let mut all: Vec<_> = (0..5).map(|_| on.store.hints(&partition())).collect();
    on.commit([put("a", "1")]).await;
    for hints in &mut all {
        wait_for_hint(hints).await;
    }
}

pub async fn a_hint_waits_for_its_listener(on: Opened) {
    let mut hints = on.store.hints(&partition());
    for n in 0..10 {
        on.commit([put("a", format!("{n}"))]).await;
    }
    wait_for_hint(&mut hints).await;
    assert_eq!(on.text("a").await.unwrap(), "9");
}

pub async fn a_reader_that_subscribes_first_misses_nothing(on: Opened) {
    on.commit([put("a", "before")]).await;
    let mut hints = on.store.hints(&partition());
    assert_eq!(on.text("a").await.unwrap(), "before");
    on.commit([put("a", "after")]).await;
    wait_for_hint(&mut hints).await;
    assert_eq!(on.text("a").await.unwrap(), "after");
}

pub async fn a_listener_after_all_others_were_dropped_gets_hints(on: Opened) {
    for n in 0..200 {
        drop(on.store.hints(&named(&format!("tenant-{n}"))));
    }
    drop(on.store.hints(&partition()));
    on.commit([put("a", "1")]).await;
    let mut hints = on.store.hints(&partition());
    on.commit([put("a", "2")]).await;
    wait_for_hint(&mut hints).await;
}

pub async fn a_change_is_visible_when_its_hint_comes(on: Opened) {
    let (store, mut hints) = (on.store.clone(), on.store.hints(&partition()));
    // Ends only if the last hint does not come before the change is visible.
    let listener = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 50 {
            wait_for_hint(&mut hints).await;
            seen = store
                .scan(&partition(), "", None, 99)
                .await
                .unwrap()
                .entries
                .len();
        }
    });
    for n in 0..50 {
        on.commit([put(format!("{n}"), "")]).await;
    }
    listener.await.unwrap();
}

/// Returns the partitions that a listener to all of them has heard of, once all expected ones are among them.
async fn heard(hints: &mut PartitionHints, expected: &[&str]) {
    let mut missing: HashSet<_> = expected
        .iter()
        .map(|name| Partition::new(name).unwrap())
        .collect();
    while !missing.is_empty() {
        match within("a hint of the partition", hints.changed()).await {
            ChangedPartitions::These(changed) => missing.retain(|name| !changed.contains(name)),
            ChangedPartitions::All => missing.clear(),
        }
    }
}

async fn commit_in(on: &Opened, partition: &str) {
    let commit = tillgate_store::Commit {
        partition: Partition::new(partition).unwrap(),
        ..commit([put("a", "1")])
    };
    on.store.commit(commit).await.unwrap();
}

pub async fn a_listener_to_all_partitions_hears_of_each(on: Opened) {
    let mut hints = on.store.partition_hints();
    for partition in ["shop-1", "shop-2", "shop-3"] {
        commit_in(&on, partition).await;
        heard(&mut hints, &[partition]).await;
    }
}

pub async fn many_changes_are_one_hint_until_it_is_taken(on: Opened) {
    let mut hints = on.store.partition_hints();
    for _ in 0..50 {
        commit_in(&on, "shop-1").await;
        commit_in(&on, "shop-2").await;
    }
    heard(&mut hints, &["shop-1", "shop-2"]).await;
}
