//! URLs as logs, errors and `--print-config` show them: without user info, query and fragment, which may be secrets.

use reqwest::Url;

/// The text in place of a hidden part.
const HIDDEN: &str = "***";

/// The characters that end a URL in a text, besides white space. A login may contain any other character.
const ENDS: [char; 2] = ['"', '`'];

/// Returns a URL without the parts that may be secret. A text that is not a URL stays as it is.
#[must_use]
pub fn shown(text: &str) -> String {
    if !text.contains("://") || !text.contains(['@', '?', '#']) {
        return text.to_owned();
    }
    let Ok(mut url) = Url::parse(text) else {
        // In a malformed URL, a secret may be anywhere.
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        return format!("{}://{HIDDEN}", scheme.unwrap_or_default());
    };
    let has_login = !url.username().is_empty() || url.password().is_some();
    if has_login && (url.set_password(None).is_err() || url.set_username(HIDDEN).is_err()) {
        return HIDDEN.to_owned();
    }
    if url.query().is_some() {
        url.set_query(Some(HIDDEN));
    }
    if url.fragment().is_some() {
        url.set_fragment(Some(HIDDEN));
    }
    url.into()
}

/// Hides the parts that may be secret in each URL of a text.
#[must_use]
pub fn with_urls_shown(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || ENDS.contains(&c);
    let parts = text.split_inclusive(is_end).map(|part| {
        let url = part.trim_end_matches(is_end);
        let end = part.get(url.len()..).unwrap_or_default();
        shown(url) + end
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_a_secret() {
        for (text, expected) in [
            ("https://login.example/keys", "https://login.example/keys"),
            ("https://login.example", "https://login.example"),
            (
                "https://u:secret@login.example",
                "https://***@login.example/",
            ),
            (
                "https://secret@login.example/a",
                "https://***@login.example/a",
            ),
            (
                "https://:secret@login.example/a",
                "https://***@login.example/a",
            ),
            (
                "https://login.example/a?key=secret",
                "https://login.example/a?***",
            ),
            (
                "https://login.example/a?secret#secret",
                "https://login.example/a?***#***",
            ),
            (
                "https://login.example/@scope/a",
                "https://login.example/@scope/a",
            ),
            ("http://[::1]:8000/a?secret", "http://[::1]:8000/a?***"),
            ("redis://u:secret@h/0", "redis://***@h/0"),
            ("redis+cluster://u:secret@a:1,b:2", "redis+cluster://***"),
            ("https://u:pa/secret@h/", "https://***"),
            ("redis://u:pa?secret@h", "redis://***"),
            ("file:keys.json", "file:keys.json"),
            ("dispatcher@tillgate.example", "dispatcher@tillgate.example"),
            ("is it?", "is it?"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_shown_with_its_urls_so() {
        let text = "1 | store = \"redis://u:secret@h\"\n  | url = 'https://h/a?secret' (https://a/ is right?)";
        let expected =
            "1 | store = \"redis://***@h\"\n  | url = 'https://*** (https://a/ is right?)";
        assert_eq!(with_urls_shown(text), expected);
        assert_eq!(with_urls_shown(""), "");
    }
}
