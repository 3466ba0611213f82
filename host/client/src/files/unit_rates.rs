//! The rates set at one business unit: those of a file, those of the host, and the change from the latter to the
//! former.
//!
//! Rates are managed one by one, so that a rate that a person has set beside those of the file stays. Rates that come
//! from a document of reference rates are not part of files: the next document sets them again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_api::rate::{exact, key};
use tillgate_engine::json::{Faults, Node};
use tillgate_engine::rate::{
    Currency, Invalid, Level, Pair, Rate, RateKey, RateType, SetRate, SetRateErrorKind,
};

use super::members::Members;
use super::secrets::json;

/// The most rates of one change (`rates.md`, "Setting rates").
const MAX_CHANGE: usize = 1_000;

/// The most rates set at one unit.
const MAX_RATES: usize = 10_000;

/// The member names of a rate.
const MEMBERS: [&str; 4] = [
    "exchangeRateType",
    "currencyIdFrom",
    "currencyIdTo",
    "rateValue",
];

/// The rates of a file: decimals as the engine writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitRates(BTreeMap<RateKey, String>);

/// A rate that is set on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostRate {
    pub(super) value: String,
    pub(super) managed_by: Option<String>,
    /// It comes from a document of reference rates.
    is_imported: bool,
}

/// The rates that are set at a unit on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostRates(BTreeMap<RateKey, HostRate>);

/// A change to the rates of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RatesChange {
    /// The rates to set, with the value before.
    pub(super) set: Vec<(RateKey, String, Option<String>)>,
    /// The rates to delete, with their value.
    pub(super) delete: Vec<(RateKey, String)>,
    /// The rates that already have the value, and are taken over.
    pub(super) adopt: Vec<(RateKey, String)>,
}

/// A rate from the host's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'j> {
    exchange_rate_type: &'j str,
    currency_id_from: &'j str,
    currency_id_to: &'j str,
    #[serde(borrow)]
    rate_value: &'j RawValue,
    #[serde(borrow, default)]
    reference: Option<&'j RawValue>,
    #[serde(default)]
    managed_by: Option<String>,
}

impl UnitRates {
    /// Reads the `rates` member of a file.
    pub(super) fn of_file(root: Node<'_, '_>, faults: &mut Faults) -> Self {
        faults.refuse_unknown(root, &["businessUnitId", "rates"]);
        let Some(list) = faults.required(root, "rates") else {
            return Self::default();
        };
        let Some(list) = faults.array(list) else {
            return Self::default();
        };
        if list.children().nth(MAX_RATES).is_some() {
            faults.add(list, "must have at most 10,000 rates");
            return Self::default();
        }
        let nodes: Vec<_> = list.children().collect();
        let read: Vec<_> = nodes.iter().map(|node| read_rate(*node, faults)).collect();
        let rates: Option<Vec<(RateKey, Rate)>> = read.into_iter().collect();
        let Some(rates) = rates else {
            return Self::default();
        };
        let set = rates.iter().map(|(key, rate)| SetRate {
            key: *key,
            rate: *rate,
            created_by: None,
            as_of: None,
        });
        for error in Level::new("", &set.collect::<Vec<_>>())
            .err()
            .into_iter()
            .flatten()
        {
            let node = nodes.get(error.index).copied().unwrap_or_default();
            let node = match error.kind {
                SetRateErrorKind::Duplicate => node,
                SetRateErrorKind::OppositeIsZero => node.member("rateValue").unwrap_or(node),
            };
            faults.add(node, error.kind.message().as_str());
        }
        let values = rates
            .into_iter()
            .map(|(key, rate)| (key, rate.value().to_string()));
        Self(values.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the members of a file with these rates.
    pub(super) fn to_members(&self, unit: &str) -> Members {
        let rates = self.0.iter();
        let rates: Vec<_> = rates
            .map(|(key, value)| RateBody::new(*key, value))
            .collect();
        let mut members = Members::default();
        members.set("businessUnitId", json(&unit));
        members.set("rates", json(&rates));
        members
    }
}

/// A rate in a file or a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RateBody<'r> {
    #[serde(flatten, with = "key")]
    key: RateKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_value: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'r str>,
}

impl<'r> RateBody<'r> {
    fn new(key: RateKey, value: &'r str) -> Self {
        Self {
            key,
            rate_value: exact(value),
            managed_by: None,
        }
    }
}

/// The body of a request that changes many rates.
#[derive(Default, Serialize)]
struct ChangeBody<'r> {
    set: Vec<RateBody<'r>>,
    delete: Vec<RateBody<'r>>,
}

