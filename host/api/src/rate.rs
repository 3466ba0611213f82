//! The schemas of exchange rates that bodies, answers and errors share.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::schema::component;

/// The type of a rate.
pub fn rate_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["SALES", "PURCHASE", "INTERCOMPANY"], "examples": ["SALES"] })
}

/// A currency.
#[must_use]
pub fn currency(example: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "An ISO 4217 code, in capitals.", "examples": [example] })
}

/// An object of a rate of a unit: the members that name it, and others.
pub fn of_rate(
    generator: &mut SchemaGenerator,
    more: &[(&str, Schema)],
    optional: &[(&str, Schema)],
) -> Schema {
    let names = ["exchangeRateType", "currencyIdFrom", "currencyIdTo"];
    let schemas = [rate_type(generator), currency("SEK"), currency("EUR")];
    let key = names.into_iter().zip(schemas);
    let required = key.chain(more.iter().cloned());
    let (mut names, mut properties) = (Vec::new(), serde_json::Map::new());
    for (name, schema) in required {
        names.push(name.to_owned());
        properties.insert(name.to_owned(), schema.to_value());
    }
    for (name, schema) in optional {
        properties.insert((*name).to_owned(), schema.clone().to_value());
    }
    json_schema!({ "type": "object", "required": names, "properties": properties })
}

/// A rate that would move by more than it may.
pub fn deviation(generator: &mut SchemaGenerator) -> Schema {
    let number = |description: &str| json_schema!({ "type": "number", "description": description });
    let required = [
        ("old", number("The value that the unit uses now.")),
        ("new", number("The value that it would use.")),
        (
            "percent",
            number("The change in percent; negative if the value falls."),
        ),
    ];
    let hint = json_schema!({ "type": "string", "enum": ["INVERTED", "DECIMAL_POINT"], "description": "The likely mistake." });
    let schema = of_rate(generator, &required, &[("hint", hint)]);
    component(generator, "Deviation", |_| schema)
}
