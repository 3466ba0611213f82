//! What is answered of a unit and of the rates that are set at it: JSON, whose digest is the entity tag.

use bytes::Bytes;
use serde::Serialize;

use super::set_rate::SetRates;
use super::unit::{UnitAnswer, UnitId, UnitSettings};
use crate::error::{Error, Result};

/// A unit.
pub(in crate::rates) fn answer_of(id: &UnitId, settings: &UnitSettings) -> Result<Bytes> {
    to_json(&UnitAnswer::new(id, settings)?)
}

/// The rates that are set at a unit.
pub(in crate::rates) fn list_of(rates: &SetRates) -> Result<Bytes> {
    let list = rates.iter().map(|(_, rate)| rate.answer());
    to_json(&list.collect::<Result<Vec<_>>>()?)
}

pub(in crate::rates) fn to_json(value: &impl Serialize) -> Result<Bytes> {
    let json = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}
