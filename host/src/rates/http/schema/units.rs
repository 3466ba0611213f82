//! The schemas of business units.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::of_rate;
use tillgate_api::schema::{NO_CONTROLS, component, made_by, managed_by};

use super::set::or_dry_run;
use super::{UNIT_ID, percentage, unit_id};

/// The members of a business unit but its id.
fn unit_members(generator: &mut SchemaGenerator) -> serde_json::Map<String, serde_json::Value> {
    let markup = percentage("At most four decimals.");
    let markups = of_rate(generator, &[("markupPercentage", markup.clone())], &[]);
    let tolerances = of_rate(generator, &[("tolerancePercentage", markup)], &[]);
    let mut members = serde_json::Map::new();
    let mut put = |name: &str, schema: Schema| members.insert(name.to_owned(), schema.to_value());
    put(
        "type",
        json_schema!({ "type": "string", "enum": ["COMPANY", "GROUP", "STORE"] }),
    );
    put(
        "parentId",
        json_schema!({ "type": "string", "pattern": UNIT_ID, "description": "The unit above; a COMPANY has none." }),
    );
    put(
        "name",
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS }),
    );
    put(
        "markupPercentage",
        json_schema!({
            "type": "number", "minimum": 0, "exclusiveMaximum": 100,
            "description": "Of all pairs that have no markup of their own here: at most four decimals.",
        }),
    );
    put(
        "markups",
        json_schema!({ "type": "array", "maxItems": 1000, "items": markups, "description": "Of single pairs, one for both directions." }),
    );
    put(
        "tolerancePercentage",
        json_schema!({
            "type": "number", "minimum": 0, "exclusiveMaximum": 100,
            "description": "By how many percent a rate may move at once; 0 for any step.",
        }),
    );
    put(
        "tolerances",
        json_schema!({ "type": "array", "maxItems": 1000, "items": tolerances }),
    );
    put("managedBy", managed_by());
    members
}

/// A business unit.
pub(in crate::rates::http) fn unit(generator: &mut SchemaGenerator) -> Schema {
    let (mut members, id) = (unit_members(generator), unit_id(generator));
    members.insert("id".to_owned(), id.to_value());
    members.insert("lastModifiedBy".to_owned(), made_by(generator).to_value());
    component(
        generator,
        "BusinessUnit",
        |_| json_schema!({ "type": "object", "required": ["id", "type"], "properties": members }),
    )
}

/// The units: all of them, or a page.
pub(in crate::rates::http) fn units(generator: &mut SchemaGenerator) -> Schema {
    let unit = unit(generator);
    let page = component(generator, "BusinessUnitPage", |_| {
        json_schema!({
            "type": "object", "required": ["items"],
            "properties": { "items": { "type": "array", "items": unit }, "next": { "type": "string", "description": "The `cursor` of the following page." } },
        })
    });
    json_schema!({ "oneOf": [{ "type": "array", "items": unit }, page] })
}

/// A unit that was put, or what a dry run says.
pub(in crate::rates::http) fn unit_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let unit = unit(generator);
    or_dry_run(generator, unit)
}
