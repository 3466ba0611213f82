//! A parameter of a query, described once: what the API's documents say of it, and how it is read.

use tillgate_api::schema::{MAX_LIMIT, SchemaOf, flag, limit as limit_schema, note};
use tillgate_base::data::note::Note;

/// What a cursor must be, for messages.
pub const CURSOR_RULE: &str = "must be a cursor from an earlier answer";

/// A parameter of a query: what the API's documents say of it, and how it is read.
#[derive(Debug)]
pub struct QueryParameter<T> {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// What it may be.
    pub schema: SchemaOf,
    /// The value of a text, or the rule that the text breaks.
    pub read: fn(&str) -> Result<T, &'static str>,
}

impl QueryParameter<bool> {
    /// Yes or no; no without it.
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
    /// The last item of the page before.
    #[must_use]
    pub const fn cursor(schema: SchemaOf, read: fn(&str) -> Result<T, &'static str>) -> Self {
        Self {
            name: "cursor",
            about: "`next` of the page before.",
            schema,
            read,
        }
    }
}

/// How many items a page has at most.
pub const LIMIT: QueryParameter<usize> = QueryParameter {
    name: "limit",
    about: "How many items the page has at most.",
    schema: limit_schema,
    read: |text| limit(text).ok_or("must be 1 to 1000"),
};

/// Why a change is made.
pub(crate) const NOTE: QueryParameter<Option<Note>> = QueryParameter {
    name: "note",
    about: "Why the change is made, in a sentence: the history and the audit log keep it.",
    schema: note,
    read: Note::parse,
};

/// A limit as JSON would write it: neither `+5` nor `007`.
fn limit(text: &str) -> Option<usize> {
    let limit = text.parse().ok()?;
    ((1..=MAX_LIMIT).contains(&limit) && limit.to_string() == text).then_some(limit)
}
