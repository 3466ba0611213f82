//! The demands of a route on a request: who may call it, and what body it takes.

use tillgate_base::error::Result;
use tillgate_base::identity::{Caller, Permission};

/// The callers that a route admits.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Anyone.
    Public,
    /// Any caller whose token is valid, whatever its permissions.
    AnyCaller,
    /// A caller with this permission.
    With(Permission),
    /// A caller with any of these.
    Either(&'static [Permission]),
    /// A caller with all of these.
    All(&'static [Permission]),
}

impl Access {
    /// Checks that a caller has the required permissions.
    ///
    /// # Errors
    /// [`Error::Denied`] naming a permission that is missing.
    pub(crate) fn check(self, caller: &Caller) -> Result<()> {
        match self {
            Self::Public | Self::AnyCaller => Ok(()),
            Self::With(permission) => caller.require(permission),
            Self::All(permissions) => permissions.iter().try_for_each(|p| caller.require(*p)),
            Self::Either(permissions) => {
                let mut each = permissions.iter().map(|p| caller.require(*p));
                let first = each.next().unwrap_or(Ok(()));
                first.or_else(|missing| each.find(Result::is_ok).unwrap_or(Err(missing)))
            }
        }
    }
}

/// The body that a route takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// None; a body that is sent is ignored.
    Nothing,
    /// JSON of at most this many bytes.
    Json(usize),
    /// Anything of at most this many bytes; the handler checks its type.
    Anything(usize),
}
