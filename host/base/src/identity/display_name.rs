//! The display name of a caller.
//!
//! It comes from outside: from the claims of a token, or from a client that registered itself. It is therefore bounded,
//! and has no character that would break a line, be invisible, or reverse the text around it.

use serde::Serialize;

/// The longest name, in characters.
const MAX_NAME: usize = 128;

/// A display name, bounded and without harmful characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DisplayName(String);

impl DisplayName {
    /// Returns a text as a name, without the characters that no name has; `None` when nothing is left.
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

/// Returns whether a character separates words or lines.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Returns whether a character is invisible and changes how the text beside it is shown, such as direction marks and
/// tags. Joiners stay, because some scripts need them.
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
