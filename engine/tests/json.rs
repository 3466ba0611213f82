//! Numbers keep their text: each is read exactly as it is written, in any context.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use tillgate_engine::json::{Document, Node, Scalar};

/// Returns the text of every number in a value, in the order of the JSON text.
fn numbers(node: Node<'_, '_>) -> Vec<String> {
    let own = node.number().map(|text| text.into_owned());
    own.into_iter()
        .chain(node.children().flat_map(numbers))
        .collect()
}

fn numbers_of(text: &str) -> Vec<String> {
    numbers(Document::parse(text.as_bytes()).unwrap().root())
}

#[test]
fn a_number_keeps_its_text() {
    for number in [
        "0",
        "-0",
        "7",
        "-7",
        "1.10",
        "-0.50",
        "1e2",
        "1E+2",
        "1.5e-07",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "18446744073709551616",
        "123456789012345678901",
        "0.1000000000000000055511151231257827",
    ] {
        assert_eq!(numbers_of(number), [number]);
        assert_eq!(numbers_of(&format!(" [ {number}\n]\t")), [number]);
        assert_eq!(numbers_of(&format!("{{\"1\":{number}}}")), [number]);
    }
}

#[test]
fn a_number_is_an_integer_when_an_i64_holds_it_and_text_otherwise() {
    let document = Document::parse(b"[12,1.10,9223372036854775808]").unwrap();
    let scalars: Vec<_> = document.root().children().map(Node::scalar).collect();
    let expected = [
        &Scalar::Integer(12),
        &Scalar::Number("1.10"),
        &Scalar::Number("9223372036854775808"),
    ];
    assert_eq!(scalars, expected);
}

#[test]
fn only_a_number_has_a_number_text() {
    for other in [
        "null",
        "true",
        "false",
        "\"1.5\"",
        "[]",
        "{}",
        "{\"1.5\":\"2.5\"}",
    ] {
        assert!(numbers_of(other).is_empty(), "{other}");
    }
}

#[test]
fn strings_are_not_searched_for_numbers() {
    let text = r#"{"\"1.5":"\\","a\\\"2.5\\":["\\\"3.5\u0034",4.50,"\\\\"],"b":"5.5","c":-6.50}"#;
    assert_eq!(numbers_of(text), ["4.50", "-6.50"]);
}

#[derive(Clone, Debug)]
enum Written {
    /// The text of a number.
    Number(String),
    /// The text of a literal or of a string.
    Other(String),
    Array(Vec<Written>),
    /// The strings are the texts of the members' names; a prefix makes them unique.
    Object(Vec<(String, Written)>),
}

impl Written {
    /// Appends the value's JSON text, with this white space between tokens, and the texts of its numbers.
    fn write(&self, space: &str, text: &mut String, numbers: &mut Vec<String>) {
        text.push_str(space);
        match self {
            Self::Number(number) => {
                text.push_str(number);
                numbers.push(number.clone());
            }
            Self::Other(other) => text.push_str(other),
            Self::Array(elements) => {
                text.push('[');
                for (position, element) in elements.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { "," });
                    element.write(space, text, numbers);
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (position, (name, value)) in members.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { "," });
                    write!(text, "{space}\"{position}{name}\"{space}:").unwrap();
                    value.write(space, text, numbers);
                }
                text.push('}');
            }
        }
        text.push_str(space);
    }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
    ]
}

/// The text between the quotes of a string. It looks like JSON and has every kind of escape.
fn string() -> impl Strategy<Value = String> {
    const PIECES: [&str; 18] = [
        "1",
        "-2.5",
        "e9",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "é",
        "\\\"",
        "\\\\",
        "\\/",
        "\\n",
        "\\u0031",
        "\\u0022",
        "\\ud83d\\ude00",
    ];
    vec(select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Written> {
    let leaf = prop_oneof![
        4 => number().prop_map(Written::Number),
        1 => select(&["null", "true", "false"][..]).prop_map(|text| Written::Other(text.to_owned())),
        2 => string().prop_map(|text| Written::Other(format!("\"{text}\""))),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Written::Array),
            vec((string(), inner), 0..6).prop_map(Written::Object),
        ]
    })
}

proptest! {
    #[test]
    fn every_number_keeps_its_text_wherever_it_stands(
        value in value(),
        space in select(&["", " ", "\n\t"][..]),
    ) {
        let (mut text, mut expected) = (String::new(), Vec::new());
        value.write(space, &mut text, &mut expected);
        prop_assert_eq!(numbers_of(&text), expected, "{}", text);
    }
}
