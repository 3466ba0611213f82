//! Properties of the rates that a shop uses and of how they differ from before, for levels with any rates and markups.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use tillgate_engine::rate::{self, *};

use crate::{any_markup, shortest};

const CURRENCIES: [&str; 4] = ["EUR", "KWD", "SEK", "USD"];
const TYPES: [RateType; 3] = [RateType::Intercompany, RateType::Purchase, RateType::Sales];

fn key(rate_type: RateType, from: &str, to: &str) -> RateKey {
    let [from, to] = [from, to].map(|code| Currency::parse(code).unwrap());
    let pair = Pair::new(from, to).unwrap();
    RateKey { rate_type, pair }
}

fn any_key() -> impl Strategy<Value = RateKey> {
    (select(&TYPES[..]), 0..4_usize, 1..4_usize).prop_map(|(rate_type, from, step)| {
        key(rate_type, CURRENCIES[from], CURRENCIES[(from + step) % 4])
    })
}

/// The rates and markups of one level.
#[derive(Clone, Debug)]
struct Set {
    rates: BTreeMap<RateKey, Rate>,
    general: Option<Percentage>,
    pairs: Vec<PairMarkup>,
}

/// Each key appears once and no rate exceeds 2,000,000; markups are for pairs in either direction, some of them twice.
fn any_set() -> impl Strategy<Value = Set> {
    let rate = (1..=2_000_000_000_000_i128).prop_map(|it| Rate::parse(&shortest(it, 6)).unwrap());
    let rates = vec((any_key(), rate), 0..8).prop_map(BTreeMap::from_iter);
    let pair = (any_key(), any_markup()).prop_map(|(key, markup)| PairMarkup { key, markup });
    let pairs = prop_oneof![Just(Vec::new()), vec(pair, 0..12)];
    (rates, of(any_markup()), pairs).prop_map(|(rates, general, pairs)| Set {
        rates,
        general,
        pairs,
    })
}

const NAMES: [&str; 5] = ["shop", "town", "north", "country", "company"];

fn levels(sets: &[Set]) -> Vec<Level<'static>> {
    let level = |(name, set): (&&'static str, &Set)| {
        let created_by = Some(*name);
        let rates: Vec<_> = set
            .rates
            .iter()
            .map(|(&key, &rate)| SetRate {
                key,
                rate,
                created_by,
                as_of: None,
            })
            .collect();
        let markups = Markups {
            general: set.general,
            pairs: set.pairs.clone(),
        };
        Level::new(name, &rates).unwrap().with_markups(markups)
    };
    NAMES.iter().zip(sets).map(level).collect()
}

/// Finds the first level with a markup for the pair: the pair's own entry, or else the general one.
fn naive_markup(sets: &[Set], key: RateKey) -> Percentage {
    for set in sets {
        let is_of_pair = |pair: &&PairMarkup| pair.key == key || pair.key.opposite() == key;
        let own = set.pairs.iter().find(is_of_pair).map(|pair| pair.markup);
        if let Some(markup) = own.or(set.general) {
            return markup;
        }
    }
    Percentage::default()
}

/// A slow and simple `used_rates`: for each pair, it takes the first level that has either direction.
fn naive(sets: &[Set]) -> Vec<UsedRate<'static>> {
    let mut used = Vec::new();
    let pairs = CURRENCIES
        .iter()
        .flat_map(|from| CURRENCIES.iter().map(move |to| (from, to)))
        .filter(|(from, to)| from != to);
    for (rate_type, (from, to)) in TYPES
        .into_iter()
        .flat_map(|each| pairs.clone().map(move |pair| (each, pair)))
    {
        let (key, back) = (key(rate_type, from, to), key(rate_type, to, from));
        let index = sets
            .iter()
            .position(|set| set.rates.contains_key(&key) || set.rates.contains_key(&back));
        let Some(index) = index else { continue };
        let markup = naive_markup(sets, key);
        let (value, value_with_markup) = match sets[index].rates.get(&key) {
            Some(set) => (*set, set.with_markup(markup)),
            None => {
                let set = sets[index].rates[&back];
                (set.opposite().unwrap(), set.opposite_with_markup(markup))
            }
        };
        used.push(UsedRate {
            key,
            value,
            value_with_markup,
            created_by: Some(NAMES[index]),
            set_at: NAMES[index],
            as_of: None,
        });
    }
    used
}

fn held(used: UsedRate<'static>) -> HeldRate<'static> {
    HeldRate {
        used,
        created_date: "earlier",
        last_modified: None,
    }
}

fn values(rate: &UsedRate<'_>) -> (RateKey, (Rate, Value)) {
    (rate.key, (rate.value, rate.value_with_markup))
}

proptest! {
    #[test]
    fn rates_and_markups_are_those_of_the_nearest_level_that_has_any_for_the_pair(
        sets in vec(any_set(), 0..=5),
    ) {
        prop_assert_eq!(used_rates(&levels(&sets)), naive(&sets));
    }

    #[test]
    fn applying_a_difference_to_before_gives_after(
        before in vec(any_set(), 0..=3),
        mut after in vec(any_set(), 0..=3),
        kept in vec((any::<Index>(), any::<Index>()), 0..3),
    ) {
        // Some levels stay the same, so that some rates do too.
        for (from, to) in kept {
            if !before.is_empty() && !after.is_empty() {
                let to = to.index(after.len());
                after[to] = from.get(&before).clone();
            }
        }
        let before = used_rates(&levels(&before));
        let before: Vec<_> = before.into_iter().map(held).collect();
        let after = used_rates(&levels(&after));
        let difference = rate::difference(&before, &after, "now");

        let mut applied: BTreeMap<_, _> = before.iter().map(|rate| values(&rate.used)).collect();
        applied.extend(difference.created.iter().map(|rate| values(&rate.used)));
        applied.extend(difference.updated.iter().map(|rate| values(&rate.used)));
        for rate in &difference.deleted {
            prop_assert!(before.contains(rate));
            prop_assert!(applied.remove(&rate.used.key).is_some());
        }
        prop_assert_eq!(applied, after.iter().map(values).collect());

        let now: Vec<_> = difference.rates.iter().map(|rate| rate.used).collect();
        prop_assert_eq!(&now, &after);
        for rate in &difference.rates {
            let was = before.iter().find(|was| was.used.key == rate.used.key);
            prop_assert_eq!(rate.created_date, was.map_or("now", |was| was.created_date));
            let is_same = was.is_some_and(|was| values(&was.used) == values(&rate.used));
            prop_assert_eq!(rate.last_modified, (!is_same).then_some("now"));
        }
        // Every list has both directions of a pair, or neither.
        for list in [&difference.created, &difference.updated, &difference.deleted] {
            for rate in list {
                let opposite = rate.used.key.opposite();
                prop_assert!(list.iter().any(|other| other.used.key == opposite));
            }
        }
        prop_assert!(rate::difference(&difference.rates, &after, "later").is_empty());
    }
}
