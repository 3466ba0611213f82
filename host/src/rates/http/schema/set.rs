//! The schemas of rates that are set, of changes of them, and of what a change would do.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::{deviation, of_rate};
use tillgate_api::schema::{component, managed_by};

use super::topic::shop_lists;
use super::{date_time, rate_value};

/// The document that a rate was imported from.
pub(super) fn reference() -> Schema {
    json_schema!({
        "type": "object", "required": ["source", "date", "stale"],
        "properties": {
            "source": { "type": "string", "const": "ECB" },
            "date": { "type": "string", "format": "date" },
            "stale": { "type": "boolean", "description": "Whether a later document had no rate of this currency any more." },
        },
    })
}

/// A rate that is set at a unit.
pub(in crate::rates::http) fn set_rate(generator: &mut SchemaGenerator) -> Schema {
    let optional = [
        ("createdDate", date_time("When it was first set.")),
        ("createdBy", json_schema!({ "type": "string" })),
        (
            "lastModified",
            date_time("When its value was last changed."),
        ),
        ("reference", reference()),
        ("managedBy", managed_by()),
    ];
    let schema = of_rate(generator, &[("rateValue", rate_value())], &optional);
    component(generator, "SetRate", |_| schema)
}

/// The rates that are set at a unit.
pub(in crate::rates::http) fn set_rates(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": set_rate(generator) })
}

/// What a change of many rates has done.
fn rates_changed(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RatesChanged", |_| {
        let count = || json_schema!({ "type": "integer", "minimum": 0 });
        json_schema!({
            "type": "object",
            "required": ["correlationId", "created", "updated", "deleted", "unchanged"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "created": count(), "updated": count(), "deleted": count(), "unchanged": count(),
            },
        })
    })
}

/// What a dry run answers.
pub(in crate::rates::http) fn dry_run(generator: &mut SchemaGenerator) -> Schema {
    let deviation = deviation(generator);
    let value = |description: &str| json_schema!({ "type": "number", "description": description });
    let values = [
        (
            "old",
            value("What is set at the unit now; absent where nothing is."),
        ),
        (
            "new",
            value("What would be set; absent where nothing would be."),
        ),
    ];
    let changed = of_rate(generator, &[], &values);
    let set_at = json_schema!({ "type": "string", "description": "Where it is set." });
    let own = of_rate(
        generator,
        &[("rateValue", rate_value()), ("setAt", set_at)],
        &[],
    );
    let shop = shop_lists(generator);
    let shielded = component(generator, "ShieldedShop", |_| {
        json_schema!({
            "type": "object", "required": ["businessUnitId", "rates"],
            "properties": {
                "businessUnitId": { "type": "string" },
                "rates": { "type": "array", "maxItems": 10, "description": "What the shop uses instead.", "items": own },
            },
        })
    });
    component(generator, "DryRun", |_| {
        let count = |description: &str| json_schema!({ "type": "integer", "minimum": 0, "description": description });
        json_schema!({
            "type": "object",
            "description": "What a change would publish, for `dryRun=true`.",
            "required": ["businessUnits", "sample"],
            "properties": {
                "businessUnits": {
                    "type": "object", "required": ["total", "affected", "shielded"],
                    "properties": {
                        "total": count("Shops at or below the unit."),
                        "affected": count("Those that would get a message."),
                        "shielded": count("Those that would not, because a rate that is set nearer to them decides."),
                    },
                },
                "sample": { "type": "array", "maxItems": 20, "items": shop },
                "shielded": {
                    "type": "array", "maxItems": 20, "description": "The first shops that would not get a message, because a rate that is set nearer to them decides.",
                    "items": shielded,
                },
                "changes": { "type": "array", "description": "The rates whose value at the unit would change.", "items": changed },
                "deviations": { "type": "array", "items": deviation },
                "document": {
                    "type": "object", "required": ["date", "stale", "skipped", "older"],
                    "description": "What is said of a document that would be imported.",
                    "properties": {
                        "date": { "type": "string", "format": "date", "description": "The newest day of the document." },
                        "stale": { "type": "array", "items": { "type": "string" }, "description": "Currencies that the document lacks; their rates are kept." },
                        "skipped": { "type": "array", "items": { "type": "string" }, "description": "Currencies of the document of which no rate would be set." },
                        "older": { "type": "boolean", "description": "Whether a later document was imported before: the rates of such a type stay." },
                    },
                },
            },
        })
    })
}

/// What a change answers where a dry run answers with the same status.
pub(super) fn or_dry_run(generator: &mut SchemaGenerator, done: Schema) -> Schema {
    let dry_run = dry_run(generator);
    json_schema!({ "oneOf": [done, dry_run] })
}

/// A rate that was set, or what a dry run says.
pub(in crate::rates::http) fn rate_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let rate = set_rate(generator);
    or_dry_run(generator, rate)
}

/// Counts of changed rates, or what a dry run says.
pub(in crate::rates::http) fn changed_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let changed = rates_changed(generator);
    or_dry_run(generator, changed)
}

/// How far a change is.
pub(in crate::rates::http) fn change(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RateChange", |_| {
        json_schema!({
            "type": "object",
            "required": ["correlationId", "state", "businessUnits"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "state": { "type": "string", "enum": ["RUNNING", "DONE"] },
                "businessUnits": {
                    "type": "object", "required": ["total", "done", "published"],
                    "properties": {
                        "total": { "type": ["integer", "null"], "description": "Shops to visit; null until they are counted." },
                        "done": { "type": "integer" },
                        "published": { "type": "integer", "description": "Shops that have got a message." },
                    },
                },
                "failed": { "type": "array", "items": { "type": "string" }, "maxItems": 100, "description": "Shops that could not be brought up to date: the first hundred." },
            },
        })
    })
}
