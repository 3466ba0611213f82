//! The history of rules when hosts are killed in the middle of changes, and while the store is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_store::Store;

use super::shop::{BEER, GLOBAL_BEER, Shop, age, step, steps};
use crate::support::host::{Program, client, read, token};
use crate::support::stores::clock;
use crate::support::switched::Switched;
use crate::support::wait::until;

const HOUR: Duration = Duration::from_secs(3600);

/// Returns the minimum ages in a history, oldest first.
fn made(page: &Value) -> Vec<u64> {
    let items = page["items"].as_array().unwrap().iter().rev();
    let after = items.map(|item| {
        let age = &item["after"]["condition_value"]["minimum_age"];
        age.as_u64().unwrap_or_else(|| panic!("{}", step(item)))
    });
    after.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_killed_has_a_row_for_every_change_that_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::serve(folder.path());
    let http = client();
    let file = std::fs::read(folder.path().join("operator.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let [id, secret] = ["clientId", "clientSecret"].map(|member| file[member].as_str().unwrap());
    let mut acknowledged = Vec::new();
    for round in 0..3u64 {
        let token = token(&http, &program.url, id, secret).await;
        let (url, stop) = (program.url.clone(), Arc::new(AtomicBool::new(false)));
        let (http, stopped) = (http.clone(), stop.clone());
        let puts = tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for minimum in round * 50..round * 50 + 50 {
                let put = http.put(format!("{url}{GLOBAL_BEER}")).bearer_auth(&token);
                match put.json(&age(minimum)).send().await {
                    Ok(answer) if answer.status().is_success() => acknowledged.push(minimum),
                    _ => break,
                }
                if minimum % 50 == 20 {
                    stopped.store(true, Ordering::SeqCst);
                }
            }
            acknowledged
        });
        until("twenty changes are made", async || {
            stop.load(Ordering::SeqCst)
        })
        .await;
        program.kill();
        acknowledged.extend(puts.await.unwrap());
        program = Program::serve(folder.path());
    }
    let token = token(&http, &program.url, id, secret).await;
    let get = async |path: &str| {
        let url = format!("{}{path}", program.url);
        read(http.get(url).bearer_auth(&token).send().await.unwrap()).await
    };
    let (status, page) = get(&format!("{GLOBAL_BEER}/history?limit=1000")).await;
    assert_eq!(status, 200, "{page}");
    let made = made(&page);
    // A change whose answer was lost may have been made; then it has a row.
    assert!(made.is_sorted(), "{made:?}");
    assert!(
        acknowledged.iter().all(|each| made.contains(each)),
        "{made:?}"
    );
    assert!(made.len() <= acknowledged.len() + 3);
    let (_, now) = get("/api/v1/entity-conditions/beer").await;
    assert_eq!(page["items"][0]["after"], now);
}

/// A host that is killed in between leaves a version that was set aside for a change that was never made.
#[tokio::test]
async fn unused_versions_are_removed() {
    let shop = Shop::open().await;
    shop.put(BEER, &age(16)).await;
    let records = shop
        .host
        .app
        .records(TenantId::new("shop").unwrap().partition());
    let id = "00000000000040008000000000000001";
    let keys = [
        format!("history-aside/{id}"),
        format!("history-version/{id}"),
    ];
    let mut change = Change::default();
    change
        .put(
            &keys[0],
            &tillgate_store::clock::Clock::now(shop.clock.as_ref()),
        )
        .unwrap();
    change.put(&keys[1], &age(15)).unwrap();
    records.commit(change).await.unwrap();
    shop.pass(25 * HOUR).await;
    let left = records.entries(&keys).await.unwrap();
    assert!(left.iter().all(Option::is_none), "{left:?}");
    assert_eq!(steps(&shop.history(BEER, "").await), ["CREATED - -> 16"]);
}

/// Opens a shop on a store that can be away.
async fn switched() -> (Shop, Arc<Switched>) {
    let clock = clock();
    let store = Switched::new(clock.clone());
    let shared: Arc<dyn Store> = store.clone();
    (Shop::on(shared, clock, |_| ()).await, store)
}

#[tokio::test]
async fn a_change_whose_outcome_the_host_had_to_ask_for_again_has_one_row() {
    let (shop, store) = switched().await;
    shop.put(BEER, &age(16)).await;
    store.mute.store(true, Ordering::SeqCst);
    assert_eq!(shop.put(BEER, &age(18)).await, 200);
    let page = shop.history(BEER, "").await;
    assert_eq!(steps(&page), ["REPLACED 16 -> 18", "CREATED - -> 16"]);
}

#[tokio::test]
async fn while_the_store_is_away_a_history_is_503() {
    let (shop, store) = switched().await;
    shop.put(BEER, &age(16)).await;
    store.set_away(true);
    let (status, _) = shop.asked(BEER, "", &shop.token()).await;
    assert_eq!(status, 503);
    store.set_away(false);
    let (status, _) = shop.asked(BEER, "", &shop.token()).await;
    assert_eq!(status, 200);
}
