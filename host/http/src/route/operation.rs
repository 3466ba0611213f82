//! The description of a route in the API's documents: its purpose, its input and its answers.
//!
//! It holds only what the table of routes does not know. The method, the path, the permission, the size of the body,
//! and the errors that follow from these come from the route itself (`http/document`), so that they cannot differ from
//! what is served. Each feature has its examples in an `examples.json`, by the id of the operation.

use tillgate_api::Code;
use tillgate_api::schema::SchemaOf;

use super::query_parameter::{NOTE, QueryParameter};
use super::tag::Tag;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) place: Place,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_required: bool,
    pub(crate) schema: SchemaOf,
}

/// A body in one media type.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) schema: SchemaOf,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    /// Its body in one or several media types; empty if there is no body.
    pub(crate) contents: Vec<Content>,
    /// The names and descriptions of its headers.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// The description of a route in the documents.
#[derive(Debug)]
pub struct Operation {
    pub(crate) id: &'static str,
    pub(crate) tag: Tag,
    pub(crate) summary: &'static str,
    pub(crate) description: Option<&'static str>,
    pub(crate) parameters: Vec<Parameter>,
    /// Alternatives, by media type.
    pub(crate) bodies: Vec<Content>,
    pub(crate) is_body_optional: bool,
    pub(crate) answers: Vec<Answer>,
    /// The errors of the route, beyond those that follow from the route itself.
    pub(crate) refusals: Vec<Code>,
    pub(crate) has_entity_tag: bool,
    pub(crate) has_preconditions: bool,
    pub(crate) is_deprecated: bool,
    pub(crate) changes_nothing: bool,
    pub(crate) takes_client: bool,
    /// Earlier names of query parameters, which are accepted for one more release.
    pub(crate) earlier_names: &'static [&'static str],
}

impl Operation {
    /// Creates an operation from its name in generated clients (`getCondition`) and a short summary of what it does.
    #[must_use]
    pub fn new(id: &'static str, tag: Tag, summary: &'static str) -> Self {
        Self {
            id,
            tag,
            summary,
            description: None,
            parameters: Vec::new(),
            bodies: Vec::new(),
            is_body_optional: false,
            answers: Vec::new(),
            refusals: Vec::new(),
            has_entity_tag: false,
            has_preconditions: false,
            is_deprecated: false,
            changes_nothing: false,
            takes_client: false,
            earlier_names: &[],
        }
    }

    /// Adds further details, in whole sentences.
    #[must_use]
    pub const fn says(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    fn parameter(
        mut self,
        place: Place,
        name: &'static str,
        description: &'static str,
        is_required: bool,
        schema: SchemaOf,
    ) -> Self {
        self.parameters.push(Parameter {
            place,
            name,
            description,
            is_required,
            schema,
        });
        self
    }

    /// Adds a path parameter.
    #[must_use]
    pub fn path(self, name: &'static str, description: &'static str, schema: SchemaOf) -> Self {
        self.parameter(Place::Path, name, description, true, schema)
    }

    /// Adds an optional query parameter.
    #[must_use]
    pub fn query<T>(self, of: &QueryParameter<T>) -> Self {
        self.parameter(Place::Query, of.name, of.about, false, of.schema)
    }

    /// Adds a required query parameter.
    #[must_use]
    pub fn required_query<T>(self, of: &QueryParameter<T>) -> Self {
        self.parameter(Place::Query, of.name, of.about, true, of.schema)
    }

    /// Adds an optional header.
    #[must_use]
    pub fn header(self, name: &'static str, description: &'static str, schema: SchemaOf) -> Self {
        self.parameter(Place::Header, name, description, false, schema)
    }

    /// Takes JSON.
    #[must_use]
    pub fn takes(self, schema: SchemaOf) -> Self {
        self.takes_as("application/json", schema)
    }

    /// Takes a body of this media type, besides any others.
    #[must_use]
    pub fn takes_as(mut self, media_type: &'static str, schema: SchemaOf) -> Self {
        self.bodies.push(Content { media_type, schema });
        self
    }

    /// Makes the body optional.
    #[must_use]
    pub const fn or_takes_nothing(mut self) -> Self {
        self.is_body_optional = true;
        self
    }

    /// Answers JSON with a status.
    #[must_use]
    pub fn answers(self, status: u16, description: &'static str, schema: SchemaOf) -> Self {
        self.answers_as("application/json", status, description, schema)
    }

    /// Answers another media type with a status.
    #[must_use]
    pub fn answers_as(
        mut self,
        media_type: &'static str,
        status: u16,
        description: &'static str,
        schema: SchemaOf,
    ) -> Self {
        self.answers.push(Answer {
            status,
            description,
            contents: vec![Content { media_type, schema }],
            headers: Vec::new(),
        });
        self
    }

    /// Offers the last answer in another media type too.
    #[must_use]
    pub fn or_answers_as(mut self, media_type: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut()
            && let Some(schema) = answer.contents.first().map(|content| content.schema)
        {
            answer.contents.push(Content { media_type, schema });
        }
        self
    }

    /// Answers a status without a body.
    #[must_use]
    pub fn empty(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(Answer {
            status,
            description,
            contents: Vec::new(),
            headers: Vec::new(),
        });
        self
    }

    /// Adds a header to the last answer.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, description: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, description));
        }
        self
    }

    /// Lets the last answer rest on a cache while the store is unavailable; a header then gives its age.
    #[must_use]
    pub fn may_be_stale(self) -> Self {
        self.with_header(
            "Tillgate-Stale",
            "Only while the store is unavailable: the age in seconds of the data that the answer is based on.",
        )
    }

    /// Refuses requests for reasons of its own, in problem documents with these codes.
    #[must_use]
    pub fn refuses(mut self, codes: &[Code]) -> Self {
        self.refusals.extend_from_slice(codes);
        self
    }

    /// Answers with an entity tag, and with 304 if the caller has that version already.
    #[must_use]
    pub const fn with_entity_tag(mut self) -> Self {
        self.has_entity_tag = true;
        self
    }

    /// Takes `If-Match`, and `If-None-Match: *` where it may create something. Answers 412 when they do not hold.
    #[must_use]
    pub const fn with_preconditions(mut self) -> Self {
        self.has_preconditions = true;
        self
    }

    /// Takes `note`, the reason for the change.
    #[must_use]
    pub fn with_note(self) -> Self {
        self.query(&NOTE)
    }

    /// Takes a client's id and secret in place of a token.
    #[must_use]
    pub const fn for_clients(mut self) -> Self {
        self.takes_client = true;
        self
    }

    /// States that the operation changes nothing, although its method allows changes.
    #[must_use]
    pub const fn changes_nothing(mut self) -> Self {
        self.changes_nothing = true;
        self
    }

    /// Accepts query parameters by their earlier names too.
    #[must_use]
    pub const fn reads_earlier_names(mut self, names: &'static [&'static str]) -> Self {
        self.earlier_names = names;
        self
    }

    /// Marks the operation as deprecated: it is kept for those who use it, until it is removed.
    #[must_use]
    pub const fn deprecated(mut self) -> Self {
        self.is_deprecated = true;
        self
    }
}
