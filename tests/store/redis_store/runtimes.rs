//! A store outlives the runtimes of its callers, which may end at any time: background work runs on the store's own
//! threads.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tillgate_store::clock::SystemClock;
use tillgate_store::{Commit, CommitId, Partition, RedisStore, RedisUrl, Store};
use tokio::runtime::{Builder, Runtime};

use crate::support::redis::shared;
use crate::support::wait::within;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn commit() -> Commit {
    Commit {
        partition: Partition::new("shop").unwrap(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: Vec::new(),
    }
}

fn store(lasting: &Runtime) -> Arc<RedisStore> {
    let _entered = lasting.enter();
    let url = format!("{}?prefix={:032x}", shared().url(), CommitId::random().0);
    let url = RedisUrl::parse(&url).unwrap().unwrap();
    Arc::new(RedisStore::connect(&url, Arc::new(SystemClock)).unwrap())
}

#[test]
fn a_commit_goes_on_when_the_runtime_of_the_one_that_asked_for_it_ends() {
    let (lasting, ending) = (runtime(), runtime());
    let store = store(&lasting);
    let first = commit();
    ending.block_on(async {
        let mut asked = pin!(store.commit(first.clone()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(asked.as_mut().poll(&mut context), Poll::Pending));
    });
    drop(ending);
    lasting.block_on(within("the next commit", async {
        assert!(!store.commit(commit()).await.unwrap().repeated);
        assert!(store.commit(first).await.unwrap().repeated);
    }));
}

#[test]
fn a_connection_stays_open_when_the_runtime_of_the_one_that_opened_it_ends() {
    let lasting = Builder::new_multi_thread().enable_all().build().unwrap();
    let ending = runtime();
    let store = store(&lasting);
    ending.block_on(async { store.commit(commit()).await.unwrap() });
    drop(ending);
    let committed = lasting.block_on(within("a commit", store.commit(commit())));
    assert!(!committed.unwrap().repeated);
}
