//! Tenants: their ids, and the partition of the store that each has.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tillgate_store::Partition;

/// The placeholder in a path where no tenant is meant, as for a global template. It is never a tenant's id.
pub const NO_TENANT: &str = "_";

/// The rule for a tenant's id, for messages.
pub const TENANT_RULE: &str = "must be 1 to 64 of A-Z a-z 0-9 . _ - and not _ alone";

/// The rule for a name ([`is_name`]), for messages.
pub const NAME_RULE: &str = "must be 1 to 64 of A-Z a-z 0-9 . _ -";

/// The prefix of the names of tenants' partitions.
const PARTITION: &str = "tenant:";

/// The id of a tenant: 1 to 64 of `[A-Za-z0-9._-]` (`tokens.md`, "client_id"), and not [`NO_TENANT`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// Returns the id, if the text is one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (is_name(text) && text != NO_TENANT).then(|| Self(Arc::from(text)))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the partition of the store that holds what the tenant configures.
    #[must_use]
    pub fn partition(&self) -> Partition {
        Partition::named(format!("{PARTITION}{}", self.0))
    }

    /// Returns the tenant whose partition this is, if it is a tenant's.
    #[must_use]
    pub fn of_partition(partition: &Partition) -> Option<Self> {
        Self::new(partition.as_str().strip_prefix(PARTITION)?)
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for TenantId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TenantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| de::Error::custom(TENANT_RULE))
    }
}

/// The rule against ids that are dot segments of a path ([`is_step`]), for messages.
pub const STEP_RULE: &str = "must not be . or ..: HTTP clients take these for dot segments";

/// Returns whether HTTP clients take a text for a dot segment, so that no URL can name a resource with this id.
#[must_use]
pub fn is_step(text: &str) -> bool {
    matches!(text, "." | "..")
}

/// Returns whether a text is a name: a software's id, its version, a tenant or a role. Such a text can be part of a
/// client id, because it has neither `@` nor a line break.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}
