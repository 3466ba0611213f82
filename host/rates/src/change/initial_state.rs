//! Initial states: sends all rates that shops use again (`given.md`, 4.3), in a pass like that of a change.

use tillgate_api::problem::TENANT_NOT_FOUND;
use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use uuid::Uuid;

use super::passes::{self, Passes};
use super::progress::Reach;
use crate::units::tree::Tree;
use crate::units::unit::{UnitId, children_prefix, no_unit};
use crate::units::walk::Walk;

/// Sends again all rates that shops use, at or below a unit or of the whole tenant. `is_own` says that the tenant is
/// the caller's; any other tenant without units is unknown.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit or tenant; [`Error::TooMany`] when the tenant has as many passes as it may have;
/// [`Error::Unavailable`].
pub(crate) async fn send(
    app: &App,
    passes: &Passes,
    records: &Records,
    unit: Option<&UnitId>,
    correlation: Uuid,
    is_own: bool,
) -> Result<()> {
    let plan = async || {
        let walk = match unit {
            Some(id) => Walk::of(
                &*Tree::new(records)
                    .node(id)
                    .await?
                    .ok_or_else(|| no_unit(id))?,
            ),
            None => Walk::everywhere(),
        };
        let roots = records.scan(&children_prefix(None), None, 1).await?;
        if roots.entries.is_empty() && !is_own {
            let detail = "this tenant has no business units";
            return Err(Error::NotFound(TENANT_NOT_FOUND, detail.to_owned()));
        }
        let mut change = Change::default();
        let (reach, now) = (Reach::InitialState(walk), app.clock.now());
        let max_passes = app.config.quotas.rate_passes;
        passes::record(records, &mut change, correlation, reach, now, max_passes).await?;
        Ok((change, ()))
    };
    passes.make(records, || records.change(&plan)).await
}
