//! Logs: order, publish times, positions and trimming.

use super::fixture::*;
use tillgate_store::clock::Timestamp;
use tillgate_store::{CommitError, Position, Refusal, Revision, Slice};

/// Appends messages a second apart, each in a separate commit, the first at [`START`].
async fn append_each_second(on: &Opened, count: u32) -> Vec<Position> {
    let mut positions = Vec::new();
    for n in 0..count {
        positions.extend(on.commit([append("log", n.to_string())]).await.positions);
        on.clock.advance(SECOND);
    }
    positions
}

fn seconds(count: u64) -> Timestamp {
    START.plus(SECOND * u32::try_from(count).unwrap())
}

pub async fn messages_are_read_in_the_order_they_were_appended(on: Opened) {
    on.commit([append("log", "1"), append("other", "-"), append("log", "2")])
        .await;
    on.commit([append("log", "3")]).await;
    assert_eq!(on.bodies("log").await, ["1", "2", "3"]);
}

pub async fn the_positions_of_a_commit_are_the_positions_read(on: Opened) {
    let first = on
        .commit([append("log", "1"), put("a", ""), append("log", "2")])
        .await;
    let second = on.commit([append("other", "-"), append("log", "3")]).await;
    let read: Vec<_> = on
        .read("log", Position(0), 9)
        .await
        .messages
        .iter()
        .map(|m| m.position)
        .collect();
    assert_eq!(
        read,
        [first.positions[0], first.positions[1], second.positions[1]]
    );
    assert!(Position::default() < read[0] && read[0] < read[1] && read[1] < read[2]);
    let other = on.read("other", Position(0), 9).await;
    assert_eq!(other.messages[0].position, second.positions[0]);
    assert_eq!(on.commit([put("a", "")]).await.positions, []);
}

pub async fn the_publish_time_is_that_of_the_clock(on: Opened) {
    on.clock.advance(HOUR);
    let committed = on.commit([append("log", "1")]).await;
    assert_eq!(committed.at, START.plus(HOUR));
    assert_eq!(
        on.read("log", Position(0), 9).await.messages[0].publish_time,
        committed.at
    );
}

/// Returns the publish times of a log, which must strictly increase.
async fn increasing_times(on: &Opened) -> Vec<Timestamp> {
    let slice = on.read("log", Position(0), usize::MAX).await;
    let times: Vec<_> = slice
        .messages
        .iter()
        .map(|message| message.publish_time)
        .collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    times
}

pub async fn publish_times_increase_while_the_clock_stands(on: Opened) {
    for _ in 0..20 {
        let at = on.commit([append("log", "m")]).await.at;
        assert_eq!(increasing_times(&on).await.last(), Some(&at));
    }
    on.clock.advance(SECOND);
    assert_eq!(on.commit([append("log", "m")]).await.at, START.plus(SECOND));
}

pub async fn publish_times_increase_when_the_clock_is_set_back_an_hour(on: Opened) {
    let before = on.commit([append("log", "1")]).await.at;
    on.clock.set(START.minus(HOUR));
    for _ in 0..5 {
        on.commit([append("log", "2")]).await;
        on.clock.advance(SECOND);
    }
    let times = increasing_times(&on).await;
    assert_eq!((times.len(), times[0]), (6, before));
    on.clock.set(START.plus(HOUR));
    assert_eq!(on.commit([append("log", "3")]).await.at, START.plus(HOUR));
}

pub async fn the_messages_of_one_commit_share_its_publish_time(on: Opened) {
    let at = on.commit([append("log", "1"), append("log", "2")]).await.at;
    let slice = on.read("log", Position(0), 9).await;
    assert!(
        slice
            .messages
            .iter()
            .all(|message| message.publish_time == at)
    );
    assert!(on.commit([append("log", "3")]).await.at > at);
}

pub async fn attributes_keep_their_order_and_their_repeats(on: Opened) {
    let attributes = [
        ("z", "1"),
        ("a", "2"),
        ("z", "3"),
        ("", ""),
        ("naïve", "ü\0\n"),
        ("empty", ""),
    ];
    on.commit([append_with("log", &attributes, "m"), append("log", "bare")])
        .await;
    let slice = on.read("log", Position(0), 9).await;
    let owned = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(slice.messages[0].attributes, owned);
    assert_eq!(slice.messages[1].attributes, []);
}

pub async fn a_thousand_attributes_fit_and_one_more_does_not(on: Opened) {
    let names: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    let attributes: Vec<_> = names.iter().map(|name| (name.as_str(), "value")).collect();
    on.commit([append_with("log", &attributes[..1_000], "m")])
        .await;
    let slice = on.read("log", Position(0), 9).await;
    assert_eq!(slice.messages[0].attributes.len(), 1_000);
    assert_eq!(slice.messages[0].attributes[999].0, "999");
    let refused = on
        .attempt(commit([append_with("log", &attributes, "m")]))
        .await;
    assert_eq!(
        refused,
        Err(CommitError::Refused(Refusal::TooManyAttributes))
    );
}

pub async fn a_message_may_be_empty(on: Opened) {
    on.commit([append("log", "")]).await;
    assert_eq!(on.bodies("log").await, [""]);
}

