//! Describes and checks the documents of roles and templates, for code outside the HTTP handlers.

use schemars::SchemaGenerator;
use tillgate_api::describe;
use tillgate_api::schema::schema_of;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::built_in;

use super::schema::Schema;
use super::{Role, Template, body};

/// Returns the schemas of the body of a role's PUT and of a role.
pub fn role_schemas(generator: &mut SchemaGenerator) -> (schemars::Schema, schemars::Schema) {
    let body = describe(generator, body::role);
    (body, schema_of::<Role>(generator))
}

/// Returns the schemas of the body that creates or replaces a template and of a template.
pub fn template_schemas(generator: &mut SchemaGenerator) -> (schemars::Schema, schemars::Schema) {
    let body = body::template_schema(generator);
    (body, schema_of::<Template>(generator))
}

/// Checks the document of a role.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub fn check_role(id: &str, document: &[u8]) -> Result<()> {
    if built_in(id).is_some() {
        return Err(Error::invalid("$.roleId", "is the id of a built-in role"));
    }
    tillgate_api::read(&document.into(), body::role)?;
    Ok(())
}

/// Checks the document of a template, and compiles its schema.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub fn check_template(document: &[u8]) -> Result<()> {
    let template = body::template(&document.into())?;
    Schema::compile(template.claims_schema.get()).map(drop)
}
