//! What this program itself asks of roles and templates: whether their documents are such as requests may have.

use super::body;
use super::schema::Schema;
use crate::error::{Error, Result};
use crate::identity::built_in;

/// Checks the document of a role.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub(crate) fn check_role(id: &str, document: &[u8]) -> Result<()> {
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
pub(crate) fn check_template(document: &[u8]) -> Result<()> {
    let template = body::template(&document.into())?;
    Schema::compile(template.claims_schema.get()).map(drop)
}
