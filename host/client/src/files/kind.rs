//! The resources kept in files: nine kinds, each in its own folder, in the order in which they are written.

use std::fmt;

use clap::ValueEnum;
use tillgate_base::identity::Permission as P;
use tillgate_base::identity::Permissions;

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Kind {
    /// Roles of the platform that are not built in.
    Roles,
    /// Registration templates of the platform, for every tenant.
    GlobalTemplates,
    /// The tenant's registration templates.
    Templates,
    /// Global conditions, which belong to the platform.
    GlobalConditions,
    /// The tenant's own conditions.
    Conditions,
    /// The tenant's projects.
    Projects,
    /// The tenant's companies, groups and shops.
    BusinessUnits,
    /// The rates that are set at business units by hand, one file for each unit.
    Rates,
    /// The tenant's webhooks.
    Webhooks,
}

impl Kind {
    /// Every kind, in the order of writing: what others refer to comes first.
    pub(super) const ALL: [Self; 9] = [
        Self::Roles,
        Self::GlobalTemplates,
        Self::Templates,
        Self::GlobalConditions,
        Self::Conditions,
        Self::Projects,
        Self::BusinessUnits,
        Self::Rates,
        Self::Webhooks,
    ];

    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Roles => "roles",
            Self::GlobalTemplates => "global-templates",
            Self::Templates => "templates",
            Self::GlobalConditions => "global-conditions",
            Self::Conditions => "conditions",
            Self::Projects => "projects",
            Self::BusinessUnits => "business-units",
            Self::Rates => "rates",
            Self::Webhooks => "webhooks",
        }
    }

    pub(super) fn of_folder(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.folder() == name)
    }

    /// Returns the singular noun for the kind.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Roles => "role",
            Self::GlobalTemplates => "global template",
            Self::Templates => "template",
            Self::GlobalConditions => "global condition",
            Self::Conditions => "condition",
            Self::Projects => "project",
            Self::BusinessUnits => "business unit",
            Self::Rates => "list of rates",
            Self::Webhooks => "webhook",
        }
    }

    /// Returns the members that name a resource.
    pub(super) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Roles => &["roleId"],
            Self::GlobalTemplates | Self::Templates => &["softwareId", "softwareVersion"],
            Self::GlobalConditions | Self::Conditions | Self::BusinessUnits => &["id"],
            Self::Projects => &["projectId"],
            Self::Rates => &["businessUnitId"],
            Self::Webhooks => &["name"],
        }
    }

    /// Returns the largest size of a file, in bytes: what the host accepts, with room for white space.
    pub(super) const fn max_file(self) -> u64 {
        match self {
            Self::Projects => 64 << 20,
            _ => 4 << 20,
        }
    }

    /// Returns the permissions for reading the kind. Reading the platform's resources requires permission to write
    /// them.
    pub(super) const fn reading(self) -> &'static [P] {
        match self {
            Self::Roles => &[P::RolesWrite],
            Self::GlobalTemplates => &[P::TemplatesRead, P::RolesWrite],
            Self::Templates => &[P::TemplatesRead],
            Self::GlobalConditions => &[P::ConditionRead, P::GlobalConditionWrite],
            Self::Conditions => &[P::ConditionRead],
            Self::Projects => &[P::ProjectRead],
            Self::BusinessUnits => &[P::BusinessUnitRead],
            Self::Rates => &[P::BusinessUnitRead, P::RateRead],
            Self::Webhooks => &[P::WebhookRead],
        }
    }

    /// Returns the permissions for creating and changing resources of the kind.
    pub(super) const fn writing(self) -> &'static [P] {
        match self {
            Self::Roles => &[P::RolesWrite],
            Self::GlobalTemplates | Self::Templates => &[P::TemplatesCreate, P::TemplatesDelete],
            Self::GlobalConditions => &[P::GlobalConditionWrite],
            Self::Conditions => &[P::ConditionWrite],
            Self::Projects => &[P::ProjectWrite],
            Self::BusinessUnits => &[P::BusinessUnitWrite],
            Self::Rates => &[P::RateWrite],
            Self::Webhooks => &[P::WebhookWrite],
        }
    }

    /// Returns the permissions for deleting resources of the kind. Rates are deleted with their unit, so they are read
    /// before.
    pub(super) const fn deleting(self) -> &'static [P] {
        match self {
            Self::Conditions => &[P::ConditionDelete],
            Self::BusinessUnits => &[P::BusinessUnitWrite, P::RateRead],
            _ => self.writing(),
        }
    }

    /// Returns whether only the platform's own clients may write the kind, whatever their permissions.
    pub(super) const fn is_the_platforms(self) -> bool {
        matches!(
            self,
            Self::Roles | Self::GlobalTemplates | Self::GlobalConditions
        )
    }

    /// Returns whether the kind's rules may have tests.
    pub(super) const fn has_tests(self) -> bool {
        matches!(
            self,
            Self::GlobalConditions | Self::Conditions | Self::Projects
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.folder())
    }
}

/// Returns the first needed permission that is missing.
pub(super) fn missing(needed: &[P], held: Permissions) -> Option<P> {
    needed.iter().copied().find(|one| !held.contains(*one))
}
