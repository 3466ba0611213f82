//! The answer of `/readyz`: whether this host can decide, the state of its parts, its store and its roles.

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_base::config::{Role, Roles, StoreIdentity};
use tillgate_base::observe::readiness::Report;

/// The state of this host.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Readiness")]
pub(super) struct Ready<'a> {
    #[serde(flatten)]
    pub(super) report: &'a Report,
    /// The store of this host.
    pub(super) store: &'a StoreIdentity,
    /// The roles of this host. Other hosts may have the remaining roles.
    #[schemars(with = "Vec<Role>")]
    pub(super) roles: &'a Roles,
}
