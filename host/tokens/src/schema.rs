//! The schema of a template's claims: JSON Schema, draft-07, compiled once and bounded in its cost.
//!
//! Administrators of tenants write schemas, and unauthenticated registrations are checked against them. A schema is
//! therefore refused if it refers to the network or to itself, or if its references make it large; patterns are regular
//! expressions that match in linear time. This module is pure, except for the cache of compiled schemas.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator, draft7};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tillgate_base::error::{Error, Result};
use tillgate_base::load::Workers;
use tillgate_engine::Fault;
use tillgate_store::Revision;

use super::client_id::Claims;

/// The largest schema: 64 KiB.
pub const MAX_SCHEMA: usize = 64 << 10;

/// The path of a schema in a template.
const PATH: &str = "$.claimsSchema";

/// The weight of a sub-schema, besides 1 for each value of its lists, such as `required` and `enum`, and the greatest
/// weight of a schema. Everything counts as often as references lead to it.
const SCHEMA_WEIGHT: usize = 10;
const MAX_WEIGHT: usize = 20_000;

/// The most patterns, and the most bytes that one and that all may take when compiled, and again while they match.
const MAX_PATTERNS: usize = 32;
const MAX_PATTERN_BYTES: usize = 256 << 10;
const MAX_PATTERNS_BYTES: usize = 1 << 20;

/// The longest message about a claim, in bytes: it may repeat an enumeration.
const MAX_MESSAGE: usize = 300;

/// The most faults of a schema that an error names.
const MAX_FAULTS: usize = 100;

/// The most faults of claims that an error names.
const MAX_CLAIM_FAULTS: usize = 100;

/// The most bytes that the cached schemas may take together, estimated generously.
const MAX_COMPILED_BYTES: usize = 64 << 20;

/// The bytes that a compiled schema takes, and those for each byte of its text, estimated generously.
const BYTES_PER_SCHEMA: usize = 4 << 10;
const BYTES_PER_TEXT: usize = 32;

/// A compiled schema that claims are checked against.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    /// The approximate number of bytes that it takes.
    bytes: usize,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming what is wrong with it.
    pub fn compile(text: &str) -> Result<Self> {
        if text.len() > MAX_SCHEMA {
            return Err(Error::invalid(PATH, "must be at most 64 KiB"));
        }
        let schema: Value = serde_json::from_str(text)
            .map_err(|cause| Error::invalid(PATH, format!("must be JSON: {cause}")))?;
        if let Some(named) = schema.get("$schema")
            && !named.as_str().is_some_and(is_draft_7)
        {
            return Err(Error::invalid(
                format!("{PATH}['$schema']"),
                "must be draft-07 or absent",
            ));
        }
        let patterns = Bounds::check(&schema)?;
        let faults: Vec<Fault> = draft7::meta::validator()
            .iter_errors(&schema)
            .map(|error| fault(PATH, &error))
            .take(MAX_FAULTS)
            .collect();
        if !faults.is_empty() {
            return Err(Error::Invalid(faults));
        }
        let of_pattern = MAX_PATTERN_BYTES.min(MAX_PATTERNS_BYTES / patterns.max(1));
        let options = PatternOptions::regex()
            .size_limit(of_pattern)
            .dfa_size_limit(of_pattern);
        let validator = draft7::options()
            .with_pattern_options(options)
            .offline()
            .build(&schema)
            .map_err(|error| Error::Invalid(vec![fault(PATH, &error)]))?;
        let bytes = BYTES_PER_SCHEMA + text.len() * BYTES_PER_TEXT + patterns * 2 * of_pattern;
        Ok(Self { validator, bytes })
    }

    /// Checks that the claims match.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming up to a hundred faults.
    pub fn check(&self, claims: &Claims) -> Result<()> {
        let claims = serde_json::to_value(claims).map_err(|cause| Error::Bug(cause.to_string()))?;
        let faults: Vec<Fault> = self
            .validator
            .iter_errors(&claims)
            .flat_map(|error| faults_of_claims(&error))
            .take(MAX_CLAIM_FAULTS)
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::Invalid(faults))
    }
}

fn is_draft_7(uri: &str) -> bool {
    let bare = uri.strip_suffix('#').unwrap_or(uri);
    let bare = bare
        .strip_prefix("https:")
        .or_else(|| bare.strip_prefix("http:"));
    bare == Some("//json-schema.org/draft-07/schema")
}

/// Returns the faults of claims, each with its own path.
fn faults_of_claims(error: &ValidationError<'_>) -> Vec<Fault> {
    const CLAIMS: &str = "$.claims";
    let named = |name: &str, message: &'static str| {
        let path = path(
            CLAIMS,
            &format!("{}/{name}", error.instance_path().as_str()),
        );
        Fault {
            path,
            message: message.into(),
        }
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![named(property.as_str().unwrap_or_default(), "is required")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unexpected = unexpected.iter();
            unexpected
                .map(|name| named(name, "is not a claim of the template"))
                .collect()
        }
        _ => vec![fault(CLAIMS, error)],
    }
}

fn fault(base: &str, error: &ValidationError<'_>) -> Fault {
    let mut message = format!("does not match the schema: {error}");
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    Fault {
        path: path(base, error.instance_path().as_str()),
        message: message.into(),
    }
}

