//! The body of a request, and the two uses of a description: it reads a body, and it makes the schema of one.

use std::ops::Deref;

use bytes::Bytes;
use schemars::{Schema, SchemaGenerator};
use tillgate_engine::error::Error;
use tillgate_engine::json::{Document, Faults};

use crate::value::Value;

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub bytes: Bytes,
    /// Unknown members are ignored (`Prefer: handling=lenient`).
    pub lenient: bool,
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(bytes),
            lenient: false,
        }
    }
}

impl Deref for Body {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// The reason why a body could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The body has faults.
    Refused(Error),
    /// A description returned nothing and added no fault.
    Silent,
}

impl From<Error> for ReadError {
    fn from(faults: Error) -> Self {
        Self::Refused(faults)
    }
}

/// Reads a body by its description, which returns `None` after it has added a fault.
///
/// # Errors
/// [`ReadError::Refused`] with every fault of the body, each with its path.
pub fn read<T>(
    body: &Body,
    description: impl for<'d> FnOnce(Value<'_, 'd, 'd>) -> Option<T>,
) -> Result<T, ReadError> {
    let document = Document::parse(body)?;
    let mut faults = Faults::lenient(body.lenient);
    let value = description(Value::given(document.root(), &mut faults));
    faults.none_or_error()?;
    value.ok_or(ReadError::Silent)
}

/// Returns the schema of the bodies that a description reads.
pub fn describe<T>(
    generator: &mut SchemaGenerator,
    description: impl FnOnce(Value<'_, '_, '_>) -> Option<T>,
) -> Schema {
    let mut schema = Schema::default();
    description(Value::described(generator, &mut schema));
    schema
}
