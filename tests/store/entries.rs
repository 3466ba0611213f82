//! Entries: keys, values, revisions and checks.

use super::fixture::*;
use bytes::Bytes;
use tillgate_store::{CommitError, Revision};

pub async fn a_put_value_comes_back_with_the_revision_that_put_it(on: Opened) {
    let first = on.commit([put("a", "1")]).await;
    let second = on.commit([put("b", "2")]).await;
    let (a, b) = (on.entry("a").await.unwrap(), on.entry("b").await.unwrap());
    assert_eq!((text(&a.value).as_str(), a.revision), ("1", first.revision));
    assert_eq!(
        (text(&b.value).as_str(), b.revision),
        ("2", second.revision)
    );
}

pub async fn an_absent_check_lets_a_key_be_created_once(on: Opened) {
    on.attempt(commit_if([absent("a")], [put("a", "first")]))
        .await
        .unwrap();
    let second = on
        .attempt(commit_if([absent("a")], [put("a", "second")]))
        .await;
    assert_eq!(second, Err(CommitError::Conflict(absent("a"))));
    assert_eq!(on.text("a").await.unwrap(), "first");
}

pub async fn a_revision_check_lets_the_newest_value_be_changed(on: Opened) {
    let made = on.commit([put("a", "1")]).await;
    on.commit([put("b", "in between")]).await;
    on.attempt(commit_if([at("a", made.revision)], [put("a", "2")]))
        .await
        .unwrap();
    assert_eq!(on.text("a").await.unwrap(), "2");
}

pub async fn a_check_sees_entries_of_any_size_as_they_are_put_and_deleted(on: Opened) {
    let mut newest = absent("a");
    for bytes in [0, 4_096, 4_097, 1 << 20, 9, 100_000, 4_097, 1] {
        let value = "x".repeat(bytes);
        let other = put(format!("other/{bytes}"), value.clone());
        on.commit([other]).await;
        let put = on.attempt(commit_if([newest.clone()], [put("a", value.clone())]));
        let revision = put.await.unwrap().revision;
        let late = on.attempt(commit_if([newest.clone()], [])).await;
        assert_eq!(late, Err(CommitError::Conflict(newest)), "{bytes} bytes");
        newest = at("a", revision);
        assert_eq!(on.text("a").await.unwrap(), value);
        if bytes > 50_000 {
            let gone = on.attempt(commit_if([newest.clone()], [delete("a")])).await;
            gone.unwrap();
            let late = on.attempt(commit_if([newest.clone()], [])).await;
            assert_eq!(late, Err(CommitError::Conflict(newest)));
            newest = absent("a");
        }
    }
}

pub async fn a_revision_check_fails_after_another_put(on: Opened) {
    let made = on.commit([put("a", "1")]).await;
    on.commit([put("a", "2")]).await;
    let late = on
        .attempt(commit_if([at("a", made.revision)], [put("a", "3")]))
        .await;
    assert_eq!(late, Err(CommitError::Conflict(at("a", made.revision))));
    assert_eq!(on.text("a").await.unwrap(), "2");
}

pub async fn a_revision_check_fails_when_the_key_is_missing(on: Opened) {
    for revision in [Revision(0), Revision(1)] {
        let failed = on
            .attempt(commit_if([at("a", revision)], [put("a", "1")]))
            .await;
        assert_eq!(failed, Err(CommitError::Conflict(at("a", revision))));
    }
    on.assert_untouched().await;
}

pub async fn an_absent_check_holds_again_after_a_delete(on: Opened) {
    on.commit([put("a", "1")]).await;
    on.commit([delete("a")]).await;
    on.attempt(commit_if([absent("a")], [put("a", "2")]))
        .await
        .unwrap();
    assert_eq!(on.text("a").await.unwrap(), "2");
}

pub async fn checks_see_the_state_before_the_commits_own_ops(on: Opened) {
    on.commit([put("a", "1")]).await;
    let deletes = on.attempt(commit_if([absent("a")], [delete("a")])).await;
    assert_eq!(deletes, Err(CommitError::Conflict(absent("a"))));
    on.attempt(commit_if([absent("b")], [put("b", "2")]))
        .await
        .unwrap();
}

pub async fn a_failing_second_check_leaves_nothing(on: Opened) {
    let ops = [
        put("a", "1"),
        append("log", "m"),
        enqueue("queue", "job", START),
    ];
    let failed = on
        .attempt(commit_if([absent("a"), at("b", Revision(7))], ops))
        .await;
    assert_eq!(failed, Err(CommitError::Conflict(at("b", Revision(7)))));
    on.assert_untouched().await;
}

