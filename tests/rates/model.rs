//! A naive model of exchange rates, written from `rates.md` alone: units, their settings, and the rates that each
//! uses. It computes with integers of millionths and looks at every level for every pair; it shares no code with the
//! product.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::collections::{BTreeMap, BTreeSet};

/// Type, source, target.
pub type Key = (&'static str, &'static str, &'static str);

/// A markup of 100 percent, in ten-thousandths of a percent.
const WHOLE: i128 = 1_000_000;

/// 1, in millionths.
const ONE: i128 = 1_000_000;

/// A rate that is set: its value in millionths, and the day of the document that it was imported from.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub value: i128,
    pub day: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub kind: &'static str,
    pub parent: Option<String>,
    /// In ten-thousandths of a percent, as all markups here.
    pub markup: Option<i128>,
    pub markups: BTreeMap<Key, i128>,
    pub rates: BTreeMap<Key, Set>,
}

/// A rate that a unit uses, with its values as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    pub value: String,
    pub with_markup: String,
    pub set_at: String,
}

pub type UsedRates = BTreeMap<Key, Used>;

#[derive(Clone, Debug, Default)]
pub struct Model(pub BTreeMap<String, Unit>);

/// The status of a refusal.
pub type Refused = u16;

pub fn opposite((of, from, to): Key) -> Key {
    (of, to, from)
}

impl Model {
    /// Creates or replaces a unit; returns whether it is new.
    pub fn put(&mut self, id: &str, mut unit: Unit) -> Result<bool, Refused> {
        let old = self.0.get(id);
        if old.is_some_and(|old| old.kind != unit.kind) {
            return Err(409);
        }
        if let Some(parent) = &unit.parent
            && old.is_none_or(|old| old.parent != unit.parent)
        {
            let found = self.0.get(parent).ok_or(409_u16)?;
            if found.kind == "STORE" || self.levels(parent).contains(&id.to_owned()) {
                return Err(409);
            }
        }
        unit.rates = old.map(|old| old.rates.clone()).unwrap_or_default();
        Ok(self.0.insert(id.to_owned(), unit).is_none())
    }

    pub fn delete(&mut self, id: &str) -> Result<(), Refused> {
        self.0.get(id).ok_or(404_u16)?;
        let is_parent = |unit: &Unit| unit.parent.as_deref() == Some(id);
        if self.0.values().any(is_parent) {
            return Err(409);
        }
        self.0.remove(id);
        Ok(())
    }

    /// Sets and deletes rates of a unit together; returns the numbers of created, updated, deleted and unchanged rates.
    pub fn change(
        &mut self,
        id: &str,
        set: &[(Key, i128)],
        delete: &[Key],
    ) -> Result<[usize; 4], Refused> {
        let unit = self.0.get_mut(id).ok_or(404_u16)?;
        let (mut rates, mut counts) = (unit.rates.clone(), [0; 4]);
        for (key, value) in set {
            let value = Set {
                value: *value,
                day: None,
            };
            counts[put_rate(&mut rates, *key, value)] += 1;
        }
        for key in delete {
            counts[if rates.remove(key).is_some() { 2 } else { 3 }] += 1;
        }
        check_opposites(&rates)?;
        unit.rates = rates;
        Ok(counts)
    }

    /// Imports a document; returns the numbers of created, updated and unchanged rates.
    pub fn import(
        &mut self,
        id: &str,
        types: &[&'static str],
        day: &str,
        quotes: &BTreeMap<&'static str, i128>,
        with_crosses: bool,
    ) -> Result<[usize; 3], Refused> {
        let unit = self.0.get_mut(id).ok_or(404_u16)?;
        let mut new: Vec<(Key, i128)> = Vec::new();
        for of in types {
            new.extend(
                quotes
                    .iter()
                    .map(|(code, rate)| ((*of, *code, "EUR"), *rate)),
            );
            for (from, rate) in quotes.iter().filter(|_| with_crosses) {
                let others = quotes.iter().filter(|(to, _)| *to != from);
                new.extend(others.map(|(to, per)| ((*of, *from, *to), divide(rate * ONE, *per))));
            }
        }
        // The rates of a type stay if a later document was imported for it.
        let has_later = |of: &str| {
            let is_later = |set: &Set| set.day.as_deref().is_some_and(|other| other > day);
            unit.rates
                .iter()
                .any(|(key, set)| key.0 == of && is_later(set))
        };
        let (mut rates, mut counts) = (unit.rates.clone(), [0; 4]);
        for (key, value) in new {
            let day = Some(day.to_owned());
            let put = if has_later(key.0) {
                3
            } else {
                put_rate(&mut rates, key, Set { value, day })
            };
            counts[put] += 1;
        }
        check_opposites(&rates)?;
        unit.rates = rates;
        Ok([counts[0], counts[1], counts[3]])
    }

    /// Returns a unit and the units above it, nearest first.
    pub fn levels(&self, id: &str) -> Vec<String> {
        let mut levels = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            next = self.0.get(&id).and_then(|unit| unit.parent.clone());
            levels.push(id);
        }
        levels
    }

