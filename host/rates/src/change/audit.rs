//! The audit log lines of exchange rates: one for each edit that has changed something, with the entity tags before and
//! after.

use tillgate_base::data::etag::{self, Etag};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::observe::audit::Line;

use crate::units::answers::set_list;
use crate::units::set_rates::SetRates;
use crate::units::tree::Node;

/// The action of changing the rates that are set at a unit, by a request or by an import.
pub(crate) const CHANGED: &str = "rates.changed";

/// Returns the line for a unit that was created, or whose settings or rates were changed. `accepted` rates moved by
/// more than their tolerance, which the editor accepted.
pub(super) fn put(
    tenant: &TenantId,
    before: Option<&Node>,
    after: &Node,
    accepted: usize,
) -> Result<Line> {
    let old = before.map(|before| &before.rates.rates);
    let none = SetRates::default();
    let (old, new) = (old.unwrap_or(&none), &after.rates.rates);
    let (before, after_tag) = if old == new {
        (before.map(unit_etag).transpose()?, unit_etag(after)?)
    } else {
        (Some(rates_etag(old)?), rates_etag(new)?)
    };
    Ok(Line {
        accepted_deviations: Some(accepted).filter(|accepted| *accepted > 0),
        ..line(tenant, after, before, Some(after_tag))
    })
}

/// Returns the line for a unit that was removed.
pub(super) fn deleted(tenant: &TenantId, before: &Node) -> Result<Line> {
    Ok(line(tenant, before, Some(unit_etag(before)?), None))
}

fn line(tenant: &TenantId, unit: &Node, before: Option<Etag>, after: Option<Etag>) -> Line {
    Line {
        tenant: Some(tenant.clone()),
        unit: Some(unit.id.as_str().to_owned()),
        before,
        after,
        ..Line::default()
    }
}

fn unit_etag(node: &Node) -> Result<Etag> {
    Ok(etag::of_text(&node.json()?))
}

fn rates_etag(rates: &SetRates) -> Result<Etag> {
    Ok(set_list(rates)?.etag().clone())
}
