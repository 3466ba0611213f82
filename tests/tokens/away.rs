//! While the store is away: who is known goes on, everyone else is told to come again, nothing is half done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tillgate::clock::{StoppedClock, Timestamp};
use tillgate::store::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, MemoryStore, Page, Partition,
    PartitionHints, Position, Slice, Store, Unavailable,
};

use super::fixture::{FORM, START, Service, registration};

/// A store that can be away.
#[derive(Debug)]
struct Switched {
    store: MemoryStore,
    away: AtomicBool,
    /// Whether the reply of the next commit is lost.
    mute: AtomicBool,
}

impl Switched {
    fn here(&self) -> Result<&MemoryStore, Unavailable> {
        if self.away.load(Ordering::SeqCst) {
            return Err(Unavailable("it was switched off".to_owned()));
        }
        Ok(&self.store)
    }
}

#[async_trait]
impl Store for Switched {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        let store = self
            .here()
            .map_err(|cause| CommitError::Unavailable(cause.0))?;
        let committed = store.commit(commit).await;
        if self.mute.swap(false, Ordering::SeqCst) {
            return Err(CommitError::Unknown("the reply was lost".to_owned()));
        }
        committed
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        self.here()?.get(partition, keys).await
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        self.here()?.scan(partition, prefix, after, max).await
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        self.here()?.read(partition, log, after, max).await
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        self.here()?.trim(partition, log, before, max).await
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        self.here()?.claim(partition, queue, lease, max).await
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        self.here()?.partitions(after, max).await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.store.hints(partition)
    }

    fn partition_hints(&self) -> PartitionHints {
        self.store.partition_hints()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        self.here().ok()?.hints_as_of()
    }

    fn health(&self) -> Health {
        match self.here() {
            Ok(store) => store.health(),
            Err(Unavailable(why)) => Health::Away { since: START, why },
        }
    }
}

async fn start() -> (Service, Arc<Switched>) {
    let clock = Arc::new(StoppedClock::at(START));
    let store = MemoryStore::new(clock.clone());
    let store = Switched {
        store,
        away: AtomicBool::default(),
        mute: AtomicBool::default(),
    };
    let store = Arc::new(store);
    let opened: Arc<dyn Store> = store.clone();
    (Service::on(opened, clock, |_| ()).await, store)
}

#[tokio::test]
async fn while_the_store_is_away_who_is_known_goes_on_and_others_come_again() {
    let (service, store) = start().await;
    service.open_tenant("acme", &[]).await;
    let (known, unknown) = (service.operator().await, service.admin("acme").await);
    assert_eq!(service.status_of(&known).await.0, 200);
    store.away.store(true, Ordering::SeqCst);
    assert!(service.host.features.tokens.verify(&known).await.is_ok());
    let answer = service.get("/v1/roles", &unknown).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let answer = service.send(service.ask(id, secret, FORM)).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    assert_eq!(
        answer.body,
        json!({ "error": "temporarily_unavailable", "error_description": "the store is away" })
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(
        service
            .register(&registration("acme", json!({})))
            .await
            .status,
        503
    );
    store.away.store(false, Ordering::SeqCst);
    assert_eq!(service.get("/v1/roles", &unknown).await.status, 200);
    assert_eq!(
        service
            .register(&registration("acme", json!({})))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_change_whose_reply_is_lost_is_made_once() {
    let (service, store) = start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    store.mute.store(true, Ordering::SeqCst);
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    store.mute.store(true, Ordering::SeqCst);
    assert_eq!(
        service
            .put(&format!("{path}/authorize"), &operator, Value::Null)
            .await
            .status,
        200
    );
    store.mute.store(true, Ordering::SeqCst);
    assert_eq!(service.delete(&path, &operator).await.status, 204);
}

/// Asks until an answer has a status.
async fn until(service: &Service, token: &str, status: u16) {
    let asking = async {
        while service.get("/api/v1/catalog", token).await.status != status {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asking).await;
    asked.expect("it never answers that");
}

#[tokio::test]
async fn what_is_in_memory_is_served_for_a_second_while_the_store_is_away() {
    let (service, store) = start().await;
    service.open_tenant("acme", &[]).await;
    let editor = service
        .host
        .token("acme", &["ecs.editor", "ecs.evaluator"])
        .await;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/beer";
    assert_eq!(service.put(path, &editor, condition).await.status, 201);
    let evaluate = "/api/v1/conditions/beer/evaluate";
    let question = json!({ "item": { "id": "1" }, "context": {} });
    let ask = async || service.post(evaluate, &editor, question.clone()).await;
    assert_eq!(ask().await.status, 200);

    store.away.store(true, Ordering::SeqCst);
    service.clock.advance(Duration::from_secs(1));
    assert_eq!(ask().await.status, 200);
    service.clock.advance(Duration::from_micros(1));
    for _ in 0..3 {
        let answer = ask().await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
    }
    // Nor is it younger for a clock that was set back.
    service.clock.set(START.minus(Duration::from_secs(3)));
    assert_eq!(ask().await.status, 503);

    store.away.store(false, Ordering::SeqCst);
    until(&service, &editor, 200).await;
    assert_eq!(ask().await.status, 200);
}

#[tokio::test]
async fn a_clock_that_leaps_keeps_nobody_waiting_while_the_store_is_there() {
    let (service, _store) = start().await;
    let admin = service.admin("acme").await;
    for _ in 0..5 {
        service.clock.advance(Duration::from_secs(60));
        assert_eq!(service.get("/v1/roles", &admin).await.status, 200);
    }
}
