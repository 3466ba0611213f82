//! Hides in the text of a log what is, or may be, a secret: by its name, by its place, by its form, and what looks random. Pure.
//!
//! A log of this program has no secrets, but a file that is handed in may be that of a proxy, or of a whole machine. What is
//! hidden too much is a digest or an id; identifiers of requests (UUIDs) stay.

use std::borrow::Cow;

use regex::{Captures, Regex};

use crate::egress::shown;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// Private keys as files have them, to their end or to that of the text, also within JSON.
const PEM: &str =
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)";

const URL: &str = r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s"'`<>\\]+"#;

/// The colours of a terminal, which may stand between a name and its value.
const COLOUR: &str = r"\x1b\[[0-9;]*m";

/// The query of an address without a host.
const QUERY: &str = r#"(/[^\s"'?<>\\]*\?)[^\s"'<>\\]+"#;

/// Headers whose whole value is a secret; some write a list of values.
const HEADER: &str = r#"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\\*["']?\s*[:=]\s*)(?:\[[^\]]*\]|(\\*["']?)[^"'\r\n\\]+)"#;

/// The schemes of `Authorization`, wherever they stand.
const SCHEME: &str = r"(?i)\b(bearer|basic|dpop)(\s+|%20|\+)[A-Za-z0-9._~+/=:%-]+";

/// A name that says that its value is a secret, and the value: quoted, quoted within a text, or up to what ends it.
const NAMED: &str = concat!(
    r#"(?i)([\w.-]*(?:secret|passw(?:or)?d|passphrase|pwd|token|apikey|sharedkey|privatekey|accesskey|signingkey|[_-]key|"#,
    r#"assertion|credential|signature|pepper)[\w-]*\\*["']?\s*(?:[:=]|%3a|%3d)\s*)"#,
    r#"(?:\\+"(?:[^"\\]|\\+[^"\\])*\\+"|"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^\s"',&})\]]+)"#
);

/// Tokens and keys by their forms: JSON Web Tokens, and secrets of Standard Webhooks, of GitHub and of Stripe.
const FORM: &str = r"\b(?:gh[opsu]|[sr]k_live)_[A-Za-z0-9]+|\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)*|\bwhs(?:ec|k)_[A-Za-z0-9+/=_-]+";

/// What may be a random text: without what separates words.
const OPAQUE: &str = r"[A-Za-z0-9_+/=-]{20,}";

/// Hides secrets: those that are known, and what may be one.
pub(super) struct Scrubber {
    known: Vec<String>,
    rules: Vec<(Regex, Rule)>,
}

type Rule = fn(&Captures<'_>) -> String;

impl Scrubber {
    /// Hides these, and what may be a secret.
    ///
    /// # Errors
    /// When a rule is malformed.
    pub(super) fn new(known: Vec<String>) -> Result<Self, String> {
        let rules: [(&str, Rule); 9] = [
            (COLOUR, |_| String::new()),
            (PEM, |_| HIDDEN.to_owned()),
            (URL, |found| shown(part(found, 0))),
            (QUERY, |found| [part(found, 1), HIDDEN].concat()),
            (HEADER, |found| {
                [part(found, 1), part(found, 2), part(found, 3), HIDDEN].concat()
            }),
            (SCHEME, |found| {
                [part(found, 1), part(found, 2), HIDDEN].concat()
            }),
            (NAMED, |found| [part(found, 1), HIDDEN].concat()),
            (FORM, |_| HIDDEN.to_owned()),
            (OPAQUE, |found| opaque(part(found, 0))),
        ];
        let rules = rules.into_iter().map(|(rule, hide)| {
            let rule = Regex::new(rule).map_err(|cause| cause.to_string())?;
            Ok((rule, hide))
        });
        Ok(Self {
            known,
            rules: rules.collect::<Result<_, String>>()?,
        })
    }

    /// A text without the secrets that are known.
    pub(super) fn without_known(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.known {
            if text.contains(secret) {
                text = text.replace(secret, HIDDEN).into();
            }
        }
        text.into_owned()
    }

    /// A text without those, and without what may be a secret.
    pub(super) fn scrub(&self, text: &str) -> String {
        let mut text = self.without_known(text);
        for (rule, hide) in &self.rules {
            if let Cow::Owned(hidden) = rule.replace_all(&text, hide) {
                text = hidden;
            }
        }
        text
    }
}

fn part<'t>(found: &Captures<'t>, group: usize) -> &'t str {
    found.get(group).map_or("", |part| part.as_str())
}

