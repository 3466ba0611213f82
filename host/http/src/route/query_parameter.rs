//! A query parameter, defined once: its description in the API's documents, and its parser.

use tillgate_api::schema::{MAX_LIMIT, SchemaOf, flag, limit as limit_schema, note};
use tillgate_base::data::note::Note;

/// The rule for cursors, for messages.
pub const CURSOR_RULE: &str = "must be a cursor from an earlier answer";

/// A query parameter: its description in the API's documents, and its parser.
#[derive(Debug)]
pub struct QueryParameter<T> {
    /// Its name.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its schema.
    pub schema: SchemaOf,
    /// Parses a text, or returns the rule that the text breaks.
    pub read: fn(&str) -> Result<T, &'static str>,
}

impl QueryParameter<bool> {
    /// Creates a parameter that is true or false; false if it is missing.
    #[must_use]
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            schema: flag,
            read: |text| match text {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err("must be true or false"),
            },
        }
    }
}

impl<T> QueryParameter<T> {
    /// Creates the parameter for the last item of the previous page.
    #[must_use]
    pub const fn cursor(schema: SchemaOf, read: fn(&str) -> Result<T, &'static str>) -> Self {
        Self {
            name: "cursor",
            about: "The `next` of the previous page.",
            schema,
            read,
        }
    }
}

/// The most items that a page has.
pub const LIMIT: QueryParameter<usize> = QueryParameter {
    name: "limit",
    about: "The largest number of items on the page.",
    schema: limit_schema,
    read: |text| limit(text).ok_or("must be 1 to 1000"),
};

/// The reason for a change.
pub(crate) const NOTE: QueryParameter<Option<Note>> = QueryParameter {
    name: "note",
    about: "The reason for the change, as a sentence. The history and the audit log keep it.",
    schema: note,
    read: Note::parse,
};

/// Parses a limit as JSON would write it: neither `+5` nor `007`.
fn limit(text: &str) -> Option<usize> {
    let limit = text.parse().ok()?;
    ((1..=MAX_LIMIT).contains(&limit) && limit.to_string() == text).then_some(limit)
}
