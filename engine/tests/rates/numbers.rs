//! Properties of numbers: reading, writing and calculating with them.

use proptest::prelude::*;
use proptest::sample::select;

use tillgate_engine::rate::*;

use crate::{answer, any_markup, shortest};

fn millionths(value: impl Into<Value>) -> i128 {
    let value = value.into().value();
    value.mantissa() * 10_i128.pow(6 - value.scale())
}

/// A rate, with the integer and the number of decimals that it is made of; every length is equally likely.
fn any_rate() -> impl Strategy<Value = (i128, usize, Rate)> {
    (1..=15_u32, 0..=6_usize, any::<u64>()).prop_map(|(digits, decimals, seed)| {
        let least = 10_i128.pow(digits - 1);
        let units = least + i128::from(seed) % (9 * least);
        let rate = Rate::parse(&shortest(units, decimals)).unwrap();
        (units, decimals, rate)
    })
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
        // 2 ×
        // opposite × rate − 1
        // ≤ 0.000001 × rate; a tie rounds up.
        let opposite = rate.opposite().map_or(0, millionths);
        let one = 10_i128.pow(6 + u32::try_from(decimals).unwrap());
        let error = opposite * units - one;
        prop_assert!(-units < 2 * error && 2 * error <= units);
    }

    #[test]
    fn a_cross_rate_is_the_nearest_there_is_or_is_refused(
        (_, _, rate) in any_rate(),
        (_, _, per) in any_rate(),
    ) {
        let (dividend, divisor) = (millionths(rate) * 1_000_000, millionths(per));
        let nearest = dividend / divisor + i128::from(2 * (dividend % divisor) >= divisor);
        let text = shortest(nearest, 6);
        match rate.cross(per) {
            Ok(cross) => prop_assert_eq!(cross.to_string(), text),
            Err(_) => prop_assert!(Rate::parse(&text).is_err(), "{} is a rate", text),
        }
        let one = Rate::parse("1").unwrap();
        prop_assert_eq!(one.cross(per).ok(), per.opposite());
        prop_assert_eq!(rate.cross(one), Ok(rate));
    }

    #[test]
    fn numbers_are_answered_as_they_are_displayed(
        (_, _, amount) in any_rate(),
        (_, _, rate) in any_rate(),
        sign in select(&["", "-"][..]),
        minor_unit in 0..=6_u8,
    ) {
        let amount = format!("{sign}{amount}");
        let request = format!(
            r#"{{"calls":[{{"op":"convert","amount":"{amount}","rate":"{rate}","minorUnit":{minor_unit}}}]}}"#
        );
        let amount = Amount::parse(&amount).unwrap();
        if let Ok(amount) = convert(amount, rate.into(), minor_unit) {
            let expected = format!(r#"{{"answers":[{{"amount":"{amount}"}}]}}"#);
            prop_assert_eq!(answer(&request).unwrap(), expected);
        }
    }

    #[test]
    fn the_opposite_of_an_opposite_is_within_its_rounding(units in 1..1_000_000_000_i128) {
        // For rates up to 1,000, the first rounding adds an error of 0.0000005 × rate² and the second one of 0.0000005.
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
}
