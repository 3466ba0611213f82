//! What the API's documents say of a route: what it is for, what it is asked with, what it answers.
//!
//! Only what the table of routes does not know stands here. Method, path, permission, size of the body, and the errors that
//! follow from these are taken from the route itself (`http/document`), so that they cannot differ from what is served.
//! Examples stand in `examples.json` of each feature, by the id of the operation.

use tillgate_api::Code;
use tillgate_api::schema::SchemaOf;

use super::query_parameter::{NOTE, QueryParameter};
use super::tag::Tag;

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

/// A parameter of a request.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) place: Place,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_required: bool,
    pub(crate) schema: SchemaOf,
}

/// A body of a media type.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) schema: SchemaOf,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    /// The same in one or several media types; none without a body.
    pub(crate) contents: Vec<Content>,
    /// Names of headers, and what they say.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// What the documents say of a route.
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
    /// What the route refuses requests with, beside what follows from the route.
    pub(crate) refusals: Vec<Code>,
    pub(crate) has_entity_tag: bool,
    pub(crate) has_preconditions: bool,
    pub(crate) is_deprecated: bool,
    pub(crate) changes_nothing: bool,
    pub(crate) takes_client: bool,
    /// Earlier names of parameters of the query, which are read for one more release.
    pub(crate) earlier_names: &'static [&'static str],
}

impl Operation {
    /// An operation: its name in generated clients (`getCondition`), and what it does in a few words.
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

    /// With more that one must know, in whole sentences.
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

    /// With a parameter of the path.
    #[must_use]
    pub fn path(self, name: &'static str, description: &'static str, schema: SchemaOf) -> Self {
        self.parameter(Place::Path, name, description, true, schema)
    }

    /// With a parameter of the query that may be left out.
    #[must_use]
    pub fn query<T>(self, of: &QueryParameter<T>) -> Self {
        self.parameter(Place::Query, of.name, of.about, false, of.schema)
    }

    /// With a parameter of the query that must be there.
    #[must_use]
    pub fn required_query<T>(self, of: &QueryParameter<T>) -> Self {
        self.parameter(Place::Query, of.name, of.about, true, of.schema)
    }

    /// With a header that may be left out.
    #[must_use]
    pub fn header(self, name: &'static str, description: &'static str, schema: SchemaOf) -> Self {
        self.parameter(Place::Header, name, description, false, schema)
    }

    /// Taking JSON.
    #[must_use]
    pub fn takes(self, schema: SchemaOf) -> Self {
        self.takes_as("application/json", schema)
    }

    /// Taking another media type, or one more.
    #[must_use]
    pub fn takes_as(mut self, media_type: &'static str, schema: SchemaOf) -> Self {
        self.bodies.push(Content { media_type, schema });
        self
    }

    /// Taking no body as well.
    #[must_use]
    pub const fn or_takes_nothing(mut self) -> Self {
        self.is_body_optional = true;
        self
    }

    /// Answering JSON with a status.
    #[must_use]
    pub fn answers(self, status: u16, description: &'static str, schema: SchemaOf) -> Self {
        self.answers_as("application/json", status, description, schema)
    }

    /// Answering another media type.
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

    /// Answering what was named last in another media type too.
    #[must_use]
    pub fn or_answers_as(mut self, media_type: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut()
            && let Some(schema) = answer.contents.first().map(|content| content.schema)
        {
            answer.contents.push(Content { media_type, schema });
        }
        self
    }

    /// Answering a status without a body.
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

    /// With a header of the answer that was named last.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, description: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, description));
        }
        self
    }

    /// Resting on memory while the store is unavailable, where the answer that was named last says how old that is.
    #[must_use]
    pub fn may_be_stale(self) -> Self {
        self.with_header(
            "Tillgate-Stale",
            "Only while the store is unavailable: the age in seconds of what the answer rests on.",
        )
    }

    /// Refusing requests for reasons of its own, in problem documents with these codes.
    #[must_use]
    pub fn refuses(mut self, codes: &[Code]) -> Self {
        self.refusals.extend_from_slice(codes);
        self
    }

    /// Answering with an entity tag, and 304 to who has that version already.
    #[must_use]
    pub const fn with_entity_tag(mut self) -> Self {
        self.has_entity_tag = true;
        self
    }

    /// Taking `If-Match`, and `If-None-Match: *` where it may create something; 412 when they do not hold.
    #[must_use]
    pub const fn with_preconditions(mut self) -> Self {
        self.has_preconditions = true;
        self
    }

    /// Taking `note`, why the change is made.
    #[must_use]
    pub fn with_note(self) -> Self {
        self.query(&NOTE)
    }

    /// Asked with a client's id and secret in place of a token.
    #[must_use]
    pub const fn for_clients(mut self) -> Self {
        self.takes_client = true;
        self
    }

    /// Changing nothing, although its method may.
    #[must_use]
    pub const fn changes_nothing(mut self) -> Self {
        self.changes_nothing = true;
        self
    }

    /// Reading parameters of the query by their earlier names too.
    #[must_use]
    pub const fn reads_earlier_names(mut self, names: &'static [&'static str]) -> Self {
        self.earlier_names = names;
        self
    }

    /// Kept for those who use it, and to be removed.
    #[must_use]
    pub const fn deprecated(mut self) -> Self {
        self.is_deprecated = true;
        self
    }
}
