//! The schemas of documents of reference rates.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::deviation;
use tillgate_api::schema::component;

use super::set::dry_run;
use super::unit_id;

/// The unit at which rates are set.
pub(in crate::rates::http) fn importing_unit(generator: &mut SchemaGenerator) -> Schema {
    let mut unit = unit_id(generator);
    unit.insert("examples".to_owned(), ["nordic-retail"].as_slice().into());
    unit
}

/// The types that are set.
pub(in crate::rates::http) fn rate_types(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "description": "One or more, separated by commas.", "examples": ["SALES"] })
}

/// A document of reference rates in a form.
pub(in crate::rates::http) fn import_form(generator: &mut SchemaGenerator) -> Schema {
    let (unit, types, source) = (
        importing_unit(generator),
        rate_types(generator),
        source(generator),
    );
    component(generator, "ReferenceRatesForm", |_| {
        json_schema!({
            "type": "object",
            "required": ["businessUnitId", "exchangeRateTypes", "source", "document"],
            "properties": {
                "businessUnitId": unit,
                "exchangeRateTypes": types,
                "source": source,
                "crosses": { "type": "string", "enum": ["true", "false"] },
                "document": { "type": "string", "contentMediaType": "application/octet-stream" },
            },
        })
    })
}

/// A document of reference rates.
pub(in crate::rates::http) fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// What an import has done.
pub(in crate::rates::http) fn imported(generator: &mut SchemaGenerator) -> Schema {
    let (dry_run, deviation) = (dry_run(generator), deviation(generator));
    let imported = component(generator, "ReferenceRatesImported", |_| {
        let count = |description: &str| json_schema!({ "type": "integer", "minimum": 0, "description": description });
        let codes = |description: &str| json_schema!({ "type": "array", "items": { "type": "string" }, "description": description });
        json_schema!({
            "type": "object",
            "required": ["correlationId", "date", "created", "updated", "unchanged", "stale", "skipped", "older", "filledDays"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "date": { "type": "string", "format": "date", "description": "The newest day of the document." },
                "created": count("Rates that were not there."), "updated": count("Rates with another value."),
                "unchanged": count("Rates with the value that they had."), "filledDays": count("Days that have added something to the history."),
                "stale": codes("Currencies that the document lacks; their rates are kept."),
                "skipped": codes("Currencies of the document of which no rate is set."),
                "older": { "type": "boolean", "description": "Whether a later document was imported before: the rates of such a type stay." },
                "deviations": { "type": "array", "items": deviation, "description": "Rates that were left out, because they would move by more than they may." },
            },
        })
    });
    json_schema!({ "oneOf": [imported, dry_run] })
}

/// Whose reference rates they are.
pub(in crate::rates::http) fn source(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "ECB", "examples": ["ECB"] })
}
