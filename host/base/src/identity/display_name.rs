//! The name of who asks, for people.
//!
//! It comes from others: from the claims of a token, or of a client that has registered itself. So it is bounded, and has
//! no character that would break a line, hide, or turn the text around it.

use serde::Serialize;

/// The most characters of a name.
const MAX_NAME: usize = 128;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DisplayName(String);

impl DisplayName {
    /// The name that a text is without what no name has; `None` when nothing is left.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let shown: String = text
            .chars()
            .map(|character| if is_blank(character) { ' ' } else { character })
            .filter(|character| !is_unseen(*character))
            .collect();
        let words: Vec<&str> = shown.split_whitespace().collect();
        let name: String = words.join(" ").chars().take(MAX_NAME).collect();
        let name = name.trim_end();
        (!name.is_empty()).then(|| Self(name.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What separates words, or lines.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// What is not seen itself, and changes how the text beside it is shown: marks of direction, tags. Joiners stay, which some
/// scripts need.
const fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        DisplayName::new(text).map(|name| name.as_str().to_owned())
    }

    #[test]
    fn a_name_stays_as_people_write_it() {
        for name in [
            "Anna Meier",
            "Zoë",
            "李小龙",
            "anna.meier@shop.example",
            "O'Neil <b>",
        ] {
            assert_eq!(shown(name).as_deref(), Some(name));
        }
    }

    #[test]
    fn what_breaks_lines_hides_or_turns_text_is_left_out() {
        let hostile = " Anna\r\n\u{1b}[31m\u{202e}Meier\u{200b}\u{feff}\u{e0041}\0 ";
        assert_eq!(shown(hostile).as_deref(), Some("Anna [31mMeier"));
        assert_eq!(shown("\u{202e}\n\t\u{2028}"), None);
        assert_eq!(shown(""), None);
    }

    #[test]
    fn a_name_has_at_most_128_characters() {
        let name = shown(&"ä".repeat(1_000)).unwrap_or_default();
        assert_eq!(name.chars().count(), MAX_NAME);
        let words = shown(&format!("{} end", "ä".repeat(MAX_NAME - 1)));
        assert_eq!(words, Some("ä".repeat(MAX_NAME - 1)));
    }
}
