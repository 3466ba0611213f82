//! The schemas of what is answered about business units and exchange rates, and of parameters, for the documents of the API. They
//! are by hand, since decimals are written as text, exactly. Those of bodies are made by what reads them (`rates/body.rs`).

mod import;
mod set;
mod topic;
mod units;
mod used;

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::currency;
pub(super) use tillgate_api::rate::rate_type;
use tillgate_api::schema::component;

pub(super) use self::import::{
    document, import_form, imported, importing_unit, rate_types, source,
};
pub(super) use self::set::{
    change, changed_or_dry_run, dry_run, rate_or_dry_run, set_rate, set_rates,
};
pub(super) use self::topic::topic_cursor;
pub(crate) use self::topic::{topic_event, topic_reset};
pub(super) use self::units::{unit, unit_or_dry_run, units};
pub(super) use self::used::{converted, used_rates, values};
pub(in crate::rates) use crate::rates::body::{UNIT_ID, unit_id_schema as unit_id};

/// The entity tag of a unit's list of rates.
pub(super) fn rates_entity_tag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "examples": ["\"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\""] })
}

/// Where a page of units begins.
pub(super) fn unit_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": UNIT_ID })
}

/// The currency that a rate is counted in.
pub(super) fn counted_currency(_: &mut SchemaGenerator) -> Schema {
    currency("SEK")
}

/// The currency that a rate prices.
pub(super) fn priced_currency(_: &mut SchemaGenerator) -> Schema {
    currency("EUR")
}

/// A value of a rate.
fn rate_value() -> Schema {
    json_schema!({
        "type": "number", "exclusiveMinimum": 0,
        "description": "How many units of `currencyIdFrom` one unit of `currencyIdTo` is worth: at most six decimals and 15 significant digits.",
    })
}

/// A percentage.
fn percentage(description: &str) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "exclusiveMaximum": 100, "description": description })
}

fn date_time(description: &str) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "description": description })
}

/// The id of a change.
pub(super) fn correlation(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "Correlation",
        |_| json_schema!({ "type": "object", "required": ["correlationId"], "properties": { "correlationId": { "type": "string", "format": "uuid" } } }),
    )
}
