//! The schemas of rates that units use: now, over time, and in conversions.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::{currency, of_rate};
use tillgate_api::schema::{component, made_by, note};

use super::{date_time, rate_value};

/// A rate that a unit uses.
fn used_rate(generator: &mut SchemaGenerator) -> Schema {
    let with_markup = json_schema!({ "type": "number", "minimum": 0, "description": "The same less the markup." });
    let required = [
        ("rateValue", rate_value()),
        ("rateValueWithMarkup", with_markup),
        ("createdDate", date_time("When the unit first got it.")),
        (
            "setAt",
            json_schema!({ "type": "string", "description": "The unit at which it is set." }),
        ),
    ];
    let optional = [
        ("createdBy", json_schema!({ "type": "string" })),
        (
            "lastModified",
            date_time("When its value or markup last changed."),
        ),
        (
            "asOf",
            json_schema!({ "type": "string", "format": "date", "description": "Of a reference rate: the day that it is of." }),
        ),
        (
            "ageInBusinessDays",
            json_schema!({ "type": "integer", "minimum": 0 }),
        ),
        ("stale", json_schema!({ "type": "boolean", "const": true })),
    ];
    let schema = of_rate(generator, &required, &optional);
    component(generator, "UsedRate", |_| schema)
}

/// The rates that a unit uses.
pub(in crate::rates::http) fn used_rates(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": used_rate(generator) })
}

/// An amount that was converted.
pub(in crate::rates::http) fn converted(generator: &mut SchemaGenerator) -> Schema {
    let rate = used_rate(generator);
    component(generator, "Converted", |_| {
        json_schema!({
            "type": "object",
            "required": ["amount", "currency", "rate"],
            "properties": {
                "amount": { "type": "number", "description": "In `currency`, rounded to its minor unit." },
                "currency": currency("SEK"), "rate": rate,
            },
        })
    })
}

/// The values of a rate over time.
pub(in crate::rates::http) fn values(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RateHistory", |generator| {
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "description": "From when on the unit used which value; without a value, from when on it had none.",
                    "items": {
                        "type": "object", "required": ["at"],
                        "properties": {
                            "at": date_time("From when on."),
                            "rateValue": { "type": "number" }, "rateValueWithMarkup": { "type": "number" },
                            "setAt": { "type": "string" },
                            "by": made_by(generator), "note": note(generator),
                        },
                    },
                },
                "next": { "type": "string", "description": "The `cursor` of the following page." },
            },
        })
    })
}
