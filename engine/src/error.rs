//! Errors: a code to act on, and a path in the JSON and a sentence for each fault.
//!
//! Errors are values, on every face: `{ "code", "path", "message", "faults": [{ "path", "message" }] }`. Bad input
//! lists **every** fault with its path (`platform.md`, "HTTP conventions"); `path` and `message` repeat the first.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The most faults that one error lists; one more says that the list is cut off.
pub const MAX_FAULTS: usize = 100;

/// The kind of an error, which tells the caller what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The input is invalid: correct it.
    Invalid,
    /// No enabled condition has the id: use another.
    ConditionNotFound,
    /// The handle is unknown, was released or is of the wrong kind: prepare first.
    UnknownHandle,
}

impl Code {
    /// Returns the code as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::ConditionNotFound => "condition_not_found",
            Self::UnknownHandle => "unknown_handle",
        }
    }
}

/// One fault of an input.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fault {
    /// The place of the fault, as a JSON path: `$.item.id`, `$.items[3]`, `$['odd name']`.
    pub path: String,
    /// The fault, in words that continue a sentence that the path begins: `must be a string`.
    pub message: Cow<'static, str>,
}

/// The first words of the message about an unknown name.
pub(crate) const UNKNOWN: &str = "is unknown";

impl Fault {
    /// Returns whether the fault is an unknown member or parameter.
    #[must_use]
    pub fn is_of_unknown_name(&self) -> bool {
        self.message.starts_with(UNKNOWN)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        f.write_str(" ")?;
        f.write_str(&self.message)
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of the error.
    pub code: Code,
    /// All faults; never empty.
    pub faults: Vec<Fault>,
}

impl Error {
    /// Creates an error with one fault.
    #[cold]
    #[inline(never)]
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            faults: vec![Fault {
                path: path.into(),
                message: message.into(),
            }],
        }
    }
}

impl Error {
    /// Returns the code as it is written in JSON, which is `unknown_member` if all faults are unknown members.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.code {
            Code::Invalid if self.faults.iter().all(Fault::is_of_unknown_name) => "unknown_member",
            code => code.as_str(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "; " })?;
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (path, message) = self
            .faults
            .first()
            .map_or(("$", ""), |first| (&first.path, &first.message));
        let mut out = serializer.serialize_struct("Error", 4)?;
        out.serialize_field("code", self.name())?;
        out.serialize_field("path", path)?;
        out.serialize_field("message", message)?;
        out.serialize_field("faults", &self.faults)?;
        out.end()
    }
}
