//! The audit log: one line for each change to the configuration or to permissions, and for each message that a caller
//! has the service send (`host/docs/audit-log.md`). Only this file writes its lines.
//!
//! The code that makes a change describes it in a [`Line`]. The line of a request is written where the request is
//! routed (`host/http/src/route/audit.rs`), because its sender is known there; the line of a change that the service
//! makes by itself is written where the change is made.

use uuid::Uuid;

use crate::data::etag::{self, Etag};
use crate::data::note::Note;
use crate::identity::TenantId;

/// The description of a change. Fields that do not apply are left out of the line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// `None` if it belongs to the platform, such as a global condition.
    pub tenant: Option<TenantId>,
    pub id: Option<String>,
    pub queue: Option<String>,
    pub unit: Option<String>,
    pub client: Option<String>,
    pub status: Option<&'static str>,
    pub roles: Option<String>,
    pub statement: Option<Uuid>,
    pub key: Option<String>,
    pub role: Option<String>,
    pub held: Option<String>,
    pub signer: Option<&'static str>,
    pub kid: Option<String>,
    pub delivery: Option<Uuid>,
    pub event_type: Option<String>,
    pub receiver: Option<String>,
    pub filter: Option<String>,
    pub reason: Option<&'static str>,
    pub accepted_deviations: Option<usize>,
    pub failing_tests: Option<usize>,
    pub note: Option<Note>,
    /// The version before the change; `None` if there was nothing.
    pub before: Option<Etag>,
    /// The version after it; `None` if nothing is left.
    pub after: Option<Etag>,
}

/// The author of a change, and the request that makes it.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The client's id, or the user's issuer and name.
    pub by: &'a str,
    /// The path of the request.
    pub path: Option<&'a str>,
    /// The correlation id of the request.
    pub correlation: Option<Uuid>,
}

impl Origin<'static> {
    /// This service itself.
    pub const HOST: Self = Self {
        by: "the host",
        path: None,
        correlation: None,
    };
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The change took effect.
    Done,
    /// The change may have taken effect: the request failed on this side, before or after its effect.
    Unknown,
}

impl Line {
    /// Writes the line of a change.
    pub fn write(&self, action: &'static str, origin: &Origin<'_>, outcome: Outcome) {
        let result = match outcome {
            Outcome::Done => "done",
            Outcome::Unknown => "unknown",
        };
        tracing::info!(
            target: "audit",
            action,
            tenant = self.tenant.as_ref().map(TenantId::as_str),
            id = self.id.as_deref(),
            queue = self.queue.as_deref(),
            unit = self.unit.as_deref(),
            client = self.client.as_deref(),
            status = self.status,
            roles = self.roles.as_deref(),
            statement = self.statement.map(display),
            key = self.key.as_deref(),
            role = self.role.as_deref(),
            held = self.held.as_deref(),
            signer = self.signer,
            kid = self.kid.as_deref(),
            delivery = self.delivery.map(display),
            event_type = self.event_type.as_deref(),
            receiver = self.receiver.as_deref(),
            filter = self.filter.as_deref(),
            reason = self.reason,
            accepted_deviations = self.accepted_deviations,
            failing_tests = self.failing_tests,
            note = self.note.as_ref().map(Note::as_str),
            before = self.before.as_ref().map(etag::digest),
            after = self.after.as_ref().map(etag::digest),
            by = origin.by,
            path = origin.path,
            correlation = origin.correlation.map(display),
            result,
        );
    }

    /// Writes the line of a change that the service made by itself.
    pub fn write_own(&self, action: &'static str) {
        self.write(action, &Origin::HOST, Outcome::Done);
    }
}
