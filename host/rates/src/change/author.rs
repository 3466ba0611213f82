//! The author of a change, and its options.

use tillgate_base::data::note::Note;
use tillgate_base::identity::{DisplayName, TenantId};
use uuid::Uuid;

/// The author of a change, and its options.
#[derive(Clone, Debug)]
pub struct Editor<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The client or user: at most 256 characters.
    pub by: &'a str,
    /// The display name of the client or user.
    pub name: Option<&'a DisplayName>,
    /// The reason, in the author's words.
    pub note: Option<Note>,
    /// The id of the change.
    pub correlation: Uuid,
    /// True to change nothing and to answer what would be published.
    pub dry_run: bool,
    /// True to let rates move by more than their tolerance.
    pub accept_deviation: bool,
}
