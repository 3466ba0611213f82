//! The values that a filter compares: texts, numbers and booleans, equal by type and value. Numbers are compared
//! exactly, by their decimal value: `1`, `1.0` and `1e0` are equal, and none is converted to a float.

use serde_json::value::{RawValue, to_raw_value};
use tillgate_engine::json::{Node, Scalar};

/// The most bytes of a text and of a number in a filter.
const MAX_TEXT: usize = 512;
const MAX_NUMBER: usize = 64;

pub(super) const VALUE_RULE: &str =
    "must be a string of at most 512 bytes, a number of at most 64 characters, true or false";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Boolean(bool),
    Number(Decimal),
    Text(String),
}

/// A number: its digits as an integer, without leading and trailing zeros, times a power of ten.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Value {
    /// Returns the value of a node, unless it is null, an array or an object.
    pub(super) fn of(node: Node<'_, '_>) -> Option<Self> {
        match node.scalar() {
            Scalar::Bool(value) => Some(Self::Boolean(*value)),
            Scalar::Text(text) => Some(Self::Text(text.clone().into_owned())),
            _ => Decimal::parse(&node.number()?).map(Self::Number),
        }
    }

    /// Returns a value of a filter, and the way it is written.
    pub(super) fn read(node: Node<'_, '_>) -> Option<(Self, Box<RawValue>)> {
        let value = Self::of(node)?;
        let written = match &value {
            Self::Boolean(value) => to_raw_value(value),
            Self::Text(text) if text.len() <= MAX_TEXT => to_raw_value(text),
            Self::Text(_) => return None,
            Self::Number(_) => {
                let number = node.number().filter(|number| number.len() <= MAX_NUMBER)?;
                RawValue::from_string(number.into_owned())
            }
        };
        Some((value, written.ok()?))
    }
}

impl Decimal {
    /// Parses a number in JSON's form. Returns `None` for an exponent out of range.
    fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let unsigned = number.trim_start_matches('-');
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).ok()?;
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self::default());
        }
        let decimals = i64::try_from(fraction.len()).ok()?;
        let exponent: i64 = exponent.parse().ok()?;
        Some(Self {
            is_negative: number.starts_with('-'),
            digits: digits.to_owned(),
            exponent: exponent.checked_add(zeros - decimals)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_equal_by_their_decimal_value() {
        for same in [
            &["1", "1.0", "1e0", "10e-1", "0.1E+1", "0.001e3"][..],
            &["0", "-0", "0.00", "0e9", "-0.0e-999999999999999999999"],
            &["-1200", "-1.2e3", "-12E2", "-1200.00"],
            &["123456789012345678901.5", "1234567890123456789015e-1"],
        ] {
            let all: Vec<_> = same.iter().map(|text| Decimal::parse(text)).collect();
            let first = all.first();
            assert!(
                all.iter().all(|it| it.is_some() && Some(it) == first),
                "{same:?}"
            );
        }
        for (one, other) in [
            ("1", "-1"),
            ("1", "10"),
            ("1", "1.0000000000000000000000001"),
            ("9007199254740993", "9007199254740992"),
            ("1e400", "1e401"),
        ] {
            assert_ne!(Decimal::parse(one), Decimal::parse(other), "{one} {other}");
        }
        assert_eq!(Decimal::parse("1e99999999999999999999"), None);
        assert_eq!(Decimal::parse("0.1e-9223372036854775808"), None);
    }
}
