//! Permissions (`tokens.md`, "Permissions").
//!
//! A permission is `<system>.<resource>.<verb>`. The permissions that routes require are variants of [`Permission`], so
//! a route cannot require one that does not exist. A set of permissions is a bit set. A role may also name other
//! permissions ([`is_permission`]), which have no effect here.

use std::fmt;

macro_rules! permissions {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// Something that a caller may be allowed to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Permission {
            $($variant),+
        }

        impl Permission {
            /// All permissions.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the permission's name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

permissions! {
    ConditionRead = "ecs.condition.read",
    ConditionWrite = "ecs.condition.write",
    ConditionDelete = "ecs.condition.delete",
    ConditionEvaluate = "ecs.condition.evaluate",
    ProjectRestrictionEvaluate = "ecs.project-restriction.evaluate",
    DecisionReport = "ecs.decision.report",
    GlobalConditionWrite = "ecs.global-condition.write",
    ProjectRead = "crs.project.read",
    ProjectWrite = "crs.project.write",
    RateRead = "exr.rate.read",
    RateWrite = "exr.rate.write",
    BusinessUnitRead = "exr.business-unit.read",
    BusinessUnitWrite = "exr.business-unit.write",
    ReferenceRateImport = "exr.reference-rate.import",
    RatesChangedSubscribe = "exr.rates-changed.subscribe",
    InitialStateCreate = "exr.initial-state.create",
    WebhookRead = "exe.webhook.read",
    WebhookWrite = "exe.webhook.write",
    DeliveryRead = "exe.delivery.read",
    DeliveryReplay = "exe.delivery.replay",
    EventPublish = "exe.event.publish",
    TemplatesCreate = "iam.templates.create",
    TemplatesRead = "iam.templates.read",
    TemplatesDelete = "iam.templates.delete",
    StatementsCreate = "iam.statements.create",
    StatementsRead = "iam.statements.read",
    StatementsDelete = "iam.statements.delete",
    ClientsRead = "iam.clients.read",
    ClientsUpdate = "iam.clients.update",
    ClientsDelete = "iam.clients.delete",
    DecisionLogWrite = "iam.decision-log.write",
    RolesWrite = "iam.roles.write",
    TenantsWrite = "iam.tenants.write",
    KeysRead = "iam.keys.read",
    KeysRotate = "iam.keys.rotate",
    JobsRead = "iam.jobs.read",
    JobsWrite = "iam.jobs.write",
}

impl Permission {
    /// Returns the permission with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|permission| permission.as_str() == name)
    }

    /// Returns whether only the platform's own clients may have it.
    #[must_use]
    pub const fn platform_only(self) -> bool {
        matches!(
            self,
            Self::GlobalConditionWrite
                | Self::RolesWrite
                | Self::TenantsWrite
                | Self::KeysRead
                | Self::KeysRotate
                | Self::JobsRead
                | Self::JobsWrite
        )
    }

    const fn bit(self) -> u64 {
        1 << self as u8
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u64);

impl Permissions {
    /// Returns the set of all permissions.
    #[must_use]
    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    /// Returns whether the set contains a permission.
    #[must_use]
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// Returns the permissions that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the permissions that a tenant's own client may have.
    #[must_use]
    pub fn without_platform_only(self) -> Self {
        self.iter()
            .filter(|permission| !permission.platform_only())
            .collect()
    }

    /// Returns each permission of the set.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(
            permissions
                .into_iter()
                .fold(0, |set, permission| set | permission.bit()),
        )
    }
}

/// The longest name of a permission, in bytes.
const MAX_NAME: usize = 128;

/// Returns whether a text has the form of a permission, known or not: `<system>.<resource>.<verb>` in lower case, at
/// most 128 characters.
#[must_use]
pub fn is_permission(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    let segments = || text.split('.');
    text.len() <= MAX_NAME
        && segments().count() == 3
        && segments().all(|segment| !segment.is_empty() && segment.bytes().all(allowed))
}