/// Converts a JSON pointer into a JSON path.
fn path(base: &str, pointer: &str) -> String {
    let mut path = base.to_owned();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !segment.is_empty() && segment.chars().all(|c| c.is_ascii_digit()) {
            path.push_str(&format!("[{segment}]"));
        } else if segment.chars().all(word) && !segment.starts_with(|c: char| c.is_ascii_digit()) {
            path.push('.');
            path.push_str(&segment);
        } else {
            path.push_str(&format!("['{}']", segment.replace(['\'', '\\'], "?")));
        }
    }
    path
}

/// Bounds the cost of checking against a schema.
struct Bounds<'s> {
    root: &'s Value,
    /// The weight of each referenced sub-schema; `None` while it is being computed.
    weights: HashMap<&'s str, Option<usize>>,
    patterns: usize,
}

impl<'s> Bounds<'s> {
    /// Checks a schema, and returns the number of its patterns.
    fn check(root: &'s Value) -> Result<usize> {
        let mut bounds = Self {
            root,
            weights: HashMap::new(),
            patterns: 0,
        };
        let weight = bounds.weigh(root)?;
        if weight > MAX_WEIGHT {
            return refuse(
                "must be simpler: it has too many parts, each counted as often as it is referred to",
            );
        }
        if bounds.patterns > MAX_PATTERNS {
            return refuse("must have at most 32 patterns");
        }
        Ok(bounds.patterns)
    }

    fn weigh(&mut self, value: &'s Value) -> Result<usize> {
        let inside: usize = match value {
            Value::Array(elements) => self.sum(elements.iter())?.saturating_add(elements.len()),
            Value::Object(members) => {
                let inside = self.sum(members.values())?;
                inside.saturating_add(self.weigh_keywords(value, members)?)
            }
            _ => return Ok(0),
        };
        Ok(inside.saturating_add(SCHEMA_WEIGHT))
    }

    fn sum(&mut self, values: impl Iterator<Item = &'s Value>) -> Result<usize> {
        let mut sum = 0_usize;
        for value in values {
            sum = sum.saturating_add(self.weigh(value)?);
        }
        Ok(sum)
    }

    fn weigh_keywords(
        &mut self,
        object: &'s Value,
        members: &'s serde_json::Map<String, Value>,
    ) -> Result<usize> {
        self.patterns += usize::from(members.get("pattern").is_some_and(Value::is_string));
        if let Some(Value::Object(patterns)) = members.get("patternProperties") {
            self.patterns += patterns.len();
        }
        let renames = |keyword| members.get(keyword).is_some_and(Value::is_string);
        if !std::ptr::eq(object, self.root) && (renames("$id") || renames("$schema")) {
            return refuse("must have no $id or $schema below its top");
        }
        match members.get("$ref") {
            Some(Value::String(reference)) => self.weigh_reference(reference),
            _ => Ok(0),
        }
    }

    fn weigh_reference(&mut self, reference: &'s str) -> Result<usize> {
        match self.weights.get(reference) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => return refuse("must not refer to itself"),
            None => {}
        }
        let pointer = reference.strip_prefix('#');
        let pointer = pointer.and_then(|pointer| percent_decode_str(pointer).decode_utf8().ok());
        let target = pointer.and_then(|pointer| self.root.pointer(&pointer));
        let Some(target) = target else {
            return refuse(
                "must refer only to itself: a $ref begins with # and leads to a part of it",
            );
        };
        if std::ptr::eq(target, self.root) {
            return refuse("must not refer to itself");
        }
        self.weights.insert(reference, None);
        let weight = self.weigh(target)?;
        self.weights.insert(reference, Some(weight));
        Ok(weight)
    }
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::invalid(PATH, why))
}

/// Compiled schemas of templates, by key and revision, so that each is compiled once.
#[derive(Debug, Default)]
pub(super) struct SchemaCache(Mutex<HashMap<String, (Revision, Arc<Schema>)>>);

impl SchemaCache {
    /// Returns the schema of a template that the commit of this revision has put.
    pub(super) async fn of(
        &self,
        workers: &Arc<Workers>,
        key: &str,
        (at, text): (Revision, &str),
    ) -> Result<Arc<Schema>> {
        let cached = self.0.lock().get(key).cloned();
        let cached = cached.filter(|(revision, _)| *revision == at);
        if let Some((_, schema)) = cached {
            return Ok(schema);
        }
        let text = text.to_owned();
        let schema = Arc::new(workers.run(move || Schema::compile(&text)).await??);
        let mut compiled = self.0.lock();
        let mut bytes: usize = compiled.values().map(|(_, schema)| schema.bytes).sum();
        while bytes + schema.bytes > MAX_COMPILED_BYTES
            && let Some(any) = compiled.keys().next().cloned()
        {
            let dropped = compiled.remove(&any);
            bytes -= dropped.map_or(0, |(_, schema)| schema.bytes);
        }
        compiled.insert(key.to_owned(), (at, Arc::clone(&schema)));
        Ok(schema)
    }

    /// Returns the number of cached schemas.
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }
}
