//! A consumer of the topic as described in `given.md`, 6.1, and the properties of every message that it receives.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use tillgate_base::identity::TenantId;
use tillgate_rates::topic::TOPIC;
use tillgate_store::Position;

use super::model::UsedRates;
use crate::support::host::Host;

/// A rate in a message, with its numbers as they are written.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    pub exchange_rate_type: String,
    pub source_currency_code: String,
    pub target_currency_code: String,
    pub rate_value: Box<RawValue>,
    pub rate_value_with_markup: Box<RawValue>,
    pub created_date: String,
    pub created_by: Option<String>,
    pub last_modified: Option<String>,
}

/// Shop, type, source, target.
pub type Key = (String, String, String, String);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    #[serde(default)]
    pub created_rates: Vec<Rate>,
    #[serde(default)]
    pub updated_rates: Vec<Rate>,
    #[serde(default)]
    pub deleted_rates: Vec<Rate>,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub position: Position,
    pub publish_time: String,
    pub tenant: String,
    pub shop: String,
    pub correlation: String,
    pub lists: Lists,
}

impl Rate {
    pub fn key(&self, shop: &str) -> Key {
        let [of, from, to] = [
            &self.exchange_rate_type,
            &self.source_currency_code,
            &self.target_currency_code,
        ];
        (shop.to_owned(), of.clone(), from.clone(), to.clone())
    }

    /// Returns the value and the value with markup.
    pub fn values(&self) -> [&str; 2] {
        [self.rate_value.get(), self.rate_value_with_markup.get()]
    }

    /// Returns everything that a consumer stores about the rate.
    pub fn text(&self) -> String {
        let [value, with_markup] = self.values();
        let (by, modified) = (&self.created_by, &self.last_modified);
        format!(
            "{value} {with_markup} {} {by:?} {modified:?}",
            self.created_date
        )
    }
}

impl Lists {
    /// Returns the key, values and dates of every rate, by list.
    pub fn rows(&self) -> [Vec<(Key, String)>; 3] {
        [
            &self.created_rates,
            &self.updated_rates,
            &self.deleted_rates,
        ]
        .map(|list| {
            list.iter()
                .map(|rate| (rate.key(""), rate.text()))
                .collect()
        })
    }

    pub fn is_empty(&self) -> bool {
        self.rows().iter().all(Vec::is_empty)
    }
}

/// Returns every message in a tenant's log after a position, including the lists that messages share.
pub async fn messages(host: &Host, tenant: &str, after: &mut Position) -> Vec<Message> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        tenant_id: String,
        business_unit_id: String,
        rates_key: Option<String>,
    }
    let partition = TenantId::new(tenant).unwrap().partition();
    let store = &host.app.store;
    let slice = store.read(&partition, TOPIC, *after, 1_000_000);
    let slice = slice.await.unwrap();
    *after = slice.last;
    let mut messages = Vec::new();
    for message in slice.messages {
        let body: Body = serde_json::from_slice(&message.body).unwrap();
        let lists = match &body.rates_key {
            None => message.body.clone(),
            Some(key) => {
                let entry = store.get(&partition, std::slice::from_ref(key));
                entry.await.unwrap()[0].clone().expect(key).value
            }
        };
        let attributes: BTreeMap<_, _> = message.attributes.into_iter().collect();
        assert_eq!(attributes["Tenant-Id"], body.tenant_id);
        assert_eq!(attributes["Business-Unit-Id"], body.business_unit_id);
        messages.push(Message {
            position: message.position,
            publish_time: message.publish_time.to_micros_text(),
            tenant: body.tenant_id,
            shop: body.business_unit_id,
            correlation: attributes["Correlation-Id"].clone(),
            lists: serde_json::from_slice(&lists).unwrap(),
        });
    }
    messages
}

/// The state of a consumer: for each rate, the publish time of its newest message, and the rate unless it was deleted.
#[derive(Clone, Debug, Default)]
pub struct Consumer {
    held: BTreeMap<Key, (String, Option<Rate>)>,
    /// The creation times of deleted rates.
    gone: BTreeMap<Key, String>,
}

