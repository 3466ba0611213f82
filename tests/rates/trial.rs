//! A tenant of the laws: its changes are made by requests and in the model alike, and the answers, the messages and
//! the dry runs agree with the model.

use std::collections::BTreeSet;

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::commands::{Asked, Command};
use super::consumer::{Lists, Message};
use super::fixture::Shop;
use super::model::{Key, Model, Used, UsedRates, opposite};

pub struct Trial {
    pub tenant: &'static str,
    pub token: String,
    pub model: Model,
    /// The correlation ids of the requested initial states.
    pub initial_states: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    business_units: Counts,
    /// Each is a shop with the lists of its message.
    sample: Vec<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Counts {
    total: usize,
    affected: usize,
    shielded: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    business_unit_id: String,
}

/// The rates that the host says a unit uses.
pub struct Answered {
    pub values: UsedRates,
    /// As a consumer holds them.
    pub texts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsedRate {
    exchange_rate_type: String,
    currency_id_from: String,
    currency_id_to: String,
    rate_value: Box<RawValue>,
    rate_value_with_markup: Box<RawValue>,
    created_date: String,
    created_by: Option<String>,
    last_modified: Option<String>,
    set_at: String,
}

impl Trial {
    async fn send(&self, shop: &Shop, asked: Asked, query: &str) -> (u16, String) {
        let path = format!("/api/v1/{}{query}", asked.path);
        let request = shop.host.request(asked.method, &path, &self.token);
        let request = match asked.body.as_str() {
            "" => request,
            _ => request
                .header("content-type", asked.content_type)
                .body(asked.body),
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Makes a change; its answer must agree with the model.
    pub async fn run(&mut self, shop: &Shop, command: &Command) {
        let Some(asked) = command.request(self.tenant) else {
            return shop.host.run_due().await;
        };
        let (status, answer) = self.send(shop, asked, "").await;
        match command.apply(&mut self.model) {
            Err(refused) => assert_eq!(status, refused, "{command:?} {answer}"),
            Ok((expected, counts)) => {
                assert_eq!(status, expected, "{command:?} {answer}");
                self.check_counts(command, &answer, &counts);
            }
        }
    }

    fn check_counts(&mut self, command: &Command, answer: &str, counts: &[usize]) {
        if answer.is_empty() {
            return;
        }
        let answer: Value = serde_json::from_str(answer).unwrap();
        if matches!(command, Command::InitialState { .. }) {
            let id = answer["correlationId"].as_str().unwrap();
            self.initial_states.insert(id.to_owned());
        }
        let names = ["created", "updated", "deleted", "unchanged"];
        for (name, count) in names.into_iter().zip(counts) {
            let answered = answer[name].as_u64().unwrap_or(0);
            assert_eq!(answered, *count as u64, "{name}: {command:?} {answer}");
        }
    }

    /// Returns the dry run of a change, if the change has one.
    pub async fn dry_run(&self, shop: &Shop, command: &Command) -> Option<DryRun> {
        let asked = command.request(self.tenant)?;
        let is_offered = command.unit().is_some() && !matches!(command, Command::Delete { .. });
        if !is_offered {
            return None;
        }
        let and = if asked.path.contains('?') { '&' } else { '?' };
        let (status, answer) = self.send(shop, asked, &format!("{and}dryRun=true")).await;
        match command.apply(&mut self.model.clone()) {
            Err(refused) => {
                assert_eq!(status, refused, "{command:?} {answer}");
                None
            }
            Ok(_) => {
                assert_eq!(status, 200, "{command:?} {answer}");
                Some(serde_json::from_str(&answer).unwrap())
            }
        }
    }

    /// Asserts that the messages of a change are the differences in every shop's rates by the model, or all rates for
    /// an initial state.
    pub fn check_published(&self, before: &Model, command: &Command, published: &[Message]) {
        let mut expected: Vec<(String, [Vec<String>; 3])> = Vec::new();
        if let Command::InitialState { id } = command {
            let shops = match id {
                None => self.model.all_shops(),
                Some(id) => self.model.shops(super::commands::IDS[*id]),
            };
            for shop in shops {
                let used = self.model.used(&shop);
                let all = used.iter().map(|(key, used)| row(*key, used)).collect();
                expected.push((shop, [vec![], all, vec![]]));
            }
        } else {
            let shops: BTreeSet<_> = before.all_shops().into_iter().collect();
            for shop in shops
                .into_iter()
                .chain(self.model.all_shops())
                .collect::<BTreeSet<_>>()
            {
                let lists = difference(&used_of(before, &shop), &used_of(&self.model, &shop));
                if lists.iter().any(|list| !list.is_empty()) {
                    expected.push((shop, lists));
                }
            }
        }
        let mut published: Vec<_> = published
            .iter()
            .map(|message| (message.shop.clone(), rows(&message.lists)))
            .collect();
        published.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(published, expected, "{command:?}");
    }

    /// Asserts that the dry run of a change predicted its messages.
    pub fn check_dry_run(
        &self,
        before: &Model,
        command: &Command,
        dry: &DryRun,
        published: &[Message],
    ) {
        let unit = command.unit().unwrap();
        let shops = self.model.shops(unit);
        assert_eq!(dry.business_units.total, shops.len(), "{command:?}");
        assert_eq!(dry.business_units.affected, published.len(), "{command:?}");
        let shielded = shops.iter().filter(|shop| {
            let is_told = published.iter().any(|message| message.shop == **shop);
            !is_told && self.is_shielded(before, unit, shop)
        });
        assert_eq!(dry.business_units.shielded, shielded.count(), "{command:?}");
        assert_eq!(dry.sample.len(), published.len().min(20));
        for (sample, message) in dry.sample.iter().zip(published) {
            let sampled: Sampled = serde_json::from_str(sample.get()).unwrap();
            assert_eq!(sampled.business_unit_id, message.shop);
            let lists: Lists = serde_json::from_str(sample.get()).unwrap();
            assert_eq!(lists.rows(), message.lists.rows(), "{command:?}");
        }
    }

    /// Returns whether a shop keeps a rate because a level nearer than the unit sets it, for a pair that has changed
    /// at the unit.
    fn is_shielded(&self, before: &Model, unit: &str, shop: &str) -> bool {
        let values = |model: &Model, key: Key| {
            let unit = model.0.get(unit);
            unit.and_then(|unit| unit.rates.get(&key).map(|set| set.value))
        };
        let above = self.model.levels(unit);
        let used = self.model.used(shop);
        used.iter().any(|(key, used)| {
            let is_changed = values(before, *key) != values(&self.model, *key);
            is_changed && !above.contains(&used.set_at)
        })
    }

    /// Asserts that the host's answer about the rates that a unit uses agrees with the model.
    pub async fn check_used(&self, shop: &Shop, id: &str) -> Answered {
        let asked = Asked {
            method: Method::GET,
            path: format!("exchange-rates?businessUnit={id}"),
            content_type: "",
            body: String::new(),
        };
        let (status, answer) = self.send(shop, asked, "").await;
        let values = used_of(&self.model, id);
        if !self.model.0.contains_key(id) {
            assert_eq!(status, 404);
            let texts = Vec::new();
            return Answered { values, texts };
        }
        let answer: Vec<UsedRate> = serde_json::from_str(&answer).unwrap();
        let (mut rows, mut texts) = (Vec::new(), Vec::new());
        for rate in &answer {
            let key = [
                &rate.exchange_rate_type,
                &rate.currency_id_from,
                &rate.currency_id_to,
            ];
            let [value, with_markup] = [&rate.rate_value, &rate.rate_value_with_markup];
            rows.push(format!("{key:?} {value} {with_markup} {}", rate.set_at));
            let (by, modified) = (&rate.created_by, &rate.last_modified);
            texts.push(format!(
                "{value} {with_markup} {} {by:?} {modified:?}",
                rate.created_date
            ));
        }
        let expected = values.iter().map(|((of, from, to), used)| {
            let Used {
                value,
                with_markup,
                set_at,
            } = used;
            format!("{:?} {value} {with_markup} {set_at}", [of, from, to])
        });
        assert_eq!(rows, expected.collect::<Vec<_>>(), "{} {id}", self.tenant);
        Answered { values, texts }
    }
}

fn used_of(model: &Model, id: &str) -> UsedRates {
    let is_known = model.0.contains_key(id);
    if is_known {
        model.used(id)
    } else {
        UsedRates::new()
    }
}

fn row((of, from, to): Key, used: &Used) -> String {
    format!("{of} {from}/{to} {} {}", used.value, used.with_markup)
}

fn rows(lists: &Lists) -> [Vec<String>; 3] {
    [
        &lists.created_rates,
        &lists.updated_rates,
        &lists.deleted_rates,
    ]
    .map(|list| {
        let rows = list.iter().map(|rate| {
            let [value, with_markup] = rate.values();
            let (from, to) = (&rate.source_currency_code, &rate.target_currency_code);
            format!(
                "{} {from}/{to} {value} {with_markup}",
                rate.exchange_rate_type
            )
        });
        rows.collect()
    })
}

/// Returns the created, updated and deleted rates; a pair is updated in both directions.
fn difference(before: &UsedRates, after: &UsedRates) -> [Vec<String>; 3] {
    let is_other = |key: &Key| {
        let values = |used: &Used| (used.value.clone(), used.with_markup.clone());
        before.get(key).map(values) != after.get(key).map(values)
    };
    let rows = |rates: &UsedRates, is_listed: &dyn Fn(&Key) -> bool| -> Vec<String> {
        let listed = rates.iter().filter(|(key, _)| is_listed(key));
        listed.map(|(key, used)| row(*key, used)).collect()
    };
    [
        rows(after, &|key| !before.contains_key(key)),
        rows(after, &|key| {
            before.contains_key(key) && (is_other(key) || is_other(&opposite(*key)))
        }),
        rows(before, &|key| !after.contains_key(key)),
    ]
}