pub async fn a_conflict_names_the_first_check_that_failed(on: Opened) {
    on.commit([put("a", "1"), put("b", "2")]).await;
    let checks = [at("a", Revision(1)), absent("b"), absent("a")];
    let failed = on.attempt(commit_if(checks, [put("c", "3")])).await;
    assert_eq!(failed, Err(CommitError::Conflict(absent("b"))));
}

pub async fn deleting_a_missing_key_is_harmless(on: Opened) {
    assert_eq!(on.commit([delete("a")]).await.revision, Revision(1));
    assert_eq!(on.entry("a").await, None);
}

pub async fn put_delete_put_in_one_commit_leaves_the_last(on: Opened) {
    let done = on.commit([put("a", "1"), delete("a"), put("a", "2")]).await;
    let entry = on.entry("a").await.unwrap();
    assert_eq!(
        (text(&entry.value).as_str(), entry.revision),
        ("2", done.revision)
    );
}

pub async fn put_then_delete_in_one_commit_leaves_nothing(on: Opened) {
    on.commit([put("a", "old")]).await;
    on.commit([put("a", "new"), delete("a")]).await;
    assert_eq!(on.entry("a").await, None);
}

pub async fn putting_the_same_value_again_moves_its_revision(on: Opened) {
    on.commit([put("a", "1")]).await;
    let again = on.commit([put("a", "1")]).await;
    assert_eq!(on.entry("a").await.unwrap().revision, again.revision);
}

pub async fn get_returns_entries_in_the_requested_order_with_gaps_for_missing_keys(on: Opened) {
    on.commit([put("a", "1"), put("b", "2")]).await;
    let asked = ["b", "missing", "a", "b"].map(str::to_owned);
    let found = on.store.get(&partition(), &asked).await.unwrap();
    let found: Vec<_> = found
        .into_iter()
        .map(|entry| entry.map(|e| text(&e.value)))
        .collect();
    let expected = [Some("2"), None, Some("1"), Some("2")];
    assert_eq!(found, expected.map(|value| value.map(str::to_owned)));
}

pub async fn get_of_no_keys_returns_nothing(on: Opened) {
    assert_eq!(on.store.get(&partition(), &[]).await.unwrap(), []);
    assert_eq!(on.entry("").await, None);
}

pub async fn get_of_many_keys_returns_all(on: Opened) {
    let asked: Vec<String> = (0..500).map(|n| format!("key-{n:03}")).collect();
    on.commit(
        asked
            .iter()
            .map(|key| put(key.as_str(), key.clone()))
            .collect::<Vec<_>>(),
    )
    .await;
    let found = on.store.get(&partition(), &asked).await.unwrap();
    let found: Vec<String> = found
        .into_iter()
        .map(|entry| text(&entry.unwrap().value))
        .collect();
    assert_eq!(found, asked);
}

pub async fn an_empty_value_is_a_value(on: Opened) {
    on.commit([put("a", "")]).await;
    assert_eq!(on.text("a").await.unwrap(), "");
    let failed = on.attempt(commit_if([absent("a")], [])).await;
    assert_eq!(failed, Err(CommitError::Conflict(absent("a"))));
}

pub async fn every_byte_comes_back_in_a_value(on: Opened) {
    let value: Vec<u8> = (0..=255).collect();
    on.commit([put("a", value.clone())]).await;
    assert_eq!(on.entry("a").await.unwrap().value, value);
}

pub async fn a_value_of_eight_mebibytes_comes_back_whole(on: Opened) {
    let value: Bytes = (0..8_u32 << 20)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    on.commit([put("a", value.clone()), append("log", value.clone())])
        .await;
    assert!(on.entry("a").await.unwrap().value == value);
    assert!(
        on.read("log", tillgate_store::Position(0), 1)
            .await
            .messages[0]
            .body
            == value
    );
}

pub async fn names_in_any_script_are_distinct(on: Opened) {
    let names = [
        "ä",
        "a\u{308}",
        "Ä",
        "Κασσα",
        "касса",
        "🧾",
        "a/b",
        "a b",
        "a\tb",
        "{a}",
    ];
    on.commit(names.map(|name| put(name, name))).await;
    for name in names {
        assert_eq!(on.text(name).await.unwrap(), name);
    }
}
