//! Finds out whether a text repeats a credential sent to its receiver. The journal keeps nothing of such a text. Pure.
//!
//! Escapes are undone, then letters and digits are compared regardless of case. Quotes, line breaks and the alphabet of
//! base64 thus make no difference. A text that contains a credential by chance is treated the same way.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::HeaderValue;
use quick_xml::escape::resolve_xml_entity;
use regex::bytes::{Captures, Regex};
use tillgate_base::identity::Secret;

use crate::registry::webhook::{Authentication, Settings};

/// Secrets with fewer letters and digits are found only verbatim: any text would seem to contain them.
const MIN_LENGTH: usize = 4;

/// The most rounds of undoing escapes.
const MAX_ROUNDS: usize = 8;

/// The escapes of URLs, JSON and HTML.
const ESCAPE: &str = r"(?i-u)%([0-9a-f]{2})|\\+(?:u([0-9a-f]{4})|[nrt])?|&(?:#x([0-9a-f]{1,8})|#([0-9]{1,8})|(\w{1,8}));";

/// The secrets of a request.
#[derive(Debug)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Collects the secrets of a request to a webhook, including the value of its `Authorization`.
    pub(super) fn new(settings: &Settings, authorization: &HeaderValue) -> Self {
        let credentials = authorization.to_str().unwrap_or_default();
        let credentials = credentials.split_once(' ');
        let credentials = credentials.map(|(_, rest)| Secret::new(rest.to_owned()));
        let password = match &settings.authentication {
            Authentication::Basic { password, .. } => Some(password),
            Authentication::Bearer => None,
        };
        let previous = settings.previous_key.as_ref().map(|previous| &previous.key);
        let keys = settings.shared_key.iter().chain(previous);
        let all = credentials.iter().chain(password).chain(keys).cloned();
        Self(all.filter(|secret| !secret.reveal().is_empty()).collect())
    }

    /// Returns whether a text repeats one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        // In UTF-16, each ASCII character has a zero byte beside it.
        let text = text.replace('\0', "");
        // No form of a secret is shorter than the secret itself.
        let secrets = self.0.iter().map(Secret::reveal);
        let mut secrets = secrets.filter(|secret| secret.len() <= text.len());
        let read = readings(&text).join("\n");
        let letters = letters_and_digits(&read);
        secrets.any(|secret| {
            let (own, encoded) = (readings(secret), encoded(secret));
            let is_as_it_stands = own.iter().any(|it| !it.is_empty() && read.contains(it));
            let mut forms = own.iter().chain(&encoded).map(letters_and_digits);
            is_as_it_stands || forms.any(|form| form.len() >= MIN_LENGTH && letters.contains(&form))
        })
    }
}