    /// Returns the shops at or below a unit.
    pub fn shops(&self, id: &str) -> Vec<String> {
        let shops = self.0.iter().filter(|(_, unit)| unit.kind == "STORE");
        let below = shops.filter(|(shop, _)| self.levels(shop).iter().any(|level| level == id));
        below.map(|(shop, _)| shop.clone()).collect()
    }

    pub fn all_shops(&self) -> Vec<String> {
        let shops = self.0.iter().filter(|(_, unit)| unit.kind == "STORE");
        shops.map(|(shop, _)| shop.clone()).collect()
    }

    /// Returns the rates that a unit uses.
    pub fn used(&self, id: &str) -> UsedRates {
        let levels = self.levels(id);
        let mut keys = BTreeSet::new();
        for level in &levels {
            for key in self.0[level].rates.keys() {
                keys.extend([*key, opposite(*key)]);
            }
        }
        keys.into_iter()
            .map(|key| (key, self.used_rate(&levels, key)))
            .collect()
    }

    fn used_rate(&self, levels: &[String], key: Key) -> Used {
        let keep = WHOLE - self.markup(levels, key);
        for level in levels {
            let rates = &self.0[level].rates;
            // Each value comes from the unrounded one: the opposite of r millionths is 10^12 / r millionths.
            let (value, with_markup) = match (rates.get(&key), rates.get(&opposite(key))) {
                (Some(set), _) => (set.value, divide(set.value * keep, WHOLE)),
                (None, Some(set)) => (
                    divide(ONE * ONE, set.value),
                    divide(ONE * ONE * keep, set.value * WHOLE),
                ),
                (None, None) => continue,
            };
            return Used {
                value: decimal(value, 6),
                with_markup: decimal(with_markup, 6),
                set_at: level.clone(),
            };
        }
        unreachable!("some level has the pair")
    }

    fn markup(&self, levels: &[String], key: Key) -> i128 {
        for level in levels {
            let unit = &self.0[level];
            let pair = unit.markups.get(&key);
            let pair = pair.or_else(|| unit.markups.get(&opposite(key)));
            if let Some(markup) = pair.or(unit.markup.as_ref()) {
                return *markup;
            }
        }
        0
    }
}

/// Sets a rate; returns 0 if it is new, 1 if its value changes, 3 if it stays the same.
fn put_rate(rates: &mut BTreeMap<Key, Set>, key: Key, set: Set) -> usize {
    let value = set.value;
    match rates.insert(key, set) {
        None => 0,
        Some(old) if old.value != value => 1,
        Some(_) => 3,
    }
}

/// Refuses a rate whose opposite rounds to 0.000000, unless the opposite is set too.
fn check_opposites(rates: &BTreeMap<Key, Set>) -> Result<(), Refused> {
    let vanishes = |(key, set): (&Key, &Set)| {
        divide(ONE * ONE, set.value) == 0 && !rates.contains_key(&opposite(*key))
    };
    if rates.iter().any(vanishes) {
        return Err(400);
    }
    Ok(())
}

/// Returns the quotient of two numbers that are not negative, with halves rounded up.
pub fn divide(dividend: i128, divisor: i128) -> i128 {
    (2 * dividend + divisor) / (2 * divisor)
}

/// Returns `value` units of the last of `decimals` decimals, as text without trailing zeros.
pub fn decimal(value: i128, decimals: usize) -> String {
    let digits = format!("{value:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{whole}{point}{fraction}")
}