/// A text without what looks random. A path is looked at piece by piece.
fn opaque(text: &str) -> String {
    let hide = |text: &str| match is_random(text) {
        true => HIDDEN.to_owned(),
        false => text.to_owned(),
    };
    match text.starts_with('/') {
        true => text.split('/').map(hide).collect::<Vec<_>>().join("/"),
        false => hide(text),
    }
}

/// Whether a text looks like random bytes in hexadecimal digits or base64.
fn is_random(text: &str) -> bool {
    if text.len() < 20 || uuid::Uuid::try_parse(text).is_ok_and(|_| text.contains('-')) {
        return false;
    }
    let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_mixed = has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase);
    let is_hex = text.chars().all(|c| c.is_ascii_hexdigit());
    digits > 0 && (is_mixed || is_hex || digits * 8 >= text.len() && !text.contains(['_', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    const KEY: &str = "Zm9vYmFyLWJheg3x_9KkQ0uYtF5bq7wL1aRz8nEvPHs";

    fn scrubbed(text: &str) -> String {
        let scrubber = Scrubber::new(vec!["open sesame".to_owned()]);
        scrubber.map(|it| it.scrub(text)).unwrap_or_default()
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        for (text, expected) in [
            ("is it open sesame?", "is it ***?"),
            ("clientSecret=abc, next", "clientSecret=***, next"),
            (
                r#"{"clientSecret":"a\"bc","a":1}"#,
                r#"{"clientSecret":***,"a":1}"#,
            ),
            (
                r#"{"m":"{\"password\":\"a b\"}"}"#,
                r#"{"m":"{\"password\":***}"}"#,
            ),
            (
                "grant&client_secret=a%26b&x=1",
                "grant&client_secret=***&x=1",
            ),
            ("client_secret%3Dabc", "client_secret%3D***"),
            ("shared_key: 'a b'", "shared_key: ***"),
            ("Authorization: Custom a b", "Authorization: ***"),
            (
                r#""authorization":"Custom a b","x":1"#,
                r#""authorization":"***","x":1"#,
            ),
            ("sent Bearer abcdef to", "sent Bearer *** to"),
            ("-H 'Cookie: a=b; c=d' x", "-H 'Cookie: ***' x"),
            ("cause:redis://u:pw@h/0 x", "cause:redis://***@h/0 x"),
            ("(https://h/a?key=abc)", "(https://h/a?***"),
            ("GET /cb?code=abc HTTP", "GET /cb?*** HTTP"),
            (
                r#"{"Cookie":["sid=a"],"X-Api-Key":["b"],"x":1}"#,
                r#"{"Cookie":***,"X-Api-Key":***,"x":1}"#,
            ),
            (r#"secret: {"value":"a"} b"#, "secret: *** b"),
            ("password=abc;def x", "password=*** x"),
            ("password\x1b[2m=\x1b[0mabc", "password=***"),
            ("ghp_abcdefg", "***"),
            ("got eyJhbGciOi.eyJpc3MiOi.c2ln.", "got ***"),
            ("whsec_YWJj/+=", "***"),
            (
                "a\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nb",
                "a\n***\nb",
            ),
            (r"-----BEGIN RSA PRIVATE KEY-----\nabc", "***"),
        ] {
            assert_eq!(scrubbed(text), expected, "{text}");
        }
        for secret in [HEX, KEY, "aB3/aB3+aB3/aB3+aB3/aB3+aB=="] {
            let text = format!("x {secret} y \"{secret}\"");
            assert!(!scrubbed(&text).contains(secret), "{secret}");
        }
        assert_eq!(scrubbed(&format!("/v1/{HEX}/y/{KEY}")), "/v1/***/y/***");
    }

    #[test]
    fn what_tells_what_happened_stays() {
        for text in [
            "2026-01-01T00:00:00.000000Z  INFO tillgate::webhooks::delivery: a job was set aside",
            r#"{"correlation":"0190b1a2-7c3d-7e4f-8a5b-6c7d8e9f0a1b","path":"/api/v1/conditions/alcohol-2/evaluate"}"#,
            "cannot listen on 127.0.0.1:8080: Address already in use (os error 98)",
            "tillgate_http_request_duration_seconds_bucket",
            "https://login.example/.well-known/jwks.json",
        ] {
            assert_eq!(scrubbed(text), text);
        }
    }
}