impl ChangeBody<'_> {
    fn count(&self) -> usize {
        self.set.len() + self.delete.len()
    }
}

fn read_rate(node: Node<'_, '_>, faults: &mut Faults) -> Option<(RateKey, Rate)> {
    let node = faults.object(node)?;
    faults.refuse_unknown(node, &MEMBERS);
    let rate_type = read_text(node, "exchangeRateType", RateType::parse, faults);
    let from = read_text(node, "currencyIdFrom", Currency::parse, faults);
    let to = read_text(node, "currencyIdTo", Currency::parse, faults);
    let value = faults.required(node, "rateValue").and_then(|member| {
        let parsed = member.number().ok_or("must be a number");
        let parsed = parsed.and_then(|text| Rate::parse(&text).map_err(Invalid::as_str));
        parsed.map_err(|rule| faults.add(member, rule)).ok()
    });
    let pair = Pair::new(from?, to?).map_err(|invalid| {
        faults.add(
            node.member("currencyIdTo").unwrap_or(node),
            invalid.as_str(),
        );
    });
    let key = RateKey {
        rate_type: rate_type?,
        pair: pair.ok()?,
    };
    Some((key, value?))
}

fn read_text<T>(
    object: Node<'_, '_>,
    name: &str,
    parse: fn(&str) -> Result<T, Invalid>,
    faults: &mut Faults,
) -> Option<T> {
    let member = faults.required(object, name)?;
    let parsed = member.text().ok_or("must be a string");
    let parsed = parsed.and_then(|text| parse(text).map_err(Invalid::as_str));
    parsed.map_err(|rule| faults.add(member, rule)).ok()
}

impl HostRates {
    /// Reads the answer to a GET of the rates that are set at a unit.
    ///
    /// # Errors
    /// If it is not such an answer, with a sentence.
    pub(super) fn of_answer(text: &[u8]) -> Result<Self, String> {
        let read: Result<Vec<Answered<'_>>, _> = serde_json::from_slice(text);
        let read =
            read.map_err(|cause| format!("the host did not return a list of rates: {cause}"))?;
        let rates = read.into_iter().map(|rate| {
            let (from, to) = (rate.currency_id_from, rate.currency_id_to);
            let key = key::parse(rate.exchange_rate_type, from, to)
                .map_err(|cause| format!("the host returned a rate that {cause}"))?;
            let value = HostRate {
                value: rate.rate_value.get().to_owned(),
                managed_by: rate.managed_by,
                is_imported: rate.reference.is_some(),
            };
            Ok((key, value))
        });
        rates.collect::<Result<_, String>>().map(Self)
    }

    /// Returns the rates that people or programs have set, as a file has them.
    pub(super) fn set_by_hand(&self) -> UnitRates {
        let by_hand = self.0.iter().filter(|(_, rate)| !rate.is_imported);
        UnitRates(
            by_hand
                .map(|(key, rate)| (*key, rate.value.clone()))
                .collect(),
        )
    }

    /// Returns the number of rates that others, or nobody, manages and that are not in a file, except imported ones.
    pub(super) fn left(&self, file: Option<&UnitRates>, me: &str) -> usize {
        let is_in_file = |key| file.is_some_and(|file| file.0.contains_key(key));
        let left = self.0.iter().filter(|(key, rate)| {
            !rate.is_imported && rate.managed_by.as_deref() != Some(me) && !is_in_file(key)
        });
        left.count()
    }

    /// Returns whether there are none, including imported ones.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether there are rates that `me` does not manage, including imported ones.
    pub(super) fn has_others(&self, me: &str) -> bool {
        let mut owners = self.0.values().map(|rate| rate.managed_by.as_deref());
        owners.any(|owner| owner != Some(me))
    }