fn letters_and_digits(text: impl AsRef<str>) -> String {
    let kept = text.as_ref().chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns a secret in hexadecimal, and in base64 after zero, one and two other bytes.
fn encoded(secret: &str) -> Vec<String> {
    if secret.len() < MIN_LENGTH {
        return Vec::new();
    }
    let base64 = (0..3).map(|before| {
        let bytes = [vec![0; before], secret.into()].concat();
        // A character that also depends on the bytes beside the secret is left out.
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        let encoded = BASE64_STANDARD_NO_PAD.encode(bytes);
        encoded.get(own).unwrap_or_default().to_owned()
    });
    base64.chain([hex::encode(secret)]).collect()
}

/// Returns a text verbatim, and with its escapes undone once, twice and so on: a secret may look like an escape itself.
fn readings(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    while let Some(last) = all.last()
        && all.len() <= MAX_ROUNDS
    {
        let next = unescaped(last);
        if next == *last {
            break;
        }
        all.push(next);
    }
    all
}

/// Undoes the escapes of a text once. Drops line breaks, entities that XML does not have and halves of surrogate pairs:
/// none of them is an ASCII letter or digit.
fn unescaped(text: &str) -> String {
    #[expect(clippy::expect_used, reason = "it is constant")]
    static ESCAPES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(ESCAPE).expect("a regular expression"));
    let text = text.replace('+', " ");
    let undone = ESCAPES.replace_all(text.as_bytes(), |found: &Captures<'_>| {
        let group = |index| str::from_utf8(found.get(index)?.as_bytes()).ok();
        let code = |index, radix| u32::from_str_radix(group(index)?, radix).ok();
        if let Some(byte) = code(1, 16).and_then(|byte| u8::try_from(byte).ok()) {
            return vec![byte];
        }
        let code = code(2, 16).or_else(|| code(3, 16)).or_else(|| code(4, 10));
        let c = code.and_then(char::from_u32).map(String::from);
        let named = || group(5).and_then(resolve_xml_entity).map(str::to_owned);
        c.or_else(named).unwrap_or_default().into_bytes()
    });
    String::from_utf8_lossy(&undone).into_owned()
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

    use super::*;

    const SECRET: &str = r#"till & "+é\/=~😀x>"#;

    fn is_in(secret: &str, text: &str) -> bool {
        Secrets(vec![Secret::new(secret.to_owned())]).are_in(text)
    }

    fn each<T>(all: impl IntoIterator<Item = T>, write: impl Fn(T) -> String) -> String {
        all.into_iter().map(write).collect()
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let json = serde_json::json!(SECRET).to_string();
        let form: String = form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
        let html = SECRET.replace('&', "&amp;").replace('"', "&quot;");
        let (digits, base64) = (hex::encode(SECRET), BASE64_STANDARD.encode(SECRET));
        let pieces =
            |all: &str, end: &str| each(all.split_inclusive(['4', 'I']), |it| it.to_owned() + end);
        let utf_16 = |bytes: fn(u16) -> [u8; 2]| {
            let bytes: Vec<u8> = SECRET.encode_utf16().flat_map(bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for written in [
            SECRET.to_owned(),
            json.replace('/', r"\/"),
            serde_json::json!(json).to_string(),
            each(SECRET.encode_utf16(), |unit| format!(r"\u{unit:04x}")),
            each(SECRET.encode_utf16(), |unit| format!(r"\\u{unit:04X}")),
            each(SECRET.bytes(), |byte| format!("%{byte:02x}")),
            form.replace('+', "%20").to_ascii_lowercase(),
            form.replace('%', "%25"),
            form.replace('%', "%252525"),
            form,
            html.replace('é', "&eacute;"),
            html.replace('&', "&amp;").replace(' ', "&nbsp;"),
            each(SECRET.chars(), |c| format!("&#{};", u32::from(c))),
            each(SECRET.chars(), |c| format!("&amp;#x{:04X};", u32::from(c))),
            utf_16(u16::to_le_bytes),
            utf_16(u16::to_be_bytes),
            digits.to_ascii_uppercase(),
            pieces(&digits, ":"),
            pieces(&base64, "\r\n"),
            pieces(&base64, r"\r\n"),
            digits,
            BASE64_URL_SAFE_NO_PAD.encode(SECRET),
            BASE64_STANDARD.encode(format!("u:{SECRET}")),
            BASE64_STANDARD.encode(format!("us:{SECRET}1")),
            base64,
        ] {
            let text = format!("5%{written}&x; and so on");
            assert!(is_in(SECRET, &text), "{text}");
        }
        let other = r"no order 74696c6c, dGls, tilx, %zz, \u00, &; &#; till";
        assert!(!is_in(SECRET, other));
    }

    #[test]
    fn a_short_secret_is_found_as_it_stands() {
        for written in ["a&b", "a&amp;b", "%61&#38;b", r"\u0061&b"] {
            assert!(is_in("a&b", &format!("no {written}!")), "{written}");
        }
        assert!(is_in("ключ", r"\u043a\u043b\u044e\u0447"));
        for text in ["", "a b", "612662", "YSZi"] {
            assert!(!is_in("a&b", text), "{text}");
        }
    }

    #[test]
    fn nested_escapes_are_undone_a_bounded_number_of_times() {
        let rows = [
            ("%", "25", "70assword"),
            ("&", "amp;", "#112;assword"),
            ("%5c", "u005c", "u0070assword"),
        ];
        for (first, again, last) in rows {
            let nested = |depth| [first, &again.repeat(depth), last].concat();
            assert!(is_in("password", &nested(6)), "{first}");
            assert!(!is_in("password", &nested(2_000)), "{first}");
        }
        for text in ["%", "&", r"\", ";", "%25", "&#38;"] {
            let hostile = text.repeat((9 << 10) / text.len());
            assert!(!is_in("password", &hostile), "{text}");
        }
        let far = r"\".repeat(9 << 10) + "u0070assword";
        assert!(is_in("password", &far));
    }
}
