//! The settings of units as levels for the module: `{ businessUnitId, markupPercentage?, markups?, rates }`, with
//! decimals as text.

use serde::Serialize;
use tillgate_base::error::{Error, Result};

use super::unit::{PairMarkup, UnitId};

/// Returns a unit's level without its rates and its closing brace.
///
/// # Errors
/// [`Error::Bug`] for markups that have no JSON form.
pub(crate) fn level_head(
    id: &UnitId,
    markup_percentage: Option<&str>,
    markups: &[PairMarkup],
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
        markup_percentage,
        markups,
    };
    let mut head = serde_json::to_string(&level).map_err(|cause| Error::Bug(cause.to_string()))?;
    head.pop();
    Ok(head)
}

/// Appends a level to a list without brackets. `rates` is a JSON list as the module reads it, and is copied as it is.
///
/// # Errors
/// [`Error::Bug`] when `rates` is not text.
pub(crate) fn push_level(levels: &mut String, head: &str, rates: &[u8]) -> Result<()> {
    let rates = std::str::from_utf8(rates).map_err(|cause| Error::Bug(cause.to_string()))?;
    if !levels.is_empty() {
        levels.push(',');
    }
    levels.push_str(head);
    levels.push_str(r#","rates":"#);
    levels.push_str(rates);
    levels.push('}');
    Ok(())
}
