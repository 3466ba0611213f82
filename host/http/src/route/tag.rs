//! The parts of the API by which its documents group operations. Pure.

/// The part of the API that an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Decisions about items.
    Decisions,
    /// Conditions.
    Conditions,
    /// Projects.
    Projects,
    /// The catalog for deciding elsewhere.
    Catalog,
    /// Business units.
    BusinessUnits,
    /// Exchange rates.
    Rates,
    /// Webhooks.
    Webhooks,
    /// Events.
    Events,
    /// Deliveries.
    Deliveries,
    /// Tokens, and the keys that verify them.
    Tokens,
    /// Clients, templates, software statements.
    Clients,
    /// Tenants, roles, keys: for the operators of the platform.
    Platform,
    /// Probes and metrics.
    Operations,
}

impl Tag {
    /// Every tag, in the order in which the documents list them.
    pub const ALL: &[Self] = &[
        Self::Decisions,
        Self::Conditions,
        Self::Projects,
        Self::Catalog,
        Self::BusinessUnits,
        Self::Rates,
        Self::Webhooks,
        Self::Events,
        Self::Deliveries,
        Self::Tokens,
        Self::Clients,
        Self::Platform,
        Self::Operations,
    ];

    /// Returns its name and description.
    #[must_use]
    pub const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Decisions => (
                "decisions",
                "Decisions on whether an item may be sold to a customer, or for a project",
            ),
            Self::Conditions => (
                "conditions",
                "The age restrictions and license requirements of the platform and the tenant",
            ),
            Self::Projects => (
                "projects",
                "Projects, and restrictions on the items that may be bought for them",
            ),
            Self::Catalog => (
                "catalog",
                "Everything that another program needs to make the same decisions",
            ),
            Self::BusinessUnits => (
                "business-units",
                "The tenant's tree of companies, groups and shops",
            ),
            Self::Rates => (
                "exchange-rates",
                "The rates that are set, the rates that a shop uses, and their changes",
            ),
            Self::Webhooks => ("webhooks", "The receivers of events"),
            Self::Events => ("events", "Publishing events, and fetching them"),
            Self::Deliveries => (
                "deliveries",
                "The journal of deliveries, and sending them again",
            ),
            Self::Tokens => (
                "tokens",
                "Access tokens, and the keys that verify the signatures of this service",
            ),
            Self::Clients => (
                "clients",
                "Clients, their registration templates and software statements",
            ),
            Self::Platform => (
                "platform",
                "Tenants, roles and keys, for the operators of the platform",
            ),
            Self::Operations => (
                "operations",
                "The health, readiness and metrics of a host, and the documents of this API",
            ),
        }
    }
}
