//! "Something changed": heard, though never the truth.

use super::fixture::*;
use tillgate::store::Hints;

/// Waits for a hint; gives up only so that a test that fails also ends.
async fn heard(hints: &mut Hints) {
    let hint = tokio::time::timeout(MINUTE, hints.changed()).await;
    hint.expect("nothing was heard").unwrap();
}

pub async fn a_commit_is_heard(on: Opened) {
    let mut hints = on.store.hints(&partition());
    on.commit([put("a", "1")]).await;
    heard(&mut hints).await;
    on.commit([put("a", "2")]).await;
    heard(&mut hints).await;
}

pub async fn every_listener_hears(on: Opened) {
    let mut all: Vec<_> = (0..5).map(|_| on.store.hints(&partition())).collect();
    on.commit([put("a", "1")]).await;
    for hints in &mut all {
        heard(hints).await;
    }
}

pub async fn a_commit_while_nobody_looks_is_heard_later(on: Opened) {
    let mut hints = on.store.hints(&partition());
    for n in 0..10 {
        on.commit([put("a", format!("{n}"))]).await;
    }
    heard(&mut hints).await;
    assert_eq!(on.text("a").await.unwrap(), "9");
}

pub async fn who_listens_and_then_looks_misses_nothing(on: Opened) {
    on.commit([put("a", "before")]).await;
    let mut hints = on.store.hints(&partition());
    assert_eq!(on.text("a").await.unwrap(), "before");
    on.commit([put("a", "after")]).await;
    heard(&mut hints).await;
    assert_eq!(on.text("a").await.unwrap(), "after");
}

pub async fn listening_again_after_all_went_still_hears(on: Opened) {
    for n in 0..200 {
        drop(on.store.hints(&named(&format!("tenant-{n}"))));
    }
    drop(on.store.hints(&partition()));
    on.commit([put("a", "1")]).await;
    let mut hints = on.store.hints(&partition());
    on.commit([put("a", "2")]).await;
    heard(&mut hints).await;
}

pub async fn who_hears_can_read_what_changed(on: Opened) {
    let (store, mut hints) = (on.store.clone(), on.store.hints(&partition()));
    // Ends only if the last hint does not come before what it tells of.
    let listener = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 50 {
            heard(&mut hints).await;
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
