//! The versions of the rules that a decision is made by: looked up before it is made, for its record alone. What goes on record
//! later keeps nothing else of the catalog in memory.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tillgate_engine::restriction::ProjectId;

use super::catalog::TenantCatalog;
use crate::data::etag::Etag;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// The project that the request names, whether the tenant has it or not, and its version.
    project: Option<(ProjectId, Option<Etag>)>,
    /// The version of the only condition.
    condition: Option<Etag>,
    /// Those of the conditions that a basket names.
    conditions: HashMap<Box<str>, Etag, RandomState>,
}

impl Versions {
    /// That of a condition.
    pub(super) fn of_condition(catalog: &TenantCatalog, id: &str) -> Self {
        Self {
            condition: etag_in_force(catalog, id),
            ..Self::default()
        }
    }

    /// Those of a project and of many conditions.
    pub(super) fn of_all<'i>(
        catalog: &TenantCatalog,
        project: Option<ProjectId>,
        conditions: impl Iterator<Item = &'i str>,
    ) -> Self {
        let project = project.map(|id| {
            let found = catalog.project(id);
            (id, found.map(|stored| stored.text.etag().clone()))
        });
        let mut versions = Self {
            project,
            ..Self::default()
        };
        for id in conditions {
            if !versions.conditions.contains_key(id)
                && let Some(etag) = etag_in_force(catalog, id)
            {
                versions.conditions.insert(id.into(), etag);
            }
        }
        versions
    }

    /// The project that the request names, and its version, if the tenant has it.
    pub(super) const fn project(&self) -> Option<&(ProjectId, Option<Etag>)> {
        self.project.as_ref()
    }

    /// The version of a condition, if one is in force.
    pub(super) fn condition(&self, id: &str) -> Option<&Etag> {
        self.condition.as_ref().or_else(|| self.conditions.get(id))
    }

    /// The bytes of them, about.
    pub(super) fn size(&self) -> usize {
        self.conditions.len() * 192
    }
}

fn etag_in_force(catalog: &TenantCatalog, id: &str) -> Option<Etag> {
    let decider = catalog.condition_in_force(id)?;
    Some(decider.text.etag().clone())
}
