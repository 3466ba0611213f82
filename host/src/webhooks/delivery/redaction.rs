//! What a receiver must not find its way back into the journal: it may answer with the secrets that it was sent, as they
//! are or in another form: as JSON, URLs, hexadecimal digits and base64 write them, the last also as a part of more. Pure.
//!
//! Whatever can be read as a secret is redacted, at the cost of a text that looks like one by chance.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::HeaderValue;

use crate::webhooks::registry::webhook::{Authentication, Settings};

/// What stands in place of a secret.
const REDACTED: &str = "…";

/// Shorter secrets are not looked for as digits or base64: any text would seem to contain them.
const MIN_CODED: usize = 4;

/// How many backslashes stand before a character that JSON escapes, at most: JSON in JSON in JSON.
const MAX_BACKSLASHES: usize = 8;

/// The secrets of a request.
#[derive(Debug)]
pub(in crate::webhooks) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of a request to a webhook, with the value of its `Authorization`.
    pub(super) fn new(settings: &Settings, authorization: &HeaderValue) -> Self {
        let credentials = authorization.to_str().unwrap_or_default();
        let credentials = credentials.split_once(' ').map(|(_, rest)| rest.to_owned());
        let password = match &settings.authentication {
            Authentication::Basic { password, .. } => Some(password.0.clone()),
            Authentication::Bearer => None,
        };
        let previous = settings.previous_key.as_ref().map(|previous| &previous.key);
        let keys = settings.shared_key.iter().chain(previous);
        let keys = keys.map(|key| key.0.clone());
        let all = credentials.into_iter().chain(password).chain(keys);
        Self(all.filter(|secret| !secret.is_empty()).collect())
    }

    /// The beginning of a text without them, of at most so many bytes.
    pub(in crate::webhooks) fn redact(&self, text: &str, max: usize) -> String {
        // No form of a secret is shorter than itself.
        let secrets = self.0.iter().filter(|secret| secret.len() <= text.len());
        let forms: Vec<Form> = secrets.flat_map(|secret| Form::all(secret)).collect();
        let (mut redacted, mut rest) = (String::new(), text.chars());
        while redacted.len() < max {
            let found = forms.iter().filter_map(|form| form.end(rest.as_str()));
            if let Some(end) = found.max() {
                redacted.push_str(REDACTED);
                rest = rest.as_str().get(end..).unwrap_or_default().chars();
            } else if let Some(c) = rest.next() {
                redacted.push(c);
            } else {
                break;
            }
        }
        redacted.truncate(redacted.floor_char_boundary(max));
        redacted
    }
}

/// A form of a secret.
#[derive(Debug)]
struct Form {
    code: Code,
    text: String,
    /// Whether a character before it, and one after it, says something of the secret, and something of what stands there.
    shares: [bool; 2],
}

/// What the characters of a form are.
#[derive(Clone, Copy, Debug)]
enum Code {
    /// A backslash is written as so many, everywhere in it: as it is, in JSON, or in JSON in JSON.
    Plain(usize),
    Hex,
    Base64,
}

impl Form {
    /// All forms of a secret. How each of their characters may be written is decided when they are looked for.
    fn all(secret: &str) -> Vec<Self> {
        let form = |code, text| Self {
            code,
            text,
            shares: [false; 2],
        };
        let backslashes: &[usize] = match secret.contains('\\') {
            true => &[1, 2, 4],
            false => &[1],
        };
        let plain = backslashes
            .iter()
            .map(|count| form(Code::Plain(*count), secret.to_owned()));
        let mut all: Vec<Self> = plain.collect();
        if secret.len() >= MIN_CODED {
            all.push(form(Code::Hex, hex::encode(secret)));
            all.extend((0..3).map(|before| Self::base64(secret, before)));
        }
        all
    }

    /// Its base64 where it begins after so many bytes of a group of three.
    fn base64(secret: &str, before: usize) -> Self {
        let bytes = [vec![0; before], secret.as_bytes().to_vec()].concat();
        let bits = bytes.len() * 8;
        let encoded = BASE64_STANDARD_NO_PAD.encode(bytes);
        let own = (before * 8).div_ceil(6)..bits / 6;
        Self {
            code: Code::Base64,
            text: encoded.get(own).unwrap_or_default().to_owned(),
            shares: [before > 0, !bits.is_multiple_of(6)],
        }
    }

    /// Where it ends in a text that begins with it.
    fn end(&self, text: &str) -> Option<usize> {
        let [before, after] = self.shares;
        let begin = match before {
            true => text.starts_with(is_base64).then_some(1)?,
            false => 0,
        };
        // A character can be written in several ways, and one of them may be the beginning of another.
        let mut ends = Vec::new();
        let mut chars = self.text.chars();
        self.code.read(chars.next()?, text, begin, &mut ends);
        for c in chars {
            if ends.is_empty() {
                return None;
            }
            for begin in std::mem::take(&mut ends) {
                self.code.read(c, text, begin, &mut ends);
            }
            ends.sort_unstable();
            ends.dedup();
        }
        let end = ends.pop()?;
        let rest = text.get(end..).unwrap_or_default();
        let end = end + usize::from(after && rest.starts_with(is_base64));
        Some(end + self.code.padding(text.get(end..).unwrap_or_default()))
    }
}

impl Code {
    /// Adds where a character ends that a text may have from some place on, in each way in which it may be written.
    fn read(self, c: char, text: &str, begin: usize, ends: &mut Vec<usize>) {
        let text = text.get(begin..).unwrap_or_default();
        if c == '\\'
            && let Self::Plain(count) = self
            && text
                .bytes()
                .take(count)
                .filter(|byte| *byte == b'\\')
                .count()
                == count
        {
            ends.push(begin + count);
        }
        let plain = text.chars().next().filter(|_| c != '\\');
        let plain = plain.filter(|found| self.is_same(*found, c));
        let stands_for = |other: char, written: &str| {
            let fits = other == c && text.starts_with(written);
            fits.then_some(written.len())
        };
        let lengths = [
            plain.map(char::len_utf8),
            percent_encoded(c, text),
            stands_for(' ', "+"),
            escaped(c, text),
        ];
        ends.extend(lengths.into_iter().flatten().map(|length| begin + length));
    }

