//! Scans: by prefix, in key order, in pages.

use super::fixture::*;
use tillgate_store::Page;

/// Puts keys whose values are the keys themselves.
async fn fill(on: &Opened, keys: &[&str]) {
    on.commit(
        keys.iter()
            .map(|key| put(*key, (*key).to_owned()))
            .collect::<Vec<_>>(),
    )
    .await;
}

pub async fn a_scan_finds_what_starts_with_the_prefix_in_key_order(on: Opened) {
    fill(&on, &["b/2", "a/3", "b/1", "c/1", "b", "b/10"]).await;
    let page = on.scan("b/", None, 9).await;
    assert_eq!(keys(&page), ["b/1", "b/10", "b/2"]);
    assert_eq!(text(&page.entries[1].1.value), "b/10");
    assert!(!page.more);
}

pub async fn keys_are_ordered_by_their_bytes(on: Opened) {
    let mut all = [
        "a", "Z", "ä", "z", "€", "🧾", "\u{ff5e}", "zz", "~", "\u{7f}", "\u{80}", " ",
    ];
    fill(&on, &all).await;
    all.sort_by_key(|key| key.as_bytes());
    assert_eq!(keys(&on.scan("", None, 99).await), all);
}

pub async fn a_prefix_ends_where_its_last_character_ends(on: Opened) {
    fill(
        &on,
        &[
            "k\u{7f}", "k\u{7f}1", "k\u{80}", "kÿ", "kÿ1", "k\u{100}", "l",
        ],
    )
    .await;
    assert_eq!(
        keys(&on.scan("k\u{7f}", None, 9).await),
        ["k\u{7f}", "k\u{7f}1"]
    );
    assert_eq!(keys(&on.scan("kÿ", None, 9).await), ["kÿ", "kÿ1"]);
}

pub async fn a_prefix_of_the_greatest_characters_has_an_end(on: Opened) {
    let greatest = "\u{10ffff}\u{10ffff}";
    let longer = "\u{10ffff}\u{10ffff}1";
    fill(&on, &["\u{10ffff}", greatest, longer]).await;
    // Partitions that a scan with a wrong end would include.
    for name in ["tenant\u{10ffff}", "tenanu", "tenant1"] {
        let neighbour = tillgate_store::Commit {
            partition: named(name),
            ..commit([put(longer, "")])
        };
        on.attempt(neighbour).await.unwrap();
    }
    assert_eq!(keys(&on.scan(greatest, None, 9).await), [greatest, longer]);
    assert_eq!(keys(&on.scan("\u{10ffff}", None, 9).await).len(), 3);
}

pub async fn an_empty_prefix_finds_all(on: Opened) {
    fill(&on, &["b", "a", "\u{1}"]).await;
    assert_eq!(keys(&on.scan("", None, 9).await), ["\u{1}", "a", "b"]);
}

pub async fn a_key_that_is_the_prefix_is_found(on: Opened) {
    fill(&on, &["a", "ab", "b"]).await;
    assert_eq!(keys(&on.scan("a", None, 9).await), ["a", "ab"]);
    assert_eq!(keys(&on.scan("a", Some("a"), 9).await), ["ab"]);
}

pub async fn a_scan_continues_after_a_key(on: Opened) {
    fill(&on, &["a/1", "a/2", "a/3", "b/1"]).await;
    assert_eq!(keys(&on.scan("a/", Some("a/1"), 9).await), ["a/2", "a/3"]);
    assert_eq!(keys(&on.scan("", Some("a/3"), 9).await), ["b/1"]);
}

pub async fn a_scan_continues_after_a_key_that_was_deleted(on: Opened) {
    fill(&on, &["a/1", "a/3"]).await;
    assert_eq!(keys(&on.scan("a/", Some("a/2"), 9).await), ["a/3"]);
}

pub async fn a_scan_after_a_key_before_the_prefix_starts_at_the_prefix(on: Opened) {
    fill(&on, &["a", "b/1", "b/2"]).await;
    assert_eq!(keys(&on.scan("b/", Some("a"), 9).await), ["b/1", "b/2"]);
    assert_eq!(keys(&on.scan("b/", Some(""), 9).await), ["b/1", "b/2"]);
}

pub async fn a_scan_after_a_key_behind_the_prefix_finds_nothing(on: Opened) {
    fill(&on, &["a/1", "b/1", "c/1"]).await;
    assert_eq!(on.scan("a/", Some("b"), 9).await, Page::default());
    assert_eq!(on.scan("c/", Some("c/1"), 9).await, Page::default());
}

pub async fn pages_cover_all_entries_once_and_mark_the_last(on: Opened) {
    let all: Vec<String> = (0..100).map(|n| format!("k/{n:03}")).collect();
    fill(&on, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    fill(&on, &["j", "l"]).await;
    for size in [1, 7, 50, 99, 100, 101] {
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = on.scan("k/", after.as_deref(), size).await;
            assert!(page.entries.len() <= size);
            seen.extend(keys(&page).into_iter().map(str::to_owned));
            after = seen.last().cloned();
            assert_eq!(page.more, seen.len() < all.len(), "pages of {size}");
            if !page.more {
                break;
            }
        }
        assert_eq!(seen, all);
    }
}

pub async fn a_scan_of_no_entries_returns_whether_there_are_any(on: Opened) {
    fill(&on, &["a/1"]).await;
    assert_eq!(
        on.scan("a/", None, 0).await,
        Page {
            entries: Vec::new(),
            more: true
        }
    );
    assert_eq!(on.scan("b/", None, 0).await, Page::default());
}

pub async fn a_large_max_scans_everything(on: Opened) {
    fill(&on, &["a", "b"]).await;
    assert_eq!(keys(&on.scan("", None, usize::MAX).await), ["a", "b"]);
}

pub async fn a_scan_returns_the_revision_of_each_entry(on: Opened) {
    let old = on.commit([put("a", "1"), put("b", "1")]).await.revision;
    let new = on.commit([put("a", "2")]).await.revision;
    let page = on.scan("", None, 9).await;
    let revisions: Vec<_> = page
        .entries
        .iter()
        .map(|(_, entry)| entry.revision)
        .collect();
    assert_eq!(revisions, [new, old]);
}

pub async fn deleted_keys_are_not_found(on: Opened) {
    fill(&on, &["a", "b", "c"]).await;
    on.commit([delete("b")]).await;
    assert_eq!(keys(&on.scan("", None, 9).await), ["a", "c"]);
}