    /// Returns another program that manages one of these rates.
    fn owner_of(&self, keys: impl Iterator<Item = RateKey>, me: &str) -> Option<&str> {
        let mut owners = keys.filter_map(|key| self.0.get(&key)?.managed_by.as_deref());
        owners.find(|owner| *owner != me)
    }

    /// Returns the change that makes these the rates of a file: rates that it lacks are deleted if `me` manages them.
    pub(super) fn change_to(&self, file: Option<&UnitRates>, me: &str) -> RatesChange {
        let mut change = RatesChange::default();
        for (key, value) in file.into_iter().flat_map(|file| &file.0) {
            let before = self.0.get(key);
            match before {
                Some(rate) if rate.value == *value => {
                    if rate.managed_by.as_deref() != Some(me) && !rate.is_imported {
                        change.adopt.push((*key, value.clone()));
                    }
                }
                _ => {
                    let before = before.map(|rate| rate.value.clone());
                    change.set.push((*key, value.clone(), before));
                }
            }
        }
        let is_in_file = |key| file.is_some_and(|file| file.0.contains_key(key));
        for (key, rate) in &self.0 {
            if rate.managed_by.as_deref() == Some(me) && !is_in_file(key) {
                change.delete.push((*key, rate.value.clone()));
            }
        }
        change
    }

    /// Returns another program that manages a rate that a change would set.
    pub(super) fn other_owner(&self, change: &RatesChange, me: &str) -> Option<&str> {
        self.owner_of(change.set.iter().map(|(key, ..)| *key), me)
    }
}

impl RatesChange {
    /// Returns whether it changes no value.
    pub(super) const fn is_empty(&self) -> bool {
        self.set.is_empty() && self.delete.is_empty()
    }

    /// Returns whether the host already has the change.
    pub(super) fn is_made(&self, host: &HostRates, me: &str) -> bool {
        let set = self.set.iter().map(|(key, value, _)| (key, value));
        let adopted = self.adopt.iter().map(|(key, value)| (key, value));
        let is_set = |(key, value): (&RateKey, &String)| {
            let rate = host.0.get(key);
            rate.is_some_and(|rate| rate.value == *value && rate.managed_by.as_deref() == Some(me))
        };
        set.chain(adopted).all(is_set)
            && self.delete.iter().all(|(key, _)| !host.0.contains_key(key))
    }

    /// Returns the bodies of the requests that make the change: one, unless it has more rates than a request may have.
    /// Both directions of a pair are in the same request, since one may need the other.
    pub(super) fn bodies(&self, me: &str) -> Vec<Vec<u8>> {
        let mut pairs: BTreeMap<RateKey, ChangeBody<'_>> = BTreeMap::new();
        let pair_of = |key: RateKey| key.min(key.opposite());
        let set = self.set.iter().map(|(key, value, _)| (key, value));
        for (key, value) in set.chain(self.adopt.iter().map(|(key, value)| (key, value))) {
            let pair = pairs.entry(pair_of(*key)).or_default();
            pair.set.push(RateBody {
                managed_by: Some(me),
                ..RateBody::new(*key, value)
            });
        }
        for (key, _) in &self.delete {
            let pair = pairs.entry(pair_of(*key)).or_default();
            pair.delete.push(RateBody {
                key: *key,
                rate_value: None,
                managed_by: None,
            });
        }
        let mut bodies = vec![ChangeBody::default()];
        for mut pair in pairs.into_values() {
            match bodies.last_mut() {
                Some(last) if last.count() + pair.count() <= MAX_CHANGE => {
                    last.set.append(&mut pair.set);
                    last.delete.append(&mut pair.delete);
                }
                _ => bodies.push(pair),
            }
        }
        bodies.retain(|body| body.count() > 0);
        bodies.iter().map(json).collect()
    }
}

/// Returns the type and the currencies of a rate.
pub(super) fn names(key: RateKey) -> [&'static str; 3] {
    let (from, to) = (key.pair.from(), key.pair.to());
    [key.rate_type.as_str(), from.as_str(), to.as_str()]
}
