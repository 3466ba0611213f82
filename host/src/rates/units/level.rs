//! What is set at a unit, as a level for the module: `{ businessUnitId, markupPercentage?, markups?, rates }`, decimals as
//! text.

use serde::Serialize;

use super::unit::{PairMarkup, UnitId, UnitSettings};
use crate::error::{Error, Result};

/// A unit's level. `rates` are JSON, a list as the module reads it, and are taken as they stand.
///
/// # Errors
/// [`Error::Bug`] for settings that have no JSON form.
pub(in crate::rates) fn level(
    id: &UnitId,
    settings: &UnitSettings,
    rates: &[u8],
) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Level<'a> {
        business_unit_id: &'a UnitId,
        #[serde(skip_serializing_if = "Option::is_none")]
        markup_percentage: Option<&'a str>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        markups: &'a [PairMarkup],
    }
    let level = Level {
        business_unit_id: id,
        markup_percentage: settings.markup_percentage.as_deref(),
        markups: &settings.markups,
    };
    let mut level = serde_json::to_string(&level).map_err(|cause| Error::Bug(cause.to_string()))?;
    let rates = std::str::from_utf8(rates).map_err(|cause| Error::Bug(cause.to_string()))?;
    level.pop();
    level.push_str(r#","rates":"#);
    level.push_str(rates);
    level.push('}');
    Ok(level)
}
