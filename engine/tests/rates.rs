//! Properties of the rate math for all rates, where the vectors have examples; and its limits.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use tillgate_engine::error::Error;
use tillgate_engine::rate::{self, *};
use tillgate_engine::signature;

fn answer(request: &str) -> Result<String, Error> {
    let mut out = Vec::new();
    rate::text::answer(request.as_bytes(), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn ten_thousand_calls_are_answered_and_one_more_is_not() {
    let request = |count: usize| {
        let calls = vec![r#"{"op":"opposite","rate":"11.05"}"#; count];
        format!(r#"{{"calls":[{}]}}"#, calls.join(","))
    };
    let answers = answer(&request(10_000)).unwrap();
    assert_eq!(answers.matches("0.090498").count(), 10_000);
    let error = answer(&request(10_001)).unwrap_err();
    assert_eq!(error.to_string(), "$.calls must have 1 to 10,000 calls");
}

#[test]
fn an_error_leaves_no_part_of_an_answer() {
    let request = br#"{"calls":[{"op":"opposite","rate":"2"},{"op":"opposite","rate":"0"}]}"#;
    let mut out = b"before".to_vec();
    assert!(rate::text::answer(request, &mut out).is_err());
    assert!(signature::answer(request, &mut out).is_err());
    assert_eq!(out, b"before");
}

#[test]
fn endless_digits_and_exponents_are_read_in_one_pass() {
    let million = "0".repeat(1_000_000);
    let nines = "9".repeat(1_000_000);
    for one in [
        format!("1.{million}"),
        format!("1{million}e-1000000"),
        format!("0.{million}1e1000001"),
    ] {
        assert_eq!(Rate::parse(&one).unwrap().to_string(), "1");
    }
    for text in [
        format!("1e{nines}"),
        format!("1e-{nines}"),
        format!("{nines}e-{nines}"),
        format!("0.{nines}e{nines}"),
        format!("1{million}"),
        format!("1.{million}1"),
    ] {
        assert!(Rate::parse(&text).is_err() && Amount::parse(&text).is_err());
        assert!(Value::parse(&text).is_err() && Percentage::parse(&text).is_err());
    }
}

#[test]
fn a_shared_key_is_never_shown() {
    let key = signature::SharedKey::parse("sixteen or more characters").unwrap();
    assert_eq!(format!("{key:?}"), "SharedKey");
}

/// `units` ÷ 10^`decimals` as the shortest text.
fn shortest(units: i128, decimals: usize) -> String {
    let digits = format!("{units:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{whole}{point}{fraction}")
}

fn millionths(value: impl Into<Value>) -> i128 {
    let value = value.into().value();
    value.mantissa() * 10_i128.pow(6 - value.scale())
}

/// A rate, and the integer and number of decimals that it is made of; every length is equally likely.
fn any_rate() -> impl Strategy<Value = (i128, usize, Rate)> {
    (1..=15_u32, 0..=6_usize, any::<u64>()).prop_map(|(digits, decimals, seed)| {
        let least = 10_i128.pow(digits - 1);
        let units = least + i128::from(seed) % (9 * least);
        let rate = Rate::parse(&shortest(units, decimals)).unwrap();
        (units, decimals, rate)
    })
}

fn any_markup() -> impl Strategy<Value = Percentage> {
    (0..1_000_000_i128).prop_map(|units| Percentage::parse(&shortest(units, 4)).unwrap())
}

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

/// What is set at one level.
#[derive(Clone, Debug)]
struct Set {
    rates: BTreeMap<RateKey, Rate>,
    general: Option<Percentage>,
    pairs: Vec<PairMarkup>,
}

/// Each key once, no rate above 2,000,000; markups of pairs in either direction, some of them twice.
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

/// The first level that says anything of the pair: its own entry there, or the general one.
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

/// A slow and simple `used_rates`: for each pair, the first level that has either direction.
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
    fn a_rate_comes_back_as_it_was_written(
        (units, decimals, rate) in any_rate(),
        zeros in 0..5_usize,
    ) {
        let text = shortest(units, decimals);
        prop_assert_eq!(rate.to_string(), text.as_str());
        let point = if text.contains('.') { "" } else { ".0" };
        let longer = format!("{text}{point}{}", "0".repeat(zeros));
        prop_assert_eq!(Rate::parse(&longer), Ok(rate));
        prop_assert_eq!(Rate::parse(&format!("{units}e-{decimals}")), Ok(rate));
    }

    #[test]
    fn whatever_is_read_is_written_and_read_again(
        text in "-?[0-9]{0,12}(\\.[0-9]{0,9})?([eE][+-]?[0-9]{1,2})?",
    ) {
        if let Ok(rate) = Rate::parse(&text) {
            prop_assert_eq!(Rate::parse(&rate.to_string()), Ok(rate));
            let [written, read] = [&rate.to_string(), &text].map(|it| it.parse::<f64>().unwrap());
            prop_assert_eq!(written, read);
        }
        if let Ok(amount) = Amount::parse(&text) {
            prop_assert_eq!(Amount::parse(&amount.to_string()), Ok(amount));
        }
    }

    #[test]
    fn an_opposite_is_the_nearest_there_is((units, decimals, rate) in any_rate()) {
        // 2 × |opposite × rate − 1| ≤ 0.000001 × rate, and at a half the greater one.
        let opposite = rate.opposite().map_or(0, millionths);
        let one = 10_i128.pow(6 + u32::try_from(decimals).unwrap());
        let error = opposite * units - one;
        prop_assert!(-units < 2 * error && 2 * error <= units);
    }

    #[test]
    fn the_opposite_of_an_opposite_is_within_its_rounding(units in 1..1_000_000_000_i128) {
        // Up to 1,000: off by 0.0000005 × rate² for the first rounding and 0.0000005 for the second.
        let rate = Rate::parse(&shortest(units, 6)).unwrap();
        let back = millionths(rate.opposite().unwrap().opposite().unwrap());
        let square = units * units / 1_000_000;
        let bound = (square + square / 999 + 1_000_000) / 2_000_000 + 1;
        prop_assert!((back - units).abs() <= bound, "{} is not {} ± {}", back, units, bound);
    }

    #[test]
    fn a_greater_markup_never_gives_a_greater_rate(
        (_, _, rate) in any_rate(),
        a in any_markup(),
        b in any_markup(),
    ) {
        let (less, more) = (a.min(b), a.max(b));
        prop_assert!(rate.with_markup(more) <= rate.with_markup(less));
        prop_assert!(rate.opposite_with_markup(more) <= rate.opposite_with_markup(less));
        prop_assert!(rate.with_markup(less) <= rate.into());
        prop_assert_eq!(rate.with_markup(Percentage::default()), rate.into());
        if let Some(opposite) = rate.opposite() {
            let unmarked = rate.opposite_with_markup(Percentage::default());
            prop_assert_eq!(unmarked, opposite.into());
        }
    }

    #[test]
    fn a_refund_converts_to_as_much_as_the_sale(
        (_, _, amount) in any_rate(),
        (_, _, rate) in any_rate(),
        minor_unit in 0..=6_u8,
    ) {
        let convert = |text: String| convert(Amount::parse(&text).unwrap(), rate.into(), minor_unit);
        let sale = convert(amount.to_string());
        prop_assert_eq!(sale.map(|it| -it), convert(format!("-{amount}")));
        if let Ok(sale) = sale {
            prop_assert_eq!(sale.scale(), u32::from(minor_unit));
        }
    }

    #[test]
    fn used_rates_are_those_of_the_nearest_level_that_has_the_pair(
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

    #[test]
    fn a_malformed_request_is_an_error(text in "[\\[\\]{}\",:0-9a-z.eE+-]{0,60}", member in any::<String>()) {
        prop_assert!(answer(&text).is_err());
        prop_assert!(signature::answer(text.as_bytes(), &mut Vec::new()).is_err());
        let member = serde_json::to_string(&member).unwrap();
        let request = format!(
            r#"{{"calls":[{{"op":"convert","amount":{member},"rate":{member},"currency":{member}}}]}}"#
        );
        prop_assert!(answer(&request).is_err());
    }
}