impl Consumer {
    /// Applies a message: for each rate the newest one by publish time wins.
    pub fn take(&mut self, message: &Message) {
        let lists = &message.lists;
        let held = lists.created_rates.iter().chain(&lists.updated_rates);
        let deleted = lists.deleted_rates.iter().map(|rate| (rate, false));
        for (rate, is_held) in held.map(|rate| (rate, true)).chain(deleted) {
            let key = rate.key(&message.shop);
            let known = self.held.get(&key).map(|(at, _)| at);
            if known.is_none_or(|at| *at <= message.publish_time) {
                if !is_held {
                    self.gone.insert(key.clone(), rate.created_date.clone());
                }
                let rate = is_held.then(|| rate.clone());
                self.held.insert(key, (message.publish_time.clone(), rate));
            }
        }
    }

    /// Returns the rates that it holds as text, by shop and key.
    pub fn state(&self) -> BTreeMap<Key, String> {
        let held = self.held.iter();
        held.filter_map(|(key, (_, rate))| Some((key.clone(), rate.as_ref()?.text())))
            .collect()
    }

    /// Asserts that the rates it holds of a shop have the values of `used`.
    pub fn assert_holds(&self, shop: &str, used: &UsedRates) {
        let first = (shop.to_owned(), String::new(), String::new(), String::new());
        let of_shop = self
            .held
            .range(first..)
            .take_while(|(key, _)| key.0 == shop);
        let held: Vec<_> = of_shop
            .filter_map(|((_, of, from, to), (_, rate))| {
                let [value, with_markup] = rate.as_ref()?.values();
                Some(format!("{of} {from}/{to} {value} {with_markup}"))
            })
            .collect();
        let expected: Vec<_> = used
            .iter()
            .map(|((of, from, to), used)| {
                format!("{of} {from}/{to} {} {}", used.value, used.with_markup)
            })
            .collect();
        assert_eq!(held, expected, "{shop}");
    }

    /// Asserts the properties of every message in the order of publishing, before it is applied.
    pub fn check(&self, message: &Message, is_initial_state: bool) {
        let lists = &message.lists;
        let held = |rate: &Rate| {
            let known = self.held.get(&rate.key(&message.shop))?;
            known.1.clone()
        };
        self.check_pairs(message);
        if is_initial_state {
            let sent = lists.updated_rates.iter().map(|rate| rate.text());
            let held = self.held.iter().filter(|(key, _)| key.0 == message.shop);
            let held = held.filter_map(|(_, (_, rate))| Some(rate.as_ref()?.text()));
            assert_eq!(sent.collect::<Vec<_>>(), held.collect::<Vec<_>>());
            assert!(lists.created_rates.is_empty() && lists.deleted_rates.is_empty());
            return;
        }
        assert!(!lists.is_empty(), "nothing changed: {message:?}");
        for rate in &lists.created_rates {
            assert!(held(rate).is_none(), "was there before: {message:?}");
            assert!(rate.created_date[..23] <= message.publish_time[..23]);
            let gone = self.gone.get(&rate.key(&message.shop));
            assert!(
                gone.is_none_or(|before| *before < rate.created_date),
                "{message:?}"
            );
        }
        for rate in &lists.updated_rates {
            let before = held(rate).expect("a rate that is updated was there before");
            assert_eq!(rate.created_date, before.created_date);
            let of_pair = lists.updated_rates.iter().filter(|other| {
                rate.exchange_rate_type == other.exchange_rate_type
                    && [&rate.source_currency_code, &rate.target_currency_code]
                        .contains(&&other.source_currency_code)
                    && [&rate.source_currency_code, &rate.target_currency_code]
                        .contains(&&other.target_currency_code)
            });
            let mut of_pair = of_pair.map(|it| it.values() != held(it).unwrap().values());
            assert!(of_pair.any(|is_changed| is_changed), "{message:?}");
        }
        for rate in &lists.deleted_rates {
            let before = held(rate).expect("a rate that is deleted was there before");
            assert_eq!(rate.text(), before.text(), "as last used");
        }
    }

    /// Asserts that a list with one direction of a pair has the other too.
    fn check_pairs(&self, message: &Message) {
        for list in message.lists.rows() {
            let keys: Vec<_> = list.into_iter().map(|(key, _)| key).collect();
            assert!(keys.is_sorted(), "{message:?}");
            for (_, of, from, to) in &keys {
                let opposite = (String::new(), of.clone(), to.clone(), from.clone());
                assert!(keys.contains(&opposite), "{message:?}");
            }
        }
    }
}
