//! The program provides the readers and schemas of resources that this crate keeps as files.

use schemars::{Schema, SchemaGenerator};
use tillgate_engine::Fault;

use super::kind::Kind;

/// The host's own readers and schemas of resources.
pub trait Resources: Sync {
    /// Checks the document of a resource with this id as the host would check it.
    ///
    /// # Errors
    /// Every fault.
    fn check(&self, kind: Kind, id: &str, document: &[u8]) -> Result<(), Vec<Fault>>;

    /// Returns a generator of schemas, as for the documents of the API.
    fn generator(&self) -> SchemaGenerator;

    /// Returns the schemas of the body that creates or replaces a resource, and of a resource in an answer. The rates of a
    /// unit have no such schemas.
    fn schemas(&self, kind: Kind, generator: &mut SchemaGenerator) -> (Schema, Schema);
}
