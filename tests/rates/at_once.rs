//! Many changes at once, on several threads, while the background runs: the tree stays a tree, and in the end every
//! shop uses and was told the rates that are set above it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use tillgate_store::Position;

use super::commands::{Command, IDS, KEYS};
use super::consumer::{Consumer, messages};
use super::fixture::Shop;
use super::laws::command;
use super::model::{Key, Model, Set, Unit};
use super::trial::Trial;

const WRITERS: usize = 8;
const CHANGES: usize = 60;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnitAnswer {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    parent_id: Option<String>,
    markup_percentage: Option<Box<RawValue>>,
    #[serde(default)]
    markups: Vec<KeyedAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyedAnswer {
    exchange_rate_type: String,
    currency_id_from: String,
    currency_id_to: String,
    markup_percentage: Option<Box<RawValue>>,
    rate_value: Option<Box<RawValue>>,
}

impl KeyedAnswer {
    fn key(&self) -> Key {
        let (of, from, to) = (
            &self.exchange_rate_type,
            &self.currency_id_from,
            &self.currency_id_to,
        );
        let currencies = ["EUR", "SEK", "USD", "NOK"];
        let code = |text: &str| *currencies.iter().find(|code| **code == text).unwrap();
        let known = KEYS.iter().map(|key| key.0).find(|known| known == of);
        (known.unwrap(), code(from), code(to))
    }
}

/// Returns a number as an integer, in units of its last decimal.
fn scaled(number: &RawValue, decimals: usize) -> i128 {
    let (whole, fraction) = number.get().split_once('.').unwrap_or((number.get(), ""));
    format!("{whole}{fraction:0<decimals$}").parse().unwrap()
}

/// Returns everything that is set at all units, as the host answers it.
async fn model_of(shop: &Shop) -> Model {
    let units: Vec<UnitAnswer> = serde_json::from_str(&shop.text("business-units").await).unwrap();
    let mut model = Model::default();
    for unit in units {
        let rates = shop
            .text(&format!("business-units/{}/exchange-rates", unit.id))
            .await;
        let rates: Vec<KeyedAnswer> = serde_json::from_str(&rates).unwrap();
        let rates = rates.iter().map(|rate| {
            let value = scaled(rate.rate_value.as_ref().unwrap(), 6);
            (rate.key(), Set { value, day: None })
        });
        let markup = |text: &RawValue| scaled(text, 4);
        let pairs = unit.markups.iter().map(|pair| {
            let text = pair.markup_percentage.as_ref().unwrap();
            (pair.key(), markup(text))
        });
        let kinds = ["COMPANY", "GROUP", "STORE"];
        let entry = Unit {
            kind: kinds.into_iter().find(|kind| *kind == unit.kind).unwrap(),
            parent: unit.parent_id,
            markup: unit.markup_percentage.as_deref().map(markup),
            markups: pairs.collect(),
            rates: rates.collect(),
        };
        model.0.insert(unit.id, entry);
    }
    model
}

/// Asserts that every unit is below a company and that no shop is above anything.
fn check_tree(model: &Model) {
    for (id, unit) in &model.0 {
        let mut at = unit;
        for _ in 0..=IDS.len() {
            let Some(parent) = &at.parent else { break };
            at = model
                .0
                .get(parent)
                .unwrap_or_else(|| panic!("{id}: {parent} is gone"));
            assert_ne!(at.kind, "STORE", "{id}");
        }
        assert_eq!(at.kind, "COMPANY", "{id} stands in a circle");
    }
}

async fn make(shop: &Shop, command: &Command) {
    let Some(asked) = command.request(shop.tenant) else {
        return shop.host.run_due().await;
    };
    shop.clock.advance(Duration::from_millis(1));
    let path = format!("/api/v1/{}", asked.path);
    let request = shop.host.request(asked.method, &path, &shop.token);
    let request = match asked.body.as_str() {
        "" => request,
        _ => request
            .header("content-type", asked.content_type)
            .body(asked.body),
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let answer = response.text().await.unwrap();
    // The status depends on what the others have done meanwhile, but it is never a failure of the host.
    assert!(
        [200, 201, 204, 400, 404, 409].contains(&status),
        "{status} {answer}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_at_once_leave_a_tree_and_every_shop_is_told_what_it_uses() {
    let shop = Arc::new(Shop::start().await);
    let mut runner = TestRunner::deterministic();
    let mut commands = || command().new_tree(&mut runner).unwrap().current();
    for id in 0..IDS.len() {
        let put = Command::Put {
            id,
            parent: if id < 6 { 0 } else { 2 },
            markup: None,
            markups: BTreeMap::new(),
        };
        make(&shop, &put).await;
    }
    let writers = (0..WRITERS).map(|_| {
        let commands: Vec<Command> = (0..CHANGES).map(|_| commands()).collect();
        let shop = Arc::clone(&shop);
        tokio::spawn(async move {
            for command in &commands {
                make(&shop, command).await;
            }
        })
    });
    for writer in join_all(writers.collect::<Vec<_>>()).await {
        writer.unwrap();
    }
    // A job that found everything changing is tried again a little later.
    for _ in 0..5 {
        shop.clock.advance(Duration::from_secs(60));
        shop.host.run_due().await;
    }
    let model = model_of(&shop).await;
    check_tree(&model);
    let mut consumer = Consumer::default();
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for message in messages(&shop.host, shop.tenant, &mut Position::default()).await {
        let before = told.insert(message.shop.clone(), message.publish_time.clone());
        assert!(before.is_none_or(|before| before < message.publish_time));
        consumer.take(&message);
    }
    let trial = Trial {
        tenant: shop.tenant,
        token: shop.token.clone(),
        model,
        initial_states: std::collections::BTreeSet::new(),
    };
    for id in IDS {
        let used = trial.check_used(&shop, id).await;
        if id.starts_with('s') {
            consumer.assert_holds(id, &used.values);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_moves_at_once_never_make_a_circle() {
    let shop = Shop::start().await;
    shop.unit("C", serde_json::json!({ "type": "COMPANY" }))
        .await;
    for round in 0..20 {
        let (a, b) = (format!("A{round}"), format!("B{round}"));
        for id in [&a, &b] {
            shop.unit(id, serde_json::json!({ "type": "GROUP", "parentId": "C" }))
                .await;
        }
        let put = async |id: &str, parent: &str| {
            let body = serde_json::json!({ "type": "GROUP", "parentId": parent });
            let path = format!("business-units/{id}");
            shop.send(Method::PUT, &path, &body).await.0
        };
        let mut answers = <[u16; 2]>::from(tokio::join!(put(&a, &b), put(&b, &a)));
        answers.sort_unstable();
        assert_eq!(answers, [200, 409]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unit_is_never_removed_while_another_is_put_below_it() {
    let shop = Shop::start().await;
    shop.unit("C", serde_json::json!({ "type": "COMPANY" }))
        .await;
    for round in 0..20 {
        let (group, store) = (format!("G{round}"), format!("S{round}"));
        shop.unit(
            &group,
            serde_json::json!({ "type": "GROUP", "parentId": "C" }),
        )
        .await;
        let path = format!("business-units/{group}");
        let remove = async || {
            shop.send(Method::DELETE, &path, &serde_json::Value::Null)
                .await
                .0
        };
        let put = async || {
            let body = serde_json::json!({ "type": "STORE", "parentId": group });
            shop.send(Method::PUT, &format!("business-units/{store}"), &body)
                .await
                .0
        };
        let answers = tokio::join!(remove(), put());
        // Whichever comes first prevents the other.
        assert!([(204, 409), (409, 201)].contains(&answers), "{answers:?}");
    }
}
