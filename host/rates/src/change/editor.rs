//! Who changes something, and how.

use tillgate_base::data::note::Note;
use tillgate_base::identity::{DisplayName, TenantId};
use uuid::Uuid;

/// Who changes something, and how.
#[derive(Clone, Debug)]
pub struct Editor<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The client or user: at most 256 characters.
    pub by: &'a str,
    /// What people call them.
    pub name: Option<&'a DisplayName>,
    /// Why, in their words.
    pub note: Option<Note>,
    /// The id of the change.
    pub correlation: Uuid,
    /// Whether nothing is changed, and the answer says what would be published.
    pub dry_run: bool,
    /// Whether rates may move by more than their tolerance.
    pub accept_deviation: bool,
}