pub async fn a_log_is_read_in_pages(on: Opened) {
    append_each_second(&on, 100).await;
    for size in [1, 7, 100, 1_000] {
        let (mut seen, mut after) = (Vec::new(), Position::default());
        loop {
            let slice = on.read("log", after, size).await;
            assert!(slice.messages.len() <= size);
            let Some(newest) = slice.messages.last() else {
                break;
            };
            after = newest.position;
            seen.extend(slice.messages.iter().map(|message| text(&message.body)));
        }
        assert_eq!(seen, (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

pub async fn reading_after_the_end_finds_nothing(on: Opened) {
    let last = *append_each_second(&on, 3).await.last().unwrap();
    for after in [last, Position(last.0 + 1), Position(u64::MAX)] {
        let expected = Slice {
            messages: Vec::new(),
            last,
            trimmed: Position(0),
        };
        assert_eq!(on.read("log", after, 9).await, expected);
    }
}

pub async fn reading_no_messages_still_returns_the_bounds(on: Opened) {
    let last = *append_each_second(&on, 3).await.last().unwrap();
    on.trim("log", seconds(1), 9).await;
    let slice = on.read("log", Position(0), 0).await;
    assert_eq!((slice.messages.len(), slice.last), (0, last));
    assert!(slice.trimmed > Position(0));
}

pub async fn a_log_that_was_never_written_is_empty(on: Opened) {
    on.commit([append("log", "m")]).await;
    assert_eq!(on.read("lo", Position(0), 9).await, Slice::default());
    assert_eq!(on.read("log2", Position(0), 9).await, Slice::default());
    assert_eq!(on.read("", Position(0), 9).await, Slice::default());
}

pub async fn the_logs_of_a_partition_are_independent(on: Opened) {
    for n in 0..10 {
        on.commit([append("a", format!("a{n}")), append("aa", format!("aa{n}"))])
            .await;
    }
    assert!(
        on.bodies("a")
            .await
            .iter()
            .all(|body| !body.starts_with("aa"))
    );
    assert_eq!(on.bodies("a").await.len(), 10);
    on.trim("a", START.plus(HOUR), usize::MAX).await;
    assert_eq!(on.bodies("aa").await.len(), 10);
    assert_eq!(on.read("aa", Position(0), 1).await.trimmed, Position(0));
}

pub async fn a_large_max_reads_everything(on: Opened) {
    append_each_second(&on, 3).await;
    assert_eq!(
        on.read("log", Position(0), usize::MAX).await.messages.len(),
        3
    );
}

pub async fn trimming_drops_older_messages_and_returns_how_many(on: Opened) {
    append_each_second(&on, 5).await;
    // The message published at exactly that time is kept.
    assert_eq!(on.trim("log", seconds(2), 9).await, 2);
    assert_eq!(on.bodies("log").await, ["2", "3", "4"]);
    assert_eq!(on.trim("log", seconds(2), 9).await, 0);
    assert_eq!(on.trim("log", Timestamp(u64::MAX), usize::MAX).await, 3);
    assert_eq!(on.bodies("log").await, [""; 0]);
    assert_eq!(on.trim("log", Timestamp(u64::MAX), usize::MAX).await, 0);
}

pub async fn trimming_stops_at_its_max_oldest_first(on: Opened) {
    append_each_second(&on, 5).await;
    assert_eq!(on.trim("log", seconds(9), 0).await, 0);
    assert_eq!(on.trim("log", seconds(9), 3).await, 3);
    assert_eq!(on.bodies("log").await, ["3", "4"]);
}

pub async fn trimming_a_log_that_does_not_exist_is_harmless(on: Opened) {
    assert_eq!(on.trim("log", seconds(9), 9).await, 0);
    on.commit([append("other", "m")]).await;
    assert_eq!(on.trim("log", seconds(9), 9).await, 0);
    assert_eq!(on.bodies("other").await, ["m"]);
}

pub async fn trimming_large_messages_drops_them_all(on: Opened) {
    for _ in 0..30 {
        on.commit([append("log", vec![b'x'; 500_000])]).await;
    }
    let all = START.plus(HOUR);
    assert_eq!(on.trim("log", all, 20).await, 20);
    assert_eq!(on.trim("log", all, usize::MAX).await, 10);
    assert_eq!(on.read("log", Position(0), 9).await.messages, []);
}

pub async fn trimming_thousands_drops_them_all(on: Opened) {
    for _ in 0..3 {
        on.commit(
            (0..1_000)
                .map(|n| append("log", n.to_string()))
                .collect::<Vec<_>>(),
        )
        .await;
    }
    assert_eq!(on.trim("log", seconds(9), 2_500).await, 2_500);
    assert_eq!(on.bodies("log").await.len(), 500);
    assert_eq!(on.trim("log", seconds(9), usize::MAX).await, 500);
}

pub async fn a_read_returns_the_trimmed_position(on: Opened) {
    let positions = append_each_second(&on, 5).await;
    assert_eq!(on.read("log", Position(0), 9).await.trimmed, Position(0));
    on.trim("log", seconds(2), 9).await;
    let slice = on.read("log", Position(0), 9).await;
    assert_eq!((slice.trimmed, slice.last), (positions[1], positions[4]));
    assert_eq!(slice.messages[0].position, positions[2]);
    on.trim("log", seconds(9), 9).await;
    let slice = on.read("log", Position(0), 9).await;
    assert_eq!((slice.trimmed, slice.last), (positions[4], positions[4]));
    let new = on.commit([append("log", "new")]).await.positions[0];
    let slice = on.read("log", Position(0), 9).await;
    assert_eq!((slice.trimmed, slice.last), (positions[4], new));
}

pub async fn positions_are_not_reused_after_a_trim(on: Opened) {
    let old = append_each_second(&on, 3).await;
    on.trim("log", seconds(9), 9).await;
    let new = on.commit([append("log", "new")]).await.positions[0];
    assert!(old.iter().all(|position| *position < new));
    let slice = on.read("log", old[2], 9).await;
    assert_eq!((slice.messages.len(), slice.messages[0].position), (1, new));
}

pub async fn a_trim_is_not_a_commit(on: Opened) {
    append_each_second(&on, 3).await;
    on.trim("log", seconds(2), 9).await;
    assert_eq!(on.commit([put("a", "")]).await.revision, Revision(4));
}
