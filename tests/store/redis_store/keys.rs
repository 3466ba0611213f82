//! The keys and streams in Redis, as `host/store/src/redis/README.md` documents them.

use std::sync::Arc;

use bytes::Bytes;
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{Commit, CommitId, Op, Partition, RedisStore, RedisUrl, Store};

use crate::support::redis::{Server, shared};

fn commit(ops: Vec<Op>) -> Commit {
    Commit {
        partition: Partition::new("shop").unwrap(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops,
    }
}

fn append(log: &str, body: &str) -> Op {
    Op::Append {
        log: log.to_owned(),
        attributes: vec![("Tenant-Id".to_owned(), "shop".to_owned())],
        body: Bytes::from(body.to_owned()),
    }
}

async fn store_on(server: &Server, prefix: &str) -> RedisStore {
    let url = RedisUrl::parse(&format!("{}?prefix={prefix}", server.url()))
        .unwrap()
        .unwrap();
    RedisStore::connect(
        &url,
        Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000))),
    )
    .unwrap()
}

#[tokio::test]
async fn a_log_is_a_stream_that_anyone_can_read() {
    let (server, prefix) = (shared(), "keys-stream");
    let store = store_on(server, prefix).await;
    store
        .commit(commit(vec![append("rates", "one"), append("rates", "two")]))
        .await
        .unwrap();
    let read = server.cli(&["xrange", &format!("{{{prefix}:shop}}:log:rates"), "-", "+"]);
    let expected = [
        "1767225600000000-0",
        "time",
        "1767225600000000",
        "body",
        "one",
        "a:Tenant-Id",
        "shop",
        "1767225600000000-1",
        "time",
        "1767225600000000",
        "body",
        "two",
        "a:Tenant-Id",
        "shop",
    ];
    assert_eq!(read.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn every_key_of_a_partition_has_its_hash_tag_and_a_documented_name() {
    let (server, prefix) = (shared(), "keys-names");
    let store = store_on(server, prefix).await;
    let job = Op::Enqueue {
        queue: "deliveries".to_owned(),
        job: "1".to_owned(),
        due: Timestamp(0),
        body: Bytes::from("job"),
    };
    let row = Op::Put {
        key: "row".to_owned(),
        value: Bytes::from("1"),
    };
    store
        .commit(commit(vec![row, append("rates", "one"), job]))
        .await
        .unwrap();
    let partition = Partition::new("shop").unwrap();
    store
        .claim(
            &partition,
            "deliveries",
            std::time::Duration::from_secs(9),
            9,
        )
        .await
        .unwrap();
    store
        .trim(&partition, "rates", Timestamp(u64::MAX), 9)
        .await
        .unwrap();
    let found = server.cli(&["--scan", "--pattern", &format!("{{{prefix}*")]);
    let mut found: Vec<_> = found.lines().map(|key| key.replace(prefix, "P")).collect();
    found.sort();
    let expected = [
        "{P:shop}:claims:deliveries",
        "{P:shop}:due:deliveries",
        "{P:shop}:head",
        "{P:shop}:ids:0",
        "{P:shop}:jobs:deliveries",
        "{P:shop}:keys",
        "{P:shop}:log:rates",
        "{P:shop}:logs",
        "{P:shop}:queues",
        "{P:shop}:trimmed",
        "{P:shop}:values",
        "{P}:partitions",
    ];
    assert_eq!(found, expected);
    let left: i64 = server
        .cli(&["ttl", &format!("{{{prefix}:shop}}:ids:0")])
        .parse()
        .unwrap();
    assert!((1_800..=2_400).contains(&left), "outcomes expire: {left}");
}

#[tokio::test]
async fn a_value_follows_its_revision_and_that_of_a_large_value_is_also_stored_separately() {
    let (server, prefix) = (shared(), "keys-values");
    let store = store_on(server, prefix).await;
    let put = |key: &str, bytes: usize| Op::Put {
        key: key.to_owned(),
        value: "x".repeat(bytes).into(),
    };
    let hget = |hash: &str, key| {
        let hash = format!("{{{prefix}:shop}}:{hash}");
        server.cli(&["hget", &hash, key])
    };
    let ops = vec![put("small", 4_096), put("large", 4_097)];
    store.commit(commit(ops)).await.unwrap();
    assert!(hget("values", "small").starts_with("1 xxx"));
    assert!(hget("values", "large").starts_with("1 xxx"));
    assert_eq!(hget("revisions", "small"), "");
    assert_eq!(hget("revisions", "large"), "1");
    let ops = vec![put("small", 5_000), put("large", 3)];
    store.commit(commit(ops)).await.unwrap();
    assert_eq!(hget("values", "large"), "2 xxx");
    assert_eq!(hget("revisions", "small"), "2");
    assert_eq!(hget("revisions", "large"), "");
    let delete = Op::Delete {
        key: "small".to_owned(),
    };
    store.commit(commit(vec![delete])).await.unwrap();
    assert_eq!(hget("values", "small"), "");
    assert_eq!(hget("revisions", "small"), "");
}

#[tokio::test]
async fn a_key_of_another_type_fails_a_commit_before_it_writes() {
    let (server, prefix) = (shared(), "keys-foreign");
    let store = store_on(server, prefix).await;
    store.commit(commit(vec![])).await.unwrap();
    for kind in [
        "values",
        "revisions",
        "keys",
        "logs",
        "queues",
        "log:rates",
        "due:q",
        "jobs:q",
        "claims:q",
    ] {
        let key = format!("{{{prefix}:shop}}:{kind}");
        server.cli(&["set", &key, "foreign"]);
        let job = Op::Enqueue {
            queue: "q".to_owned(),
            job: "1".to_owned(),
            due: Timestamp(0),
            body: Bytes::new(),
        };
        let row = Op::Put {
            key: "row".to_owned(),
            value: Bytes::from("1"),
        };
        let failed = store
            .commit(commit(vec![row, append("rates", "one"), job]))
            .await;
        assert!(failed.is_err(), "{kind}");
        assert_eq!(
            server.cli(&["hget", &format!("{{{prefix}:shop}}:head"), "revision"]),
            "1",
            "{kind}"
        );
        server.cli(&["del", &key]);
    }
    let committed = store
        .commit(commit(vec![append("rates", "one")]))
        .await
        .unwrap();
    assert_eq!(committed.revision.0, 2);
}
