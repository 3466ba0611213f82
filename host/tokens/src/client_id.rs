//! Client ids: the claims, software and tenant of a client, as a text in which no line can be forged.
//!
//! An id is the unpadded base64url of a YAML mapping with sorted keys, one `key: value` per line (`tokens.md`,
//! "client_id"). A string is plain unless YAML 1.2 would read it as something else; then it is double-quoted. An id is
//! never decoded: a client's tenant comes from its record. This module is pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use tillgate_base::identity::TenantId;
use tillgate_engine::json::{Node, Scalar};

/// The longest client id, in bytes.
const MAX_ID: usize = 255;

/// The longest string claim, in characters.
pub const MAX_TEXT: usize = 64;

/// The rule for a claim's name, used in messages.
pub const NAME_RULE: &str =
    "must have a name of a-z 0-9 _, 1 to 32 long, a letter first, other than sfw and tid";

/// The rule for a claim's value, used in messages.
pub const VALUE_RULE: &str =
    "must be a string of 1 to 64 characters without control characters, a number or a boolean";

/// The value of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// `true` or `false`.
    Flag(bool),
    /// A number as it was written: two numbers are equal if their texts are.
    Number(String),
    /// 1 to [`MAX_TEXT`] characters without control characters.
    Text(String),
}

/// Claims by name.
pub type Claims = BTreeMap<String, Claim>;

impl Claim {
    /// Returns a JSON value as a claim, or `None` if it cannot be one.
    #[must_use]
    pub fn from_json(value: Node<'_, '_>) -> Option<Self> {
        match value.scalar() {
            Scalar::Bool(flag) => Some(Self::Flag(*flag)),
            Scalar::Text(text) => is_text(text).then(|| Self::Text(text.clone().into_owned())),
            _ => Some(Self::Number(value.number()?.into_owned())),
        }
    }

    fn to_yaml(&self) -> Cow<'_, str> {
        match self {
            Self::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
            Self::Number(number) => Cow::Borrowed(number),
            Self::Text(text) => scalar(text),
        }
    }
}

/// A number is written with the text that it was read with.
impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => {
                let number = serde_json::from_str::<&RawValue>(number);
                number
                    .map_err(serde::ser::Error::custom)?
                    .serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        let text = value.get();
        match text.as_bytes().first() {
            Some(b't' | b'f') => serde_json::from_str(text).map(Self::Flag),
            Some(b'"') => serde_json::from_str(text).map(Self::Text),
            Some(b'-' | b'0'..=b'9') => Ok(Self::Number(text.to_owned())),
            _ => {
                return Err(de::Error::custom(
                    "a claim is a string, a number or a boolean",
                ));
            }
        }
        .map_err(de::Error::custom)
    }
}

/// The software of a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Software {
    /// Its id, a name.
    pub id: String,
    /// Its version, a name.
    pub version: String,
}

impl Software {
    /// Returns the software with these names, or `None` if one of them is not a name.
    #[must_use]
    pub fn new(id: &str, version: &str) -> Option<Self> {
        let names =
            tillgate_base::identity::is_name(id) && tillgate_base::identity::is_name(version);
        names.then(|| Self {
            id: id.to_owned(),
            version: version.to_owned(),
        })
    }
}

/// Returns whether a claim may have this name.
#[must_use]
pub fn is_claim_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
    let rest = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    first && rest && name.len() <= 32 && !matches!(name, "sfw" | "tid")
}

/// Returns whether a text has the form of a client id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(allowed)
}

fn is_text(text: &str) -> bool {
    let length = text.chars().take(MAX_TEXT + 1).count();
    (1..=MAX_TEXT).contains(&length) && !text.chars().any(char::is_control)
}

/// Returns the id of a client, or `None` if it would be longer than 255 bytes.
#[must_use]
pub fn encode(claims: &Claims, software: &Software, tenant: &TenantId) -> Option<String> {
    let id = BASE64_URL_SAFE_NO_PAD.encode(mapping(claims, software, tenant));
    (id.len() <= MAX_ID).then_some(id)
}

fn mapping(claims: &Claims, software: &Software, tenant: &TenantId) -> String {
    let sfw = format!("{}@{}@{tenant}", software.id, software.version);
    let mut lines: BTreeMap<&str, Cow<'_, str>> = claims
        .iter()
        .map(|(name, claim)| (name.as_str(), claim.to_yaml()))
        .collect();
    lines.insert("sfw", scalar(&sfw));
    lines.insert("tid", scalar(tenant.as_str()));
    lines.iter().fold(String::new(), |mut text, (name, value)| {
        text.push_str(&scalar(name));
        text.push_str(": ");
        text.push_str(value);
        text.push('\n');
        text
    })
}

/// Writes a string as a YAML scalar: plain, or double-quoted where a plain one would mean something else.
fn scalar(text: &str) -> Cow<'_, str> {
    if is_plain(text) && !is_of_core_schema(text) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_break_elsewhere(c) => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

/// Returns whether some YAML readers take a character for a line break, or do not allow it at all.
const fn is_break_elsewhere(c: char) -> bool {
    matches!(
        c,
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

/// Returns whether a text can stand unquoted on one line as a value of a mapping (YAML 1.2.2, 7.3.3).
fn is_plain(text: &str) -> bool {
    let mut chars = text.chars();
    let begins = match chars.next() {
        None => false,
        // These begin a plain scalar only if something other than white space follows.
        Some('-' | '?' | ':') => chars.next().is_some_and(|next| !next.is_whitespace()),
        Some(first) => !first.is_whitespace() && !is_indicator(first),
    };
    let marks_a_document = text.starts_with("---") || text.starts_with("...");
    begins
        && !marks_a_document
        && !text.ends_with(char::is_whitespace)
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text
            .chars()
            .any(|c| c.is_control() || is_break_elsewhere(c))
}

const fn is_indicator(c: char) -> bool {
    matches!(
        c,
        ',' | '['
            | ']'
            | '{'
            | '}'
            | '#'
            | '&'
            | '*'
            | '!'
            | '|'
            | '>'
            | '\''
            | '"'
            | '%'
            | '@'
            | '`'
    )
}

/// Returns whether a plain scalar of this text is null, a boolean or a number (YAML 1.2.2, 10.3.2).
fn is_of_core_schema(text: &str) -> bool {
    let null = matches!(text, "" | "~" | "null" | "Null" | "NULL");
    let boolean = matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE");
    null || boolean || is_number(text)
}

fn is_number(text: &str) -> bool {
    let based = |prefix: &str, digit: fn(&u8) -> bool| {
        let digits = text.strip_prefix(prefix).map(str::as_bytes);
        digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(digit))
    };
    if based("0x", u8::is_ascii_hexdigit) || based("0o", |digit| matches!(digit, b'0'..=b'7')) {
        return true;
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || is_decimal(unsigned)
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    mantissa && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)))
}
