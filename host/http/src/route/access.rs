//! What a route asks of a request: who may call it, and what body it takes.

use tillgate_base::error::Result;
use tillgate_base::identity::{Caller, Permission};

/// Who may call a route.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Anyone.
    Public,
    /// Any caller whose token is valid, whatever they may do.
    AnyCaller,
    /// A caller with this permission.
    With(Permission),
    /// A caller with any of these.
    Either(&'static [Permission]),
    /// A caller with all of these.
    All(&'static [Permission]),
}

impl Access {
    /// Succeeds when a caller has the permissions that are needed.
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
    /// None; one that is sent is ignored.
    Nothing,
    /// JSON of at most that many bytes.
    Json(usize),
    /// Whatever comes, of at most that many bytes: the handler looks at its type.
    Anything(usize),
}
