//! The reason for a change, in its author's words: the parameter `note` of a write, which the history and the audit log
//! keep (`conditions.md`, "History").

use serde::{Deserialize, Serialize};

/// The longest note, in characters.
pub const MAX: usize = tillgate_api::schema::MAX_NOTE;

const RULE: &str =
    "must have at most 500 characters, and no control characters such as line breaks";

/// The reason for a change, in a sentence or two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Note(Box<str>);

impl Note {
    /// Parses a note; returns `None` if the text is empty or only spaces.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Option<Self>, &'static str> {
        let text = text.trim_matches(' ');
        if text.chars().any(char::is_control) || text.chars().count() > MAX {
            return Err(RULE);
        }
        Ok((!text.is_empty()).then(|| Self(text.into())))
    }

    /// Returns the note as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
