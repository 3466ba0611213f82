//! The target of a write: a condition or project, its record's key, its events, and the quota that it counts towards.

use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;

use super::cache::{condition_key, project_key};
use super::usage::Counted;

/// The types of the events of a tenant's conditions and projects (`webhooks.md`, "Events").
const CONDITION_EVENTS: &str = "entity-conditions.events.v1";
const PROJECT_EVENTS: &str = "projects.events.v1";

/// A condition or project that is written.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The key of its record.
    pub(super) key: String,
    pub(super) id: String,
    pub(super) event_type: &'static str,
    pub(super) counted_as: Counted,
}

impl Target {
    pub(super) fn condition(id: &ConditionId) -> Self {
        Self {
            key: condition_key(id.as_str()),
            id: id.as_str().to_owned(),
            event_type: CONDITION_EVENTS,
            counted_as: Counted::Conditions,
        }
    }

    pub(super) fn project(id: ProjectId) -> Self {
        Self {
            key: project_key(id),
            id: id.to_string(),
            event_type: PROJECT_EVENTS,
            counted_as: Counted::Projects,
        }
    }
}