    /// How many bytes at the beginning of a text only fill up what stands before.
    fn padding(self, text: &str) -> usize {
        match self {
            Self::Plain(_) | Self::Hex => 0,
            Self::Base64 => text.bytes().take(2).take_while(|it| *it == b'=').count(),
        }
    }

    fn is_same(self, found: char, c: char) -> bool {
        match self {
            Self::Plain(_) => found == c,
            Self::Hex => found.eq_ignore_ascii_case(&c),
            // There are two alphabets.
            Self::Base64 => match found {
                '-' => c == '+',
                '_' => c == '/',
                _ => found == c,
            },
        }
    }
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_')
}

/// The length of a character that a text begins with as a URL has it: `%C3%A9`.
fn percent_encoded(c: char, text: &str) -> Option<usize> {
    let mut rest = text;
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        let digits = rest.strip_prefix('%')?.get(..2)?;
        let found = u8::from_str_radix(digits, 16).ok()?;
        rest = rest.get(3..).filter(|_| found == byte)?;
    }
    Some(text.len() - rest.len())
}

/// The length of a character that a text begins with as JSON escapes it, or JSON in JSON: `\"`, `\u00e9`, `\\\"`.
fn escaped(c: char, text: &str) -> Option<usize> {
    let slashes = text.bytes().take(MAX_BACKSLASHES);
    let slashes = slashes.take_while(|byte| *byte == b'\\').count();
    let (prefix, after) = text.split_at_checked(slashes).filter(|_| slashes > 0)?;
    if matches!(c, '"' | '/') && after.starts_with(c) {
        return Some(slashes + 1);
    }
    let mut rest = text;
    for unit in c.encode_utf16(&mut [0; 2]) {
        let digits = rest.strip_prefix(prefix)?.strip_prefix('u')?.get(..4)?;
        let found = u16::from_str_radix(digits, 16).ok()?;
        rest = rest.get(slashes + 5..).filter(|_| found == *unit)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

    use super::*;

    const SECRET: &str = r#"til l+"é\/=~😀x"#;

    fn redacted(text: &str) -> String {
        let secrets = Secrets(vec![SECRET.to_owned(), "abc".to_owned()]);
        secrets.redact(text, usize::MAX)
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let json = serde_json::json!(SECRET).to_string();
        let json = json.trim_matches('"').to_owned();
        let in_json = serde_json::json!(json).to_string();
        let digits = hex::encode(SECRET);
        let percent = |digits: &str| -> String {
            let pairs = digits.as_bytes().chunks(2);
            pairs
                .map(|pair| format!("%{}", String::from_utf8_lossy(pair)))
                .collect()
        };
        let units = SECRET.encode_utf16();
        let form = form_urlencoded::byte_serialize(SECRET.as_bytes()).collect::<String>();
        for written in [
            SECRET.to_owned(),
            json.clone(),
            json.replace('/', r"\/"),
            in_json.trim_matches('"').to_owned(),
            units.clone().map(|unit| format!(r"\u{unit:04x}")).collect(),
            units.map(|unit| format!(r"\\u{unit:04X}")).collect(),
            form.clone(),
            form.to_ascii_lowercase().replace("til", "%74il"),
            percent(&digits),
            percent(&digits.to_ascii_uppercase()),
            digits.clone(),
            digits.to_ascii_uppercase(),
            BASE64_STANDARD.encode(SECRET),
            BASE64_URL_SAFE_NO_PAD.encode(SECRET),
        ] {
            let text = format!("<{written}> and {written}.");
            assert_eq!(redacted(&text), "<…> and ….", "{written}");
        }
    }

    #[test]
    fn a_secret_is_found_in_the_base64_of_more() {
        for before in ["", "u", "us", "user:", "a longer name:"] {
            for after in ["", "1", "22", "333"] {
                let all = BASE64_STANDARD.encode(format!("{before}{SECRET}{after}"));
                let text = redacted(&all);
                let (first, last) = text.split_once('…').unwrap_or((&text, &text));
                // What is left says what stands beside it, and nothing of the secret.
                assert!(first.len() <= before.len() * 8 / 6, "{text}");
                let last = last.trim_end_matches('=');
                assert!(last.len() <= (after.len() * 8).div_ceil(6), "{text}");
            }
        }
    }

    #[test]
    fn a_text_of_backslashes_costs_no_more_than_another() {
        let secret = format!("{}x", r"\".repeat(255));
        let secrets = Secrets(vec![secret]);
        let text = r"\".repeat(9 << 10);
        assert_eq!(
            secrets.redact(&text, 1 << 10),
            text.get(..1 << 10).unwrap_or_default()
        );
    }

    #[test]
    fn what_is_no_secret_stays() {
        let text = "{\"error\":\"no order 616263 YWJj %61b\",\"til l\":\"+%zz\\u00\"}";
        assert_eq!(redacted(text), text);
        // A short one only as it is written.
        assert_eq!(redacted("abc %61bc"), "… …");
    }

    #[test]
    fn only_the_beginning_is_kept() {
        let secrets = Secrets(vec!["secret".to_owned()]);
        assert_eq!(secrets.redact("a secret, a secret", 3), "a ");
        assert_eq!(secrets.redact("a secret, a secret", 6), "a …,");
        assert_eq!(secrets.redact("é", 1), "");
    }
}
