//! The audit log of exchange rates: a line for each edit that has changed something, with what was done and the entity tags
//! of what there was before and after.

use super::editor::Editor;
use crate::data::etag::{self, Etag};
use crate::error::Result;
use crate::rates::units::answers::{rates_json, unit_json};
use crate::rates::units::set_rates::SetRates;
use crate::rates::units::tree::Node;
use crate::rates::units::unit::UnitId;

/// What was done to a unit.
#[derive(Debug)]
pub(super) struct Line {
    action: &'static str,
    before: Option<Etag>,
    after: Option<Etag>,
}

impl Line {
    /// The line for a unit that was created, or changed.
    pub(super) fn put(before: Option<&Node>, after: &Node) -> Result<Self> {
        let old = before.map(|before| &before.rates.rates);
        let none = SetRates::default();
        let (old, new) = (old.unwrap_or(&none), &after.rates.rates);
        Ok(if old == new {
            Self {
                action: "business_unit.put",
                before: before.map(unit_etag).transpose()?,
                after: Some(unit_etag(after)?),
            }
        } else {
            Self {
                action: "rates.changed",
                before: Some(rates_etag(old)?),
                after: Some(rates_etag(new)?),
            }
        })
    }

    /// The line for a unit that was removed.
    pub(super) fn deleted(before: &Node) -> Result<Self> {
        Ok(Self {
            action: "business_unit.deleted",
            before: Some(unit_etag(before)?),
            after: None,
        })
    }

    /// Writes it, once the edit is committed.
    pub(super) fn write(&self, editor: &Editor<'_>, id: &UnitId) {
        let (before, after) = (self.before.as_ref(), self.after.as_ref());
        let (before, after) = (before.map(etag::digest), after.map(etag::digest));
        let (tenant, unit, by) = (editor.tenant, id.as_str(), editor.by);
        let (action, correlation) = (self.action, editor.correlation);
        tracing::info!(target: "audit", action, %tenant, unit, before, after, by, %correlation);
    }
}

fn unit_etag(node: &Node) -> Result<Etag> {
    unit_json(&node.id, &node.unit().settings).map(|json| etag::of_text(&json))
}

fn rates_etag(rates: &SetRates) -> Result<Etag> {
    rates_json(rates).map(|json| etag::of_text(&json))
}
